// Package ibsim implements ibsim's socket protocol. With the client side a program can send and
// receive MADs in a simulated InfiniBand subnet without the preloaded C library umad2sim; with the
// server side it can simulate the subnet for programs that have it preloaded.
//
//	conn, err := ibsim.Dial(ctx, ibsim.ConfigFromEnv(os.Getenv))
//	defer conn.Close()
//	n, err := conn.Send(packets)           // never waits; n < len(packets) is back-pressure
//	n, err = conn.Receive(ctx, packets, deadline) // waits for the first packet
//
//	server, err := ibsim.Listen(ibsim.ServerConfig{SocketName: "lab"}, backend)
//	err = server.Serve(ctx) // calls the backend until the context ends
//
// A subnet has datagram sockets: one for control messages, ten for the MADs of its clients. They
// have names in Linux's abstract namespace or, with a server address, UDP ports. If a request would
// get no response in a real fabric, ibsim returns it at once with [StatusTimeout]: ibsim has no
// timeouts.
//
// One goroutine may send on a [Conn] while another receives. Source: ibsim 0.10, include/ibsim.h,
// umad2sim/sim_client.c and ibsim/ibsim.c.
package ibsim
