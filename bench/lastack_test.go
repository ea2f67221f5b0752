package bench_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ackLoss is a provider whose devices lose the acknowledgements for which lost reports true.
type ackLoss struct {
	network *packetnet.Network
	lost    func(psn uint32, again int) bool // again counts the copies of a packet from 0
	start   *startPSN
}

// startPSN is the PSN of the first request that a device sent. It can't be taken from the first
// acknowledgement, which may be for several requests.
type startPSN struct {
	mu  sync.Mutex
	set bool
	psn uint32
}

func (s *startPSN) request(psn uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.set {
		s.set, s.psn = true, psn
	}
}

// is reports whether psn is that of request n.
func (s *startPSN) is(psn, n uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set && psn == (s.psn+n)&0xffffff
}

func (ackLoss) Name() string { return "ackloss" }

func (ackLoss) Devices(context.Context) ([]provider.DeviceInfo, error) { return nil, nil }

func (a ackLoss) Open(_ context.Context, name string) (provider.Device, error) {
	addr := netip.MustParseAddr(name)
	conn, err := a.network.Listen(netip.AddrPortFrom(addr, 4791))
	if err != nil {
		return nil, err
	}
	return roce.New(roce.Config{
		Name: name, Addr: addr, MTU: ib.MTU4096,
		Conn: &ackLossConn{PacketConn: conn, ackLoss: a, seen: map[uint32]int{}},
	})
}

type ackLossConn struct {
	roce.PacketConn
	ackLoss
	mu   sync.Mutex
	seen map[uint32]int
}

const opcodeAcknowledge = 17 // RC; BTH byte 0

func (c *ackLossConn) Write(entries []udpio.Outbound) ([]udpio.Outbound, error) {
	c.mu.Lock()
	kept := slices.DeleteFunc(datagrams(entries), func(e udpio.Outbound) bool {
		psn := binary.BigEndian.Uint32(e.Data[8:12]) & 0xffffff
		if e.Data[0] != opcodeAcknowledge {
			c.start.request(psn)
			return false
		}
		c.seen[psn]++
		return c.lost(psn, c.seen[psn]-1)
	})
	c.mu.Unlock()
	return c.PacketConn.Write(kept)
}

// datagrams returns entries with one datagram each: the engine merges an acknowledgement with the
// request before it.
func datagrams(entries []udpio.Outbound) []udpio.Outbound {
	var all []udpio.Outbound
	for _, e := range entries {
		data, segment := e.Data, cmp.Or(e.Segment, len(e.Data))
		e.Segment = 0
		for e.Data = range slices.Chunk(data, segment) {
			all = append(all, e)
		}
	}
	return all
}

// openLossy opens a device that loses acknowledgements and notes its first request.
func openLossy(
	t *testing.T, n *packetnet.Network, name string, lost func(uint32, int) bool,
) (*verbs.Device, *startPSN) {
	t.Helper()
	start := new(startPSN)
	d, err := verbs.Open(t.Context(), name, ackLoss{n, lost, start})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, start
}

// TestLastAcknowledgement loses acknowledgements of a test that ends without a handshake: an end
// that has finished must still repeat them, and a peer that never gets the last one must not fail,
// because the other end has everything.
func TestLastAcknowledgement(t *testing.T) {
	const iterations = 5
	var ofClient, ofServer *startPSN
	lastOf := func(start **startPSN) func(uint32, int) bool {
		return func(psn uint32, _ int) bool { return (*start).is(psn, iterations-1) }
	}
	none := func(uint32, int) bool { return false }
	once := func(_ uint32, again int) bool { return again == 0 }
	for _, tt := range []struct {
		name           string
		client, server func(uint32, int) bool
	}{
		{"each of both ends once", once, once},
		{"the server's last always", none, lastOf(&ofClient)},
		{"the client's last always", lastOf(&ofServer), none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			network := packetnet.New(packetnet.Faults{})
			client, first := openLossy(t, network, "10.0.0.1", tt.client)
			ofClient = first
			server, first := openLossy(t, network, "10.0.0.2", tt.server)
			ofServer = first
			began := time.Now()
			const code = 11 // 8 ms
			cfg := bench.Config{Test: bench.WriteLat, Size: 64, Iterations: iterations, Timeout: code}
			a, b := bothWithExit(t, client, server, cfg)
			if a.Unacknowledged != (tt.name == "the server's last always") ||
				b.Unacknowledged != (tt.name == "the client's last always") {
				t.Errorf("unacknowledged: client %v, server %v", a.Unacknowledged, b.Unacknowledged)
			}
			if len(a.Latency) != 1 || a.Latency[0].Iterations != iterations || len(b.Latency) != 1 {
				t.Errorf("results = %+v and %+v", a.Latency, b.Latency)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestLastAcknowledgementOfAPeerThatStays doesn't take a peer that is still connected for one that
// has finished.
func TestLastAcknowledgementOfAPeerThatStays(t *testing.T) {
	const iterations = 5
	network := packetnet.New(packetnet.Faults{})
	client, first := openLossy(t, network, "10.0.0.1", func(uint32, int) bool { return false })
	server, _ := openLossy(t, network, "10.0.0.2", func(psn uint32, _ int) bool {
		return first.is(psn, iterations-1)
	})
	one, two := net.Pipe() // has no CloseWrite
	cfg := bench.Config{Test: bench.WriteLat, Size: 64, Iterations: iterations, Timeout: 11}
	done := make(chan struct{})
	own := cfg
	own.Role = perftest.RoleServer
	go func() {
		defer close(done)
		_, _ = bench.Run(t.Context(), server, two, own)
	}()
	cfg.Role = perftest.RoleClient
	_, err := bench.Run(t.Context(), client, one, cfg)
	failed, ok := errors.AsType[*verbs.CompletionError](err)
	if !ok || failed.Status != verbs.WCRetryExceeded {
		t.Errorf("the client's error = %v, want that its last message was never acknowledged", err)
	}
	_ = one.Close()
	<-done
	_ = two.Close()
}

// bothWithExit is like both, but each end closes its connection and device as soon as it has
// finished, as a program that exits.
func bothWithExit(t *testing.T, client, server *verbs.Device, cfg bench.Config) (ofClient, ofServer bench.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	end := func(d *verbs.Device, conn net.Conn, role perftest.Role, result *bench.Result) error {
		own := cfg
		own.Role = role
		var err error
		*result, err = bench.Run(ctx, d, conn, own)
		_ = d.Close()
		_ = conn.Close()
		return err
	}
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = end(server, conn, perftest.RoleServer, &ofServer)
		}
		done <- err
	}()
	//nolint:errcheck,forcetypeassert // a TCP listener has no other
	conn, err := bench.Dial(ctx, "127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(client, conn, perftest.RoleClient, &ofClient); err != nil {
		t.Errorf("client: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("server: %v", err)
	}
	return ofClient, ofServer
}
