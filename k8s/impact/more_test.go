package impact

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares whole forecasts with recorded ones: testdata/CLUSTER/NAME.yaml applied
// to testdata/CLUSTER/cluster.yaml.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v, want clusters and manifests", len(files), err)
	}
	for _, file := range files {
		if filepath.Base(file) == "cluster.yaml" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			set, err := manifest.Read([]string{file}, nil)
			if err != nil || len(set.Problems) > 0 {
				t.Fatal(err, set.Problems)
			}
			set.Files = []string{filepath.Base(file)}
			in := Input{Manifests: set, Options: Options{Prune: strings.HasPrefix(filepath.Base(file), "prune")}}
			in.Cluster = readNodes(t, filepath.Join(filepath.Dir(file), "cluster.yaml"))
			r := Run(in)
			checkRounds(t, r)
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden.json", r)
		})
	}
}

func compare(t *testing.T, golden string, r Report) {
	t.Helper()
	got, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v (go test ./k8s/impact -run Golden -update records it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("forecast differs (-want +got):\n%s", diff)
	}
}

// TestTrees forecasts for recorded nodes.
func TestTrees(t *testing.T) {
	tests := []struct {
		tree, policy string
		want         []string
	}{
		// Two PFs with 2 of 8 VFs each.
		{"61_ib_vfs_host", "numVfs: 8, linkType: IB, nicSelector: {vendor: \"15b3\", pfNames: [ib0, ib1]}", []string{
			"drain", "ib0 vf-count drain", "ib1 vf-count drain",
		}},
		{"61_ib_vfs_host", "numVfs: 2, linkType: IB, nicSelector: {pfNames: [ib0]}", []string{
			"reboot", "ib0 firmware-vfs reboot",
		}},
		{"61_ib_vfs_host", "numVfs: 8, linkType: eth, nicSelector: {pfNames: [ib0]}", []string{
			"reboot", "ib0 link-type reboot", "ib0 vf-count drain",
		}},
		{"61_ib_vfs_host", "numVfs: 2, externallyManaged: true, linkType: IB, nicSelector: {pfNames: [ib0]}", []string{
			"drain", "ib0 externally-managed drain",
		}},
		{"61_ib_vfs_host", "numVfs: 8, eSwitchMode: switchdev, nicSelector: {pfNames: [ib0]}", []string{
			"drain to reboot", "node ovs-service reboot?", "ib0 eswitch-mode drain?", "ib0 vf-count drain",
		}},
		{"61_ib_vfs_host", "numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens9]}", []string{"nothing"}},
		{"06_none", "numVfs: 8, nicSelector: {vendor: \"15b3\"}", []string{"nothing"}},
	}
	for _, tt := range tests {
		t.Run(tt.tree+" "+tt.policy, func(t *testing.T) {
			in := treeInput(t, tt.tree)
			in.Manifests = manifest.Parse("f", []byte(policyText("p", tt.policy)))
			r := Run(in)
			if len(r.Nodes) != 1 {
				t.Fatalf("%d nodes, want 1", len(r.Nodes))
			}
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s\n%+v", diff, r.Nodes[0])
			}
			checkRounds(t, r)
		})
	}
}

func treeInput(t testing.TB, name string) Input {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".tree")
	if err := os.WriteFile(file, tree.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	var in Input
	in.Cluster = readNodes(t, file)
	return in
}

// TestEveryTree forecasts for all recorded nodes.
func TestEveryTree(t *testing.T) {
	for _, name := range testtrees.Names() {
		in := treeInput(t, name)
		in.Manifests = manifest.Parse("f", []byte(policyText("p", `numVfs: 8, nicSelector: {vendor: "15b3"}`)))
		checkRounds(t, Run(in))
	}
}

