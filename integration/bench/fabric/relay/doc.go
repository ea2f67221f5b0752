// Package relay sits between a program and ibsim and makes the simulated subnet slow and faulty: it
// delays answers and drops those of some nodes.
//
//	config := relay.Config{Upstream: "lab", Name: "lab-slow", Delay: 100 * time.Microsecond}
//	r, err := relay.Start(config)
//	defer r.Close()
//	// run a program with IBSIM_SOCKNAME=lab-slow, then:
//	fmt.Println(r.Requests())
//
// It uses ibsim's protocol over abstract unix sockets on both sides and passes datagrams on
// unchanged, so umad2sim, and with it every C tool, connects to it as to ibsim. A single thread
// serves one client at a time.
//
// For a dead node, the relay drops the NodeInfo: the client doesn't discover the node and sends it
// no other requests. What the client sees depends on [Config.Hold], because libumad2sim has no
// timers, so a program that uses it waits forever for an answer. For such a program, Hold is the
// time that its library would spend on timeouts and retries; after that the request is returned
// with status 110 (ETIMEDOUT), as ibsim returns requests that it can't deliver. For a program with
// its own timeouts, Hold is 0 and nothing is returned.
package relay
