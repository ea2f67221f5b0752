package roce_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// descriptors returns how many files the process has open, or 0 if that is unknown.
func descriptors() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// serveConnections accepts every request with a queue pair of its own, until the listener is
// closed; each connection ends with the peer's.
func serveConnections(t testing.TB, p *party, l *verbs.Listener) (done <-chan struct{}) {
	finished := make(chan struct{})
	var work sync.WaitGroup
	go func() {
		defer close(finished)
		defer work.Wait()
		for {
			r, err := l.Next(context.Background())
			if err != nil {
				return
			}
			work.Go(func() {
				qp, err := p.pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, Capacity: tiny})
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = qp.Close() }()
				c, err := r.Accept(context.Background(), qp, verbs.ConnectOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				<-c.Done()
			})
		}
	}()
	return finished
}

// tiny is the capacity of queue pairs that only connect.
var tiny = verbs.QPCapacity{MaxSendWR: 1, MaxRecvWR: 1}

// connectOnce connects a queue pair and ends the connection.
func connectOnce(ctx context.Context, p *party, addr netip.AddrPort) error {
	qp, err := p.pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq, Capacity: tiny})
	if err != nil {
		return err
	}
	defer func() { _ = qp.Close() }()
	c, err := p.device.Dial(ctx, qp, addr, verbs.ConnectOptions{})
	if err != nil {
		return err
	}
	return c.Disconnect(ctx)
}

// TestManyConnections sets up and closes 10,000 connections, 64 at a time: nothing is left.
func TestManyConnections(t *testing.T) {
	n := 10_000
	if testing.Short() || race.Enabled {
		n = 1000
	}
	a := newParty(t, roce.Prefix+"127.0.61.8", verbs.QPTypeRC)
	b := newParty(t, roce.Prefix+"127.0.61.9", verbs.QPTypeRC)
	l, err := b.device.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	served := serveConnections(t, b, l)
	if err := connectOnce(t.Context(), a, l.Addr()); err != nil { // what is allocated once
		t.Fatal(err)
	}
	files, goroutines, heap := descriptors(), runtime.NumGoroutine(), heapSize()
	begin := time.Now()
	var next atomic.Int64
	var work sync.WaitGroup
	for range 64 {
		work.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := connectOnce(t.Context(), a, l.Addr()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	work.Wait()
	took := time.Since(begin)
	grown := heapSize() - heap
	t.Logf("%d connections in %v: %.0f/s; the heap has grown by %d KiB", n, took, float64(n)/took.Seconds(), grown>>10)
	if grown > 8<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	waitUntil(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := descriptors(); now > files+64 { // 32 sockets of each engine that send from other ports
		t.Errorf("%d descriptors, %d before", now, files)
	}
	_ = l.Close()
	<-served
}

func heapSize() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // empties pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Errorf("not so after 10 s: %s", what)
			return
		}
	}
}

// TestManyClients has 1,000 clients connect to one listener at once, which takes them one after
// another.
func TestManyClients(t *testing.T) {
	n := 1000
	if race.Enabled {
		n = 200
	}
	a := newParty(t, roce.Prefix+"127.0.61.10", verbs.QPTypeRC)
	b := newParty(t, roce.Prefix+"127.0.61.11", verbs.QPTypeRC)
	l, err := b.device.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type client struct {
		qp *verbs.QueuePair
		c  *verbs.Connection
	}
	clients := make([]client, n)
	var work sync.WaitGroup
	for i := range clients {
		work.Go(func() {
			var err error
			clients[i].qp, err = a.pd.CreateQP(verbs.QPConfig{SendCQ: a.cq, RecvCQ: a.cq, Capacity: tiny})
			if err == nil {
				clients[i].c, err = a.device.Dial(ctx, clients[i].qp, l.Addr(), verbs.ConnectOptions{})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	var accepted []io.Closer
	byPeer := map[uint32]bool{}
	for range n {
		r, err := l.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := b.pd.CreateQP(verbs.QPConfig{SendCQ: b.cq, RecvCQ: b.cq, Capacity: tiny})
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Accept(ctx, qp, verbs.ConnectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		attr, err := qp.Query()
		if err != nil {
			t.Fatal(err)
		}
		byPeer[uint32(attr.DestQPN)] = true
		accepted = append(accepted, c, qp)
	}
	work.Wait()
	for i := range clients {
		if !byPeer[uint32(clients[i].qp.QPN())] {
			t.Errorf("queue pair %v has no peer", clients[i].qp.QPN())
		}
		if err := errors.Join(clients[i].c.Disconnect(ctx), clients[i].qp.Close()); err != nil {
			t.Error(err)
		}
	}
	for _, c := range accepted {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkConnect measures one connection after another: set up, and ended.
func BenchmarkConnect(b *testing.B) {
	x := newParty(b, roce.Prefix+"127.0.61.12", verbs.QPTypeRC)
	y := newParty(b, roce.Prefix+"127.0.61.13", verbs.QPTypeRC)
	l, err := y.device.Listen(b.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	served := serveConnections(b, y, l)
	b.ReportAllocs()
	for b.Loop() {
		if err := connectOnce(b.Context(), x, l.Addr()); err != nil {
			b.Fatal(err)
		}
	}
	_ = l.Close()
	<-served
}
