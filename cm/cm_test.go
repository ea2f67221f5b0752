package cm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// pair is two agents on a wire.
type pair struct {
	*wire
	t    *testing.T
	a, b *Agent
	next ib.QPN
}

const (
	addrA = "10.0.0.1"
	addrB = "10.0.0.2"
)

// run runs a test with two agents in simulated time.
func run(t *testing.T, f faults, test func(*pair)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pair{wire: newWire(1, f), t: t, next: 16}
		p.a, p.b = p.agent(t, addrA, ib.MTU4096), p.agent(t, addrB, ib.MTU4096)
		test(p)
		time.Sleep(10 * time.Minute)
		for _, a := range []*Agent{p.a, p.b} {
			if left := a.leftovers(); left != "" {
				t.Errorf("%s keeps %s", a.name, left)
			}
			_ = a.Close()
		}
	})
}

func (p *pair) qp() *fakeQP { return p.newQP(provider.QPTypeRC) }

func (p *pair) ud() *fakeQP { return p.newQP(provider.QPTypeUD) }

func (p *pair) newQP(kind provider.QPType) *fakeQP {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	return &fakeQP{qpn: p.next, kind: kind}
}

func (p *pair) listen(options provider.ListenOptions) provider.Listener {
	p.t.Helper()
	l, err := p.b.Listen(p.t.Context(), netip.AddrPortFrom(p.b.addr, 7174), options)
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

var service = netip.MustParseAddrPort(addrB + ":7174")

// options are those of the package verbs.
func options(private string) provider.ConnectOptions {
	return provider.ConnectOptions{
		PrivateData: []byte(private), ReadAtomic: 4, DestReadAtomic: 8, RetryCount: 5, RNRRetry: 6, Timeout: 14,
		TrafficClass: 104,
	}
}

type outcome struct {
	c   provider.Connection
	err error
}

// acceptOne accepts the next request of a listener.
func acceptOne(l provider.Listener, qp provider.QueuePair, o provider.ConnectOptions) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		r, err := l.Next(context.Background())
		if err != nil {
			out <- outcome{nil, err}
			return
		}
		c, err := r.Accept(context.Background(), qp, o)
		out <- outcome{c, err}
	}()
	return out
}

// connected connects two queue pairs.
func (p *pair) connected(qa, qb *fakeQP) (dialed, accepted provider.Connection) {
	p.t.Helper()
	l := p.listen(provider.ListenOptions{})
	defer l.Close()
	accepting := acceptOne(l, qb, options("pong"))
	dialed, err := p.a.Dial(p.t.Context(), qa, service, options("ping"))
	if err != nil {
		p.t.Fatal(err)
	}
	r := <-accepting
	if r.err != nil {
		p.t.Fatal(r.err)
	}
	return dialed, r.c
}

