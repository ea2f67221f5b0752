// Package classic parses the command lines of perftest's programs and prints in their format, so
// that scripts written for ib_write_bw and the other programs work unchanged.
//
//	options, err := classic.Parse(bench.WriteBW, os.Args[1:])
//	printer := &classic.Printer{W: os.Stdout, Gbits: options.Gbits}
//	options.Config.Observer = printer.Observer()
//
// Letters, names, defaults and layout are those of perftest 4.5. Unsupported options (other
// transports, rdma_cm, events) are rejected by name. Tests compare the layout with captures in
// testdata, byte by byte.
//
// Functions have no state and may be called from several goroutines; a [Printer] may be used by one
// only.
package classic
