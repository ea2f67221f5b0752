package cm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/testkit/race"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// captured returns the first message of a kind that a test sends.
func (p *pair) captured(a mad.Attribute) func() []byte {
	var first []byte
	old := p.tap
	p.tap = func(from, to netip.Addr, m []byte) {
		if old != nil {
			old(from, to, m)
		}
		if mad.Attribute(binary.BigEndian.Uint16(m[16:])) == a && first == nil {
			first = append(first, m...)
		}
	}
	return func() []byte {
		p.mu.Lock()
		defer p.mu.Unlock()
		return first
	}
}

// next waits for a request.
func nextRequest(t *testing.T, l provider.Listener) provider.ConnectionRequest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFlood: requests from very many addresses, to a port where nobody listens and to one where
// nobody takes them, leave nothing behind but the backlog, and for a minute only.
func TestFlood(t *testing.T) {
	n := 1_000_000
	if testing.Short() || race.Enabled {
		n = 20_000
	}
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{Backlog: 7})
		m := mad.REQ{
			Header: mad.NewCM(mad.AttributeREQ, 1), TransportService: mad.TransportServiceRC, PathPacketPayloadMTU: 5,
			RemoteCMResponseTimeout: 20, MaxCMRetries: 15,
			Primary: mad.ConnectPath{RemotePortGID: ib.GIDFromAddr(p.b.addr)},
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b := make([]byte, 0, mad.Len)
		for i := range n {
			from := netip.AddrFrom4([4]byte{10, 1 + byte(i>>16), byte(i >> 8), byte(i)})
			m.LocalCommID, m.LocalQPN = uint32(i), ib.QPN(i)
			m.ServiceID = mad.IPService(0x0106, 7174+uint16(i%2))
			m.Primary.LocalPortGID = ib.GIDFromAddr(from)
			h := mad.NewCMAHeader(netip.AddrPortFrom(from, 1), p.b.addr)
			h.Append(m.PrivateData[:0])
			p.b.Receive(from, m.Append(b))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
			t.Errorf("%d requests: the heap has grown by %d KiB", n, grown>>10)
		}
		if p.count(mad.AttributeREJ) != n/2 {
			t.Errorf("%d rejections, want %d", p.count(mad.AttributeREJ), n/2)
		}
		p.b.mu.Lock()
		kept := len(p.b.conns)
		p.b.mu.Unlock()
		if kept != 7 {
			t.Errorf("%d requests are kept, want the backlog of 7", kept)
		}
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		if r, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that its peer has given up is still there: %v, %v", r, err)
		}
		_ = l.Close()
	})
}

// TestBacklog: a request beyond the backlog comes again, and closing the listener rejects those
// that wait.
func TestBacklog(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{Backlog: 1})
		results := make(chan error, 3)
		for range 3 {
			go func() {
				c, err := p.a.Dial(context.Background(), p.qp(), service, options(""))
				if err == nil {
					err = c.Disconnect(context.Background())
				}
				results <- err
			}()
			time.Sleep(time.Millisecond)
		}
		if _, err := nextRequest(p.t, l).Accept(p.t.Context(), p.qp(), options("")); err != nil {
			t.Error(err)
		}
		second := nextRequest(p.t, l) // that has come again
		time.Sleep(10 * time.Second)
		requests, rejections := p.count(mad.AttributeREQ), p.count(mad.AttributeREJ)
		_ = l.Close()
		time.Sleep(time.Millisecond)
		if now := p.count(mad.AttributeREJ); now != rejections+1 || p.count(mad.AttributeREQ) != requests {
			t.Errorf("%d rejections, %d before Close, want one more", now, rejections)
		}
		if _, err := second.Accept(p.t.Context(), p.qp(), options("")); err != nil {
			t.Error(err)
		}
		refused := 0
		for range 3 {
			if err := <-results; errors.Is(err, provider.ErrNobodyListens) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if refused != 1 {
			t.Errorf("%d of 3 were refused, want 1", refused)
		}
		if _, err := l.Next(p.t.Context()); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Next after Close = %v", err)
		}
		_ = l.Close()
	})
}

