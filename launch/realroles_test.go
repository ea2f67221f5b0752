package launch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

// roleDeviation is ports of a machine whose role is not the one that its source gives, and why that
// does no harm.
type roleDeviation struct {
	node      string
	ports     []string
	got, want inventory.Role
	why       string
}

// Reasons that several machines share.
const (
	storageOrMore = "storage or management: mounts and routes would decide; jobs don't use it either way"
	otherFabric   = "manages the NVLink switches: nothing in sysfs says so; jobs don't use it either way"
	nothingUp     = "no port has a link: rails and spare ports look the same"
	othersUse     = "not this container's: it gets no role, and jobs don't use it"
	notCabled     = "eight of twelve ports have no link: only the cabling plan tells missing cables from none"
	oneCabled     = "no GPU is near any port, and half of them have no link: the source knows that one is in use"
	virtual       = "a virtual function for a pod: it gets no role on the host, and jobs don't use it"
)

// roleDeviations are all ports of the real machines whose role differs from that of the source.
var roleDeviations = []roleDeviation{
	{
		"aws_p6b200_efa8_nvlink_ib", ports("ibp115s0f0", "ibp116s0f0"),
		inventory.RoleStorage, inventory.RoleUnused, otherFabric,
	},
	{
		"azure_mana_vm", ports("mana_0"),
		inventory.RoleUnknown, inventory.RoleManagement,
		"the state NOP says nothing about the link, so it gets no role",
	},
	{"b200_ndr_and_hdr100", ports("mlx5_0"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"b300_cx8_4plane_12ports", ports("mezz_0", "mezz_1"),
		inventory.RoleStorage, inventory.RoleManagement, otherFabric,
	},
	{
		"chelsio_t6_cx5_all_down",
		[]string{"cxgb4_0:1", "cxgb4_0:2", "mlx5_0:1"},
		inventory.RoleUnknown, inventory.RoleUnused, nothingUp,
	},
	{"gb200_nvl4_cx7_bf3", ports("roceP22p3s0"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"gb300_xdr_smi_nodev", ports("roceP22p1s0f0"),
		inventory.RoleStorage, inventory.RoleUncertain, storageOrMore,
	},
	{
		"gke_a4_pod_one_nic", ports("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"),
		inventory.RoleUnknown, inventory.RoleUnused, othersUse,
	},
	{"gpud_h100_bond", ports("mlx5_bond_0"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"h100_12ib_4cabled_cx5",
		ports("mlx5_0", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_8", "mlx5_10", "mlx5_11", "mlx5_12"),
		inventory.RoleUncertain, inventory.RoleUnused, notCabled,
	},
	{
		"h100_12ib_4cabled_cx5", ports("mlx5_6"),
		inventory.RoleManagement, inventory.RoleUncertain,
		"management or unused, says the source: only an address would decide",
	},
	{
		"h800_bonds_and_34_functions", ports("mlx5_1"),
		inventory.RoleStorage, inventory.RoleUncertain, storageOrMore,
	},
	{"h800_bonds_and_34_functions", mlx5Through(2, 33), inventory.RoleUnknown, inventory.RoleUnused, virtual},
	{"h100_all_ports_disabled", mlx5Through(0, 11), inventory.RoleUnknown, inventory.RoleUnused, nothingUp},
	{
		"oci_siw_block_storage", ports("siw_eth0"),
		inventory.RoleUnknown, inventory.RoleUnused,
		"a software device beside cards gets no role, and jobs don't use it",
	},
	{
		"switchdev_pf_and_sf", ports("mlx5_1"),
		inventory.RoleUnknown, inventory.RoleUnused,
		"the uplink of a switch without a GID: mlx5_2 carries its traffic",
	},
	{
		"hpc_irdma4_mlx5_1", ports("irdma1", "irdma2", "irdma3"),
		inventory.RoleUnused, inventory.RoleManagement, "unused is as right, says the source: no link",
	},
	{
		"hygon_dcu_dual_port_cards", ports("mlx5_3"),
		inventory.RoleManagement, inventory.RoleUncertain,
		"10 Gb/s: management by all likelihood; jobs don't use it either way",
	},
	{
		"ibstatus_five_ports_disabled", ports("mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_11"),
		inventory.RoleUnknown, inventory.RoleUnused, nothingUp,
	},
	{"imbue_h100_ib8_cx6", ports("mlx5_7"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"k8s_mlx4_vf_one_of_nine",
		ports("mlx4_0", "mlx4_1", "mlx4_3", "mlx4_4", "mlx4_5", "mlx4_6", "mlx4_7", "mlx4_8"),
		inventory.RoleUnknown, inventory.RoleUnused, othersUse,
	},
	{
		"lag_switchdev_vf_lag",
		[]string{"mlx5_bond_0:2", "mlx5_bond_0:3"},
		inventory.RoleUnknown, inventory.RoleUnused,
		"the representor of a virtual function gets no role, and jobs don't use it",
	},
	{
		"lstopo_arm_socket_direct_cx4lx", ports("mlx5_1"),
		inventory.RoleUnknown, inventory.RoleManagement,
		"neither rate nor link layer is recorded, so it gets no role",
	},
	{
		"node_exporter_fixture", ports("i40iw0"),
		inventory.RoleManagement, inventory.RoleUnused,
		"10 Gb/s, active: that nobody uses it is known only to the reporter",
	},
	{"oci_bm_gpu_gb200_v3", ports("mlx5_9"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{"oci_bm_gpu_h100_8", ports("mlx5_11"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{"oci_bm_gpu_h200_8", ports("mlx5_7"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"sr680a_h200_bf3", ports("rocep90s0f0"),
		inventory.RoleManagement, inventory.RoleUncertain,
		"25 Gb/s: management by all likelihood; jobs don't use it either way",
	},
	{
		"h100_four_rails_among_25g", ports("mlx5_4"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore,
	},
	{
		"h100_four_rails_among_25g", ports("mlx5_6"), inventory.RoleManagement, inventory.RoleUncertain, storageOrMore,
	},
	{"ibstatus_hdr_second_down", ports("mlx5_1"), inventory.RoleUncertain, inventory.RoleUnused, oneCabled},
	{
		"ibstatus_three_hdr_one_eth40", ports("mlx5_3"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore,
	},
	{"second_ports_cabled_25g", ports("mlx5_9"), inventory.RoleManagement, inventory.RoleUncertain, storageOrMore},
	{"three_cx3_one_ib_one_eth", []string{"mlx4_0:1"}, inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{
		"three_cx3_one_ib_one_eth",
		[]string{"mlx4_2:1", "mlx4_2:2"},
		inventory.RoleUncertain, inventory.RoleUnused, oneCabled,
	},
	{"ucsc885a_h200_bf3", ports("rocep53s0f0"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
	{"xe9680_h200_bf3", ports("rocep157s0f0"), inventory.RoleStorage, inventory.RoleUncertain, storageOrMore},
}

func ports(names ...string) []string {
	var out []string
	for _, name := range names {
		out = append(out, name+":1")
	}
	return out
}

// mlx5Through returns the first ports of mlx5_from to mlx5_to.
func mlx5Through(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("mlx5_%d:1", i))
	}
	return out
}

// TestRolesOfRealNodes compares the role of each port with the one that its source gives. Where
// they differ roleDeviations must say so: a new difference fails, and so does one that is gone.
func TestRolesOfRealNodes(t *testing.T) {
	want, all, got := map[string]string{}, 0, map[string]string{}
	for _, d := range roleDeviations {
		for _, p := range d.ports {
			key := d.node + " " + p
			if want[key] != "" || d.why == "" || d.got == d.want {
				t.Errorf("%s: listed twice, without a reason, or no deviation", key)
			}
			want[key] = fmt.Sprintf("got %q, source %q", d.got, d.want)
		}
	}
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap := scanReal(t, n.Tree)
		source := rolesOfSource(n.Right, rolesOf(&snap)[inventory.RoleCompute])
		all += len(source)
		for d, p := range snap.Ports() {
			port := fmt.Sprintf("%s:%d", d.Name, p.Number)
			role, ok := source[port]
			if !ok {
				t.Errorf("%s %s: the source gives it no role", name, port)
			}
			if p.Role != role {
				got[name+" "+port] = fmt.Sprintf("got %q, source %q", p.Role, role)
			}
		}
	}
	t.Logf("%d ports, %d of them with exactly the role that their source gives", all, all-len(got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deviations (-roleDeviations +got):\n%s", diff)
	}
}

// rolesOfSource returns the role of each port by its source; compute is the list that was found,
// which may be the other one that is as right.
func rolesOfSource(r realnodes.Right, compute []string) map[string]inventory.Role {
	out := map[string]inventory.Role{}
	for role, list := range map[inventory.Role][]string{
		inventory.RoleCompute: r.Compute, inventory.RoleStorage: r.Storage, inventory.RoleManagement: r.Management,
		inventory.RoleUnused: r.Unused, inventory.RoleUncertain: r.Uncertain,
	} {
		for _, p := range list {
			out[p] = role
		}
	}
	if r.OrCompute != nil && slices.Equal(compute, r.OrCompute) {
		for _, p := range r.OrCompute {
			out[p] = inventory.RoleCompute
		}
	}
	return out
}
