package connect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// planted is a provider of engines with faults on a simulated network.
type planted struct {
	network *packetnet.Network
	filter  func(e udpio.Outbound) error // per datagram: errLost drops it, another error rejects it
	gids    []provider.GIDEntry          // instead of the engine's
	port    func(*provider.PortAttributes)
	locked  bool             // memory can't be pinned
	rejects provider.QPState // the device rejects this state
}

var errLost = errors.New("lost")

func (planted) Name() string                                           { return "planted" }
func (planted) Devices(context.Context) ([]provider.DeviceInfo, error) { return nil, nil }

func (p planted) Open(_ context.Context, name string) (provider.Device, error) {
	addr := netip.MustParseAddr(strings.TrimPrefix(name, roce.Prefix))
	conn, err := p.network.Listen(netip.AddrPortFrom(addr, 4791))
	if err != nil {
		return nil, err
	}
	e, err := roce.New(roce.Config{Name: name, Addr: addr, MTU: ib.MTU4096, Conn: &plantedConn{conn, p.filter}})
	if err != nil {
		return nil, err
	}
	return &plantedDevice{e, p}, nil
}

type plantedDevice struct {
	*roce.Engine
	faults planted
}

func (d *plantedDevice) GIDs(ctx context.Context, port int) ([]provider.GIDEntry, error) {
	if d.faults.gids != nil {
		return d.faults.gids, nil
	}
	return d.Engine.GIDs(ctx, port)
}

func (d *plantedDevice) Port(ctx context.Context, number int) (provider.PortAttributes, error) {
	a, err := d.Engine.Port(ctx, number)
	if d.faults.port != nil {
		d.faults.port(&a)
	}
	return a, err
}

func (d *plantedDevice) AllocatePD() (provider.ProtectionDomain, error) {
	pd, err := d.Engine.AllocatePD()
	if d.faults.locked {
		pd = lockedDomain{pd}
	}
	if d.faults.rejects != 0 {
		pd = rejectingDomain{pd, d.faults.rejects}
	}
	return pd, err
}

// rejectingDomain creates queue pairs that can't reach a state.
type rejectingDomain struct {
	provider.ProtectionDomain
	state provider.QPState
}

func (d rejectingDomain) CreateQP(cfg provider.QPConfig) (provider.QueuePair, error) {
	qp, err := d.ProtectionDomain.CreateQP(cfg)
	return rejectingQP{qp, d.state}, err
}

type rejectingQP struct {
	provider.QueuePair
	state provider.QPState
}

func (q rejectingQP) Modify(attr provider.QPAttributes) error {
	if attr.State == q.state {
		return fmt.Errorf("modify qp %v to %v: %w", q.QPN(), q.state, syscall.EINVAL)
	}
	return q.QueuePair.Modify(attr)
}

type lockedDomain struct{ provider.ProtectionDomain }

// limitError is an error of libibverbs: it has a hint.
type limitError struct{ error }

func (limitError) Hints() []string { return []string{"ulimit -l unlimited"} }
func (e limitError) Unwrap() error { return e.error }

func (lockedDomain) RegisterMemory([]byte, provider.MemoryOptions) (provider.MemoryRegion, error) {
	return nil, limitError{fmt.Errorf("register memory on card0: %w", syscall.ENOMEM)}
}

type plantedConn struct {
	roce.PacketConn
	filter func(udpio.Outbound) error
}

func (c *plantedConn) Write(entries []udpio.Outbound) ([]udpio.Outbound, error) {
	if c.filter == nil {
		return c.PacketConn.Write(entries)
	}
	var kept []udpio.Outbound
	for _, e := range entries {
		data, segment := e.Data, cmp.Or(e.Segment, len(e.Data))
		e.Segment = 0
		for e.Data = range slices.Chunk(data, segment) {
			switch err := c.filter(e); {
			case err == nil:
				kept = append(kept, e)
			case !errors.Is(err, errLost):
				return nil, err
			}
		}
	}
	return c.PacketConn.Write(kept)
}