// TestStale: a peer that has lost its connections connects with the same queue pair again.
func TestStale(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		qa, qb := p.qp(), p.qp()
		_, accepted := p.connected(qa, qb)
		p.mu.Lock()
		p.cut[p.a.addr] = true // it dies
		p.mu.Unlock()
		_ = p.a.Close()
		p.mu.Lock()
		p.cut[p.a.addr] = false
		p.mu.Unlock()
		p.a = p.agent(t, addrA, ib.MTU4096)
		dialed, again := p.connected(&fakeQP{qpn: qa.qpn}, p.qp())
		<-accepted.Done()
		if err := accepted.Err(); !errors.Is(err, errStale) || again.Err() != nil || dialed.Err() != nil {
			t.Errorf("the old connection: %v; the new one: %v, %v", err, again.Err(), dialed.Err())
		}
		_ = dialed.Disconnect(p.t.Context())
	})
}

// TestLateRequest: a duplicate of the request of a connection that has ended starts none.
func TestLateRequest(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		req := p.captured(mad.AttributeREQ)
		dialed, accepted := p.connected(p.qp(), p.qp())
		_ = dialed.Disconnect(p.t.Context())
		<-accepted.Done()
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		p.b.Receive(p.a.addr, req())
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		if r, err := l.Next(ctx); err == nil {
			t.Errorf("a late duplicate is a request from %v", r.Remote())
		}
		if p.count(mad.AttributeREJ) != 1 {
			t.Errorf("%d rejections, want 1", p.count(mad.AttributeREJ))
		}
	})
}

// TestSpoofed: requests whose addresses don't fit, and messages about connections from others.
func TestSpoofed(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		req, rep := p.captured(mad.AttributeREQ), p.captured(mad.AttributeREP)
		var rejected []mad.RejectReason
		dialed, accepted := p.connected(p.qp(), p.qp())
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		p.tap = func(_, _ netip.Addr, m []byte) {
			var rej mad.REJ
			if _, _ = rej.Decode(m); rej.AttributeID == mad.AttributeREJ {
				rejected = append(rejected, rej.Reason)
			}
		}
		stranger := netip.MustParseAddr("10.0.0.66")
		change := func(f func(*mad.REQ)) {
			var m mad.REQ
			_, _ = m.Decode(req())
			m.LocalCommID++
			m.LocalQPN += 1000
			f(&m)
			p.b.Receive(p.a.addr, m.Append(nil))
		}
		p.b.Receive(stranger, req()) // of another address than it says
		change(func(m *mad.REQ) { m.Primary.RemotePortGID[15]++ })
		change(func(m *mad.REQ) { m.Primary.LocalPortGID[15]++ })
		change(func(m *mad.REQ) { m.PrivateData[19]++ }) // source address of the socket
		change(func(m *mad.REQ) { m.PrivateData[35]++ }) // destination
		change(func(m *mad.REQ) { m.PrivateData[0] = 0x10 })
		change(func(m *mad.REQ) { m.PrivateData[1] = 0x50 })
		change(func(m *mad.REQ) { m.TransportService = 2 })
		change(func(m *mad.REQ) { m.PathPacketPayloadMTU = 0 })
		change(func(m *mad.REQ) { m.PathPacketPayloadMTU = 6 })
		change(func(m *mad.REQ) { m.ClassVersion = 1 })
		synctest.Wait()
		want := []mad.RejectReason{12, 12, 12, 12, 12, 5, 5, 9, 26, 26, 31}
		if fmt.Sprint(rejected) != fmt.Sprint(want) {
			t.Errorf("rejected for %d, want %d", rejected, want)
		}
		var answer mad.REP
		_, _ = answer.Decode(rep())
		for _, m := range []interface{ Append([]byte) []byte }{
			&mad.DREQ{
				Header: mad.NewCM(mad.AttributeDREQ, 1), LocalCommID: answer.LocalCommID,
				RemoteCommID: answer.RemoteCommID, RemoteQPN: 17,
			},
			&mad.REJ{
				Header: mad.NewCM(mad.AttributeREJ, 1), LocalCommID: answer.LocalCommID,
				RemoteCommID: answer.RemoteCommID,
			},
		} {
			p.a.Receive(stranger, m.Append(nil))
		}
		wrong := mad.DREQ{ // for another queue pair
			Header: mad.NewCM(mad.AttributeDREQ, 1), LocalCommID: answer.LocalCommID, RemoteCommID: answer.RemoteCommID,
			RemoteQPN: 99,
		}
		p.a.Receive(p.b.addr, wrong.Append(nil))
		time.Sleep(time.Second)
		if dialed.Err() != nil || accepted.Err() != nil {
			t.Errorf("messages of a stranger: %v, %v", dialed.Err(), accepted.Err())
		}
		_ = dialed.Disconnect(p.t.Context())
	})
}

