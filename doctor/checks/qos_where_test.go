package checks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
)

// TestQoSElsewhere checks that nothing is judged where this node doesn't set flow control, or has
// no RoCE.
func TestQoSElsewhere(t *testing.T) {
	state := all(dcbOf(factoryDCB, func(_ int, d *facts.DCB) { d.PFC.Enabled = 8 }), onPorts("qos/trust", "pcp"))
	for name, tree := range map[string]*nodetree.Tree{
		"a pod":      load(t, qosTree, state, pod),
		"a VF":       load(t, "07_sriov_vf_pod", faultyEverywhere),
		"InfiniBand": load(t, "01_ib_8hca", faultyEverywhere),
		"EFA":        load(t, "48_efa"),
		"software":   load(t, "51_rxe_siw"),
	} {
		for _, id := range qosIDs() {
			for _, f := range diagnose(t, tree, id).Findings {
				if f.Outcome != doctor.OutcomeNotApplicable {
					t.Errorf("%s: %s %s: %s", name, f.Outcome, id, f.Summary)
				}
			}
		}
	}
}

// faultyEverywhere gives all network devices and RDMA devices of a node settings that the checks
// would report.
func faultyEverywhere(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	snap := scan(t, tree)
	var list []facts.DCB
	for _, n := range snap.Netdevs {
		d := factoryDCB(n.Name)
		d.PFC.Enabled = 0xf8
		list = append(list, d)
	}
	recorded(facts.Facts{DCB: known(list)})(t, tree)
	for _, d := range snap.Devices {
		set("sys/class/infiniband/"+d.Name+"/tc/1/traffic_class", "Global tclass=107")(t, tree)
	}
}

// TestQoSOfOtherPorts checks that a management port is not compared with the compute ports.
func TestQoSOfOtherPorts(t *testing.T) {
	var list []facts.DCB
	for _, name := range []string{"ens1np0", "ens2np0", "ens9f0np0", "ens9f1np1"} {
		d := losslessDCB(name)
		if strings.HasPrefix(name, "ens9") {
			d.PFC.Enabled = 0
		}
		list = append(list, d)
	}
	if got := qosFindings(t, load(t, "49_bond", recorded(facts.Facts{DCB: known(list)})), "pfc-priority"); got != "" {
		t.Errorf("pfc-priority: %s, want nothing beside passes", got)
	}
}

// TestQoSOfBonds checks that the members of bonds are judged, and that what belongs to the RDMA
// device is reported once.
func TestQoSOfBonds(t *testing.T) {
	n, err := realnodes.Load("lag_four_bonds_two_gpus_each")
	if err != nil {
		t.Fatal(err)
	}
	var list []facts.DCB
	for card := range 4 {
		for function := range 2 {
			d := losslessDCB(fmt.Sprintf("ens%df%dnp%d", card+11, function, function))
			if card == 2 && function == 1 {
				d.PFC.Enabled = 0
			}
			list = append(list, d)
		}
	}
	recorded(facts.Facts{DCB: known(list)})(t, n.Tree)
	got := qosFindings(t, n.Tree, "pfc-priority")
	if want := "fail mlx5_bond_2:1: PFC of ens13f1np1 is on no priority, but on priority 3 on 7 others of this " +
		"node"; got != want {
		t.Errorf("pfc-priority: %s\nwant %s", got, want)
	}
	for i := range 4 {
		name := fmt.Sprintf("sys/class/infiniband/mlx5_bond_%d/tc/1/traffic_class", i)
		set(name, "Global tclass=107")(t, n.Tree)
	}
	if got := qosFindings(t, n.Tree, "traffic-class"); strings.Count(got, "warn ") != 4 {
		t.Errorf("traffic-class: %s\nwant a warning for each of four bonds", got)
	}
}

// TestNoQoSRemedyCanBePasted checks that what can disturb a fabric is never a line for a shell.
func TestNoQoSRemedyCanBePasted(t *testing.T) {
	seen := 0
	for _, c := range numberCases() {
		if c.number < 48 || c.number > 60 {
			continue
		}
		tree := load(t, c.tree, c.base, c.find)
		for _, f := range diagnose(t, tree, c.id).Findings {
			for _, a := range f.Actions {
				seen++
				line := a.String()
				looks := strings.Contains(line, " show ") || strings.HasPrefix(line, "ethtool -a ")
				if !strings.HasPrefix(line, "#") && a.Risk != doctor.RiskTraffic && !looks {
					t.Errorf("%s: %s", c.id, line)
				}
			}
		}
	}
	if seen < 9 {
		t.Errorf("only %d actions", seen)
	}
}

// TestEnvironmentClass compares the class that the driver forces with that of the environment, as
// with that of a file.
func TestEnvironmentClass(t *testing.T) {
	for value, want := range map[string]string{"106": "", "0x6a": "", "160": "warn ", "auto": "", "-1": ""} {
		env := recorded(facts.Facts{Environment: known(map[string]string{"NCCL_IB_TC": value})})
		got := qosFindings(t, load(t, qosTree, tclasses("Global tclass=106"), env), "traffic-class")
		if want == "" && strings.Contains(got, "warn ") || want != "" && !strings.Contains(got, want) {
			t.Errorf("NCCL_IB_TC=%s beside the driver's 106: %q, want %q", value, got, want)
		}
	}
}

// TestEnvironmentBeforeFiles has both: NCCL's setEnvFile doesn't replace what the environment has,
// not even an empty value.
func TestEnvironmentBeforeFiles(t *testing.T) {
	for _, c := range []struct {
		env, file string
		agrees    bool // with the driver's class 106
	}{
		{"106", "NCCL_IB_TC=160", true},
		{"160", "NCCL_IB_TC=106", false},
		{"-1", "NCCL_IB_TC=160", true},
		{"", "NCCL_IB_TC=160", true},
		{"106", "", true},
		{"none", "NCCL_IB_TC=160", false},
		{"none", "NCCL_IB_TC=106\nNCCL_IB_TC=160", true},
		{"none", "#NCCL_IB_TC=160\nNCCL_IB_TC=106", true},
	} {
		env := map[string]string{"NCCL_IB_TC": c.env}
		if c.env == "none" {
			delete(env, "NCCL_IB_TC")
		}
		got := qosFindings(t, load(t, qosTree, tclasses("Global tclass=106"), set("etc/nccl.conf", c.file),
			recorded(facts.Facts{Environment: known(env)})), "traffic-class")
		if agrees := !strings.Contains(got, "warn "); agrees != c.agrees {
			t.Errorf("NCCL_IB_TC=%s before %q: %q, want agreement %v", c.env, c.file, got, c.agrees)
		}
	}
}
