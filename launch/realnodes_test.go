package launch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// scanReal reads a machine of realnodes with what its recording has of the running kernel.
func scanReal(t *testing.T, tree *nodetree.Tree) inventory.Snapshot {
	t.Helper()
	n, err := sources.FromFS(tree.FS(), nil, "machine")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	snap, _ := inventory.Scan(t.Context(), n.Sources) // what can't be read is in its problems
	return snap
}

// rolesOf lists the ports of each role, the compute ports in the order of their rails.
func rolesOf(snap *inventory.Snapshot) map[inventory.Role][]string {
	roles, rails := map[inventory.Role][]string{}, map[int]string{}
	for d, p := range snap.Ports() {
		name := fmt.Sprintf("%s:%d", d.Name, p.Number)
		if p.Rail != nil {
			rails[*p.Rail] = name
			continue
		}
		roles[p.Role] = append(roles[p.Role], name)
	}
	for i := range len(rails) {
		roles[inventory.RoleCompute] = append(roles[inventory.RoleCompute], rails[i])
	}
	return roles
}

func hcaOf(plan *launch.Plan) string {
	i := slices.IndexFunc(plan.Variables, func(v launch.Variable) bool { return v.Name == "NCCL_IB_HCA" })
	if i < 0 {
		return "none"
	}
	return plan.Variables[i].Value
}

// TestRealNodes compares the compute ports, their order and NCCL_IB_HCA with what is right for
// machines that people have.
func TestRealNodes(t *testing.T) {
	for _, name := range realnodes.Names() {
		t.Run(name, func(t *testing.T) {
			n, err := realnodes.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			snap := scanReal(t, n.Tree)
			plan, err := launch.Derive(snap, launch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, right := rolesOf(&snap), n.Right
			hca := []string{right.HCA}
			if or := right.OrCompute; or != nil && slices.Equal(got[inventory.RoleCompute], or) {
				right.Compute = or
				hca = append(hca, "="+strings.Join(or, ","))
			}
			if diff := cmp.Diff(right.Compute, got[inventory.RoleCompute]); diff != "" {
				t.Errorf("compute ports (-right +got):\n%s\n%s", diff, strings.Join(right.Why, "\n"))
			}
			if list := hcaOf(&plan); !slices.Contains(hca, list) && right.HCA != "any" {
				t.Errorf("NCCL_IB_HCA = %s, want %s\n%s", list, right.HCA, strings.Join(right.Why, "\n"))
			}
		})
	}
}

// TestEffect checks the sentence about the choice.
func TestEffect(t *testing.T) {
	for name, want := range map[string]string{
		"xe9680_h200_bf3": "jobs use 8 of 9 active ports; NCCL alone would use 9, among them " +
			"rocep157s0f0:1 (storage)",
		"mi355x_pollara8": "jobs use 8 of 8 active ports; NCCL alone would use the same",
		"docker_hgx_no_dev_infiniband": "jobs can use none of 8 compute ports, so no list of devices is set; NCCL " +
			"alone would use none",
		"gb300_xdr_smi_nodev": "jobs use 4 of 5 active ports; NCCL alone would use 5, among them " +
			"roceP22p1s0f0:1 (storage)",
		"alibaba_gn8is_erdma": "jobs use 1 of 1 active port; NCCL alone would use the same",
	} {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := launch.Derive(scanReal(t, n.Tree), launch.Options{})
		if err != nil || plan.Effect != want {
			t.Errorf("%s: %q, %v, want %q", name, plan.Effect, err, want)
		}
	}
}

// TestUncertainPortsAreAskedFor includes ports of a node without compute ports: they are used only
// if someone says so, and no other port with them.
func TestUncertainPortsAreAskedFor(t *testing.T) {
	n, err := realnodes.Load("h20_ib_rails_down_bf3_up")
	if err != nil {
		t.Fatal(err)
	}
	snap := scanReal(t, n.Tree)
	for _, tt := range []struct {
		include []string
		want    string
	}{
		{nil, "none"},
		{[]string{"mlx5_1:1", "mlx5_2:1"}, "=mlx5_1:1,mlx5_2:1"},
		{[]string{"mlx5_0"}, "none"}, // has no link
	} {
		plan, err := launch.Derive(snap, launch.Options{Include: tt.include})
		if got := hcaOf(&plan); err != nil || got != tt.want {
			t.Errorf("include %v: NCCL_IB_HCA = %s, %v, want %s", tt.include, got, err, tt.want)
		}
	}
}

// onlyNames are the real machines whose recordings have no PCI devices: only the names tell which
// rail is which.
var onlyNames = []string{
	"gpud_h100_bond", "ibstat_cx3_two_fabrics", "ibstatus_hdr_second_down", "ibstatus_three_hdr_one_eth40",
	"ibstatus_two_roce_400", "node_exporter_fixture", "sysfs_login_two_100g_no_link_layer",
}

// TestRailsDoNotDependOnNames renames the devices of real machines at random: the rails stay with
// their PCI addresses.
func TestRailsDoNotDependOnNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	judged := 0
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap := scanReal(t, n.Tree)
		want, ok := railsByPlace(&snap)
		if ok == slices.Contains(onlyNames, name) {
			t.Errorf("%s: all rails have PCI addresses: %t, unlike onlyNames", name, ok)
		}
		if !ok {
			continue
		}
		judged += len(want)
		for range 5 {
			rename(&snap, random)
			inventory.AssignRoles(&snap, nil)
			got, _ := railsByPlace(&snap)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: rails with other names (-want +got):\n%s", name, diff)
				break
			}
		}
	}
	const least = 520 // the heads name 532 compute ports, 12 of them in onlyNames; some have a second answer
	if t.Logf("%d rails", judged); judged < least {
		t.Errorf("%d rails judged, want %d or more", judged, least)
	}
}