// TestNegotiation checks what each end's queue pair gets, as the kernel negotiates it
// (cm_req_handler, cm_rep_handler, cm_init_qp_rtr_attr, cm_init_qp_rts_attr).
func TestNegotiation(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		req, rep := p.captured(mad.AttributeREQ), p.captured(mad.AttributeREP)
		qa, qb := p.qp(), p.qp()
		l := p.listen(provider.ListenOptions{})
		accepting := make(chan outcome, 1)
		go func() {
			r, err := l.Next(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			o := r.Options()
			if o.PortSpace != provider.PortSpaceTCP || o.ReadAtomic != 4 || o.DestReadAtomic != 8 ||
				o.RetryCount != 5 || o.RNRRetry != 6 || o.Timeout != 14 ||
				o.TrafficClass != 104 || !strings.HasPrefix(string(o.PrivateData), "ping\x00") ||
				len(o.PrivateData) != 56 {
				t.Errorf("options of the request: %+v", o)
			}
			if r.Local() != service || r.Remote().Addr() != p.a.addr || r.Remote().Port() < firstPort {
				t.Errorf("from %v to %v", r.Remote(), r.Local())
			}
			c, err := r.Accept(context.Background(), qb, provider.ConnectOptions{
				PrivateData: []byte("pong"), ReadAtomic: 12, DestReadAtomic: 2, RetryCount: 1, RNRRetry: 2, Timeout: 17,
				Access: provider.AccessRemoteRead,
			})
			accepting <- outcome{c, err}
		}()
		o := options("ping")
		o.Access = provider.AccessRemoteWrite
		dialed, err := p.a.Dial(p.t.Context(), qa, service, o)
		if err != nil {
			t.Fatal(err)
		}
		accepted := <-accepting
		if accepted.err != nil {
			t.Fatal(accepted.err)
		}
		a, b := qa.attr, qb.attr
		// The PSN of a message is that of the packets to its sender (section 12.7.31).
		var request mad.REQ
		var answer mad.REP
		_, _ = request.Decode(req())
		_, _ = answer.Decode(rep())
		for name, ok := range map[string]bool{
			"states":       qa.state == provider.QPStateRTS && qb.state == provider.QPStateRTS,
			"queue pairs":  a.DestQPN == qb.qpn && b.DestQPN == qa.qpn,
			"PSNs":         a.SendPSN == b.ReceivePSN && a.ReceivePSN == b.SendPSN && a.SendPSN != b.SendPSN,
			"own PSNs":     a.ReceivePSN == request.StartingPSN && b.ReceivePSN == answer.StartingPSN,
			"GIDs":         a.Path.DGID == ib.GIDFromAddr(p.b.addr) && b.Path.DGID == ib.GIDFromAddr(p.a.addr),
			"class":        a.Path.TrafficClass == 104 && b.Path.TrafficClass == 104, // of the REQ
			"MTU":          a.PathMTU == ib.MTU4096 && b.PathMTU == ib.MTU4096,
			"reads":        a.MaxReadAtomic == 2 && b.MaxDestReadAtomic == 2,
			"reads back":   b.MaxReadAtomic == 8 && a.MaxDestReadAtomic == 8,
			"timeouts":     a.Timeout == 14 && b.Timeout == 17,
			"retry counts": a.RetryCount == 5 && b.RetryCount == 5,
			"RNR counts":   a.RNRRetry == 2 && b.RNRRetry == 6,
			"access":       a.Access == provider.AccessRemoteWrite && b.Access == provider.AccessRemoteRead,
			"options":      strings.HasPrefix(string(dialed.Options().PrivateData), "pong\x00"),
			"empty":        len(accepted.c.Options().PrivateData) == 0,
			"addresses":    dialed.Remote() == service && accepted.c.Local() == service,
			"ports":        dialed.Local() == accepted.c.Remote(),
			"open":         dialed.Err() == nil && accepted.c.Err() == nil,
		} {
			if !ok {
				t.Errorf("%s: dialed %+v, accepted %+v", name, a, b)
			}
		}
		if _, ok := dialed.Datagram(); ok {
			t.Error("a connection has a datagram peer")
		}
		_ = l.Close()
		_ = accepted.c.Close()
		<-dialed.Done()
		if err := dialed.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("after the peer's Close: %v", err)
		}
		<-accepted.c.Done()
		if err := accepted.c.Err(); !errors.Is(err, provider.ErrClosed) || qa.state != provider.QPStateError ||
			qb.state != provider.QPStateError {
			t.Errorf("after Close: %v, states %v and %v", err, qa.state, qb.state)
		}
		if n := p.count(mad.AttributeREQ) + p.count(mad.AttributeREP) + p.count(mad.AttributeRTU) +
			p.count(mad.AttributeDREQ) + p.count(mad.AttributeDREP); n != 5 {
			t.Errorf("%d messages without losses, want 5", n)
		}
	})
}

// TestLost loses each message once, twice, and the answer to its repetition.
func TestLost(t *testing.T) {
	for _, attribute := range []mad.Attribute{
		mad.AttributeREQ, mad.AttributeREP, mad.AttributeRTU, mad.AttributeDREQ, mad.AttributeDREP,
	} {
		for _, times := range []int{1, 3, 14} {
			t.Run(fmt.Sprintf("%#x %d times", uint16(attribute), times), func(t *testing.T) {
				left := times
				drop := func(_, _ netip.Addr, m []byte) bool {
					if mad.Attribute(m[17]) == attribute && left > 0 {
						left--
						return true
					}
					return false
				}
				run(t, faults{drop: drop}, func(p *pair) {
					qa, qb := p.qp(), p.qp()
					dialed, accepted := p.connected(qa, qb)
					if err := dialed.Disconnect(p.t.Context()); err != nil {
						t.Error(err)
					}
					<-accepted.Done()
					if err := accepted.Err(); !errors.Is(err, io.EOF) || left != 0 {
						t.Errorf("Err = %v, %d losses left", err, left)
					}
				})
			})
		}
	}
}