// TestAvoid applies the proposals, and checks that each leaves the predicted action.
func TestAvoid(t *testing.T) {
	state := func(vfs, total int, more string) string {
		return stateText("n", "", "", pfText("ens1", a0, fmt.Sprintf(
			"linkType: ETH, mtu: 1500, numVfs: %d, totalvfs: %d, %s", vfs, total, more+vfsText(vfs, kernelVF))))
	}
	pick := "nicSelector: {pfNames: [ens1]}"
	noFirmware := configText("disablePlugins: [mellanox]")
	tests := []struct {
		name, policy, cluster string
		change                string // a part of the proposal
		policyDone, done      string // the policy and the cluster with it
		leaves                Action
	}{
		{
			"match the firmware", "numVfs: 8, " + pick, state(0, 16, ""), "numVfs: 16", "numVfs: 16, " + pick,
			state(0, 16, ""), ActionNothing,
		},
		{
			"match the firmware, with VFs", "numVfs: 8, " + pick, state(8, 16, ""), "numVfs: 16",
			"numVfs: 16, " + pick, state(8, 16, ""), ActionDrain,
		},
		{
			"managed by others", "numVfs: 8, " + pick, state(8, 16, ""), "externallyManaged: true",
			"numVfs: 8, externallyManaged: true, " + pick, state(8, 16, ""), ActionDrain,
		},
		{
			"plugin off", "numVfs: 8, " + pick, state(8, 16, ""), "disablePlugins", "numVfs: 8, " + pick,
			configText("disablePlugins: [mellanox]") + state(8, 16, ""), ActionNothing,
		},
		{
			"set beforehand", "numVfs: 8, " + pick, state(8, 16, ""), "NUM_OF_VFS=8", "numVfs: 8, " + pick,
			state(8, 8, ""), ActionNothing,
		},
		{
			"SR-IOV on beforehand", "numVfs: 8, " + pick, state(0, 0, ""), "SRIOV_EN=1", "numVfs: 8, " + pick,
			state(0, 8, ""), ActionNothing,
		},
		{
			"link type", "numVfs: 8, linkType: IB, " + pick, state(8, 8, ""), "linkType: ETH",
			"numVfs: 8, linkType: ETH, " + pick, state(8, 8, ""), ActionNothing,
		},
		{
			"MTU", "numVfs: 8, mtu: 9000, " + pick, state(8, 8, ""), "mtu: 1500 or less",
			"numVfs: 8, mtu: 1500, " + pick, state(8, 8, ""), ActionNothing,
		},
		{
			"eSwitch mode", "numVfs: 8, " + pick, state(8, 8, "eSwitchMode: switchdev, "), "eSwitchMode: switchdev",
			"numVfs: 8, eSwitchMode: switchdev, " + pick, state(8, 8, "eSwitchMode: switchdev, "), ActionNothing,
		},
		{
			"number of VFs", "numVfs: 16, " + pick, noFirmware + state(8, 16, ""), "numVfs: 8", "numVfs: 8, " + pick,
			noFirmware + state(8, 16, ""), ActionNothing,
		},
		{
			"number of VFs, of a card that reboots anyway", "numVfs: 32, " + pick, state(8, 16, ""), "numVfs: 8",
			"numVfs: 8, " + pick, state(8, 16, ""), ActionReboot,
		},
		{
			"as it is, and the firmware stays", "numVfs: 8, linkType: IB, " + pick,
			stateText("n", wantsText, "syncStatus: Succeeded",
				pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF))), "numVfs: 4",
			"numVfs: 4, linkType: IB, " + pick, stateText("n", wantsText, "syncStatus: Succeeded",
				pfText("ens1", a0, "linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF))), ActionNothing,
		},
		{
			"driver", "numVfs: 8, deviceType: vfio-pci, " + pick, state(8, 8, ""), "deviceType: netdevice",
			"numVfs: 8, " + pick, state(8, 8, ""), ActionNothing,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said := proposed(Run(input(t, policyText("p", tt.policy), tt.cluster)), tt.change)
			done := Run(input(t, policyText("p", tt.policyDone), tt.done)).Nodes[0].Cards[0].Action
			if said != tt.leaves || done != tt.leaves {
				t.Errorf("%q leaves %q as proposed, %q when done, want %q", tt.change, said, done, tt.leaves)
			}
		})
	}
	for _, tt := range []struct{ name, policy, cluster, change string }{
		{
			"more than the firmware gives isn't for others to make", "numVfs: 32, " + pick, state(16, 16, ""),
			"externallyManaged",
		},
		{"nor without the plugin", "numVfs: 32, " + pick, state(16, 16, ""), "disablePlugins"},
		{
			"figures of one among several policies decide nothing",
			"priority: 5, numVfs: 8, mtu: 9000, nicSelector: {pfNames: [\"ens1#0-3\"]}" + "}\n" + strings.TrimSuffix(
				policyText("q", "priority: 6, numVfs: 4, nicSelector: {pfNames: [\"ens1#4-7\"]}"), "}\n"),
			state(4, 16, ""), "numVfs",
		},
		{"a reboot is no way around a drain", "numVfs: 16, " + pick, state(8, 16, ""), "numVfs"},
		{"no number of VFs when SR-IOV is off", "numVfs: 8, " + pick, state(0, 0, ""), "numVfs"},
	} {
		if got := proposed(Run(input(t, policyText("p", tt.policy), tt.cluster)), tt.change); got != "" {
			t.Errorf("%s: %q is proposed and leaves %s, want no such proposal", tt.name, tt.change, got)
		}
	}
}

