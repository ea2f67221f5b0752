package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/worker"
)

// host is the leader's end of the workers: a port at which they ask for work.
type host struct {
	server     *protocol.Server
	http       *http.Server
	invitation protocol.Invitation
	wg         sync.WaitGroup
	start      func(*worker.Worker) // starts a worker in this process, which ends with the host
	stop       context.CancelFunc   // of these workers

	mu   sync.Mutex
	errs []error
}

// headerLimit is how long a worker may take to send a header.
const headerLimit = 10 * time.Second

// listen opens the port. Only workers with the invitation are let in.
func listen(ctx context.Context, addr string) (*host, error) {
	cert, hash, err := protocol.NewIdentity(time.Now())
	if err != nil {
		return nil, fmt.Errorf("prepare to listen for workers: %w", err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for workers: %w", err)
	}
	h := &host{invitation: protocol.Invitation{Addr: l.Addr().String(), Hash: hash, Secret: rand.Text()}}
	h.server = protocol.NewServer(protocol.ServerConfig{Token: h.invitation.Secret})
	local, stop := context.WithCancel(ctx)
	h.stop = stop
	h.start = func(w *worker.Worker) { h.wg.Go(func() { h.work(local, w) }) }
	h.http = &http.Server{
		Handler: h.server, ReadHeaderTimeout: headerLimit,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13},
		ErrorLog:  log.New(io.Discard, "", 0), // of strangers that connect
	}
	h.wg.Go(func() {
		if err := h.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.failed(err)
		}
	})
	return h, nil
}

// work runs a worker of this process; that ctx ends it is no fault.
func (h *host) work(ctx context.Context, w *worker.Worker) {
	if err := work(ctx, h.invitation, w); ctx.Err() == nil {
		h.failed(err)
	}
}

// work does what a leader asks for until it ends the worker.
func work(ctx context.Context, i protocol.Invitation, w *worker.Worker) error {
	transport := &http.Transport{TLSClientConfig: i.TLS(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	c := protocol.Client{URL: "https://" + i.Addr, Token: i.Secret, HTTP: &http.Client{Transport: transport}}
	return errors.Join(c.Work(ctx, w.Do), w.Close())
}

// join waits until n workers have joined.
func (h *host) join(ctx context.Context, n int, limit time.Duration) ([]leader.Link, error) {
	var links []leader.Link
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	for range n {
		session, err := h.server.Next(ctx)
		if errors.Is(err, errLate) {
			return links, fmt.Errorf("%d of %d workers joined within %v: %w", len(links), n, limit, errLate)
		}
		if err != nil {
			return links, err
		}
		links = append(links, session)
	}
	return links, nil
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
	h.server.Close()
	h.stop()
	h.failed(h.http.Close())
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(h.errs...)
}