// plantedPort is a port of an engine with faults.
func plantedPort(name string, p planted) Port {
	return Port{Name: name, Software: true, Open: func(ctx context.Context) (*verbs.Device, error) {
		return verbs.Open(ctx, name, p)
	}}
}

const (
	clientName   = "roce@192.0.2.1"
	listenerName = "roce@192.0.2.2"
	clientEnd    = "node1 " + clientName
	listenerEnd  = "node2 " + listenerName
)

// plantedCase is a run between two engines with faults.
type plantedCase struct {
	name             string
	client, listener planted
	change           func(client, listener *Config)
	ports            func(client, listener *Port)
	cut              [2]bool // packets from the client, from the listener
	code             Code
	stage            Stage
	end              string   // who finds it
	cause            string   // part of the cause
	observed         []string // parts of the observations
	remedy           string   // part of a remedy
}

// fast makes repetitions fail within milliseconds.
func fast(client, listener *Config) { client.Timeout, listener.Timeout = 10, 10 }

func gid(addr string, t provider.GIDType) []provider.GIDEntry {
	return []provider.GIDEntry{{Index: 3, GID: ib.GIDFromAddr(netip.MustParseAddr(addr)), Type: t}}
}

func plantedCases() []plantedCase {
	rejects := func(errno syscall.Errno) func(udpio.Outbound) error {
		return func(udpio.Outbound) error { return errno }
	}
	return []plantedCase{
		{
			name: "no GID", client: planted{gids: []provider.GIDEntry{}},
			code: CodeNoGID, stage: StageResolve, end: clientEnd, cause: "the GID table is empty",
			remedy: "ip addr add",
			change: func(c, s *Config) { c.AllowTCP, s.AllowTCP = true, true },
		},
		{
			name: "only link-local GIDs", listener: planted{gids: gid("fe80::1", provider.GIDTypeRoCEv2)},
			code: CodeNoGID, stage: StageResolve, end: listenerEnd, cause: "only link-local addresses",
			change: func(c, s *Config) { c.AllowTCP, s.AllowTCP = true, true },
		},
		{
			name: "GID families", listener: planted{gids: gid("2001:db8::2", provider.GIDTypeRoCEv2)},
			code: CodeGIDFamily, stage: StageExchange, end: clientEnd,
			cause: "their address families differ: " + clientEnd + " has RoCE v2 over IPv4 (192.0.2.1 at index 0), " +
				listenerEnd + " has RoCE v2 over IPv6 (2001:db8::2 at index 3)",
			remedy: "addresses of the same family",
		},
		{
			name: "GID types", client: planted{gids: gid("192.0.2.1", provider.GIDTypeRoCEv1)},
			code: CodeGIDType, stage: StageExchange, end: clientEnd, cause: "their types differ",
			remedy: "RoCE v2 at both ends",
		},
		{
			name: "link layers", listener: planted{port: func(a *provider.PortAttributes) {
				a.LinkLayer = provider.LinkLayerInfiniBand
			}},
			code: CodeLinkLayer, stage: StageExchange, end: clientEnd,
			cause: clientEnd + " is Ethernet, " + listenerEnd + " is InfiniBand",
		},
		{
			name: "P_Keys", ports: func(_, l *Port) { l.PKey = 0x8001 },
			code: CodePKey, stage: StageExchange, end: clientEnd,
			cause: clientEnd + " has 0xffff, " + listenerEnd + " has 0x8001", remedy: "partitions.conf",
		},
		{
			name: "limited members", ports: func(c, l *Port) { c.PKey, l.PKey = 0x7fff, 0x7fff },
			code: CodePKey, stage: StageExchange, end: clientEnd, cause: "both ends are limited members",
		},
		{
			name:     "port down",
			listener: planted{port: func(a *provider.PortAttributes) { a.State = provider.PortStateInit }},
			code:     CodePortDown, stage: StageOpen, end: listenerEnd,
			cause: "the port is INIT, not ACTIVE", remedy: "subnet manager",
			change: func(c, s *Config) { c.AllowTCP, s.AllowTCP = true, true },
		},
		{
			name: "memlock", listener: planted{locked: true},
			code: CodeMemlock, stage: StageRegister, end: listenerEnd,
			cause: "cannot allocate memory", remedy: "ulimit -l",
			change: func(c, s *Config) { c.AllowTCP, s.AllowTCP = true, true },
		},
		{
			name: "no route", change: func(c, _ *Config) {
				c.Route = func(context.Context, netip.Addr, netip.Addr) error { return syscall.ENETUNREACH }
			},
			code: CodeNoRoute, stage: StageResolve, end: clientEnd, cause: "network is unreachable",
			remedy: "ip route get 192.0.2.2 from 192.0.2.1",
		},
		{
			name: "UDP filtered", change: fast, cut: [2]bool{true, true},
			code: CodeUnacknowledged, stage: StageFirstSend, end: clientEnd,
			cause: "no acknowledgement from the peer: sent 8 times",
			observed: []string{
				"the TCP connection to the peer works", "no message of " + clientEnd + " has arrived at " + listenerEnd,
				"timeouts",
			},
			remedy: "allow UDP port 4791",
		},
		{
			name: "UDP filtered on the way back", change: fast, cut: [2]bool{false, true},
			code: CodeUnacknowledged, stage: StageFirstSend,
			observed: []string{"packets are lost in the direction from " + listenerEnd + " to " + clientEnd},
		},
		{
			name: "firewall of this machine", change: fast, client: planted{filter: rejects(syscall.EPERM)},
			code: CodeBlockedHere, stage: StageFirstSend, end: clientEnd,
			cause: "a firewall of node1 drops UDP port 4791", remedy: "OUTPUT",
		},
		{
			name: "route vanished", change: fast, client: planted{filter: rejects(syscall.ENETUNREACH)},
			code: CodeNoRoute, stage: StageFirstSend, end: clientEnd, cause: "no route leads to the peer",
		},
		{
			name: "RNR", change: func(_, s *Config) { s.plant.noReceives = true },
			code: CodeRNR, stage: StageFirstSend, end: clientEnd, cause: "no receive request (RNR)",
			remedy: "the program that rejects them",
		},
		{
			name: "RTR", client: planted{rejects: provider.QPStateRTR},
			code: CodeModify, stage: StageRTR, end: clientEnd, cause: "to RTR: invalid argument",
		},
		{
			name: "RTS", listener: planted{rejects: provider.QPStateRTS},
			code: CodeModify, stage: StageRTS, end: listenerEnd, cause: "to RTS: invalid argument",
		},
		{
			name: "wrong key", change: func(_, s *Config) { s.plant.wrongKey = true },
			code: CodeRejected, stage: StageData, end: clientEnd,
			cause: "the peer's device rejected the request: remote access error",
		},
		{
			name: "no answer", change: func(c, s *Config) {
				s.plant.mute, c.Timeout, c.StepTimeout = true, 8, 300*time.Millisecond
			},
			code: CodeStalled, stage: StageFirstSend, end: clientEnd, cause: "nothing has completed for",
			observed: []string{
				"messages of " + clientEnd + " have arrived at " + listenerEnd + ", and nothing came back",
			},
		},
		{
			name: "data", change: func(_, s *Config) { s.plant.corrupt = func(b []byte) { b[4096] ^= 1 } },
			code: CodeData, stage: StageData, end: clientEnd, cause: "differs from byte 4096 on",
		},
	}
}

