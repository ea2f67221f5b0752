package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/verbs"
)

// host is the leader's end of the workers: they ask it for work.
type host struct {
	app    *cli.App
	server *protocol.Server
	wg     sync.WaitGroup

	mu    sync.Mutex
	stops []context.CancelFunc // end what was started
	errs  []error
}

// newHost returns the leader's end for a number of workers. Nothing listens before [host.listen].
func newHost(app *cli.App, cfg protocol.ServerConfig) (*host, error) {
	h := &host{app: app}
	cfg.Refused = h.refused
	var err error
	if h.server, err = protocol.NewServer(cfg); err != nil {
		return nil, fmt.Errorf("prepare for workers: %w", err)
	}
	return h, nil
}

// within returns a context that ends with the host, too.
func (h *host) within(ctx context.Context) context.Context {
	ctx, stop := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stops = append(h.stops, stop)
	return ctx
}

// start starts a worker in this process, which ends with the host. It stands for a number of tasks
// of a launcher.
func (h *host) start(ctx context.Context, n worker.Node, tasks int) error {
	i, err := h.server.Invite(stdioAddr, protocol.Ticket{Host: n.Name})
	if err != nil {
		return err
	}
	ours, theirs := net.Pipe()
	ctx = h.within(ctx)
	h.wg.Go(func() { _ = h.server.ServeConn(ours) }) // the worker's error has the cause
	h.wg.Go(func() { h.work(ctx, i, n, tasks, theirs) })
	return nil
}

// listen opens a port for workers, and returns its address. Only those with an invitation are let
// in.
func (h *host) listen(ctx context.Context, addr string) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen for workers: %w", err)
	}
	h.wg.Go(func() { h.failed(h.server.Serve(l)) })
	return l.Addr().String(), nil
}

// refused notes a worker that has an invitation and is refused nevertheless.
func (h *host) refused(name, remote string, err *protocol.RefusedError) {
	h.app.Out.Note("warning: a worker of %s at %s is refused: %s", name, remote, err.Text)
}

// work runs a worker in this process. Its end by ctx is not an error.
func (h *host) work(ctx context.Context, i protocol.Invitation, n worker.Node, tasks int, conn net.Conn) {
	w := worker.New(worker.Config{Node: n, Wait: verbs.WaitEvent})
	c := &protocol.Client{Invitation: i, Name: n.Name, Tasks: tasks, Dial: protocol.Once(conn)}
	if err := errors.Join(c.Work(ctx, w.Do), w.Close()); ctx.Err() == nil {
		h.failed(err)
	}
}

// join waits until enough reports that all workers have joined; later ones are refused. enough also
// returns their count, for messages.
func (h *host) join(
	ctx context.Context, enough func([]*protocol.Session) (string, bool), limit time.Duration,
) ([]leader.Link, error) {
	defer h.server.Begin()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	var joined []*protocol.Session
	for {
		count, all := enough(joined)
		if all {
			return links(joined), nil
		}
		session, err := h.server.Next(ctx)
		joined = slices.DeleteFunc(joined, h.gone)
		if errors.Is(err, errLate) {
			return links(joined), fmt.Errorf("%s joined within %v: %w", count, limit, errLate)
		}
		if err != nil {
			return links(joined), err
		}
		joined = append(joined, session)
		if session.Host() == "" { // not of this process
			count, _ = enough(joined)
			h.app.Out.Note("%s joined from %s (%s)", session.Name(), session.Remote(), count)
		}
	}
}

// number is enough if n workers have joined.
func number(n int) func([]*protocol.Session) (string, bool) {
	return func(joined []*protocol.Session) (string, bool) {
		return fmt.Sprintf("%d of %s", len(joined), english.Count(n, "worker")), len(joined) >= n
	}
}

// gone reports whether a worker that has joined is gone, and notes it.
func (h *host) gone(s *protocol.Session) bool {
	err := s.Err()
	if err != nil {
		h.app.Out.Note("%s is gone: %v", s.Name(), err)
	}
	return err != nil
}

func links(sessions []*protocol.Session) (out []leader.Link) {
	for _, s := range sessions {
		out = append(out, s)
	}
	return out
}

// errLate is the error for workers that don't join.
var errLate = errors.New("the others are missing")

func (h *host) failed(err error) {
	if err == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

// close closes the port, ends the local workers and returns what went wrong at them. It may be
// called more than once.
func (h *host) close() error {
	h.failed(h.server.Close())
	h.mu.Lock()
	for _, stop := range h.stops {
		stop()
	}
	h.mu.Unlock()
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.errs...)
}
