// Package ibsimd simulates an InfiniBand subnet that a subnet manager can configure, and serves it
// over ibsim's sockets, so that unchanged programs with libumad2sim preloaded (opensm,
// ibnetdiscover, perfquery …) work with it.
//
//	net, err := ibsimd.ReadNet("net") // or Generate, FromTopology
//	sim, err := ibsimd.New(net, ibsimd.Options{})
//	err = sim.Serve(ctx, ibsim.ServerConfig{})
//
// A [Net] is a [subnet.Subnet], whose nodes can be dead, slow or wrong, with what each port is
// before a subnet manager configures it. The [Simulator] has the state that subnet managers set:
// LIDs, port states, forwarding tables, P_Keys, tables of virtual lanes. Where the specification
// leaves a choice, it behaves as ibsim 0.10 does, so that programs print the same for both.
//
// All methods of a Simulator may be called from several goroutines; a Net must not be changed while
// a Simulator uses it.
package ibsimd
