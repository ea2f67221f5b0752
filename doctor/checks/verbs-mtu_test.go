package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// verbsMTUs records the MTUs that libibverbs reports: those of mlx5_0, and 4096 of the others.
func verbsMTUs(ports, most, active int) change {
	var list []facts.VerbsPort
	for i := range ports {
		v := facts.VerbsPort{Object: fmt.Sprintf("mlx5_%d:1", i), MaxMTU: 4096, ActiveMTU: 4096}
		if i == 0 {
			v.MaxMTU, v.ActiveMTU = most, active
		}
		list = append(list, v)
	}
	return recorded(facts.Facts{Verbs: known(list)})
}

func TestVerbsMTU(t *testing.T) {
	verbs := func(list ...facts.VerbsPort) change { return recorded(facts.Facts{Verbs: known(list)}) }
	mtu := func(n string) change { return set("sys/class/net/ens1np0/mtu", n) }
	rails := func(active int) change { return verbsMTUs(2, 4096, active) }
	for _, s := range []hostSituation{
		{"InfiniBand, the most", "verbs-mtu", "01_ib_8hca", verbsMTUs(8, 2048, 2048), []string{"pass node"}, "8 ports"},
		{
			"InfiniBand, less", "verbs-mtu", "01_ib_8hca", verbsMTUs(8, 4096, 2048),
			[]string{"warn mlx5_0:1"},
			"ibv_query_port:mlx5_0:1:max_mtu = 4096",
		},
		{"RoCE", "verbs-mtu", "49_bond", rails(4096), []string{"pass node"}, "2 ports"},
		{
			"the driver has an older MTU", "verbs-mtu", "49_bond", rails(1024),
			[]string{"warn mlx5_0:1"},
			"ip link set ens1np0 mtu 9000",
		},
		{"a small network device", "verbs-mtu", "49_bond", all(mtu("1500"), rails(1024)), []string{"pass node"}, ""},
		{
			"larger than the network device", "verbs-mtu", "49_bond", all(mtu("1500"), rails(4096)),
			[]string{"warn mlx5_0:1"},
			"active MTU 4096, but the network device ens1np0 has 1500",
		},
		{ // drivers differ in the headers that they subtract
			"between headers", "verbs-mtu", "49_bond", all(mtu("4180"), rails(4096)), []string{"pass node"}, "",
		},
		{
			"a driver of 2048 at most", "verbs-mtu", "49_bond", verbsMTUs(2, 2048, 2048),
			[]string{"pass node"},
			"",
		},
		{
			"a device that could not be opened", "verbs-mtu", "49_bond", verbs(
				facts.VerbsPort{Object: "mlx5_0", Denied: "open_device mlx5_0: permission denied"},
				facts.VerbsPort{Object: "mlx5_1:1", MaxMTU: 4096, ActiveMTU: 4096},
			),
			[]string{"pass node", "needs-privilege mlx5_0:1"},
			"permission denied",
		},
		{
			"a query that failed", "verbs-mtu", "49_bond", verbs(
				facts.VerbsPort{Object: "mlx5_0:1", Error: "query_port mlx5_0 port 1: EIO"},
				facts.VerbsPort{Object: "mlx5_1:1", MaxMTU: 4096, ActiveMTU: 4096},
			),
			[]string{"unknown mlx5_0:1"},
			"EIO",
		},
		{
			"not listed, and an unknown code", "verbs-mtu", "49_bond", verbs(facts.VerbsPort{Object: "mlx5_1:1"}),
			[]string{"not-applicable mlx5_0:1", "not-applicable mlx5_1:1"},
			"libibverbs does not list the device",
		},
		{"iWARP", "verbs-mtu", "04_iwarp", verbsMTUs(2, 4096, 1024), []string{"not-applicable node"}, ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.check)
			wantBrief(t, r, s.want)
			if !strings.Contains(allText(r.Findings), s.says) {
				t.Errorf("no finding says %q:\n%s", s.says, allText(r.Findings))
			}
		})
	}
}