// TestRefused checks each reason that a request is refused for.
func TestRefused(t *testing.T) {
	tests := []struct {
		name string
		dial func(t *testing.T, p *pair) error
		want string
		code mad.RejectReason
	}{
		{"nobody listens", func(t *testing.T, p *pair) error {
			_, err := p.a.Dial(p.t.Context(), p.qp(), netip.MustParseAddrPort(addrB+":9"), options(""))
			if !errors.Is(err, provider.ErrNobodyListens) {
				t.Errorf("%v doesn't match ErrNobodyListens", err)
			}
			return err
		}, "nobody listens on port 9 of port space TCP at 10.0.0.2 (invalid service ID)", mad.RejectInvalidServiceID},
		{"other port space", func(t *testing.T, p *pair) error {
			o := options("")
			o.PortSpace = provider.PortSpaceIB
			_, err := p.a.Dial(p.t.Context(), p.qp(), service, o)
			return err
		}, "nobody listens on port 7174 of port space IB", mad.RejectInvalidServiceID},
		{"by the program", func(t *testing.T, p *pair) error {
			l := p.listen(provider.ListenOptions{PortSpace: provider.PortSpaceIB})
			defer l.Close()
			go func() {
				r, err := l.Next(context.Background())
				if err == nil {
					err = r.Reject([]byte("full"))
				}
				if err != nil {
					t.Error(err)
				}
			}()
			o := options("")
			o.PortSpace = provider.PortSpaceIB
			_, err := p.a.Dial(p.t.Context(), p.qp(), service, o)
			var rejected *provider.RejectedError
			if !errors.As(err, &rejected) || string(rejected.PrivateData[:5]) != "full\x00" ||
				errors.Is(err, provider.ErrNobodyListens) {
				t.Errorf("error %+v", rejected)
			}
			return err
		}, "rejected by the program", mad.RejectConsumer},
		{"program's private data", func(t *testing.T, p *pair) error {
			_, err := p.a.Dial(p.t.Context(), p.qp(), service, options(strings.Repeat("x", 57)))
			return err
		}, "57 bytes of private data, and a request has at most 56", 0},
		{"other address", func(t *testing.T, p *pair) error {
			o := options("")
			o.Local = netip.MustParseAddr("10.0.0.9")
			_, err := p.a.Dial(p.t.Context(), p.qp(), service, o)
			return err
		}, "10.0.0.9 is not the address of roce@10.0.0.1, which is 10.0.0.1", 0},
		{"other family", func(t *testing.T, p *pair) error {
			_, err := p.a.Dial(p.t.Context(), p.qp(), netip.MustParseAddrPort("[2001:db8::1]:7174"), options(""))
			return err
		}, "are not of the same family", 0},
		{"no address", func(t *testing.T, p *pair) error {
			_, err := p.a.Dial(p.t.Context(), p.qp(), netip.AddrPort{}, options(""))
			return err
		}, "address of the peer is missing", 0},
		{"port 0", func(t *testing.T, p *pair) error {
			_, err := p.a.Dial(p.t.Context(), p.qp(), netip.MustParseAddrPort(addrB+":0"), options(""))
			return err
		}, "port 0", 0},
		{"port space of datagrams", func(t *testing.T, p *pair) error {
			o := options("")
			o.PortSpace = provider.PortSpaceUDP
			_, err := p.a.Dial(p.t.Context(), p.qp(), service, o)
			return err
		}, "port space UDP is not for queue pairs of type RC", 0},
		{"state", func(t *testing.T, p *pair) error {
			qp := p.qp()
			qp.state = provider.QPStateRTS
			_, err := p.a.Dial(p.t.Context(), qp, service, options(""))
			return err
		}, "in state RTS, not RESET or INIT", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run(t, faults{}, func(p *pair) {
				err := tt.dial(t, p)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Dial = %v, want %q", err, tt.want)
				}
				var rejected *provider.RejectedError
				if got := errors.As(err, &rejected); got != (tt.code != 0) || got && rejected.Code != uint16(tt.code) {
					t.Errorf("Dial = %v, code of %+v, want %d", err, rejected, tt.code)
				}
			})
		})
	}
}

