// Package protocol has the messages between the leader of a verification and its workers, and
// carries them as JSON over HTTP/2 and TLS 1.3.
//
// A worker dials the leader and asks for commands; each request carries the answer to the command
// before. Nothing listens at the worker, and one port is open at the leader:
//
//	server, err := protocol.NewServer(protocol.ServerConfig{Workers: 16})     // at the leader
//	invitation, err := server.Invite(addr, protocol.Ticket{Workers: 16})
//	go server.Serve(listener)
//	session, err := server.Next(ctx)
//	reply, err := session.Do(ctx, protocol.Command{Kind: protocol.KindSurvey})
//
//	client := protocol.Client{Invitation: invitation, Name: "gpu-003"}        // at a worker
//	err := client.Work(ctx, handler)
//
// Without a port, [Server.ServeConn] and [Once] use a connection that exists, such as a [Pipe] over
// an ssh session.
//
// Both ends have a key and a certificate of their own, made for one verification. The worker knows
// the hash of the leader's from its invitation, or is convinced by a proof ([Client.Trust]). The
// leader admits a worker by the secret of a [Ticket] or by a proof ([ServerConfig.Verify]), and
// from then on recognizes it by its certificate: a used secret admits no other worker, and a
// recorded request is of no use without the key of the certificate.
//
// Both ends limit the size of a message ([MaxMessage]) and all waiting, and refuse another
// [Version] and another rdmactl. The leader limits the connections of strangers, at the expense of
// the addresses that have the most. Queue pairs are connected with the numbers that the leader
// passes on, so a card accepts only the peers of the plan.
package protocol
