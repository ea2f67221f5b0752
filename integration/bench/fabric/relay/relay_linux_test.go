package relay_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/integration/bench/fabric/relay"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// start starts a relay for a simulator, and returns the environment to connect to it.
func start(t *testing.T, sim *ibsimtest.Simulator, config relay.Config) (*relay.Relay, func(string) string) {
	t.Helper()
	config.Upstream, config.Name = sim.Config("").SocketName, fmt.Sprintf("rdmakit-relay-%d-%s", os.Getpid(), t.Name())
	r, err := relay.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	direct := sim.Getenv("host0")
	return r, func(name string) string {
		if name == "IBSIM_SOCKNAME" {
			return config.Name
		}
		return direct(name)
	}
}

func sweep(t *testing.T, getenv func(string) string, o fabric.Options) *fabric.Topology {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), getenv)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close() //nolint:errcheck // the sweep counts
	topology, err := fabric.Discover(t.Context(), transport, o)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func simulator(t *testing.T) *ibsimtest.Simulator {
	t.Helper()
	return ibsimtest.Start(t, ibsimtest.FatTree2(2, 4, 1).WriteFile(t))
}

func TestPassesOnAndCounts(t *testing.T) {
	sim := simulator(t)
	r, getenv := start(t, sim, relay.Config{})
	for range 2 { // the second client connects after the first has left
		before := r.Requests()
		got := sweep(t, getenv, fabric.Options{})
		if len(got.Nodes) != 11 || len(got.Links()) != 10 || !got.Complete {
			t.Errorf("through the relay: %d nodes, %d links, complete %v, want 11, 10, true",
				len(got.Nodes), len(got.Links()), got.Complete)
		}
		if sent := r.Requests() - before; sent != got.Stats.Sent {
			t.Errorf("Requests() = %d more, the sweep sent %d", sent, got.Stats.Sent)
		}
	}
}

func TestDelay(t *testing.T) {
	const delay = 2 * time.Millisecond
	_, getenv := start(t, simulator(t), relay.Config{Delay: delay})
	got := sweep(t, getenv, fabric.Options{MaxWindow: 1})
	if least := time.Duration(got.Stats.Sent) * delay; got.Duration < least {
		t.Errorf("%d questions one by one took %v, want at least %v", got.Stats.Sent, got.Duration, least)
	}
}

func TestDeadNodes(t *testing.T) {
	sim := simulator(t)
	dead := sweep(t, sim.Getenv("host0"), fabric.Options{}).Nodes
	guid := ib.GUID{}
	for _, n := range dead {
		if strings.HasPrefix(n.Description.String(), "host5") {
			guid = n.GUID()
		}
	}
	for _, test := range []struct {
		name   string
		hold   time.Duration
		reason string
		tries  int
	}{
		{"silent", 0, "no answer", 2},
		{"returned", 20 * time.Millisecond, "the transport reports", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, getenv := start(t, sim, relay.Config{Dead: []ib.GUID{guid}, Hold: test.hold})
			got := sweep(t, getenv, fabric.Options{Retries: 1, Timeout: 300 * time.Millisecond})
			if len(got.Nodes) != 10 || len(got.Unreached) != 1 {
				t.Fatalf("%d nodes, unreached %v, want 10 and one", len(got.Nodes), got.Unreached)
			}
			u := got.Unreached[0]
			if !strings.Contains(u.Reason, test.reason) || u.Tries != test.tries || r.Unanswered() != test.tries {
				t.Errorf("unreached: %v after %d tries, %d unanswered; want %q after %d",
					u, u.Tries, r.Unanswered(), test.reason, test.tries)
			}
		})
	}
}

// umad2sim is Debian's path of the library that connects the C tools to the simulator.
const umad2sim = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

// TestCTool runs a program on umad2sim with a dead node: it must continue when the request is
// returned.
func TestCTool(t *testing.T) {
	sim := simulator(t)
	nodes := sweep(t, sim.Getenv("host0"), fabric.Options{}).Nodes
	guid := nodes[len(nodes)-1].GUID()
	const hold = 300 * time.Millisecond
	r, getenv := start(t, sim, relay.Config{Dead: []ib.GUID{guid}, Hold: hold})
	cmd := exec.CommandContext(t.Context(), "ibnetdiscover")
	cmd.Dir = t.TempDir() // umad2sim's files
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+umad2sim, "SIM_HOST=host0", "IBSIM_SOCKNAME="+getenv("IBSIM_SOCKNAME"))
	begin := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("ibnetdiscover: %v", err)
	}
	if took := time.Since(begin); took < hold || r.Unanswered() != 1 {
		t.Errorf("ibnetdiscover took %v with %d requests unanswered, want at least %v and 1",
			took, r.Unanswered(), hold)
	}
	if got := strings.Count(string(out), "\nCa\t"); got != 7 {
		t.Errorf("ibnetdiscover found %d adapters, want 7", got)
	}
}

func TestStartErrors(t *testing.T) {
	sim := simulator(t)
	r, _ := start(t, sim, relay.Config{})
	if _, err := relay.Start(relay.Config{Name: sim.Config("").SocketName}); err == nil {
		t.Error("Start with the simulator's own name: no error")
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}
