package rping_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// stranger is the end of a connection that doesn't follow the protocol.
type stranger struct {
	t    *testing.T
	cq   *verbs.CompletionQueue
	qp   *verbs.QueuePair
	mr   *verbs.MemoryRegion
	conn *verbs.Connection
}

func newStranger(t *testing.T, d *verbs.Device) *stranger {
	t.Helper()
	s := &stranger{t: t}
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.CreateCQ(verbs.CQConfig{}); err != nil {
		t.Fatal(err)
	}
	if s.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq}); err != nil {
		t.Fatal(err)
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite}
	if s.mr, err = pd.RegisterMemory(make([]byte, 4096), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.conn != nil {
			_ = s.conn.Close()
		}
		for _, c := range []io.Closer{s.qp, s.mr, s.cq, pd} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.qp.Modify(verbs.QPAttributes{
		Mask:  provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
		State: verbs.QPStateInit, Port: 1, Access: options.Access,
	}); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		r := verbs.ReceiveRequest{Segments: []verbs.Segment{s.mr.Segment(2048, 1024)}}
		if _, err := s.qp.PostReceive(r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stranger) options() verbs.ConnectOptions {
	return verbs.ConnectOptions{Access: verbs.AccessRemoteRead | verbs.AccessRemoteWrite}
}

// dial connects to a server.
func (s *stranger) dial(d *verbs.Device, addr netip.AddrPort) {
	s.t.Helper()
	var err error
	if s.conn, err = d.Dial(limit(s.t), s.qp, addr, s.options()); err != nil {
		s.t.Fatal(err)
	}
}

// send sends bytes.
func (s *stranger) send(b []byte) {
	s.t.Helper()
	copy(s.mr.Bytes(), b)
	if _, err := s.qp.PostSend(verbs.SendRequest{Segments: []verbs.Segment{s.mr.Segment(0, len(b))}}); err != nil {
		s.t.Fatal(err)
	}
}

// await waits for a completion of an operation.
func (s *stranger) await(op verbs.WCOp) {
	s.t.Helper()
	var wc [1]verbs.WorkCompletion
	for {
		if _, err := s.cq.Wait(limit(s.t), wc[:]); err != nil || wc[0].Err() != nil {
			s.t.Fatalf("completion: %v, %v", err, wc[0].Err())
		}
		if wc[0].Op == op {
			return
		}
	}
}

// buffer names a part of the stranger's memory.
func (s *stranger) buffer(at, n int) rping.Buffer {
	return rping.Buffer{Addr: s.mr.Addr() + uint64(at), RKey: s.mr.RKey(), Len: uint32(n)}
}

// TestHostileClients requires an error of the session that names what is wrong, and a server that
// accepts the next client.
func TestHostileClients(t *testing.T) {
	a, b := engine(t, "127.0.62.14"), engine(t, "127.0.62.15")
	for _, tt := range []struct {
		name string
		do   func(s *stranger)
		want string
	}{
		{"short message", func(s *stranger) { s.send([]byte("hello")) }, "a message of 5 bytes arrived"},
		{"empty message", func(s *stranger) { s.send(nil) }, "a message of 0 bytes arrived"},
		{"long message", func(s *stranger) { s.send(make([]byte, 40)) }, "a message of 40 bytes arrived"},
		{"longer than the receive request", func(s *stranger) { s.send(make([]byte, 900)) }, "length"},
		{"no memory", func(s *stranger) {
			s.send(rping.Buffer{Addr: 0xdead0000, RKey: s.mr.RKey() ^ 0x5500, Len: 64}.Append(nil))
		}, "access"},
		{"beyond the region", func(s *stranger) { s.send(s.buffer(4090, 64).Append(nil)) }, "access"},
		{"too long", func(s *stranger) { s.send(s.buffer(0, 1<<30).Append(nil)) }, "a source of 1073741824 bytes"},
		{"the longest, of memory that isn't there", func(s *stranger) {
			s.send(s.buffer(0, rping.MaxSize+1).Append(nil))
		}, "access"},
		{"one byte more", func(s *stranger) {
			s.send(s.buffer(0, rping.MaxSize+2).Append(nil))
		}, "a source of 65537 bytes"},
		{"write to no memory", func(s *stranger) {
			if _, err := s.qp.PostSend(verbs.SendRequest{
				Op: verbs.SendOpWrite, Segments: []verbs.Segment{s.mr.Segment(0, 8)}, RemoteAddr: 0xdead0000, RKey: 1,
			}); err != nil {
				s.t.Error(err)
			}
		}, "this device rejected a request of the peer"},
		{"zero bytes", func(s *stranger) { s.send(s.buffer(0, 0).Append(nil)) }, "names a source of 0 bytes"},
		{"small sink", func(s *stranger) {
			copy(s.mr.Bytes()[1024:], "twelve bytes\x00")
			s.send(s.buffer(1024, 64).Append(nil))
			s.await(verbs.WCReceive)
			s.send(s.buffer(1024, 5).Append(nil))
		}, "names a sink of 5 bytes: the text of the ping has 13"},
		{"messages out of turn", func(s *stranger) {
			copy(s.mr.Bytes(), s.buffer(0, 64).Append(nil))
			m := verbs.SendRequest{Segments: []verbs.Segment{s.mr.Segment(0, rping.BufferLen)}}
			if _, err := s.qp.PostSend(m, m, m, m); err != nil {
				s.t.Error(err)
			}
		}, "out of turn"},
		{"disconnects", func(s *stranger) { _ = s.conn.Disconnect(limit(s.t)) }, "EOF"},
		{"disconnects in a ping", func(s *stranger) {
			s.send(s.buffer(0, 64).Append(nil))
			s.await(verbs.WCReceive)
			_ = s.conn.Disconnect(limit(s.t))
		}, "EOF"},
		{"vanishes", func(s *stranger) { _ = s.conn.Close() }, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr, done := serve(t, b)
			s := newStranger(t, a)
			s.dial(a, addr)
			tt.do(s)
			err := <-done
			if tt.name == "write to no memory" && errors.Is(err, io.EOF) {
				return // the peer has heard of the rejection and disconnected before this end looked
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the session ended with %v, want %q", err, tt.want)
			}
		})
	}
}

