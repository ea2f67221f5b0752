package ibsimd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// open joins a simulator as rdmactl does.
func open(t *testing.T, sim *ibsimtest.Simulator, node string) *fabric.IBSim {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), sim.Getenv(node))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transport.Close() }) //nolint:errcheck // of the test
	return transport
}

func discover(t *testing.T, sim *ibsimtest.Simulator, node string, o fabric.Options) *fabric.Topology {
	t.Helper()
	topology, err := fabric.Discover(t.Context(), open(t, sim, node), o)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// TestClients joins at all places, which the eleventh client doesn't get, sweeps from all at once,
// and joins again.
func TestClients(t *testing.T) {
	sim, at := serve(t, readNet(t, testdata+"ft2/net"), ibsimd.Options{})
	for range 2 {
		var group sync.WaitGroup
		var all []*fabric.IBSim
		for i := range ibsim.MaxClients {
			transport, err := fabric.OpenIBSim(t.Context(), at.Getenv(fmt.Sprintf("host%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, transport)
		}
		if _, err := fabric.OpenIBSim(t.Context(), at.Getenv("host0")); err == nil ||
			!strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "already has") {
			t.Errorf("eleventh client: %v, want a refusal", err)
		}
		for _, transport := range all {
			group.Go(func() {
				topology, err := fabric.Discover(t.Context(), transport, fabric.Options{})
				if err != nil || !topology.Complete || len(topology.Nodes) != 38 {
					t.Errorf("sweep: %v", err)
				}
				if err := transport.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if got := sim.Stats(); got.Clients != 2*ibsim.MaxClients || got.Answers < 20*400 || got.Forwards != 0 {
		t.Errorf("stats = %+v", got)
	}
}

// TestClientVanishes kills programs that have joined: their places are free again.
func TestClientVanishes(t *testing.T) {
	left := make(chan string, 100)
	sim, at := serve(t, readNet(t, testdata+"dualsm/net"),
		ibsimd.Options{OnLeave: func(node string) { left <- node }})
	for round := range 3 {
		for i := range ibsim.MaxClients {
			ctx, cancel := context.WithCancel(t.Context())
			cmd := exec.CommandContext(ctx, "ibping", "-S")
			getenv := at.Getenv("host1")
			cmd.Env = append(cmd.Environ(), "LD_PRELOAD="+ibsimtest.Umad2sim, "SIM_HOST=host1",
				"IBSIM_SOCKNAME="+getenv("IBSIM_SOCKNAME"))
			cmd.Dir = t.TempDir()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); sim.Stats().Clients <= round*ibsim.MaxClients+i; {
				if time.Now().After(end) {
					t.Fatalf("client %d of round %d doesn't join: %+v", i, round, sim.Stats())
				}
				time.Sleep(time.Millisecond)
			}
			cancel()   // kills it
			cmd.Wait() //nolint:errcheck // killed
		}
	}
	open(t, at, "host0")
	if len(left) != 3*ibsim.MaxClients {
		t.Errorf("%d clients have left, want %d", len(left), 3*ibsim.MaxClients)
	}
}

// TestClientDoesNotRead fills the sockets of a client that never reads, while another one sweeps.
func TestClientDoesNotRead(t *testing.T) {
	n := readNet(t, testdata+"ft2/net")
	n.Nodes[0].Delay = time.Millisecond
	sim, at := serve(t, n, ibsimd.Options{})
	deaf, err := ibsim.Dial(t.Context(), at.Config("host0"))
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	path, _ := mad.NewPath(1)
	smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, 1, &path)
	p := ibsim.Packet{DLID: ibsim.LIDPermissive, SLID: ibsim.LIDPermissive}
	smp.Append(p.MAD[:0])
	sent := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		k, err := deaf.Send([]ibsim.Packet{p})
		if err != nil {
			t.Fatal(err)
		}
		sent += k
	}
	if topology := discover(t, at, "host3", fabric.Options{}); !topology.Complete {
		t.Errorf("sweep beside a client that doesn't read: %v", topology.Unreached)
	}
	const most = 5000 // delayed packets, and what is in sockets
	if answers := sim.Stats().Answers; sent > most || answers > sent+2000 {
		t.Errorf("%d packets were accepted and %d answered, want back-pressure", sent, answers)
	}
	start := time.Now()
	open(t, at, "host4")
	if took := time.Since(start); took > time.Second {
		t.Errorf("a client joins in %v while another one doesn't read", took)
	}
}

// TestUDP serves on UDP ports.
func TestUDP(t *testing.T) {
	port := freePorts(t)
	sim, err := ibsimd.New(readNet(t, testdata+"dualsm/net"), ibsimd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Listen(ibsim.ServerConfig{Listen: "127.0.0.1", Port: port}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- sim.Serve(ctx) }()
	at := ibsimtest.At(t, ibsim.Config{Server: "127.0.0.1", ServerPort: port})
	if out := at.Tool("host1", "ibhosts"); strings.Count(out, "Ca\t:") != 12 {
		t.Errorf("ibhosts over UDP:\n%s", out)
	}
	at.StartStillSM("host0")
	if out := at.Tool("host1", "sminfo"); !strings.Contains(out, "SMINFO_MASTER") {
		t.Errorf("sminfo over UDP: %s", out)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// freePorts returns the first of 11 unused UDP ports.
func freePorts(t *testing.T) int {
	t.Helper()
	for first := 21000; first < 32000; first += 11 {
		free := 0
		for port := first; port < first+11; port++ {
			l, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
			if err != nil {
				break
			}
			l.Close() //nolint:errcheck // a try
			free++
		}
		if free == 11 {
			return first
		}
	}
	t.Fatal("no free UDP ports")
	return 0
}

func TestListenErrors(t *testing.T) {
	_, at := serve(t, readNet(t, testdata+"dualsm/net"), ibsimd.Options{})
	sim, err := ibsimd.New(readNet(t, testdata+"dualsm/net"), ibsimd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	taken := ibsim.ServerConfig{SocketName: at.Getenv("")("IBSIM_SOCKNAME")}
	if err := sim.Listen(taken); !errors.Is(err, ibsim.ErrInUse) {
		t.Errorf("Listen at a name in use = %v, want ErrInUse", err)
	}
	for _, c := range []ibsim.ServerConfig{
		{SocketName: strings.Repeat("x", 91)}, {Listen: "host"}, {Listen: "::1"},
	} {
		if err := sim.Listen(c); err == nil {
			t.Errorf("Listen(%+v) worked", c)
		}
	}
	if _, err := fabric.OpenIBSim(t.Context(), at.Getenv("host99")); err == nil ||
		!strings.Contains(err.Error(), `as "host99": connect: the simulator refused`) {
		t.Errorf("join at an unknown node: %v", err)
	}
}

// TestPing lets ibping of one client talk to that of another.
func TestPing(t *testing.T) {
	_, at := serve(t, readNet(t, testdata+"ft2/net"), ibsimd.Options{Managers: master("host0")})
	transport, err := fabric.OpenIBSim(t.Context(), at.GetenvSM("host5"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	server := fabric.PingServer{OUI: mad.OUIPing(), Name: "host5", Ready: func() { close(ready) }}
	go func() { done <- server.Serve(ctx, transport) }()
	<-ready
	lid := discover(t, at, "host5", fabric.Options{}).Nodes[0].LID(1)
	out := at.Tool("host1", "ibping", "-c", "50", "-f", strconv.Itoa(int(lid)))
	if !strings.Contains(out, "50 packets transmitted, 50 received") {
		t.Errorf("ibping:\n%s", out)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ping server: %v", err)
	}
}
