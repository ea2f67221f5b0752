package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

const (
	portDir  = "sys/class/infiniband/mlx5_0/ports/1/"
	netDir   = "sys/class/net/ens0np0/"
	function = "0000:18:00.0"
	aerFatal = "sys/bus/pci/devices/" + function + "/aer_dev_fatal"
)

// node is a test tree whose counters a test changes while they are read.
type node struct {
	t    *testing.T
	tree *nodetree.Tree
	snap inventory.Snapshot
}

func newNode(t *testing.T) *node {
	t.Helper()
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, tree: tree}
	n.set(portDir+"counters/symbol_error", "65530")
	n.set(portDir+"hw_counters/out_of_sequence", "44")
	n.set(netDir+"carrier_changes", "2")
	n.set(netDir+"carrier_down_count", "1")
	n.set(netDir+"carrier", "1")
	n.set(aerFatal, "Undefined 0\nMalformed TLP 2\nTOTAL_ERR_FATAL 2")
	if n.snap, err = inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()}); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) set(name, value string) {
	n.t.Helper()
	if err := n.tree.Set(name, value+"\n"); err != nil {
		n.t.Error(err)
	}
}

// collect reads the counters twice, ten seconds apart; change runs meanwhile.
func (n *node) collect(ctx context.Context, ethtool facts.Collector, change func()) *facts.Datum[facts.Rates] {
	n.t.Helper()
	go change()
	f := facts.New(nil)
	c := Rates(RatesSource{Root: n.tree.FS(), Interval: 10 * time.Second, Now: time.Now, Ethtool: ethtool})
	if !c.Live || c.Kind != facts.KindRates {
		n.t.Errorf("Rates: kind %s, live %t, want a live collector of rates", c.Kind, c.Live)
	}
	f.Gather(ctx, &n.snap, []facts.Collector{c}, facts.KindRates)
	return f.Rates
}

// changes returns "name: before after" of the counters whose name has a word.
func changes(r *facts.Readings, word string) []string {
	var out []string
	for _, c := range r.After {
		i := slices.IndexFunc(r.Before, func(o inventory.Counter) bool { return o.Path == c.Path })
		if strings.Contains(c.Name, word) && i >= 0 && c.Value != nil && r.Before[i].Value != nil {
			out = append(out, fmt.Sprintf("%s: %d %d", c.Path, *r.Before[i].Value, *c.Value))
		}
	}
	return out
}

func TestRatesReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		calls := uint64(0)
		ethtool := facts.Collector{
			Kind: facts.KindEthtool,
			Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
				calls++
				f.Ethtool = &facts.Datum[[]facts.Ethtool]{Value: []facts.Ethtool{
					{Netdev: "ens0np0", Stats: map[string]uint64{"tx_pause_storm_warning_events ": calls}},
				}}
			},
		}
		d := n.collect(t.Context(), ethtool, func() {
			time.Sleep(4 * time.Second)
			n.set(portDir+"counters/symbol_error", "65535")
			n.set(portDir+"hw_counters/out_of_sequence", "50")
			n.set(netDir+"carrier", "0")
			n.set(netDir+"carrier_down_count", "2")
			n.set(netDir+"carrier_changes", "4")
			time.Sleep(3 * time.Second)
			n.set(netDir+"carrier", "1")
			n.set(aerFatal, "Undefined 0\nMalformed TLP 3\nTOTAL_ERR_FATAL 3")
		})
		if err := d.State(); err != nil {
			t.Fatalf("Rates: %v", err)
		}
		port, netdev, pci := d.Value.Of("mlx5_0:1"), d.Value.Of("ens0np0"), d.Value.Of(function)
		if port == nil || netdev == nil || pci == nil {
			t.Fatalf("Rates: port %v, network device %v, function %v, want all", port, netdev, pci)
		}
		var got []string
		for _, of := range []struct {
			r    *facts.Readings
			word string
		}{
			{port, "symbol_error"}, {port, "out_of_sequence"}, {netdev, "carrier_"}, {netdev, "storm"}, {pci, "fatal"},
		} {
			got = append(got, changes(of.r, of.word)...)
		}
		want := []string{
			"/" + portDir + "counters/symbol_error: 65530 65535",
			"/" + portDir + "hw_counters/out_of_sequence: 44 50",
			"/" + netDir + "carrier_changes: 2 4",
			"/" + netDir + "carrier_down_count: 1 2",
			"ethtool:ens0np0:tx_pause_storm_warning_events: 1 2",
			"/" + aerFatal + ":Malformed TLP: 2 3",
			"/" + aerFatal + ":TOTAL_ERR_FATAL: 2 3",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Rates (-want +got):\n%s", diff)
		}
		if port.Elapsed != 10*time.Second || port.To.Sub(port.From) != port.Elapsed || netdev.Elapsed != port.Elapsed {
			t.Errorf("Rates: from %v to %v, elapsed %v, want 10s", port.From, port.To, port.Elapsed)
		}
		if netdev.Down < 2800*time.Millisecond || netdev.Down > 3200*time.Millisecond || netdev.Sampled == 0 {
			t.Errorf("Rates: without carrier for %v (sampled each %v), want about 3s", netdev.Down, netdev.Sampled)
		}
		if other := d.Value.Of("ens1np0"); other == nil || other.Down != 0 {
			t.Errorf("Rates of ens1np0 = %+v, want no time without carrier", other)
		}
		saturated := slices.ContainsFunc(port.After, func(c inventory.Counter) bool {
			return c.Name == "symbol_error" && c.Saturated
		})
		if !saturated {
			t.Error("Rates: symbol_error 65535 is not marked as saturated")
		}
	})
}

func TestRatesOfWhatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		d := n.collect(t.Context(), facts.Collector{}, func() {
			time.Sleep(time.Second)
			if err := n.tree.Remove("sys/class/infiniband/mlx5_0"); err != nil {
				t.Error(err)
			}
		})
		if err := d.State(); err != nil {
			t.Fatalf("Rates: %v", err)
		}
		if r := d.Value.Of("mlx5_0:1"); r == nil || !strings.Contains(r.Lost, portDir[:len(portDir)-1]) {
			t.Errorf("Rates of a device that was removed = %+v, want that it is lost, with its path", r)
		}
		if r := d.Value.Of("mlx5_1:1"); r == nil || r.Lost != "" || len(r.After) == 0 {
			t.Errorf("Rates of another device = %+v, want two readings", r)
		}
	})
}

func TestRatesEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		d := n.collect(ctx, facts.Collector{}, func() {
			time.Sleep(time.Second)
			cancel(fmt.Errorf("user went home"))
		})
		if d.Known() || !strings.Contains(d.Error, "user went home") {
			t.Errorf("Rates = %+v, want an error with the cause", d)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("Rates took %v after its context ended", took)
		}
	})
}

func TestRatesWithoutDevice(t *testing.T) {
	f := facts.New(nil)
	src := RatesSource{Root: nodetree.New().FS(), Interval: 2 * time.Second, Now: time.Now}
	f.Gather(t.Context(), &inventory.Snapshot{}, []facts.Collector{Rates(src)}, facts.KindRates)
	if f.Rates == nil || f.Rates.Absent == "" {
		t.Errorf("Rates of a node without RDMA = %+v, want why there are none, at once", f.Rates)
	}
}

func TestEthtoolOf(t *testing.T) {
	if c := EthtoolOf([]facts.Collector{{Kind: facts.KindClock}}); c.Collect != nil || c.Kind != "" {
		t.Errorf("EthtoolOf = %+v, want none", c)
	}
	both := []facts.Collector{{Kind: facts.KindClock}, {Kind: facts.KindEthtool}}
	if c := EthtoolOf(both); c.Kind != facts.KindEthtool {
		t.Errorf("EthtoolOf = %+v, want the collector of ethtool", c)
	}
}

