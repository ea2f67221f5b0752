package bundle

import (
	"context"
	"io/fs"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// recordFacts records a tree of files with facts, redacted or not.
func recordFacts(t *testing.T, tree map[string]string, f *facts.Facts, redacted bool) *Bundle {
	t.Helper()
	node := nodetree.New()
	for name, content := range tree {
		if err := node.Set(name, content); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{
		Sources: inventory.Sources{Root: node.FS()}, Origin: OriginMachine,
		Patterns: []string{"/sys/fs/cgroup/*/*/rdma.max", "/etc/nccl.conf", "/proc/sys/kernel/numa_balancing"},
		Facts:    func(context.Context, *inventory.Snapshot) *facts.Facts { return f },
	}
	if redacted {
		r, err := NewRedactor(nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Redact = r
	}
	b, err := Record(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFactsKeepSecrets records variables and rules of a packet filter: no password in any bundle,
// and no path and no rule in a redacted one.
func TestFactsKeepSecrets(t *testing.T) {
	f := facts.New(nil)
	f.Environment = &facts.Datum[map[string]string]{Value: map[string]string{
		"NCCL_DEBUG_FILE": "/home/alice/log", "UCX_PROXY": "http://user:pw@proxy", "NCCL_IB_TC": "106",
	}}
	f.Filter = &facts.Datum[[]facts.FilterRule]{Value: []facts.FilterRule{{Table: "t", Chain: "input"}}}
	tree := map[string]string{"sys/x": "1", "etc/nccl.conf": "NCCL_IB_TC=106\n"}
	for redacted, want := range map[bool]map[string]string{
		false: {"NCCL_DEBUG_FILE": "/home/alice/log", "NCCL_IB_TC": "106"}, true: {"NCCL_IB_TC": "106"},
	} {
		b := recordFacts(t, tree, f, redacted)
		got, err := b.Facts()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Environment.Value); diff != "" {
			t.Errorf("redacted %v: variables (-want +got):\n%s", redacted, diff)
		}
		if got.Filter.Known() == redacted {
			t.Errorf("redacted %v: the packet filter is known: %v", redacted, got.Filter.Known())
		}
		_, err = fs.Stat(b.Tree.FS(), "etc/nccl.conf")
		if (err == nil) == redacted {
			t.Errorf("redacted %v: etc/nccl.conf: %v", redacted, err)
		}
	}
	if len(f.Environment.Value) != 3 || !f.Filter.Known() {
		t.Error("recording changed the facts of the caller")
	}
}

// TestOwnGroupOnly records the control groups of this process and no names of others.
func TestOwnGroupOnly(t *testing.T) {
	tree := map[string]string{
		"sys/x": "1", "proc/self/cgroup": "0::/kubepods/podA\n", "proc/sys/kernel/numa_balancing": "0",
		"sys/fs/cgroup/kubepods/podA/rdma.max": "mlx5_0 hca_handle=max", "sys/fs/cgroup/kubepods/rdma.max": "",
		"sys/fs/cgroup/kubepods/podB/rdma.max": "mlx5_0 hca_handle=1",
	}
	b := recordFacts(t, tree, facts.New(nil), false)
	var names []string
	for e := range b.Tree.Entries() {
		if strings.HasPrefix(e.Name, "sys/fs/cgroup/") || strings.HasPrefix(e.Name, "proc/sys/kernel/numa") {
			names = append(names, e.Name)
		}
	}
	want := []string{
		"proc/sys/kernel/numa_balancing", "sys/fs/cgroup/kubepods", "sys/fs/cgroup/kubepods/podA",
		"sys/fs/cgroup/kubepods/podA/rdma.max", "sys/fs/cgroup/kubepods/rdma.max",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	for e := range recordFacts(t, tree, facts.New(nil), true).Tree.Entries() {
		if strings.HasPrefix(e.Name, "sys/fs/cgroup/") {
			t.Errorf("a redacted bundle has %s", e.Name)
		}
	}
}

// TestLargeFacts records a routing table that no document can hold: the rest is there.
func TestLargeFacts(t *testing.T) {
	f := facts.New(nil)
	f.Clock = &facts.Datum[facts.ClockDiscipline]{Value: facts.ClockDiscipline{Synchronized: true}}
	f.Routes = &facts.Datum[facts.Routing]{}
	for range maxDocument / 50 {
		r := facts.Route{To: netip.MustParsePrefix("10.0.0.0/8"), Type: "unicast"}
		f.Routes.Value.Routes = append(f.Routes.Value.Routes, r)
	}
	got, err := recordFacts(t, map[string]string{"sys/x": "1"}, f, false).Facts()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Clock.Known() || got.Routes.Known() || !strings.Contains(got.Routes.Error, "too large") {
		t.Errorf("clock %v, routes %v", got.Clock.State(), got.Routes.State())
	}
}

// TestLargeRates records readings of counters that no document can hold: all else is there.
func TestLargeRates(t *testing.T) {
	f := facts.New(nil)
	f.Routes = &facts.Datum[facts.Routing]{Value: facts.Routing{Routes: []facts.Route{{Type: "unicast"}}}}
	f.Rates = &facts.Datum[facts.Rates]{Value: facts.Rates{Netdevs: []facts.Readings{{Object: "eth0"}}}}
	for range maxDocument / 50 {
		c := inventory.Counter{Name: "rx_prio3_discards", Path: "ethtool:eth0:rx_prio3_discards"}
		f.Rates.Value.Netdevs[0].Before = append(f.Rates.Value.Netdevs[0].Before, c)
	}
	got, err := recordFacts(t, map[string]string{"sys/x": "1"}, f, false).Facts()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Routes.Known() || got.Rates.Known() || !strings.Contains(got.Rates.Error, "too large") {
		t.Errorf("routes %v, rates %v", got.Routes.State(), got.Rates.State())
	}
}