// TestUnknown: messages about a connection that isn't known are rejected, and an end is answered.
func TestUnknown(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		rej, drep := p.captured(mad.AttributeREJ), p.captured(mad.AttributeDREP)
		rep := mad.REP{Header: mad.NewCM(mad.AttributeREP, 7), LocalCommID: 1, RemoteCommID: 2}
		p.a.Receive(p.b.addr, rep.Append(nil))
		var got mad.REJ
		if _, err := got.Decode(rej()); err != nil || got.Reason != mad.RejectInvalidCommID || got.LocalCommID != 2 ||
			got.RemoteCommID != 1 || got.Message != mad.MRAMessageREP || got.TransactionID != 7 {
			t.Errorf("answer to REP: %+v, %v", got, err)
		}
		rtu := mad.RTU{Header: mad.NewCM(mad.AttributeRTU, 8), LocalCommID: 1, RemoteCommID: 2}
		p.a.Receive(p.b.addr, rtu.Append(nil))
		dreq := mad.DREQ{Header: mad.NewCM(mad.AttributeDREQ, 9), LocalCommID: 3, RemoteCommID: 4}
		p.a.Receive(p.b.addr, dreq.Append(nil))
		var end mad.DREP
		if _, err := end.Decode(drep()); err != nil || end.LocalCommID != 4 || end.RemoteCommID != 3 ||
			p.count(mad.AttributeREJ) != 2 {
			t.Errorf("answer to DREQ: %+v, %v; %d rejections", end, err, p.count(mad.AttributeREJ))
		}
	})
}

// TestEndBeforeRTU: the active end disconnects while its RTU is lost.
func TestEndBeforeRTU(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		p.drop = func(_, _ netip.Addr, m []byte) bool { return mad.Attribute(m[17]) == mad.AttributeRTU }
		begin := time.Now()
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		accepting := acceptOne(l, p.qp(), options(""))
		c, err := p.a.Dial(p.t.Context(), p.qp(), service, options(""))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Disconnect(p.t.Context()); err != nil {
			t.Error(err)
		}
		r := <-accepting
		if r.err != nil {
			t.Fatal(r.err)
		}
		<-r.c.Done()
		if err := r.c.Err(); !errors.Is(err, io.EOF) || time.Since(begin) > time.Second {
			t.Errorf("Err = %v after %v", err, time.Since(begin))
		}
	})
}