// TestPlanted checks that both ends name each fault, in the same words.
func TestPlanted(t *testing.T) {
	for _, tt := range plantedCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := packetnet.New(packetnet.Faults{})
			n.Cut(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), tt.cut[0])
			n.Cut(netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1"), tt.cut[1])
			tt.client.network, tt.listener.network = n, n
			c, l := plantedPort(clientName, tt.client), plantedPort(listenerName, tt.listener)
			if tt.ports != nil {
				tt.ports(&c, &l)
			}
			client, listener := pairUp(t, []Port{c}, []Port{l}, false, func(c, s *Config) {
				c.Route, s.Route = nil, nil
				if tt.change != nil {
					tt.change(c, s)
				}
			})
			for _, r := range []Report{client, listener} {
				tt.check(t, r)
			}
			keep(t, tt.name, client)
			if a, b := client.Attempts[0].Failure.Error(), listener.Attempts[0].Failure.Error(); a != b {
				t.Errorf("the ends differ:\n%s\n%s", a, b)
			}
			if a, b := client.Attempts[0].Failure.Observed, listener.Attempts[0].Failure.Observed; !slices.Equal(a, b) {
				t.Errorf("the ends observed\n%q\n%q", a, b)
			}
		})
	}
}

func (tt *plantedCase) check(t *testing.T, r Report) {
	t.Helper()
	if len(r.Attempts) != 1 || r.Attempts[0].Failure == nil {
		t.Fatalf("attempts %+v, want a failure", r.Attempts)
	}
	f := r.Attempts[0].Failure
	if f.Code != tt.code || f.Stage != tt.stage || tt.end != "" && f.End != tt.end ||
		!strings.Contains(f.Cause, tt.cause) {
		t.Errorf("failure %s at %q of %q: %s\nwant %s at %q of %q: %s", f.Code, f.Stage, f.End, f.Cause,
			tt.code, tt.stage, tt.end, tt.cause)
	}
	observed, remedies := strings.Join(f.Observed, "\n"), strings.Join(f.Remedies, "\n")
	for _, want := range tt.observed {
		if !strings.Contains(observed, want) {
			t.Errorf("observed %q, want %q", observed, want)
		}
	}
	if !strings.Contains(remedies, tt.remedy) {
		t.Errorf("remedies %q, want %q", remedies, tt.remedy)
	}
	failedStages := 0
	for _, s := range r.Attempts[0].Stages {
		if !s.OK {
			failedStages++
			if s.Stage != f.Stage {
				t.Errorf("stage %q failed, the failure is at %q", s.Stage, f.Stage)
			}
		}
	}
	if failedStages != 1 {
		t.Errorf("%d stages failed: %+v", failedStages, r.Attempts[0].Stages)
	}
	if r.TCP != nil && (r.TCP.Failure != nil || len(r.TCP.Writes) != 2) {
		t.Errorf("over TCP: %+v", r.TCP)
	}
}

