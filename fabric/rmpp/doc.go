// Package rmpp implements the reliable multi-packet transaction protocol: messages of subnet
// administration that are longer than one management datagram, in segments with acknowledgements,
// a window and repetition (InfiniBand Architecture Specification volume 1, section 13.6; C twin:
// the kernel's drivers/infiniband/core/mad_rmpp.c).
//
//	var receiver rmpp.Receiver
//	reply, send, err := receiver.Receive(packet) // for each segment; reply is to be sent
//	if receiver.Done() { message := receiver.Message() … }
//
//	sender := rmpp.NewSender(message, rmpp.SenderOptions{})
//	for segment, ok := sender.Next(now); ok; segment, ok = sender.Next(now) { … } // to be sent
//	reply, send, err := sender.Receive(now, packet) // for each acknowledgement
//	reply, send, err := sender.Expire(now)          // at sender.Deadline()
//
// Both are state machines of one message: they send nothing, read no clock and start no goroutine.
// The caller matches packets to messages by transaction ID, class and attribute. Values are not
// safe for concurrent use.
//
// Transfers in both directions in one transaction (GetMulti) are not supported.
package rmpp
