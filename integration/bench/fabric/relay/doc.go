// Package relay stands between a program and ibsim and makes the simulated subnet slow and faulty:
// answers are late, and some nodes answer nothing.
//
//	r, err := relay.Start(relay.Config{Upstream: "lab", Name: "lab-slow", Delay: 100 * time.Microsecond})
//	defer r.Close()
//	// run a program with IBSIM_SOCKNAME=lab-slow, then:
//	fmt.Println(r.Requests())
//
// It speaks ibsim's protocol over abstract unix sockets to both sides and changes no datagram that
// it passes on, so umad2sim, and with it every C tool, joins it as it joins ibsim. One thread does
// all of it, for one client at a time.
//
// A dead node is one whose NodeInfo is kept back: nobody learns that it is there, so nobody asks it
// anything else. What the client sees of it depends on [Config.Hold], because libumad2sim has no
// timers: a program on it that gets no answer waits for ever. For such a program, Hold is the time
// that its library would have waited and tried again, and the request comes back then with status
// 110 (ETIMEDOUT), as ibsim itself returns what it can't deliver. A program that has a clock of its
// own gets silence: Hold 0.
package relay