// proposed returns the action that a proposal leaves, "" without a proposal.
func proposed(r Report, change string) Action {
	for _, c := range r.Nodes[0].Cards {
		for _, reason := range c.Reasons {
			for _, a := range reason.Avoid {
				if strings.Contains(a.Change, change) {
					return a.Leaves
				}
			}
		}
	}
	return ""
}

// TestFirmware uses the firmware settings in the output of mstconfig.
func TestFirmware(t *testing.T) {
	settings := func(current, next int, sriov, nextSRIOV, more string) string {
		return fmt.Sprintf("Device #1:\nDevice:  0000:13:00.0\n NUM_OF_VFS 0 %d %d\n SRIOV_EN False(0) %s %s\n%s",
			current, next, sriov, nextSRIOV, more)
	}
	const pick = "numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens1]}"
	state := func(vfs, total int) string {
		return stateText("n", "", "", pfText("ens1", a0,
			fmt.Sprintf("linkType: IB, mtu: 4092, numVfs: %d, totalvfs: %d, %s", vfs, total, vfsText(vfs, kernelVF))))
	}
	eth := stateText("n", "", "", pfText("ens1", a0, "linkType: ETH, totalvfs: 8"))
	tests := []struct {
		name, cluster, firmware string
		want                    []string
		text                    string // in reasons, notes or failures
	}{
		{
			"sysfs says less than the firmware", state(8, 8), settings(16, 16, "True(1)", "True(1)", ""),
			[]string{"reboot", "ens1 firmware-vfs reboot"},
			"the firmware has 16 VFs (by its settings)",
		},
		{"sysfs says another number", state(8, 16), settings(8, 8, "True(1)", "True(1)", ""), []string{"nothing"}, ""},
		{
			"off", state(0, 0), settings(8, 8, "False(0)", "False(0)", ""),
			[]string{"reboot", "ens1 firmware-sriov reboot", "ens1 first-vfs nothing"},
			"SRIOV_EN is False in the firmware (NUM_OF_VFS 8)",
		},
		{
			"no VFs", state(0, 0), settings(0, 0, "True(1)", "True(1)", ""),
			[]string{"reboot", "ens1 firmware-sriov reboot", "ens1 first-vfs nothing"},
			"NUM_OF_VFS is 0",
		},
		{
			"set for the next boot", state(0, 16), settings(16, 8, "True(1)", "True(1)", ""),
			[]string{"reboot", "ens1 firmware-vfs reboot", "ens1 first-vfs nothing"},
			"already set for the next boot",
		},
		{
			"another one at the next boot", state(8, 8), settings(8, 0, "True(1)", "False(0)", ""),
			[]string{"nothing"},
			"SRIOV_EN=false NUM_OF_VFS=0 for the next boot: the operator undoes this setting",
		},
		{
			"one link type", eth, settings(8, 8, "True(1)", "True(1)", strings.Repeat(" OTHER 1 1 1\n", 30)),
			[]string{"nothing", "ens1 first-vfs nothing held", "fails"},
			"the card supports only ETH",
		},
		{
			"link types weren't asked", eth, settings(8, 8, "True(1)", "True(1)", ""),
			[]string{"reboot", "ens1 link-type reboot", "ens1 first-vfs nothing"},
			"(the operator fails if the card supports only one)",
		},
		{
			"two link types", eth, settings(8, 8, "True(1)", "True(1)", " LINK_TYPE_P1 IB(1) ETH(2) IB(1)\n"),
			[]string{"reboot", "ens1 link-type reboot", "ens1 first-vfs nothing"},
			"changes from ETH to IB in the firmware",
		},
		{
			"the next boot alone", state(8, 8),
			"Device #1:\nDevice:  0000:13:00.0\n NUM_OF_VFS 16\n SRIOV_EN True(1)\n",
			[]string{"nothing"},
			"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, policyText("p", pick), tt.cluster)
			dir := t.TempDir()
			for name, text := range map[string]string{"cluster.yaml": tt.cluster, "n.txt": tt.firmware} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in.Cluster = readNodes(t, dir)
			r := Run(in)
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s", diff)
			}
			data, err := json.Marshal(r.Nodes[0])
			if err != nil || !strings.Contains(string(data), tt.text) {
				t.Errorf("forecast %s, %v without %q", data, err, tt.text)
			}
			current := strings.Contains(tt.firmware, "False(0)")
			if assumed := strings.Contains(strings.Join(r.Assumptions, "\n"),
				"sriov_totalvfs of sysfs is used"); assumed == current {
				t.Errorf("assumptions %q, want that sysfs is used instead of the firmware: %t", r.Assumptions, !current)
			}
		})
	}
}

