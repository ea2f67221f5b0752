package roce_test

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// party is a device with what a connection needs.
type party struct {
	device *verbs.Device
	pd     *verbs.ProtectionDomain
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
}

func newParty(t testing.TB, name string, kind verbs.QPType) *party {
	t.Helper()
	p := &party{}
	var err error
	if p.device, err = verbs.Open(t.Context(), name, roce.Provider{}); err != nil {
		t.Fatal(err)
	}
	if p.pd, err = p.device.AllocatePD(); err != nil {
		t.Fatal(err)
	}
	if p.cq, err = p.device.CreateCQ(verbs.CQConfig{}); err != nil {
		t.Fatal(err)
	}
	if p.qp, err = p.pd.CreateQP(verbs.QPConfig{Type: kind, SendCQ: p.cq, RecvCQ: p.cq}); err != nil {
		t.Fatal(err)
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite}
	if p.mr, err = p.pd.RegisterMemory(make([]byte, 4096), options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, c := range []io.Closer{p.mr, p.qp, p.cq, p.pd, p.device} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// meet connects two parties.
func meet(t *testing.T, a, b *party, ao, bo verbs.ConnectOptions) (dialed, accepted *verbs.Connection) {
	t.Helper()
	l, err := b.device.Listen(limit(t), netip.AddrPort{}, verbs.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		c   *verbs.Connection
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := l.Next(limit(t))
		if err != nil {
			done <- result{nil, err}
			return
		}
		if got := string(r.Options().PrivateData[:len(ao.PrivateData)]); got != string(ao.PrivateData) {
			t.Errorf("private data of the request = %q", got)
		}
		c, err := r.Accept(limit(t), b.qp, bo)
		done <- result{c, err}
	}()
	dialed, err = a.device.Dial(limit(t), a.qp, l.Addr(), ao)
	if err != nil {
		t.Fatal(err)
	}
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return dialed, r.c
}

func TestDial(t *testing.T) {
	for _, addrs := range [][2]string{{"127.0.61.1", "127.0.61.2"}, {"127.0.61.3", "127.0.61.3"}} {
		t.Run(addrs[0]+" "+addrs[1], func(t *testing.T) { testDial(t, addrs[0], addrs[1]) })
	}
}

func testDial(t *testing.T, first, second string) {
	t.Helper()
	a := newParty(t, roce.Prefix+first, verbs.QPTypeRC)
	var b *party
	if first != second {
		b = newParty(t, roce.Prefix+second, verbs.QPTypeRC)
	} else { // the engine with itself
		other := *a
		var err error
		if other.qp, err = a.pd.CreateQP(verbs.QPConfig{SendCQ: a.cq, RecvCQ: a.cq}); err != nil {
			t.Fatal(err)
		}
		options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite}
		if other.mr, err = a.pd.RegisterMemory(make([]byte, 4096), options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = other.qp.Close(), other.mr.Close() })
		b = &other
	}
	access := verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	dialed, accepted := meet(t, a, b, verbs.ConnectOptions{PrivateData: []byte("ping"), Access: access, ReadAtomic: 3},
		verbs.ConnectOptions{PrivateData: []byte("pong"), Access: access, ReadAtomic: 8, DestReadAtomic: 2})
	if got := string(dialed.Options().PrivateData[:4]); got != "pong" {
		t.Errorf("private data of the answer = %q", got)
	}
	ours, err := a.qp.Query()
	if err != nil || ours.MaxReadAtomic != 2 || ours.MaxDestReadAtomic != 3 || ours.State != verbs.QPStateRTS {
		t.Errorf("dialed: %+v, %v", ours, err)
	}
	theirs, err := b.qp.Query()
	if err != nil || theirs.MaxReadAtomic != 3 || theirs.MaxDestReadAtomic != 2 || theirs.State != verbs.QPStateRTS {
		t.Errorf("accepted: %+v, %v", theirs, err)
	}
	receive := verbs.ReceiveRequest{ID: 9, Segments: []verbs.Segment{b.mr.Segment(0, 64)}}
	if _, err := b.qp.PostReceive(receive); err != nil {
		t.Fatal(err)
	}
	copy(a.mr.Bytes(), "over the connection")
	if _, err := a.qp.PostSend(verbs.SendRequest{ID: 1, Segments: []verbs.Segment{a.mr.Segment(0, 64)}}); err != nil {
		t.Fatal(err)
	}
	var wc [1]verbs.WorkCompletion
	if _, err := b.cq.Wait(limit(t), wc[:]); err != nil || wc[0].Status != verbs.WCSuccess || wc[0].ID != 9 {
		t.Fatalf("receive: %+v, %v", wc[0], err)
	}
	if !strings.HasPrefix(string(b.mr.Bytes()), "over the connection") {
		t.Errorf("received %q", b.mr.Bytes()[:64])
	}
	if err := dialed.Disconnect(limit(t)); err != nil {
		t.Fatal(err)
	}
	<-accepted.Done()
	if err := accepted.Err(); !errors.Is(err, io.EOF) {
		t.Errorf("the peer's error = %v, want EOF", err)
	}
	if err := dialed.Err(); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("error after Disconnect = %v, want ErrClosed", err)
	}
	for _, qp := range []*verbs.QueuePair{a.qp, b.qp} {
		if qp.State() != verbs.QPStateError {
			t.Errorf("state after the end = %v", qp.State())
		}
	}
}

