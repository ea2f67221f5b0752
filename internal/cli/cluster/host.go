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
	"github.com/rdmakit/rdmakit/verbs"
)

// host is the leader's end of the workers: a port at which they ask for work.
type host struct {
	app    *cli.App
	server *protocol.Server
	addr   string
	wg     sync.WaitGroup
	start  func(worker.Node) error // starts a worker in this process, which ends with the host
	stop   context.CancelFunc      // of these workers

	mu   sync.Mutex
	errs []error
}

// listen opens the port for a number of workers. Only those with an invitation are let in.
func listen(ctx context.Context, app *cli.App, addr string, workers int) (*host, error) {
	h := &host{app: app}
	var err error
	if h.server, err = protocol.NewServer(protocol.ServerConfig{Workers: workers, Refused: h.refused}); err != nil {
		return nil, fmt.Errorf("prepare to listen for workers: %w", err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	h.addr = l.Addr().String()
	local, stop := context.WithCancel(ctx)
	h.stop = stop
	h.start = func(n worker.Node) error {
		i, err := h.server.Invite(h.addr, protocol.Ticket{Host: n.Name})
		if err == nil {
			h.wg.Go(func() { h.work(local, i, n) })
		}
		return err
	}
	h.wg.Go(func() { h.failed(h.server.Serve(l)) })
	return h, nil
}

// refused notes a worker that has an invitation and is refused nevertheless.
func (h *host) refused(name, remote string, err *protocol.RefusedError) {
	h.app.Out.Note("warning: a worker of %s at %s is refused: %s", name, remote, err.Text)
}

// work runs a worker of this process; that ctx ends it is no fault.
func (h *host) work(ctx context.Context, i protocol.Invitation, n worker.Node) {
	w := worker.New(worker.Config{Node: n, Wait: verbs.WaitEvent})
	c := &protocol.Client{Invitation: i, Name: n.Name}
	if err := errors.Join(c.Work(ctx, w.Do), w.Close()); ctx.Err() == nil {
		h.failed(err)
	}
}

// join waits until n workers have joined; others are refused then.
func (h *host) join(ctx context.Context, n int, limit time.Duration) ([]leader.Link, error) {
	defer h.server.Begin()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	var joined []*protocol.Session
	for len(joined) < n {
		session, err := h.server.Next(ctx)
		joined = slices.DeleteFunc(joined, h.gone)
		if errors.Is(err, errLate) {
			return links(joined), fmt.Errorf("%d of %d workers joined within %v: %w", len(joined), n, limit, errLate)
		}
		if err != nil {
			return links(joined), err
		}
		joined = append(joined, session)
		if session.Host() == "" { // not of this process
			h.app.Out.Note("%s joined from %s (%d of %d)", session.Name(), session.Remote(), len(joined), n)
		}
	}
	return links(joined), nil
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
	h.stop()
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.errs...)
}
