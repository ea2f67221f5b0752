package examples_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// peer is one end of a connection, for the causes of each status in docs/verbs.md.
type peer struct {
	device *verbs.Device
	pd     *verbs.ProtectionDomain
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
}

const everything = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead

func newPeer(t *testing.T, name string) *peer {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var p peer
	var err error
	p.device, err = verbs.Open(t.Context(), name, builtin.All()...)
	must(err)
	p.pd, err = p.device.AllocatePD()
	must(err)
	p.cq, err = p.device.CreateCQ(verbs.CQConfig{})
	must(err)
	p.qp, err = p.pd.CreateQP(verbs.QPConfig{SendCQ: p.cq, RecvCQ: p.cq})
	must(err)
	p.mr, err = p.pd.RegisterMemory(make([]byte, 20_000), verbs.MemoryOptions{Access: everything})
	must(err)
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{p.qp, p.mr, p.cq, p.pd, p.device} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return &p
}

func (p *peer) connect(t *testing.T, other *peer, mtu ib.MTU, access verbs.Access) {
	t.Helper()
	gid, err := other.device.GID(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	const psn = 77
	remote := verbs.Remote{QPN: other.qp.QPN(), PSN: psn, GID: gid}
	if err := p.qp.Connect(
		verbs.ConnectConfig{Remote: remote, PSN: psn, MTU: mtu, Access: access, Timeout: 10}); err != nil {
		t.Fatal(err)
	}
}

func (p *peer) receive(t *testing.T, length int) {
	t.Helper()
	if _, err := p.qp.PostReceive(
		verbs.ReceiveRequest{ID: 2, Segments: []verbs.Segment{p.mr.Segment(0, length)}}); err != nil {
		t.Fatal(err)
	}
}

// statuses returns the statuses of the next n completions.
func (p *peer) statuses(t *testing.T, n int) (got []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var wcs [1]verbs.WorkCompletion
	for len(got) < n {
		if _, err := p.cq.Wait(ctx, wcs[:]); err != nil {
			t.Fatalf("%v after %q", err, got)
		}
		got = append(got, fmt.Sprintf("%d: %v", wcs[0].ID, wcs[0].Status))
	}
	return got
}

// TestVerbsPageCauses reproduces the causes that the page gives for each status, as far as the
// engine supports them.
func TestVerbsPageCauses(t *testing.T) {
	tests := []struct {
		name       string
		mtu        ib.MTU       // of b; a has 1024
		access     verbs.Access // of b's queue pair
		op         verbs.SendOp
		length     int
		change     func(t *testing.T, b *peer, wr *verbs.SendRequest)
		onA, wantB []string
	}{
		{
			"message too long", 1024, everything, verbs.SendOpSend, 101,
			func(t *testing.T, b *peer, _ *verbs.SendRequest) {
				t.Helper()
				b.receive(t, 100)
			},
			[]string{"1: remote invalid request"},
			[]string{"2: local length error"},
		},
		{
			"MTU too small here, WRITE", 4096, everything, verbs.SendOpWrite, 5000, nil,
			[]string{"1: remote invalid request"},
			nil,
		},
		{"MTU differs, READ", 4096, everything, verbs.SendOpRead, 5000, nil, []string{"1: bad response"}, nil},
		{
			"wrong key", 1024, everything, verbs.SendOpWrite, 10,
			func(_ *testing.T, _ *peer, wr *verbs.SendRequest) { wr.RKey++ },
			[]string{"1: remote access error"},
			nil,
		},
		{"old key", 1024, everything, verbs.SendOpRead, 10, func(t *testing.T, b *peer, _ *verbs.SendRequest) {
			t.Helper()
			if err := b.mr.Close(); err != nil {
				t.Error(err)
			}
		}, []string{"1: remote access error"}, nil},
		{"beyond the end", 1024, everything, verbs.SendOpRead, 10, func(_ *testing.T, _ *peer, wr *verbs.SendRequest) {
			wr.RemoteAddr += 20_000 - 9
		}, []string{"1: remote access error"}, nil},
		{
			"queue pair without access", 1024, verbs.AccessRemoteWrite, verbs.SendOpRead, 10, nil,
			[]string{"1: remote invalid request"},
			nil,
		},
		{
			"region without access", 1024, everything, verbs.SendOpWrite, 10,
			func(t *testing.T, b *peer, wr *verbs.SendRequest) {
				t.Helper()
				mr, err := b.pd.RegisterMemory(make([]byte, 100), verbs.MemoryOptions{Access: verbs.AccessRemoteRead})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = mr.Close() })
				wr.RemoteAddr, wr.RKey = mr.Addr(), mr.RKey()
			},
			[]string{"1: remote access error"},
			nil,
		},
		{
			"another protection domain", 1024, everything, verbs.SendOpWrite, 10,
			func(t *testing.T, b *peer, wr *verbs.SendRequest) {
				t.Helper()
				pd, err := b.device.AllocatePD()
				if err != nil {
					t.Fatal(err)
				}
				mr, err := pd.RegisterMemory(make([]byte, 100), verbs.MemoryOptions{Access: everything})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = errors.Join(mr.Close(), pd.Close()) })
				wr.RemoteAddr, wr.RKey = mr.Addr(), mr.RKey()
			},
			[]string{"1: remote access error"},
			nil,
		},
		{
			"region closed under a receive request",
			1024, everything, verbs.SendOpSend, 10, func(t *testing.T, b *peer, _ *verbs.SendRequest) {
				t.Helper()
				b.receive(t, 100)
				if err := b.mr.Close(); err != nil {
					t.Error(err)
				}
			},
			[]string{"1: remote operation error"},
			[]string{"2: local protection error"},
		},
		{"peer gone", 1024, everything, verbs.SendOpWrite, 10, func(t *testing.T, b *peer, _ *verbs.SendRequest) {
			t.Helper()
			if err := b.qp.Close(); err != nil {
				t.Error(err)
			}
		}, []string{"1: transport retry counter exceeded"}, nil},
		{"all well", 1024, everything, verbs.SendOpWrite, 5000, nil, []string{"1: success"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := newPeer(t, "roce@127.0.45.1"), newPeer(t, "roce@127.0.45.2")
			a.connect(t, b, ib.MTU1024, everything)
			b.connect(t, a, tt.mtu, tt.access)
			wr := verbs.SendRequest{
				ID: 1, Op: tt.op, Flags: verbs.SendSignaled, Segments: []verbs.Segment{a.mr.Segment(0, tt.length)},
				RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
			}
			if tt.change != nil {
				tt.change(t, b, &wr)
			}
			if _, err := a.qp.PostSend(wr); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.onA, a.statuses(t, len(tt.onA))); diff != "" {
				t.Errorf("at the sender (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantB, b.statuses(t, len(tt.wantB))); diff != "" {
				t.Errorf("at the receiver (-want +got):\n%s", diff)
			}
		})
	}
}

