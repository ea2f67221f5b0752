// Package ibdiags implements the programs of infiniband-diags, with their options, output, messages
// and exit codes, on a [fabric.Transport].
//
//	p, ok := ibdiags.Find("sminfo")
//	code := p.Run(ctx, ibdiags.Host{
//		Name: "sminfo", Args: []string{"4"}, Stdout: os.Stdout, Stderr: os.Stderr, Open: open,
//	})
//
// Their output is compared with the C programs of version 44 in the same simulated fabric. Two
// differences are intended: they use [fabric.Engine], so dead nodes wait at the same time; and
// after an error message of the C programs, which seldom names a cause, they print a line with the
// cause.
//
// A program runs in one goroutine and keeps no state between runs.
package ibdiags