// TestIgnored: what is no message of the communication manager is counted.
func TestIgnored(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		good := mad.RTU{Header: mad.NewCM(mad.AttributeRTU, 1)}
		for i, change := range []func(b []byte) []byte{
			func(b []byte) []byte { return b[:255] },
			func(b []byte) []byte { return nil },
			func(b []byte) []byte { b[0] = 2; return b },
			func(b []byte) []byte { b[1] = byte(mad.ClassSA); return b },
			func(b []byte) []byte { b[3] = byte(mad.MethodGet); return b },
			func(b []byte) []byte { b[17] = 0x30; return b },
		} {
			p.b.Receive(p.a.addr, change(good.Append(nil)))
			if got := p.b.Ignored(); got != uint64(i+1) {
				t.Errorf("case %d: %d ignored, want %d", i, got, i+1)
			}
		}
	})
}

// TestAlternatePath: LAP is refused, and the connection stays.
func TestAlternatePath(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		rep, apr := p.captured(mad.AttributeREP), p.captured(mad.AttributeAPR)
		dialed, _ := p.connected(p.qp(), p.qp())
		var answer mad.REP
		_, _ = answer.Decode(rep())
		lap := mad.LAP{
			Header: mad.NewCM(mad.AttributeLAP, 77), LocalCommID: answer.LocalCommID, RemoteCommID: answer.RemoteCommID,
		}
		p.a.Receive(p.b.addr, lap.Append(nil))
		var got mad.APR
		if _, err := got.Decode(apr()); err != nil || got.APStatus != mad.APStatusUnsupported ||
			got.TransactionID != 77 ||
			got.LocalCommID != answer.RemoteCommID || got.RemoteCommID != answer.LocalCommID || dialed.Err() != nil {
			t.Errorf("APR %+v, %v; connection %v", got, err, dialed.Err())
		}
		_ = dialed.Disconnect(p.t.Context())
	})
}

// TestQueuePairs: a queue pair that fails, or is closed, ends its connection.
func TestQueuePairs(t *testing.T) {
	for name, hook := range map[string]func(*Agent, ib.QPN){
		"failed": (*Agent).QueuePairFailed, "closed": (*Agent).QueuePairClosed,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, faults{}, func(p *pair) {
				qa, qb := p.qp(), p.qp()
				dialed, accepted := p.connected(qa, qb)
				hook(p.a, 12345) // no connection
				hook(p.a, qa.qpn)
				<-dialed.Done()
				<-accepted.Done()
				if err := accepted.Err(); !errors.Is(err, io.EOF) || qa.state != provider.QPStateError {
					t.Errorf("Err = %v, state %v", err, qa.state)
				}
			})
		})
	}
}

// TestModifyFails: a queue pair that can't be connected refuses the connection.
func TestModifyFails(t *testing.T) {
	for _, at := range []provider.QPState{provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS} {
		for _, active := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v %t", at, active), func(t *testing.T) {
				run(t, faults{}, func(p *pair) {
					qa, qb := p.qp(), p.qp()
					failing := qb
					if active {
						failing = qa
					}
					failing.fail = at
					l := p.listen(provider.ListenOptions{})
					defer l.Close()
					accepting := acceptOne(l, qb, options(""))
					_, err := p.a.Dial(p.t.Context(), qa, service, options(""))
					r := <-accepting
					own, other := err, r.err
					if !active {
						own, other = other, own
					}
					if own == nil || !strings.Contains(own.Error(), "fails") || other == nil ||
						!strings.Contains(other.Error(), "no resources") {
						t.Errorf("own error %v, the peer's %v", own, other)
					}
				})
			})
		}
	}
}

