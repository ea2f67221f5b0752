package cm

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestLookup looks up a datagram service over a network that loses and repeats.
func TestLookup(t *testing.T) {
	for _, f := range []faults{{}, {loss: 0.4, duplicate: 0.4, jitter: 400 * time.Millisecond}} {
		run(t, f, func(p *pair) {
			l := p.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP})
			qa, qb := p.ud(), p.ud()
			accepting := make(chan outcome, 1)
			go func() {
				r, err := l.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				o := r.Options()
				if !strings.HasPrefix(string(o.PrivateData), "who\x00") || o.PortSpace != provider.PortSpaceUDP ||
					r.Remote().Addr() != p.a.addr || r.Local() != service {
					t.Errorf("lookup from %v to %v with %+v", r.Remote(), r.Local(), o)
				}
				if _, err := r.Accept(context.Background(), p.qp(), options("")); err == nil {
					t.Error("Accept of type RC succeeded")
				}
				c, err := r.Accept(context.Background(), qb, options("me"))
				accepting <- outcome{c, err}
				if _, err := r.Accept(context.Background(), qb, options("me")); !errors.Is(err, errAnswered) {
					t.Errorf("second answer: %v", err)
				}
			}()
			c, err := p.a.Dial(p.t.Context(), qa, service, options("who"))
			if err != nil {
				t.Fatal(err)
			}
			peer, ok := c.Datagram()
			if !ok || peer.QPN != qb.qpn || peer.QKey != provider.QKeyDatagrams || peer.Path.TrafficClass != 104 ||
				peer.Path.DGID != ib.GIDFromAddr(p.b.addr) || !strings.HasPrefix(string(c.Options().PrivateData),
				"me\x00") {
				t.Errorf("Datagram = %+v, %t, options %+v", peer, ok, c.Options())
			}
			if qa.state != provider.QPStateRTS || qb.state != provider.QPStateRTS ||
				qa.attr.QKey != provider.QKeyDatagrams {
				t.Errorf("states %v and %v, Q_Key %#x", qa.state, qb.state, qa.attr.QKey)
			}
			r := <-accepting
			if r.err != nil {
				t.Fatal(r.err)
			}
			if _, ok := r.c.Datagram(); ok || r.c.Remote() != c.Local() || c.Remote() != service ||
				r.c.Local() != service {
				t.Errorf("%v to %v, accepted from %v", c.Local(), c.Remote(), r.c.Remote())
			}
			// A second lookup of the same queue pair, which is in RTS now.
			again := acceptOne(l, qb, options(""))
			if _, err := p.a.Dial(p.t.Context(), qa, service, options("")); err != nil {
				t.Error(err)
			}
			if r := <-again; r.err != nil {
				t.Error(r.err)
			}
			if c.Err() != nil || c.Disconnect(p.t.Context()) != nil || !errors.Is(c.Err(), provider.ErrClosed) ||
				qa.state != provider.QPStateRTS {
				t.Errorf("after Disconnect: %v, state %v", c.Err(), qa.state)
			}
			<-c.Done()
			_ = l.Close()
		})
	}
}

// TestLookupRefused checks the reasons.
func TestLookupRefused(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		_, err := p.a.Dial(p.t.Context(), p.ud(), service, options(""))
		if !errors.Is(err, provider.ErrNobodyListens) || !strings.Contains(err.Error(),
			"nobody listens on port 7174 of port space UDP at 10.0.0.2 (service ID not supported)") {
			t.Errorf("nobody listens: %v", err)
		}
		_, err = p.a.Dial(p.t.Context(), p.ud(), service, options(strings.Repeat("x", maxSIDRPrivate+1)))
		if err == nil || !strings.Contains(err.Error(), "181 bytes of private data, and a request has at most 180") {
			t.Errorf("private data: %v", err)
		}
		l := p.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP})
		go func() {
			r := nextRequest(p.t, l)
			if _, err := r.Accept(context.Background(), p.ud(), options(strings.Repeat("x", 137))); err == nil {
				t.Error("137 bytes of private data in an answer are accepted")
			}
			if err := r.Reject([]byte("busy")); err != nil {
				t.Error(err)
			}
		}()
		_, err = p.a.Dial(p.t.Context(), p.ud(), service, options(""))
		var rejected *provider.RejectedError
		if !errors.As(err, &rejected) || string(rejected.PrivateData[:5]) != "busy\x00" || rejected.NobodyListens {
			t.Errorf("rejected: %v", err)
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		if _, err := p.a.Dial(ctx, p.ud(), service, options("")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no answer of the program: %v", err)
		}
		_ = l.Close()
		p.mu.Lock()
		p.loss = 1
		p.mu.Unlock()
		_, err = p.a.Dial(p.t.Context(), p.ud(), service, options(""))
		var timeout *TimeoutError
		if !errors.As(err, &timeout) || timeout.Tries != maxRetries+1 {
			t.Errorf("silence: %v", err)
		}
	})
}

// TestLookupSpoofed: lookups whose addresses don't fit, or of another version.
func TestLookupSpoofed(t *testing.T) {
	run(t, faults{}, func(p *pair) {
		l := p.listen(provider.ListenOptions{PortSpace: provider.PortSpaceUDP})
		defer l.Close()
		var got []mad.SIDRStatus
		p.tap = func(_, _ netip.Addr, m []byte) {
			var rep mad.SIDRREP
			if _, _ = rep.Decode(m); rep.AttributeID == mad.AttributeSIDRREP {
				got = append(got, rep.Status)
			}
		}
		for _, change := range []func(*mad.SIDRREQ){
			func(m *mad.SIDRREQ) { m.ClassVersion = 1 }, func(m *mad.SIDRREQ) { m.PrivateData[1] = 0 },
			func(m *mad.SIDRREQ) { m.PrivateData[19]++ }, func(m *mad.SIDRREQ) { m.PrivateData[35]++ },
		} {
			m := mad.SIDRREQ{Header: mad.NewCM(mad.AttributeSIDRREQ, 1), ServiceID: mad.IPService(0x0111, 7174)}
			h := mad.NewCMAHeader(netip.AddrPortFrom(p.a.addr, 1), p.b.addr)
			h.Append(m.PrivateData[:0])
			change(&m)
			p.b.Receive(p.a.addr, m.Append(nil))
		}
		want := []mad.SIDRStatus{5, 2, 2, 2}
		if len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
			t.Errorf("statuses %v, want %v", got, want)
		}
	})
}
