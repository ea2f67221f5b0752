// Package administration is the subnet administration (SA) of simulated subnets: it answers queries
// from what a subnet reports of itself, with tables in segments (RMPP), and takes registrations of
// services, multicast members and events.
//
//	server := &administration.Server{Subnet: net}       // net implements Subnet
//	agent := administration.Agent{Server: server}       // one for each client
//	for _, p := range agent.Receive(now, &query) { … }  // packets to send to the client
//	packets, next := agent.Expire(now)                  // at next
//
// Where the specification leaves a choice, it answers as OpenSM 3.3 does. It differs in that paths
// are selected by their ends only, not by rate, MTU, service level or partition, that there is one
// path between two ports, and that multicast groups change no forwarding table.
//
// It reads no clock and starts no goroutine; nothing here is safe for concurrent use.
package administration