// TestLarge forecasts for more nodes than real clusters have, within seconds.
func TestLarge(t *testing.T) {
	const nodes, pfs = 300, 8
	var cluster, apply strings.Builder
	for p := range pfs {
		apply.WriteString(policyText(fmt.Sprintf("p%d", p),
			fmt.Sprintf("numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens%d]}", p)))
	}
	var ports []string
	for p := range pfs {
		ports = append(ports, pfText(fmt.Sprintf("ens%d", p), fmt.Sprintf("0000:%02x:00.0", p+1),
			"linkType: IB, numVfs: 4, totalvfs: 16, "+vfsText(4, kernelVF)))
	}
	for n := range nodes {
		cluster.WriteString(stateText(fmt.Sprintf("n%04d", n), "", "", ports...))
	}
	in := input(t, apply.String(), cluster.String())
	start := time.Now()
	r := Run(in)
	took := time.Since(start)
	if r.Counts.Reboot != nodes || r.Rounds != nodes {
		t.Errorf("counts %+v, %d rounds, want %d reboots in as many", r.Counts, r.Rounds, nodes)
	}
	if took > 5*time.Second {
		t.Errorf("Run took %v for %d nodes, want less than 5 s", took, nodes)
	}
	t.Logf("%d nodes with %d PFs: %v", nodes, pfs, took)
}

// FuzzRun forecasts for any input as manifests and as cluster.
func FuzzRun(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*", "*.yaml"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data)
	}
	f.Add([]byte(policyText("p", "numVfs: -1, nicSelector: {pfNames: [\"#-\", \"ens1#9-\"]}")),
		[]byte(stateText("n", "", "", "{pciAddress: \"\", vendor: \"15b3\", numVfs: 1}", "{numVfs: 99999999}")))
	f.Add([]byte(poolText("p", "maxUnavailable: 9999999999%")),
		[]byte(stateText("n", "{interfaces: [{vfGroups: [{vfRange: \"\"}]}]}", "")))
	f.Fuzz(func(t *testing.T, apply, cluster []byte) {
		in := Input{Manifests: manifest.Parse("apply", apply)}
		in.Manifests.Add(manifest.Parse("cluster", cluster))
		r := Run(in)
		checkRounds(t, r)
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("marshal: %v", err)
		}
	})
}

// TestPolicyNames returns the policies of all files, each name once.
func TestPolicyNames(t *testing.T) {
	text := func(kind, name string) string {
		return "apiVersion: sriovnetwork.openshift.io/v1\nkind: " + kind + "\nmetadata: {name: " + name +
			", namespace: x}\nspec: {}\n---\n"
	}
	files := manifest.Parse("f", []byte(text("SriovNetworkNodePolicy", "b")+text("SriovNetwork", "net")))
	known := manifest.Parse("g", []byte(
		text("SriovNetworkNodePolicy", "a")+text("SriovNetworkNodePolicy", "b")+text("SriovNetworkPoolConfig", "pool")))
	got := PolicyNames(Input{Manifests: files, Cluster: source.Cluster{Objects: known.Objects}})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("PolicyNames differ (-want +got):\n%s", diff)
	}
}