// TestAnswers: wrong answers of programs.
func TestAnswers(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		dialing := make(chan error, 1)
		go func() {
			_, err := p.a.Dial(context.Background(), p.qp(), service, options(""))
			dialing <- err
		}()
		r := nextRequest(p.t, l)
		long := options(strings.Repeat("x", mad.REPPrivateLen+1))
		used := p.qp()
		used.state = provider.QPStateRTS
		for want, got := range map[string]func() error{
			"an answer has at most 196": func() error {
				_, err := r.Accept(p.t.Context(), p.qp(),
					long)
				return err
			},
			"of type UD, and the peer's of": func() error {
				_, err := r.Accept(p.t.Context(), p.ud(),
					options(""))
				return err
			},
			"in state RTS, not RESET": func() error {
				_, err := r.Accept(p.t.Context(), used,
					options(""))
				return err
			},
			"and a rejection has at most 148": func() error { return r.Reject(make([]byte, mad.REJPrivateLen+1)) },
		} {
			if err := got(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		if err := r.Reject(nil); err != nil {
			t.Error(err)
		}
		if err := <-dialing; err == nil {
			t.Error("Dial succeeded")
		}
		if _, err := r.Accept(p.t.Context(), p.qp(), options("")); !errors.Is(err, errAnswered) {
			t.Errorf("second answer: %v", err)
		}
		if err := r.Reject(nil); !errors.Is(err, errAnswered) {
			t.Errorf("third answer: %v", err)
		}
	})
}

// TestGone: the peer gives up before the program answers.
func TestGone(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		go func() { _, _ = p.a.Dial(ctx, p.qp(), service, options("")) }()
		r := nextRequest(p.t, l)
		time.Sleep(2 * time.Second)
		if _, err := r.Accept(p.t.Context(), p.qp(), options("")); !errors.Is(err, errGone) {
			t.Errorf("Accept = %v", err)
		}
		if err := r.Reject(nil); !errors.Is(err, errGone) {
			t.Errorf("Reject = %v", err)
		}
	})
}

// TestListen checks errors of Listen.
func TestListen(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{})
		other := p.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP}) // no conflict
		_, err := p.b.Listen(p.t.Context(), service, provider.ListenOptions{})
		if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(),
			"listen on port 7174 of roce@10.0.0.2") {
			t.Errorf("Listen twice = %v", err)
		}
		if _, err := p.b.Listen(p.t.Context(), netip.MustParseAddrPort("10.0.0.1:1"),
			provider.ListenOptions{}); err == nil {
			t.Error("Listen at another address succeeded")
		}
		if _, err := p.b.Listen(p.t.Context(), service, provider.ListenOptions{Backlog: -1}); err == nil {
			t.Error("Listen with a negative backlog succeeded")
		}
		_ = other.Close()
		_ = l.Close()
		l = p.listen(provider.ListenOptions{}) // the port is free again
		_ = p.b.Close()
		if _, err := l.Next(p.t.Context()); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Next after Close of the agent = %v", err)
		}
		if _, err := p.b.Listen(p.t.Context(), service, provider.ListenOptions{}); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Listen after Close = %v", err)
		}
		if _, err := p.b.Dial(p.t.Context(), p.qp(), netip.MustParseAddrPort(addrA+":1"), options("")); !errors.Is(err,
			provider.ErrClosed) {
			t.Errorf("Dial after Close = %v", err)
		}
	})
}

// TestClose: closing an agent ends what is going on, and tells the peers of connections.
func TestClose(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		dialed, accepted := p.connected(p.qp(), p.qp())
		waiting := make(chan error, 2)
		p.mu.Lock()
		p.drop = func(_, to netip.Addr, m []byte) bool { return m[17] == 0x10 || m[17] == 0x17 } // requests
		p.mu.Unlock()
		go func() {
			_, err := p.a.Dial(context.Background(), p.qp(), service, options(""))
			waiting <- err
		}()
		go func() {
			_, err := p.a.Dial(context.Background(), p.ud(), service, options(""))
			waiting <- err
		}()
		time.Sleep(time.Second)
		_ = p.a.Close()
		_ = p.a.Close()
		for range 2 {
			if err := <-waiting; !errors.Is(err, provider.ErrClosed) {
				t.Errorf("Dial = %v", err)
			}
		}
		<-dialed.Done()
		<-accepted.Done()
		if err := accepted.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("the peer's end: %v", err)
		}
		if err := dialed.Err(); !errors.Is(err, provider.ErrClosed) {
			t.Errorf("this end: %v", err)
		}
	})
}