// TestJumbo loses packets that are longer than 1500 bytes: the probe with small packets passes.
func TestJumbo(t *testing.T) {
	n := packetnet.New(packetnet.Faults{})
	long := func(e udpio.Outbound) error {
		if len(e.Data) > 1472 {
			return errLost
		}
		return nil
	}
	for _, tt := range []struct {
		client, listener planted
		end              string
	}{
		{planted{network: n, filter: long}, planted{network: n}, clientEnd},
		{planted{network: n}, planted{network: n, filter: long}, listenerEnd},
	} {
		client, listener := pairUp(t, []Port{plantedPort(clientName, tt.client)},
			[]Port{plantedPort(listenerName, tt.listener)}, false, func(c, s *Config) { c.Route, s.Route = nil, nil })
		want := plantedCase{
			code: CodeLargeLost, stage: StageData, end: tt.end, cause: "messages of 64 bytes were acknowledged",
			observed: []string{"with path MTU 1024 the same write passes: the path drops larger packets"},
			remedy:   "ping -M do -s 4164 192.0.2.",
		}
		want.check(t, client)
		want.check(t, listener)
		keep(t, "large lost", client)
		if client.Attempts[0].Ping == nil || listener.Attempts[0].Ping == nil {
			t.Error("the latency of the small messages, which passed, is missing")
		}
	}
}

