package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		os.Exit(launch(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fabric:", err)
		os.Exit(1)
	}
}

// run is main with its streams.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fabric", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 5, "rounds")
	rdmactl := flags.String("rdmactl", "bin/rdmactl", "program to measure")
	quick := flags.Bool("quick", false, "one round on a small net, only to compare the results")
	limit := flags.Duration("limit", 25*time.Minute, "stop after this long")
	slow := flags.Duration("slow", 5*time.Minute, "no more rounds of a program that has taken this long on a net")
	only := flags.String("net", "", "measure this net only: 1k or 10k")
	check := flags.Bool("check", false, "fail when a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 {
		return fmt.Errorf("-n %d: want 1 or more", *n)
	}
	specs, err := selectNets(*quick, *only)
	if err != nil {
		return err
	}
	if *quick {
		*n = 1
	}
	program, err := filepath.Abs(*rdmactl)
	if err != nil {
		return err
	}
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("-rdmactl: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, fmt.Errorf("not done within %v", *limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "rdmakit-bench-fabric-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary folder
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{self: self, dir: dir, rdmactl: program, rounds: *n, slow: *slow, progress: stderr}
	var rows []row
	for _, spec := range specs {
		found, err := b.measure(ctx, spec)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		rows = append(rows, found...)
	}
	if _, err := io.WriteString(stdout, report(machine(), rows)); err != nil {
		return err
	}
	if *check {
		return missed(rows)
	}
	return nil
}