// TestCloseWhileRefusing closes an agent with a request in its backlog, and with a connection whose
// refusal the peer hasn't answered.
func TestCloseWhileRefusing(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{})
		results := make(chan error, 2)
		dial := func() {
			_, err := p.a.Dial(context.Background(), p.qp(), service, options(""))
			results <- err
		}
		go dial()
		r := nextRequest(p.t, l)
		p.mu.Lock()
		p.drop = func(from, _ netip.Addr, _ []byte) bool { return from == p.b.addr }
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		if _, err := r.Accept(ctx, p.qp(), options("")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Accept = %v", err)
		}
		go dial()
		time.Sleep(time.Second)
		p.b.mu.Lock()
		waiting, _ := l.(*listener).queue[0].(*request)
		p.b.mu.Unlock()
		_ = p.b.Close()
		<-waiting.c.done
		for range 2 {
			if err := <-results; err == nil {
				t.Error("Dial succeeded")
			}
		}
	})
}

// TestNew checks the configuration.
func TestNew(t *testing.T) {
	good := Config{Addr: netip.MustParseAddr(addrA), MTU: ib.MTU1024, Send: func(netip.Addr, []byte) {}}
	for name, change := range map[string]func(*Config){
		"address": func(c *Config) { c.Addr = netip.Addr{} }, "MTU": func(c *Config) { c.MTU = 1500 },
		"Send": func(c *Config) { c.Send = nil }, "reads": func(c *Config) { c.MaxReads = -1 },
		"randomness": func(c *Config) { c.Rand = strings.NewReader("") },
	} {
		cfg := good
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("New without %s succeeded", name)
		}
	}
	one, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := New(good); err != nil || one.guid == two.guid || one.guid == (ib.GUID{}) {
		t.Errorf("GUIDs %v and %v, %v", one.guid, two.guid, err)
	}
}

// FuzzReceive: whatever arrives, an agent with a listener and a connection neither panics nor keeps
// more than its backlog.
func FuzzReceive(f *testing.F) {
	for _, m := range []interface{ Append([]byte) []byte }{
		&mad.REQ{Header: mad.NewCM(mad.AttributeREQ, 1)}, &mad.REP{Header: mad.NewCM(mad.AttributeREP, 1)},
		&mad.RTU{Header: mad.NewCM(mad.AttributeRTU, 1)}, &mad.REJ{Header: mad.NewCM(mad.AttributeREJ, 1)},
		&mad.MRA{Header: mad.NewCM(mad.AttributeMRA, 1)}, &mad.DREQ{Header: mad.NewCM(mad.AttributeDREQ, 1)},
		&mad.DREP{Header: mad.NewCM(mad.AttributeDREP, 1)}, &mad.LAP{Header: mad.NewCM(mad.AttributeLAP, 1)},
		&mad.SIDRREQ{Header: mad.NewCM(mad.AttributeSIDRREQ, 1)},
		&mad.SIDRREP{Header: mad.NewCM(mad.AttributeSIDRREP, 1)},
	} {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWire(1, faults{})
		a := w.agent(t, addrA, ib.MTU4096)
		defer a.Close()
		l, err := a.Listen(t.Context(), netip.AddrPort{}, provider.ListenOptions{Backlog: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		dialing := make(chan struct{})
		go func() {
			defer close(dialing)
			_, _ = a.Dial(ctx, &fakeQP{qpn: 17}, service, options(""))
		}()
		for len(b) >= mad.Len {
			a.Receive(netip.MustParseAddr(addrB), b[:mad.Len])
			b = b[1:]
		}
		cancel()
		<-dialing
		a.mu.Lock()
		if len(a.conns) > 3 {
			t.Errorf("%d connections", len(a.conns))
		}
		a.mu.Unlock()
	})
}