// TestSmallerMTU: the listener names its MTU, and Dial takes it.
func TestSmallerMTU(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		small := p.agent(t, "10.0.0.3", ib.MTU1024)
		defer small.Close()
		l, err := small.Listen(p.t.Context(), netip.AddrPort{}, provider.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		qa, qb := p.qp(), p.qp()
		accepting := acceptOne(l, qb, options(""))
		c, err := p.a.Dial(p.t.Context(), qa, l.Addr(), options(""))
		if err != nil {
			t.Fatal(err)
		}
		if r := <-accepting; r.err != nil || qa.attr.PathMTU != ib.MTU1024 || qb.attr.PathMTU != ib.MTU1024 {
			t.Errorf("%v, MTUs %d and %d", r.err, qa.attr.PathMTU, qb.attr.PathMTU)
		}
		_ = c.Disconnect(p.t.Context())
	})
}

// TestSilence: nobody answers.
func TestSilence(t *testing.T) {
	run(t, faults{loss: 1}, func(p *pair) {
		begin := time.Now()
		_, err := p.a.Dial(p.t.Context(), p.qp(), service, options(""))
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || !timeout.Timeout() || timeout.Tries != maxRetries+1 {
			t.Errorf("Dial = %v", err)
		}
		if took := time.Since(begin); took < 40*time.Second || took > 70*time.Second {
			t.Errorf("Dial gave up after %v", took)
		}
		ctx, cancel := context.WithTimeoutCause(p.t.Context(), time.Second, errors.New("no patience"))
		defer cancel()
		if _, err := p.a.Dial(ctx, p.qp(), service, options("")); err == nil ||
			!strings.Contains(err.Error(), "no patience") {
			t.Errorf("Dial with a limit = %v", err)
		}
	})
}

// TestSlowProgram: a program that takes two minutes to accept gets its connection.
func TestSlowProgram(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{})
		defer l.Close()
		qa, qb := p.qp(), p.qp()
		accepted := make(chan outcome, 1)
		go func() {
			r, err := l.Next(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(2 * time.Minute)
			c, err := r.Accept(context.Background(), qb, options(""))
			accepted <- outcome{c, err}
		}()
		c, err := p.a.Dial(p.t.Context(), qa, service, options(""))
		if err != nil {
			t.Fatal(err)
		}
		if r := <-accepted; r.err != nil {
			t.Error(r.err)
		}
		if p.count(mad.AttributeMRA) == 0 || p.count(mad.AttributeREQ) > 5 {
			t.Errorf("%d MRA, %d REQ", p.count(mad.AttributeMRA), p.count(mad.AttributeREQ))
		}
		_ = c.Disconnect(p.t.Context())
	})
}

// TestVanished: a peer vanishes at each step.
func TestVanished(t *testing.T) {
	for _, at := range []mad.Attribute{
		mad.AttributeREQ, mad.AttributeREP, mad.AttributeRTU, mad.AttributeDREQ, mad.AttributeDREP,
	} {
		for _, gone := range []string{addrA, addrB} {
			t.Run(fmt.Sprintf("%#x %s", uint16(at), gone), func(t *testing.T) {
				run(t, faults{}, func(p *pair) {
					p.wire.drop = func(_, _ netip.Addr, m []byte) bool {
						if mad.Attribute(m[17]) == at {
							p.cut[netip.MustParseAddr(gone)] = true
							return true
						}
						return false
					}
					qa, qb := p.qp(), p.qp()
					l := p.listen(provider.ListenOptions{})
					accepting := acceptOne(l, qb, options(""))
					c, err := p.a.Dial(p.t.Context(), qa, service, options(""))
					_ = l.Close()
					r := <-accepting
					switch at {
					case mad.AttributeREQ, mad.AttributeREP:
						if err == nil || r.err == nil {
							t.Errorf("Dial = %v, Accept = %v", err, r.err)
						}
					case mad.AttributeRTU:
						if err != nil || r.err == nil || qb.state != provider.QPStateError {
							t.Errorf("Dial = %v, Accept = %v", err, r.err)
						}
						_ = c.Disconnect(p.t.Context())
					default:
						if err != nil || r.err != nil {
							t.Errorf("Dial = %v, Accept = %v", err, r.err)
						}
						if err := c.Disconnect(p.t.Context()); err != nil {
							t.Error(err)
						}
						_ = r.c.Disconnect(p.t.Context())
					}
				})
			})
		}
	}
}
