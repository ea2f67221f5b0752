package checks_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// TestRuleEdges has for single parts of rules the node that shows them.
func TestRuleEdges(t *testing.T) {
	const version = "proc/driver/nvidia/version"
	environment := func(name, value string) change {
		return recorded(facts.Facts{Environment: known(map[string]string{name: value})})
	}
	farGPUs := func(list string) change { // of 01_ib_8hca, on NUMA node 1
		changes := []change{apart}
		for addr := range strings.FieldsSeq(list) {
			changes = append(changes, numa("0000:"+addr+":00.0", "1"))
		}
		return all(changes...)
	}
	for _, s := range []hostSituation{
		{
			"library of the card is missing", "card-driver", "01_ib_8hca", withoutProvider,
			[]string{"fail mlx5"},
			"libibverbs has no provider for mlx5_0",
		},
		{
			"NVSHMEM's GID index", "gid-index", "02_rocev2_8hca", environment("NVSHMEM_IB_GID_INDEX", "3"),
			[]string{"info node"},
			"NVSHMEM_IB_GID_INDEX=3 fits all 8 RoCE ports",
		},
		{
			"Mooncake's GID index", "gid-index", "02_rocev2_8hca", environment("MC_GID_INDEX", "3"),
			[]string{"info node"},
			"MC_GID_INDEX=3 fits all 8 RoCE ports",
		},
		{ // RoCE of cards doesn't pass the node's filter
			"rule on RoCE's port beside cards", "packet-filter", "49_bond",
			recorded(facts.Facts{Filter: known(roceRule("in"))}),
			[]string{"pass node"},
			"",
		},
		{
			"NCCL_IB_PKEY of a full member", "pkey", "01_ib_8hca",
			all(eight("pkeys/0", "0x7fff"), eight("pkeys/1", "0x8012"), environment("NCCL_IB_PKEY", "1")),
			[]string{"pass node"},
			"full member at index 1",
		},
		{
			"NCCL_IB_PKEY of a limited member", "pkey", "01_ib_8hca",
			all(port("mlx5_3", "pkeys/1", "0x0012"), environment("NCCL_IB_PKEY", "1")),
			[]string{
				"fail mlx5_0:1", "fail mlx5_1:1", "fail mlx5_2:1", "fail mlx5_3:1", "fail mlx5_4:1",
				"fail mlx5_5:1", "fail mlx5_6:1", "fail mlx5_7:1",
			},
			"which NCCL_IB_PKEY=1 selects; index 0 has 0xffff",
		},
		{
			"bond of two cards", "rdma-bond", "49_bond", bondOfRails,
			[]string{"warn mlx5_0:1", "warn mlx5_1:1"},
			"members of 2 cards (0000:13:00, 0000:7b:00)",
		},
		{
			"peer memory without cache", "gpudirect", switches,
			all(peermem, set(version, proprietary), set("sys/kernel/mm/memory_peers/nv_mem_nc/version", "1")),
			[]string{"pass node", "info nvidia_peermem"},
			"",
		},
		{
			"four of eight GPUs far", "gpu-affinity", "01_ib_8hca", farGPUs("19 2b 3b 5e"),
			[]string{"pass node", "info node"},
			"4 of 8 GPUs",
		},
		{
			"three of eight GPUs far", "gpu-affinity", "01_ib_8hca", farGPUs("19 2b 3b"),
			[]string{"warn 0000:19:00.0", "warn 0000:2b:00.0", "warn 0000:3b:00.0"},
			"SYS",
		},
	} {
		t.Run(s.check+" "+s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.check)
			wantBrief(t, r, s.want)
			if !strings.Contains(allText(r.Findings), s.says) {
				t.Errorf("no finding says %q:\n%s", s.says, allText(r.Findings))
			}
		})
	}
}

// withoutProvider installs libibverbs and the provider of another card.
func withoutProvider(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	const lib = "usr/lib/x86_64-linux-gnu/"
	set(lib+"libibverbs.so.1", "")(t, tree)
	set(lib+"libibverbs/libbnxt_re-rdmav34.so", "")(t, tree)
	for _, name := range []string{"etc/libibverbs.d", lib + "libibverbs/libmlx5-rdmav34.so"} {
		_ = tree.Remove(name) // some trees have neither
	}
}

// bondOfRails makes the two rails of 49_bond, which are ports of two cards, members of its bond.
func bondOfRails(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	for _, name := range []string{"ens1np0", "ens2np0"} {
		if err := tree.Link("sys/class/net/"+name+"/master", "../../../../../../../virtual/net/bond0"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ens9f0np0", "ens9f1np1"} {
		remove("sys/class/net/"+name+"/master")(t, tree)
	}
	set("sys/class/net/bond0/bonding/slaves", "ens1np0 ens2np0")(t, tree)
	remove("sys/class/infiniband/mlx5_bond_0")(t, tree)
}