// railsByPlace returns the rails by PCI address and port; ok is false if a rail has no address.
func railsByPlace(snap *inventory.Snapshot) (rails map[string]int, ok bool) {
	rails, ok = map[string]int{}, true
	for d, p := range snap.Ports() {
		switch {
		case p.Rail == nil:
		case d.PCI == nil:
			ok = false
		default:
			rails[fmt.Sprintf("%s/%d", d.PCI.Address, p.Number)] = *p.Rail
		}
	}
	return rails, ok
}

// rename shuffles the names of the devices and the devices themselves.
func rename(snap *inventory.Snapshot, random *rand.Rand) {
	names := map[string]string{}
	order := random.Perm(len(snap.Devices))
	for i, d := range snap.Devices {
		names[d.Name] = fmt.Sprintf("rdma%d", order[i])
	}
	for i := range snap.Devices {
		d := &snap.Devices[i]
		d.Name = names[d.Name]
		if d.SMIOf != "" {
			d.SMIOf = names[d.SMIOf]
		}
		if d.VF != nil {
			vf := *d.VF
			vf.ParentDevice = names[vf.ParentDevice]
			d.VF = &vf
		}
	}
	random.Shuffle(len(snap.Devices), func(i, j int) {
		snap.Devices[i], snap.Devices[j] = snap.Devices[j], snap.Devices[i]
	})
}

// TestRailsStayWhenPortsFail takes the link from one rail after the other: the numbers of the
// others stay, and that of the port too.
func TestRailsStayWhenPortsFail(t *testing.T) {
	for _, name := range []string{
		"hgx_ib8_eth3_ipoib", "xe9680_h200_bf3", "mi355x_pollara8", "h800_eight_bonds_mgmt_and_storage",
		"oci_bm_gpu_h100_8", "sr675_rtxpro_cx7",
	} {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap := scanReal(t, n.Tree)
		want, _ := railsByPlace(&snap)
		for _, p := range snap.Ports() {
			if p.Rail == nil {
				continue
			}
			state, phys := p.State, p.PhysState
			p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStatePolling
			inventory.AssignRoles(&snap, nil)
			got, _ := railsByPlace(&snap)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: rails while %s is down (-want +got):\n%s", name, p.Path, diff)
			}
			p.State, p.PhysState = state, phys
			inventory.AssignRoles(&snap, nil)
		}
	}
}
