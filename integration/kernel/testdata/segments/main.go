// Command segments is both ends of a query of subnet administration (SA) between this project's
// RMPP and the kernel's (drivers/infiniband/core/mad_rmpp.c), over RoCE v2:
//
//	segments serve ADDRESS        # an SA at QP 1 of an IPv6 address of this machine
//	segments query DEVICE ADDRESS # asks it: the kernel puts the segments together
//
//	segments kernel-serve DEVICE        # an SA whose kernel makes the segments
//	segments link-query ADDRESS ADDRESS # asks it from QP 1 of the first address
//
// The SAs serve until SIGTERM. The other two read queries as JSON lines, see request, and
// print a result for each. The attribute modifier of a query selects a fault of the SA: see fault.
// serve and link-query also print the packets that come from the kernel, as JSON lines.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "serve":
		return serve(ctx, args[1])
	case len(args) == 3 && args[0] == "query":
		return query(ctx, args[1], args[2])
	case len(args) == 2 && args[0] == "kernel-serve":
		return kernelServe(ctx, args[1])
	case len(args) == 3 && args[0] == "link-query":
		return linkQuery(ctx, args[1], args[2])
	}
	return fmt.Errorf("unknown arguments %q", args)
}
