package checks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// TestBondOfTwoCards checks bonds whose members are ports of two cards: each has an RDMA device of
// its own, whose network device is the bond for some kernels.
func TestBondOfTwoCards(t *testing.T) {
	const mode = "sys/class/net/bond0/bonding/mode"
	stays := "bond0 has members of 2 cards (0000:53:00, 0000:d2:00): a LAG in hardware needs ports of one card"
	for _, c := range []struct {
		name, node string
		change     change
		want       []string
		says       string
	}{
		{"for management", "hgx_8rail_two_card_bond", all(), []string{"info mlx5_3:1", "info mlx5_9:1"}, stays},
		{
			"active-backup", "hgx_8rail_two_card_bond", set(mode, "active-backup 1"),
			[]string{"pass node"},
			"2 RDMA ports on a bond",
		},
		{
			"both ports of one card, one RDMA device", "lag_active_backup_rails", set(mode, "802.3ad 4"),
			[]string{"pass node"},
			"2 RDMA ports on a bond",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := realNode(t, c.node)
			c.change(t, tree)
			r := diagnose(t, tree, "rdma-bond")
			wantBrief(t, r, c.want)
			if !strings.Contains(allText(r.Findings), c.says) {
				t.Errorf("no finding says %q: %s", c.says, allText(r.Findings))
			}
		})
	}
	// Two cards for jobs: 49_bond's bond with the rails as its members.
	jobs := load(t, "49_bond", remove("live.json"), remove("sys/class/infiniband/mlx5_bond_0"))
	for _, name := range []string{"ens1np0", "ens2np0"} {
		if err := jobs.Set("sys/class/net/"+name+"/flags", "0x1803\n"); err != nil {
			t.Fatal(err)
		}
		if err := jobs.Link("sys/class/net/"+name+"/master", "../bond0"); err != nil {
			t.Fatal(err)
		}
	}
	set("sys/class/net/bond0/bonding/slaves", "ens1np0 ens2np0")(t, jobs)
	for _, dev := range []string{"mlx5_0", "mlx5_1"} {
		for i := range 4 {
			set(fmt.Sprintf("sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d", dev, i), "bond0")(t, jobs)
		}
	}
	r := diagnose(t, jobs, "rdma-bond")
	if got := brief(r); !slices.Contains(got, "warn mlx5_0:1") || !slices.Contains(got, "warn mlx5_1:1") {
		t.Errorf("rails of two cards in one bond: got %v, want warnings of mlx5_0:1 and mlx5_1:1", summaries(r))
	}
}

// TestSaysWhatWasNotSeen checks that a check does not state what no file of the recording tells.
func TestSaysWhatWasNotSeen(t *testing.T) {
	const own = "proc/self/cgroup"
	noController := set("sys/fs/cgroup/cgroup.controllers", "cpu io memory")
	for _, c := range []struct {
		id   string
		tree *nodetree.Tree
		says string
	}{
		{
			"rdma-bond", realNode(t, "gpud_h100_bond"),
			"the network device of mlx5_bond_0:1, which may be on a bond, is not visible here",
		},
		{"rdma-bond", load(t, "01_ib_8hca"), "no RDMA port is on a bond"},
		{"rdma-cgroup", realNode(t, "gpud_h100_bond"), "/proc/self/cgroup does not exist"},
		{
			"rdma-cgroup", load(t, "01_ib_8hca", set(own, "0::/job/step")),
			"/sys/fs/cgroup, where rdma.max of the control group /job/step would be, was not recorded",
		},
		{
			"rdma-cgroup", load(t, "01_ib_8hca", set(own, "0::/job/step"), noController),
			"no rdma.max of the control group /job/step or above: the rdma controller is not enabled for it",
		},
		{
			"rdma-cgroup", load(t, "01_ib_8hca", set(own, "4:rdma:/job")),
			"the process is in no control group of version 2",
		},
	} {
		r := diagnose(t, c.tree, c.id)
		wantBrief(t, r, []string{"not-applicable node"})
		if got := allText(r.Findings); !strings.Contains(got, c.says) {
			t.Errorf("%s: got %s, want %q", c.id, got, c.says)
		}
	}
}

// TestSameReportEachTime checks that the report doesn't depend on the order of maps.
func TestSameReportEachTime(t *testing.T) {
	plugged := func(module int, how string) facts.KernelMessage {
		return facts.KernelMessage{Text: fmt.Sprintf("mlx5_core 0000:15:00.0: Port module event: module %d, Cable %s",
			module, how)}
	}
	log := []facts.KernelMessage{
		plugged(0, "plugged"), plugged(1, "plugged"), plugged(0, "unplugged"), plugged(1, "unplugged"),
	}
	for name, tree := range map[string]*nodetree.Tree{
		"subnet-manager": realNode(t, "gpud_h100_bond"),
		"kernel-log":     load(t, "01_ib_8hca", recorded(facts.Facts{KernelLog: known(log)})),
	} {
		t.Run(name, func(t *testing.T) {
			var first []byte
			for range 20 {
				text, err := json.Marshal(diagnose(t, tree, name))
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = text
				}
				if string(text) != string(first) {
					t.Fatalf("a second report differs:\n%s\n%s", first, text)
				}
			}
		})
	}
}