// TestRouteMTU rejects long packets at the sender, as a route with a smaller MTU does.
func TestRouteMTU(t *testing.T) {
	n := packetnet.New(packetnet.Faults{})
	filter := func(e udpio.Outbound) error {
		if len(e.Data) > 1472 {
			return syscall.EMSGSIZE
		}
		return nil
	}
	client, listener := pairUp(t, []Port{plantedPort(clientName, planted{network: n, filter: filter})},
		[]Port{plantedPort(listenerName, planted{network: n})}, false,
		func(c, s *Config) { c.Route, s.Route = nil, nil })
	want := plantedCase{
		code: CodeLargeLost, stage: StageData, end: clientEnd, cause: "the route has an MTU below the packets",
		observed: []string{"with path MTU 1024 the same write passes"}, remedy: "--mtu selects a smaller path MTU",
	}
	want.check(t, client)
	want.check(t, listener)
	keep(t, "route MTU", client)
}

// TestUnequalMTU takes the smaller MTU, and says so.
func TestUnequalMTU(t *testing.T) {
	n := packetnet.New(packetnet.Faults{})
	small := planted{network: n, port: func(a *provider.PortAttributes) { a.ActiveMTU = ib.MTU1024 }}
	client, listener := pairUp(t, []Port{plantedPort(clientName, planted{network: n})},
		[]Port{plantedPort(listenerName, small)}, false, func(c, s *Config) { c.Route, s.Route = nil, nil })
	for _, r := range []Report{client, listener} {
		checkGood(t, r, 1)
		a := r.Attempts[0]
		if want := "the smaller one: " + clientEnd + " has 4096, " + listenerEnd + " has 1024"; a.PathMTU != 1024 ||
			a.MTUReason != want {
			t.Errorf("path MTU %d: %s, want 1024: %s", a.PathMTU, a.MTUReason, want)
		}
		notes := strings.Join(a.Notes, "\n")
		if !strings.Contains(notes, "the active MTUs of the ports differ") || !strings.Contains(notes, "mtu 4192") {
			t.Errorf("notes %q", notes)
		}
	}
}

// TestPeerDies closes the listener's connection in the middle of the transfer, as the kernel does
// for a process that was killed.
func TestPeerDies(t *testing.T) {
	n := packetnet.New(packetnet.Faults{})
	l, port := listen(t)
	s := quick("node2").withDefaults()
	s.Route = nil
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		s.plant.corrupt = func([]byte) { _ = conn.Close() }
		p := plantedPort(listenerName, planted{network: n})
		e := &end{cfg: s, ports: []Port{p}, first: prepare(t.Context(), p, s), report: &Report{}}
		_ = e.serve(t.Context(), conn)
	}()
	c := quick("node1")
	c.Route = nil
	r := dial(t, "127.0.0.1", port, []Port{plantedPort(clientName, planted{network: n})}, false, c)
	<-done
	want := plantedCase{code: CodePeerEnded, stage: StageData, end: clientEnd, cause: "the peer's program ended"}
	want.check(t, r)
	keep(t, "peer dies", r)
}

var update = flag.Bool("update", false, "write the reports of planted faults anew")

// keep compares the failure of a report with the one in testdata/faults, which tests of other
// packages read, and writes it with -update. Hints are not compared: some depend on the machine.
func keep(t *testing.T, name string, r Report) {
	t.Helper()
	file := filepath.Join("testdata", "faults", strings.ReplaceAll(strings.ToLower(name), " ", "-")+".json")
	if *update {
		r.Local = Node{Host: r.Local.Host}
		if r.Peer != nil {
			r.Peer = &Node{Host: r.Peer.Host}
		}
		data, err := json.MarshalIndent(r, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept Report
	if err := json.Unmarshal(data, &kept); err != nil || len(kept.Attempts) != 1 {
		t.Fatalf("%s: %v, %d attempts", file, err, len(kept.Attempts))
	}
	if a, b := kept.Attempts[0].Failure, r.Attempts[0].Failure; a.Code != b.Code || a.Stage != b.Stage {
		t.Errorf("%s has code %s at %s, want %s at %s; -update writes it", file, a.Code, a.Stage, b.Code, b.Stage)
	}
}