// listenAs accepts a client and answers as do says.
func listenAs(t *testing.T, d *verbs.Device, do func(*stranger)) netip.AddrPort {
	t.Helper()
	l, err := d.Listen(t.Context(), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newStranger(t, d)
	finished := make(chan struct{})
	ctx := limit(t)
	go func() {
		defer close(finished)
		r, err := l.Next(ctx)
		if err != nil {
			return
		}
		if s.conn, err = r.Accept(ctx, s.qp, s.options()); err == nil {
			do(s)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-finished
	})
	return l.Addr()
}

// TestHostileServers requires an error of the client that names what is wrong.
func TestHostileServers(t *testing.T) {
	a, b := engine(t, "127.0.62.16"), engine(t, "127.0.62.17")
	for _, tt := range []struct {
		name string
		do   func(*stranger)
		want string
	}{
		{"never answers", func(*stranger) {}, context.DeadlineExceeded.Error()},
		{"wrong length", func(s *stranger) { s.send([]byte("hi")) }, "a message of 2 bytes arrived"},
		{"closes", func(s *stranger) { _ = s.conn.Close() }, "EOF"},
		{"closes in a ping", func(s *stranger) {
			s.send(make([]byte, rping.BufferLen))
			s.await(verbs.WCReceive)
			_ = s.conn.Close()
		}, "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := listenAs(t, b, tt.do)
			c, err := rping.Dial(limit(t), a, addr, rping.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(limit(t), time.Second)
			defer cancel()
			if err := c.Ping(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Ping = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	a, b := engine(t, "127.0.62.18"), engine(t, "127.0.62.19")
	_, err := rping.Dial(limit(t), a, netip.MustParseAddrPort("127.0.62.19:0"), rping.Options{})
	if !errors.Is(err, verbs.ErrNobodyListens) {
		t.Errorf("Dial = %v", err)
	}
	s, err := rping.Listen(t.Context(), b, netip.AddrPort{}, rping.Options{})
	if err != nil || s.Addr().Port() != rping.DefaultPort {
		t.Fatalf("Listen = %v, %v", s, err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Accept(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Accept = %v", err)
	}
}

// TestOtherType rejects a client whose queue pair is of another type at once.
func TestOtherType(t *testing.T) {
	a, b := engine(t, "127.0.62.30"), engine(t, "127.0.62.31")
	s, err := rping.Listen(t.Context(), b, netip.AddrPort{}, rping.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pd, err := a.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	defer pd.Close()
	cq, err := a.CreateCQ(verbs.CQConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer cq.Close()
	qp, err := pd.CreateQP(verbs.QPConfig{Type: verbs.QPTypeUC, SendCQ: cq, RecvCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	defer qp.Close()
	ctx := limit(t)
	dialled := make(chan error, 1)
	go func() {
		_, err := a.Dial(ctx, qp, s.Addr(), verbs.ConnectOptions{})
		dialled <- err
	}()
	_, err = s.Accept(ctx)
	if e, ok := errors.AsType[*rping.AcceptError](err); !ok || e.Remote.Addr() != netip.MustParseAddr("127.0.62.30") ||
		!strings.Contains(err.Error(), "of type RC, and the peer's of type UC") {
		t.Errorf("Accept = %v, want an AcceptError", err)
	}
	err = <-dialled
	if _, ok := errors.AsType[*verbs.RejectedError](err); !ok {
		t.Errorf("Dial = %v, want a RejectedError", err)
	}
}