// TestAsRootOnlyWhatApplies checks that nobody is sent to root for data without use on the node.
func TestAsRootOnlyWhatApplies(t *testing.T) {
	denied := recorded(facts.Facts{
		KernelLog: &facts.Datum[[]facts.KernelMessage]{Denied: "operation not permitted"},
		Filter:    &facts.Datum[[]facts.FilterRule]{Denied: "operation not permitted"},
	})
	down := all(state("mlx5_0", "1: DOWN", "3: Disabled"), state("mlx5_1", "1: DOWN", "3: Disabled"),
		remove("sys/class/infiniband/mlx5_bond_0"))
	for _, c := range []struct {
		id, tree string
		change   change
		want     string
	}{
		{"kernel-log", "06_none", all(), "not-applicable node"},
		{"kernel-log", "01_ib_8hca", all(), "needs-privilege node"},
		{"kernel-log", "43_no_module", all(), "needs-privilege node"}, // the log may say why
		{"packet-filter", "01_ib_8hca", all(), "not-applicable node"},
		{"packet-filter", "49_bond", all(), "needs-privilege node"},
		{"packet-filter", "49_bond", down, "not-applicable node"},
	} {
		if got := brief(diagnose(t, load(t, c.tree, denied, c.change), c.id)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s on %s: %v, want %s", c.id, c.tree, got, c.want)
		}
	}
}

// TestOneFindingForOneReason checks that ports that lack the same file are one finding.
func TestOneFindingForOneReason(t *testing.T) {
	for _, c := range []struct{ id, node, says string }{
		{"pkey", "gpud_h100_bond", "/sys/class/infiniband/*/ports/*/pkeys/0 does not exist: mlx5_0:1, mlx5_1:1, " +
			"mlx5_4:1, mlx5_5:1 and 4 more"},
		{"subnet-manager", "gpud_h100_bond", "/sys/class/infiniband/*/ports/*/sm_lid does not exist: mlx5_0:1"},
		{"rp-filter", "h100_eight_rails_one_subnet", "/proc/sys/net/ipv4/conf/all/rp_filter does not exist\n"},
	} {
		r := diagnose(t, realNode(t, c.node), c.id)
		wantBrief(t, r, []string{"not-applicable node"})
		if got := allText(r.Findings); !strings.Contains(got, c.says) {
			t.Errorf("%s: got %s, want %q", c.id, got, c.says)
		}
	}
	tree := load(t, "01_ib_8hca", remove("sys/class/infiniband/mlx5_3/ports/1/pkeys/0"))
	r := diagnose(t, tree, "pkey")
	wantBrief(t, r, []string{"pass node", "not-applicable mlx5_3:1"})
	if got := finding(t, r, "mlx5_3:1").Summary; got != "/sys/class/infiniband/mlx5_3/ports/1/pkeys/0 does not exist" {
		t.Errorf("one port: %q", got)
	}
}

// TestTitlesFitInformation checks titles above findings that are no fault.
func TestTitlesFitInformation(t *testing.T) {
	for id, want := range map[string]string{
		"gpudirect":   "how cards access the memory of GPUs", // they can, by a module
		"rail-subnet": "several RoCE rails in one IP subnet", // whether they answer for each other may be unknown
	} {
		if got := check(t, id).Title; got != want {
			t.Errorf("title of %s = %q, want %q", id, got, want)
		}
	}
	r := diagnose(t, realNode(t, "h100_eight_rails_one_subnet"), "rail-subnet")
	wantBrief(t, r, []string{"info node"})
	if got := r.Findings[0].Summary; !strings.Contains(got, "whether they answer for each other is not known: "+
		"/proc/sys/net/ipv4/conf/all/arp_ignore does not exist") {
		t.Errorf("without arp_ignore: %q", got)
	}
}

// TestLinksOfAccelerators checks that ports that no library can use are not listed as such that one
// would use.
func TestLinksOfAccelerators(t *testing.T) {
	r := diagnose(t, realNode(t, "gaudi2_hlib_ports"), "role")
	wantBrief(t, r, []string{"pass node"})
	const want = "2 compute ports, and no other port that a library would use for collectives"
	if got := r.Findings[0].Summary; got != want {
		t.Errorf("got %q", got)
	}
}
