package rdmacm_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// stranger is the other end of a connection, which doesn't do what the program expects.
type stranger struct {
	device *verbs.Device
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
}

func newStranger(t *testing.T, addr string, kind verbs.QPType) *stranger {
	t.Helper()
	d, err := verbs.Open(t.Context(), roce.Prefix+addr, roce.Provider{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{device: d}
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.CreateCQ(verbs.CQConfig{}); err != nil {
		t.Fatal(err)
	}
	if s.qp, err = pd.CreateQP(verbs.QPConfig{Type: kind, SendCQ: s.cq, RecvCQ: s.cq}); err != nil {
		t.Fatal(err)
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite}
	if s.mr, err = pd.RegisterMemory(make([]byte, 8192), options); err != nil {
		t.Fatal(err)
	}
	if err := s.qp.Modify(verbs.QPAttributes{
		Mask: provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess, State: verbs.QPStateInit, Port: 1,
	}); err != nil {
		t.Fatal(err)
	}
	for range 16 {
		r := verbs.ReceiveRequest{Segments: []verbs.Segment{s.mr.Segment(4096, 4096)}}
		if _, err := s.qp.PostReceive(r); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{s.qp, s.mr, s.cq, pd, d} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func (s *stranger) send(t *testing.T, b []byte) {
	t.Helper()
	copy(s.mr.Bytes(), b)
	if _, err := s.qp.PostSend(verbs.SendRequest{Segments: []verbs.Segment{s.mr.Segment(0, len(b))}}); err != nil {
		t.Error(err)
	}
}

// serve accepts one connection on a port, does something and closes it.
func (s *stranger) serve(t *testing.T, port uint16, do func(*verbs.Connection)) {
	t.Helper()
	l, err := s.device.Listen(t.Context(), netip.AddrPortFrom(netip.Addr{}, port), verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, finished := limit(t), make(chan struct{})
	go func() {
		defer close(finished)
		r, err := l.Next(ctx)
		if err != nil {
			return
		}
		conn, err := r.Accept(ctx, s.qp, verbs.ConnectOptions{})
		if err != nil {
			t.Errorf("Accept = %v", err)
			return
		}
		do(conn)
		_ = conn.Close()
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-finished
	})
}

// dial connects to a server as soon as it listens.
func (s *stranger) dial(t *testing.T, addr string, options verbs.ConnectOptions) (*verbs.Connection, error) {
	t.Helper()
	for {
		conn, err := s.device.Dial(limit(t), s.qp, netip.MustParseAddrPort(addr), options)
		if !errors.Is(err, verbs.ErrNobodyListens) {
			return conn, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// idle answers a ping without reading or writing.
func (s *stranger) idle(t *testing.T) func(*verbs.Connection) {
	t.Helper()
	return func(conn *verbs.Connection) {
		var wc [1]verbs.WorkCompletion
		for arrived := 0; arrived < 2; {
			if _, err := s.cq.Wait(limit(t), wc[:]); err != nil || wc[0].Err() != nil {
				return
			}
			if wc[0].Op == verbs.WCReceive {
				arrived++
				s.send(t, make([]byte, rping.BufferLen))
			}
		}
		<-conn.Done()
	}
}

// TestStrangeServers runs clients of servers that are another program.
func TestStrangeServers(t *testing.T) {
	idle := func(t *testing.T, s *stranger) func(*verbs.Connection) { t.Helper(); return s.idle(t) }
	for _, tt := range []struct {
		name, line string
		do         func(*testing.T, *stranger) func(*verbs.Connection)
		code       int
		out, err   string
		hint       string
	}{
		{
			"bogus data", "rping -c -a 127.0.62.82", func(t *testing.T, s *stranger) func(*verbs.Connection) {
				t.Helper()
				return func(conn *verbs.Connection) {
					s.send(t, []byte("hello"))
					<-conn.Done()
				}
			}, 255, "", "Received bogus data, size 5\nrecv wc error: -1\nwait for RDMA_WRITE_ADV state 11\n" +
				"rping client failed: -1\n",
			"hint: data: ping 127.0.62.82:7174 from roce@127.0.62.81: a message of 5 bytes",
		},
		{"other data, not compared", "rping -c -C 1 -a 127.0.62.82", idle, 0, "", "client DISCONNECT EVENT...\n", ""},
		{
			"other data", "rping -c -C 1 -V -a 127.0.62.82", idle, 255, "",
			"data mismatch!\nrping client failed: -1\n", "",
		},
		{
			"disconnects", "ucmatose -s 127.0.62.82 -p 7174", func(*testing.T, *stranger) func(*verbs.Connection) {
				return func(*verbs.Connection) {}
			}, 255, "cmatose: starting client\ncmatose: connecting\nreceiving data transfers\n" +
				"cmatose: failed polling CQ: -1\ntest complete\nreturn status -1\n", "", "hint: data: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStranger(t, "127.0.62.82", verbs.QPTypeRC)
			s.serve(t, rping.DefaultPort, tt.do(t, s))
			p := start(limit(t), t, "127.0.62.81", tt.line)
			code := p.wait(t)
			errs := p.err.String()
			if code != tt.code || p.out.String() != tt.out || withoutHints(errs) != tt.err ||
				!strings.Contains(errs, tt.hint) {
				t.Errorf("exit code %d, stdout %q, stderr %q, want %d, %q, %q with %q", code, p.out.String(), errs,
					tt.code, tt.out, tt.err, tt.hint)
			}
		})
	}
}

// TestStrangeClients names memory that isn't there to a server at any address, and asks ucmatose
// for its RNR retries.
func TestStrangeClients(t *testing.T) {
	p := start(limit(t), t, "127.0.62.83", "rping -s -a 0.0.0.0")
	s := newStranger(t, "127.0.62.84", verbs.QPTypeRC)
	conn, err := s.dial(t, "127.0.62.83:7174", verbs.ConnectOptions{Access: verbs.AccessRemoteRead})
	if err != nil {
		t.Fatal(err)
	}
	s.send(t, rping.Buffer{Addr: 0xdead0000, RKey: 1, Len: 64}.Append(nil))
	code := p.wait(t)
	want := "cq completion failed status 10\nwait for RDMA_READ_COMPLETE state 11\nrping server failed: -1\n"
	if got := withoutHints(p.err.String()); code != 255 || got != want {
		t.Errorf("exit code %d, stderr %q, want 255, %q", code, got, want)
	}
	_ = conn.Close()

	ctx, cancel := context.WithCancelCause(limit(t))
	p = start(ctx, t, "127.0.62.83", "ucmatose -b 0.0.0.0")
	s = newStranger(t, "127.0.62.85", verbs.QPTypeRC)
	if conn, err = s.dial(t, "127.0.62.83:7471", verbs.ConnectOptions{RNRRetry: 3}); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.Options().RNRRetry; got != 3 {
		t.Errorf("ucmatose accepts with %d RNR retries, want those of the request: 3", got)
	}
	cancel(signalError{errors.New("interrupted")})
	if code := p.wait(t); code != 130 {
		t.Errorf("ucmatose after Ctrl-C: exit code %d, want 130", code)
	}
}

// TestOtherType has a persistent server reject a client of another type, and serve the next one.
func TestOtherType(t *testing.T) {
	ctx, cancel := context.WithCancelCause(limit(t))
	p := start(ctx, t, "127.0.62.86", "rping -s -P")
	s := newStranger(t, "127.0.62.87", verbs.QPTypeUC)
	_, err := s.dial(t, "127.0.62.86:7174", verbs.ConnectOptions{})
	if _, ok := errors.AsType[*verbs.RejectedError](err); !ok {
		t.Errorf("Dial = %v, want a RejectedError", err)
	}
	if c, code := retry(t, "127.0.62.88", "rping -c -a 127.0.62.86 -C 1"); code != 0 {
		t.Errorf("the next client: exit code %d, %s", code, c.err.String())
	}
	cancel(signalError{errors.New("interrupted")})
	if code := p.wait(t); code != 130 || !strings.HasPrefix(p.err.String(),
		"rdma_accept: Software caused connection abort\nconnect error -1\nhint: accept 127.0.62.87:") {
		t.Errorf("server: exit code %d, stderr %q", code, p.err.String())
	}
}

// TestNoMemory has a server of ucmatose that can't allocate its messages reject the client.
func TestNoMemory(t *testing.T) {
	p := start(limit(t), t, "127.0.62.90", "ucmatose -S -1")
	c, code := retry(t, "127.0.62.91", "ucmatose -s 127.0.62.90")
	if code != 28 || !strings.Contains(c.out.String(), "RDMA_CM_EVENT_REJECTED, error: 28\n") {
		t.Errorf("client: exit code %d, %s", code, c.out.String())
	}
	if code := p.wait(t); code != 255 || !strings.Contains(p.out.String(), "cmatose: failing connection request\n") {
		t.Errorf("server: exit code %d, %s", code, p.out.String())
	}
}

// TestInterruptedWaits ends a client that waits for the end of its connection, and programs before
// they begin.
func TestInterruptedWaits(t *testing.T) {
	s := newStranger(t, "127.0.62.92", verbs.QPTypeRC)
	ctx, cancel := context.WithCancelCause(limit(t))
	s.serve(t, 7471, func(conn *verbs.Connection) {
		time.AfterFunc(50*time.Millisecond, func() { cancel(signalError{errors.New("interrupted")}) })
		<-conn.Done()
	})
	if code := start(ctx, t, "127.0.62.93", "ucmatose -s 127.0.62.92 -C 0").wait(t); code != 130 {
		t.Errorf("ucmatose after Ctrl-C: exit code %d, want 130", code)
	}
	for _, line := range []string{"rping", "rping -c -a 127.0.62.92", "ucmatose -s 127.0.62.92"} {
		p := start(ctx, t, "127.0.62.93", line)
		if code := p.wait(t); code != 130 || p.err.String() != "" || strings.Contains(p.out.String(), "complete") ||
			line == "rping" && p.out.String() != "" {
			t.Errorf("%s after Ctrl-C: exit code %d, stdout %q, stderr %q", line, code, p.out.String(), p.err.String())
		}
	}
}
