// Package classic reads the command lines of perftest's programs and prints what
// they print, so that scripts made for ib_write_bw and its kin work unchanged.
//
//	options, err := classic.Parse(bench.WriteBW, os.Args[1:])
//	printer := &classic.Printer{W: os.Stdout, Gbits: options.Gbits}
//	options.Config.Observer = printer.Observer()
//
// Letters, names, defaults and layout are those of perftest 4.5. Options for what the
// package can't do (other transports, rdma_cm, events) are refused by name. The layout
// is held to captures in testdata, byte by byte.
//
// Functions keep nothing and may be called from several goroutines; a [Printer] is for one.
package classic