func TestNobodyListens(t *testing.T) {
	a := newParty(t, roce.Prefix+"127.0.61.4", verbs.QPTypeRC)
	_ = newParty(t, roce.Prefix+"127.0.61.5", verbs.QPTypeRC)
	_, err := a.device.Dial(limit(t), a.qp, netip.MustParseAddrPort("127.0.61.5:7174"), verbs.ConnectOptions{})
	if !errors.Is(err, verbs.ErrNobodyListens) || !strings.Contains(err.Error(), "nobody listens on port 7174") {
		t.Errorf("Dial = %v", err)
	}
}

// TestDatagrams looks up a datagram service and sends to it.
func TestDatagrams(t *testing.T) {
	a := newParty(t, roce.Prefix+"127.0.61.6", verbs.QPTypeUD)
	b := newParty(t, roce.Prefix+"127.0.61.7", verbs.QPTypeUD)
	l, err := b.device.Listen(limit(t), netip.AddrPort{}, verbs.ListenOptions{PortSpace: verbs.PortSpaceUDP})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		r, err := l.Next(limit(t))
		if err == nil {
			_, err = r.Accept(limit(t), b.qp, verbs.ConnectOptions{})
		}
		done <- err
	}()
	c, err := a.device.Dial(limit(t), a.qp, l.Addr(), verbs.ConnectOptions{})
	if err = errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	peer, ok := c.Datagram()
	if !ok {
		t.Fatal("the lookup has found no queue pair")
	}
	ah, err := a.pd.CreateAddressHandle(1, peer.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer ah.Close()
	receive := verbs.ReceiveRequest{ID: 5, Segments: []verbs.Segment{b.mr.Segment(0, 128)}}
	if _, err := b.qp.PostReceive(receive); err != nil {
		t.Fatal(err)
	}
	_, err = a.qp.PostSend(verbs.SendRequest{
		ID: 1, Segments: []verbs.Segment{a.mr.Segment(0, 64)}, To: ah.To(peer.QPN, peer.QKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	var wc [1]verbs.WorkCompletion
	if _, err := b.cq.Wait(limit(t), wc[:]); err != nil || wc[0].Status != verbs.WCSuccess ||
		wc[0].SourceQPN != a.qp.QPN() {
		t.Errorf("receive: %+v, %v", wc[0], err)
	}
	if err := c.Disconnect(limit(t)); err != nil {
		t.Error(err)
	}
}
