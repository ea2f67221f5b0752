// Command pingpong sends messages back and forth over RDMA and prints the round-trip times. It
// needs neither an RDMA card nor privileges:
//
//	go run ./examples/pingpong
//
// runs both ends in one process, on two addresses of the loopback network. On two machines:
//
//	go run ./examples/pingpong -listen :7471 -server roce@192.0.2.1
//	go run ./examples/pingpong -connect 192.0.2.1:7471 -client roce@192.0.2.2
//
// The ends exchange their queue pair numbers and addresses over TCP (control.go), connect the queue
// pairs (end.go), and then send messages with SEND (ping.go). docs/verbs.md explains it step by
// step.
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
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
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
	client, server  string // devices
	listen, connect string // TCP addresses; if both are empty, both ends run in this process
	rounds, size    int
	wait            verbs.WaitMode
	timeout         time.Duration
}

// Limits for the rounds and the size that a client sends to the server: an untrusted client must
// not choose how much memory the server allocates.
const (
	maxRounds = 1_000_000
	maxSize   = 1 << 20
)

// example ends the help.
const example = `
Examples: both ends in one process; server on one machine, client on another:
  pingpong -n 10000 -size 4096
  pingpong -listen :7471 -server roce@192.0.2.1
  pingpong -connect 192.0.2.1:7471 -client roce@192.0.2.2
`

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("pingpong", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.client, "client", "roce@127.0.0.1", "`device` of the client")
	f.StringVar(&o.server, "server", "roce@127.0.0.2", "`device` of the server")
	f.StringVar(&o.listen, "listen", "", "run only the server, and listen for a client at this TCP `address`")
	f.StringVar(&o.connect, "connect", "", "run only the client, and connect to the server at this TCP `address`")
	f.IntVar(&o.rounds, "n", 1000, "number of round trips")
	f.IntVar(&o.size, "size", 64, "message size in `bytes`")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "time limit for the whole run")
	wait := f.String("wait", "hybrid", "how to wait for completions: hybrid, event or busy")
	f.Usage = func() {
		fmt.Fprintln(stderr, "Usage of pingpong:")
		f.PrintDefaults()
		fmt.Fprint(stderr, example)
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	modes := map[string]verbs.WaitMode{"hybrid": verbs.WaitHybrid, "event": verbs.WaitEvent, "busy": verbs.WaitBusy}
	mode, ok := modes[*wait]
	o.wait = mode
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: see -help", f.Arg(0))
	case !ok:
		return o, fmt.Errorf("-wait %s: not hybrid, event or busy", *wait)
	case o.listen != "" && o.connect != "":
		return o, errors.New("-listen and -connect are mutually exclusive")
	case o.timeout <= 0:
		return o, fmt.Errorf("-timeout %v: not positive", o.timeout)
	}
	return o, checkWork(o.rounds, o.size)
}

func checkWork(rounds, size int) error {
	if rounds < 1 || rounds > maxRounds || size < 1 || size > maxSize {
		return fmt.Errorf("%d round trips of %d bytes: at least 1 of each, at most %d and %d",
			rounds, size, maxRounds, maxSize)
	}
	return nil
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not finished after %v (-timeout)", o.timeout))
	defer cancel()
	out := &printer{w: stdout}
	err := o.role(ctx, out)
	return errors.Join(err, out.err)
}

// role runs the server, the client or both, as the flags say.
func (o options) role(ctx context.Context, out *printer) error {
	switch {
	case o.connect != "":
		return client(ctx, o, o.connect, out)
	case o.listen != "":
		l, err := listen(ctx, o.listen)
		if err != nil {
			return err
		}
		return server(ctx, o, l, out)
	}
	return both(ctx, o, out)
}

// both runs the two ends as goroutines, which share nothing but the TCP connection.
func both(ctx context.Context, o options, out *printer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	var serverErr, clientErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		if serverErr = server(ctx, o, l, out); serverErr != nil {
			cancel(serverErr)
		}
	})
	if clientErr = client(ctx, o, l.Addr().String(), out); clientErr != nil {
		cancel(clientErr)
	}
	wg.Wait()
	if clientErr == nil || serverErr != nil && errors.Is(clientErr, errHungUp) {
		return serverErr // the cause of the client's error
	}
	return clientErr
}

// printer writes whole lines and keeps the first error. It is safe for concurrent use.
type printer struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// explain prints an error and its hints.
func explain(stderr io.Writer, err error) {
	fmt.Fprintln(stderr, "pingpong:", err)
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