// Errors of a PCI Express link may be counted at its upper end, and a bond has no link of its own.
func TestRatesOfUpperPortsAndMembers(t *testing.T) {
	s := inventory.Snapshot{
		Devices: []inventory.Device{
			{
				Name: "mlx5_0", PCI: &inventory.PCI{
					Address: "0000:18:00.0", Chain: []string{"pci0000:10", "0000:10:01.0", "0000:11:00.0"},
				},
				Ports: []inventory.Port{{Number: 1, Netdev: "bond0"}},
			},
			{
				Name: "mlx5_1", PCI: &inventory.PCI{Address: "0000:19:00.0", Chain: []string{"pci0000:10"}},
				Ports: []inventory.Port{{Number: 1, Netdev: "eth2"}, {Number: 2, Netdev: "eth2"}, {Number: 3}},
			},
			{Name: "rxe0"},
		},
		Netdevs: []inventory.Netdev{{Name: "bond0", Bond: &inventory.Bond{Slaves: []string{"eth0", "eth1"}}}},
	}
	if diff := cmp.Diff([]string{"0000:18:00.0", "0000:11:00.0", "0000:19:00.0"}, functions(&s)); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bond0", "eth0", "eth1", "eth2"}, netdevs(&s)); diff != "" {
		t.Errorf("netdevs (-want +got):\n%s", diff)
	}
}

// TestRatesIgnoreClockSteps has two readings between which the wall clock went another way than the
// monotonic one: two reads of the clocks differ by some nanoseconds, as they do by more when the
// clock is set. The time between the readings is that of the monotonic clock.
func TestRatesIgnoreClockSteps(t *testing.T) {
	first := time.Now()
	second := first
	for tries := 0; second.Sub(first) == second.UTC().Sub(first.UTC()); tries++ {
		if second = time.Now(); tries == 1_000_000 {
			t.Skip("the wall clock and the monotonic clock of this machine are one")
		}
	}
	n := newNode(t)
	src := RatesSource{Root: n.tree.FS(), Interval: time.Millisecond}
	objects := []*counted{src.netdev("ens0np0")}
	src.Now = func() time.Time { return first }
	src.readAll(t.Context(), &n.snap, objects, false)
	src.Now = func() time.Time { return second }
	src.readAll(t.Context(), &n.snap, objects, true)
	if o := objects[0]; o.Elapsed != second.Sub(first) || !o.To.Equal(second) || o.To.Location() != time.UTC {
		t.Errorf("from %v to %v: elapsed %v, want %v", o.From, o.To, o.Elapsed, second.Sub(first))
	}
}

// TestRatesOfADeniedDevice has ethtool statistics that this process may not read: the readings of
// that device say so, with the counters that are files.
func TestRatesOfADeniedDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		stats := facts.Collector{
			Kind: facts.KindEthtool, Collect: func(_ context.Context, _ *inventory.Snapshot, f *facts.Facts) {
				f.Ethtool = &facts.Datum[[]facts.Ethtool]{Value: []facts.Ethtool{
					{Netdev: "ens0np0", Denied: []string{"statistics: operation not permitted"}},
					{Netdev: "ens1np0", Errors: []string{"statistics: input/output error"}},
				}}
			},
		}
		d := n.collect(t.Context(), stats, func() {})
		denied, failed := d.Value.Of("ens0np0"), d.Value.Of("ens1np0")
		want := []string{"ethtool statistics of ens0np0: operation not permitted"}
		if !slices.Equal(denied.Denied, want) || len(denied.Errors) > 0 || len(denied.After) == 0 {
			t.Errorf("ens0np0: %+v, want denied %v and the counters of files", denied, want)
		}
		want = []string{"ethtool statistics of ens1np0: input/output error"}
		if !slices.Equal(failed.Errors, want) || len(failed.Denied) > 0 {
			t.Errorf("ens1np0: %+v, want errors %v", failed, want)
		}
	})
}
