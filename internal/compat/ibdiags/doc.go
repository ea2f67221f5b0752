// Package ibdiags is the programs of infiniband-diags: their options, output, messages and exit
// codes, on a [fabric.Transport].
//
//	p, ok := ibdiags.Find("sminfo")
//	code := p.Run(ctx, ibdiags.Host{
//		Name: "sminfo", Args: []string{"4"}, Stdout: os.Stdout, Stderr: os.Stderr, Open: open,
//	})
//
// What they print is compared with the C programs of version 44 in the same simulated fabric. The
// differences are meant: a sweep is [fabric.Discover]'s, so a dead node costs less time; and behind
// the C programs' message, which seldom names a cause, stands a line with the cause.
//
// A program runs in one goroutine and keeps no state between runs.
package ibdiags
