package fabric_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// largeNets are the nets of about 1,000 and 10,000 nodes for speed measurements.
func largeNets(t testing.TB) map[string]*ibsimtest.Net {
	t.Helper()
	large, err := ibsimtest.FatTree3(20, 29, 16, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*ibsimtest.Net{"1k": ibsimtest.FatTree2(32, 32, 32), "10k": large}
}

// BenchmarkSimulator sweeps large simulated subnets, in turn with ibnetdiscover, and reports both
// times.
func BenchmarkSimulator(b *testing.B) {
	for name, net := range largeNets(b) {
		b.Run(name, func(b *testing.B) {
			sim := ibsimtest.Start(b, net.WriteFile(b), ibsimtest.LargeArguments()...)
			switches, hosts, _ := net.Counts()
			var theirs, user float64
			for b.Loop() {
				transport := open(b, sim, "host0")
				topology := discover(b, transport, fabric.Options{})
				if len(topology.Nodes) != switches+hosts || !topology.Complete {
					b.Fatalf("%d nodes of %d, complete %v", len(topology.Nodes), switches+hosts, topology.Complete)
				}
				user += topology.Duration.Seconds()
				if err := transport.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(topology.Stats.Sent), "MADs")
				b.StopTimer()
				theirs += sim.ToolSeconds("host0", "ibnetdiscover")
				b.StartTimer()
			}
			b.ReportMetric(theirs/float64(b.N), "ibnetdiscover-s")
			b.ReportMetric(theirs/user, "x-faster")
		})
	}
}

// TestGeneratedNets compares small nets of both shapes with the output of ibnetdiscover.
func TestGeneratedNets(t *testing.T) {
	three, err := ibsimtest.FatTree3(2, 3, 2, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		net                    *ibsimtest.Net
		switches, hosts, links int
	}{
		"two tiers":   {ibsimtest.FatTree2(3, 4, 2), 5, 12, 12 + 6},
		"three tiers": {three, 2*5 + 4, 12, 12 + 12 + 8},
	} {
		t.Run(name, func(t *testing.T) {
			switches, hosts, cables := test.net.Counts()
			if switches != test.switches || hosts != test.hosts || cables != test.links {
				t.Errorf("Counts() = %d, %d, %d, want %d, %d, %d",
					switches, hosts, cables, test.switches, test.hosts, test.links)
			}
			sim := ibsimtest.Start(t, test.net.WriteFile(t))
			topology := discover(t, open(t, sim, "host0"), fabric.Options{})
			if len(topology.Nodes) != switches+hosts || len(topology.Links()) != cables {
				t.Errorf("%d nodes, %d links, want %d and %d",
					len(topology.Nodes), len(topology.Links()), switches+hosts, cables)
			}
			if diff := gocmp.Diff(theirs(t, sim.Tool("host0", "ibnetdiscover")), ours(topology)); diff != "" {
				t.Errorf("against ibnetdiscover (-ibnetdiscover +got):\n%s", diff)
			}
		})
	}
	for _, cores := range []int{0, 1, 3} {
		if _, err := ibsimtest.FatTree3(2, 3, 2, 2, cores); err == nil {
			t.Errorf("FatTree3 accepts %d cores for 2 spines a pod", cores)
		}
	}
}
