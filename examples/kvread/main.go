// Command kvread is a key-value server whose clients read its table with RDMA READ, without
// involving the server's program:
//
//	go run ./examples/kvread
//
// runs the server on 127.0.0.2 and the clients on 127.0.0.1. It needs neither an RDMA card nor
// privileges, and shows three things: lookups of single keys; how clients detect and repeat a READ
// of a value that the server is writing (see bucket.go); and that the server's program sleeps
// during lookups. A network card would respond to the READs in hardware. Here the engine in this
// process does, and uses the CPU time of the process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"time"
)

func main() { os.Exit(start(os.Args[1:])) }

// start runs the command and returns its exit code.
func start(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err == nil:
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		explain(os.Stderr, err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	client, server string // devices
	keys, clients  int
	lookups        int // of each client, in each part
	write          bool
	timeout        time.Duration
}

// example ends the help.
const example = `
Example: 4 clients and a table of 1000 keys:
  kvread -keys 1000 -clients 4 -n 10000
`

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("kvread", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.client, "client", "roce@127.0.0.1", "`device` of the clients")
	f.StringVar(&o.server, "server", "roce@127.0.0.2", "`device` of the server")
	f.IntVar(&o.keys, "keys", 200, "number of keys in the table")
	f.IntVar(&o.clients, "clients", 2, "number of clients, each with its own queue pair")
	f.IntVar(&o.lookups, "n", 2000, "lookups of each client while the server writes, and again while it sleeps")
	f.BoolVar(&o.write, "write", true, "run lookups while the server writes")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "time limit for the whole run")
	f.Usage = func() {
		fmt.Fprintln(stderr, "Usage of kvread:")
		f.PrintDefaults()
		fmt.Fprint(stderr, example)
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: see -help", f.Arg(0))
	case o.keys < 1 || o.keys > 10_000:
		return o, fmt.Errorf("-keys %d: not in 1 to 10000", o.keys)
	case o.clients < 1 || o.clients > 64:
		return o, fmt.Errorf("-clients %d: not in 1 to 64", o.clients)
	case o.lookups < 1 || o.timeout <= 0:
		return o, fmt.Errorf("-n %d and -timeout %v: not positive", o.lookups, o.timeout)
	}
	return o, nil
}

// keyName returns the name of key i. The content of the table is determined by keyName and valueOf,
// so that clients can check what they read.
func keyName(i int) string { return fmt.Sprintf("user-%d", i) }

// valueOf returns the value of a key at a version. It nearly fills a bucket, so that it takes more
// than one packet, and every line of it differs between versions.
func valueOf(key string, version uint64) []byte {
	var b []byte
	for line := 0; len(b) < maxValue-64; line++ {
		b = fmt.Appendf(b, "%s at version %d, line %d\n", key, version, line)
	}
	return b
}

func run(ctx context.Context, o options, stdout io.Writer) (err error) {
	out := &printer{w: stdout}
	defer func() { err = errors.Join(err, out.err) }()
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not finished after %v (-timeout)", o.timeout))
	defer cancel()
	t := newTable(o.keys)
	for i := range o.keys {
		if err := t.put(keyName(i), valueOf); err != nil {
			return err
		}
	}
	s, err := startServer(ctx, o.server, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	out.printf("server  %s: %d keys in %d buckets of %d bytes, which clients may read\n",
		o.server, o.keys, t.buckets(), bucketSize)
	g, err := openClients(ctx, o.client, s.address(), o.clients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	out.printf("client  %s: %d queue pairs\n", o.client, o.clients)
	return show(ctx, o, s, g, out)
}

// show runs the three parts of the demonstration and prints their results.
func show(ctx context.Context, o options, s *server, g *group, out *printer) error {
	for _, key := range []string{keyName(0), keyName(o.keys / 2), "nobody"} {
		v, reads, err := g.clients[0].lookup(ctx, key)
		switch {
		case errors.Is(err, errNotFound):
			out.printf("%s: not found (READs: %d)\n", key, reads)
		case err != nil:
			return err
		default:
			out.printf("%s: %d bytes, version %d, %.24q… (READs: %d)\n", key, len(v.data), v.version, v.data, reads)
		}
	}
	if o.write {
		stop := s.startWriting(min(hotKeys, o.keys))
		sum, err := g.lookups(ctx, o)
		writes, writeErr := stop()
		if err := errors.Join(err, writeErr); err != nil {
			return err
		}
		out.printf("while the server writes (%d writes): %v\n", writes, sum)
	}
	var sum tally
	slept, err := s.sleep(func() error {
		var err error
		sum, err = g.lookups(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	out.printf("while the server sleeps: %v\n", sum)
	out.printf("the server's program during these lookups: %v\n", slept)
	out.printf("(software, not line rate: the engine in this process does the work of a network card)\n")
	return nil
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// explain prints an error and its hints.
func explain(stderr io.Writer, err error) {
	fmt.Fprintln(stderr, "kvread:", err)
	if h, ok := errors.AsType[interface {
		error
		Hints() []string
	}](err); ok {
		for _, hint := range h.Hints() {
			fmt.Fprintln(stderr, "  hint:", hint)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(stderr, "  hint: a device is roce@ADDRESS; ip -br addr shows the addresses of this machine; "+
			"choose two with -client and -server")
	}
}
