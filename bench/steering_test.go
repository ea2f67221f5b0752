package bench_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// noted is a provider that notes what its queue pairs are made with and modified to.
type noted struct {
	roce.Provider
	mu    sync.Mutex
	types []provider.QPType
	attrs []provider.QPAttributes
}

func (n *noted) Open(ctx context.Context, name string) (provider.Device, error) {
	d, err := n.Provider.Open(ctx, name)
	return notedDevice{d, n}, err
}

type notedDevice struct {
	provider.Device
	notes *noted
}

func (d notedDevice) AllocatePD() (provider.ProtectionDomain, error) {
	pd, err := d.Device.AllocatePD()
	return notedDomain{pd, d.notes}, err
}

type notedDomain struct {
	provider.ProtectionDomain
	notes *noted
}

func (d notedDomain) CreateQP(cfg provider.QPConfig) (provider.QueuePair, error) {
	d.notes.mu.Lock()
	d.notes.types = append(d.notes.types, cfg.Type)
	d.notes.mu.Unlock()
	qp, err := d.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return notedQP{qp, d.notes}, nil
}

type notedQP struct {
	provider.QueuePair
	notes *noted
}

func (qp notedQP) Modify(attr provider.QPAttributes) error {
	qp.notes.mu.Lock()
	qp.notes.attrs = append(qp.notes.attrs, attr)
	qp.notes.mu.Unlock()
	return qp.QueuePair.Modify(attr)
}

// told returns the values of one attribute that queue pairs were modified to.
func told[T any](n *noted, mask provider.QPMask, value func(provider.QPAttributes) T) []T {
	var out []T
	for _, a := range n.attrs {
		if a.Mask&mask != 0 {
			out = append(out, value(a))
		}
	}
	return out
}

// TestQPSettingsArrive looks at the queue pairs of all tests: what the configuration says of
// timeout, MTU and port is what they are modified to.
func TestQPSettingsArrive(t *testing.T) {
	server := open(t, "127.0.1.4")
	for i, tt := range []struct {
		timeout uint8
		mtu     ib.MTU
		want    uint8
		wantMTU ib.MTU
	}{
		{0, 0, 14, ib.MTU4096},
		{15, ib.MTU256, 15, ib.MTU256}, // codes below 10 are shorter than what a busy machine takes to answer
		{18, ib.MTU512, 18, ib.MTU512},
		{31, ib.MTU1024, 31, ib.MTU1024},
		{verbs.TimeoutInfinite, ib.MTU2048, 0, ib.MTU2048},
	} {
		for _, test := range bench.Tests() {
			if test == bench.WriteLat && i > 0 {
				continue // its server stays for two seconds
			}
			n := &noted{}
			client, err := verbs.Open(t.Context(), fmt.Sprintf("roce@127.0.1.%d", 10+i), n)
			if err != nil {
				t.Fatal(err)
			}
			cfg := bench.Config{Test: test, Size: 64, Iterations: 5, Timeout: tt.timeout, MTU: tt.mtu, Port: 1}
			_, atPeer := both(t, client, server, cfg)
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			timeouts := told(n, provider.QPAttrTimeout, func(a provider.QPAttributes) uint8 { return a.Timeout })
			if want := []uint8{tt.want}; !slices.Equal(timeouts, want) {
				t.Errorf("%v with Timeout %d: the queue pair's timeout is set to %v, want %v", test, tt.timeout,
					timeouts, want)
			}
			mtus := told(n, provider.QPAttrPathMTU, func(a provider.QPAttributes) ib.MTU { return a.PathMTU })
			if want := []ib.MTU{tt.wantMTU}; !slices.Equal(mtus, want) || atPeer.MTU != tt.wantMTU {
				t.Errorf("%v with MTU %d: the queue pair's is set to %v, the peer's to %d, want %v", test, tt.mtu, mtus,
					atPeer.MTU, want)
			}
			ports := told(n, provider.QPAttrPort, func(a provider.QPAttributes) int { return a.Port })
			if want := []int{1, 1}; !slices.Equal(ports, want) { // by the test, and once more by Connect
				t.Errorf("%v: the queue pair's port is set to %v, want %v", test, ports, want)
			}
			if want := []provider.QPType{provider.QPTypeRC}; !slices.Equal(n.types, want) {
				t.Errorf("%v: queue pairs of the types %v, want %v", test, n.types, want)
			}
		}
	}
}

// TestQPTypeArrives checks that the queue pair is made with the requested type, before a peer is
// asked, or what is said against the type.
func TestQPTypeArrives(t *testing.T) {
	n := &noted{}
	d, err := verbs.Open(t.Context(), "roce@127.0.1.20", n)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		test bench.Test
		qp   verbs.QPType
		want string // what Check says; empty: nothing
	}{
		{bench.ReadLat, verbs.QPTypeRC, ""},
		{bench.WriteBW, verbs.QPTypeUC, ""},
		{bench.SendLat, verbs.QPTypeUC, ""},
		{bench.SendLat, verbs.QPTypeUD, ""},
		{bench.ReadBW, verbs.QPTypeUC, "queue pair type UC has no RDMA READ: RC only"},
		{bench.WriteLat, verbs.QPTypeUD, "queue pair type UD has no RDMA WRITE: RC and UC only"},
	} {
		n.types = nil
		err := bench.Check(t.Context(), d, bench.Config{Test: tt.test, QPType: tt.qp})
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("Check(%v, %v) = %v, want %q", tt.test, tt.qp, err, tt.want)
		case strings.Contains(tt.want, "has no"), errors.Is(err, verbs.ErrNotSupported):
		case len(n.types) == 0 || n.types[0] != tt.qp:
			t.Errorf("Check(%v, %v) makes queue pairs of the types %v", tt.test, tt.qp, n.types)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