// TestVerbsPageGaps fails if a feature exists that the page describes as missing.
func TestVerbsPageGaps(t *testing.T) {
	a, b := newPeer(t, "roce@127.0.45.1"), newPeer(t, "roce@127.0.45.2")
	a.connect(t, b, 0, everything)
	for _, op := range []verbs.SendOp{
		verbs.SendOpSendInvalidate, verbs.SendOpLocalInvalidate, verbs.SendOpBindWindow,
	} {
		if _, err := a.qp.PostSend(verbs.SendRequest{Op: op}); !errors.Is(err, verbs.ErrNotSupported) {
			t.Errorf("PostSend(%v) = %v, want %v: update the page", op, err, verbs.ErrNotSupported)
		}
	}
	if _, err := a.pd.RegisterDMABuf(0, 0, 4096, verbs.MemoryOptions{}); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("RegisterDMABuf = %v, want %v: update the page", err, verbs.ErrNotSupported)
	}
	for _, tt := range []struct{ netdev, path int }{{1500, 1024}, {4191, 2048}, {4192, 4096}} {
		if got := ib.MTUFromNetdev(tt.netdev); int(got) != tt.path {
			t.Errorf("MTUFromNetdev(%d) = %d, want %d: update the page", tt.netdev, got, tt.path)
		}
	}
}
