// Package protocol has the messages between the leader of a verification and its workers, and
// carries them as JSON over HTTP/2.
//
// A worker dials the leader and asks for commands; each request carries the answer to the command
// before. Nothing listens at the worker, and one port is open at the leader:
//
//	server := protocol.NewServer(protocol.ServerConfig{Token: token})
//	go http.Serve(listener, server)            // at the leader
//	err := protocol.Work(ctx, client, handler) // at a worker
//
// Both ends limit the size of a message ([MaxMessage]) and the time of a command, and refuse
// another [Version]. Queue pairs are connected with the numbers that the leader passes on, so a
// card accepts only the peers of the plan.
package protocol
