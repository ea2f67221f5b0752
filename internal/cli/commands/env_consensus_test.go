package commands

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/sim/host"
)

// consensusTrees is the folder with the nodes of docs/consensus.md.
var consensusTrees = filepath.Join("..", "..", "testkit", "testtrees", "consensus")

// consensusNode returns a node of the example cluster: gpu-00 and gpu-01 have no fault, gpu-02 has
// a small MTU and a dead rail, on gpu-03 the cables of two rails are swapped.
func consensusNode(t *testing.T, n int) *nodetree.Tree {
	t.Helper()
	spec := host.Spec{Node: n, Rails: 4, GPUs: 4, GIDs: 8, NICs: []host.NIC{host.Management()}}
	if n == 2 {
		spec.Plant = []host.Plant{{Kind: host.SmallMTU, Rail: 0}, {Kind: host.NoLink, Rail: 3}}
	}
	tree, err := host.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if n == 3 {
		return swapAddresses(t, tree)
	}
	return tree
}

// swapAddresses swaps the addresses of rails 1 and 2.
func swapAddresses(t *testing.T, tree *nodetree.Tree) *nodetree.Tree {
	t.Helper()
	text := string(tree.Text())
	for _, pair := range [][2]string{{"10.101.0.13", "10.102.0.13"}, {"ffff:0a65:000d", "ffff:0a66:000d"}} {
		text = strings.NewReplacer(pair[0], pair[1], pair[1], pair[0]).Replace(text)
	}
	swapped, err := nodetree.Parse("swapped", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return swapped
}

// consensusAbout describes each node of the example cluster.
func consensusAbout() []string {
	return []string{
		"Node 0 of an example cluster: four RoCE rails, all well.",
		"Node 1 of an example cluster: as node 0.",
		"Node 2 of an example cluster: rail 0 has an MTU of 1500, the cable of rail 3 is unplugged.",
		"Node 3 of an example cluster: rails 1 and 2 are swapped.",
	}
}

// TestConsensusTrees compares the recorded nodes with the code that generates them; -update writes
// them.
func TestConsensusTrees(t *testing.T) {
	for n, about := range consensusAbout() {
		tree := consensusNode(t, n)
		tree.SetAbout(about)
		file := filepath.Join(consensusTrees, fmt.Sprintf("gpu-%02d.tree", n))
		if *update {
			if err := os.MkdirAll(consensusTrees, 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, tree.Text(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(tree.Text()) {
			t.Errorf("%s is not what consensusNode(%d) makes (-run ConsensusTrees -update writes it)", file, n)
		}
	}
}

// runConsensus runs env consensus and returns its output and exit code.
func runConsensus(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(stdin), &out, &errs
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir()}
	code = app.Run(t.Context(), append([]string{"env", "consensus"}, args...))
	return out.String(), errs.String(), code
}

// TestConsensusGolden compares reports on nodes of the example cluster with recorded ones.
func TestConsensusGolden(t *testing.T) {
	file := func(n int) string { return filepath.Join(consensusTrees, fmt.Sprintf("gpu-%02d.tree", n)) }
	tree := func(name string) string { return filepath.Join("..", "..", "testkit", "testtrees", name+".tree") }
	tests := []struct {
		name string
		args []string
	}{
		{"cluster", []string{consensusTrees}},
		{"cluster-wide", []string{"-o", "wide", consensusTrees}},
		{"cluster-yaml", []string{"-o", "yaml", consensusTrees}},
		{"agree", []string{file(0), file(1)}},
		{"swapped-tie", []string{file(1), file(3)}},
		{"mooncake", []string{"--for", "all", "--exclude", "mlx5_[1-3]", file(0), file(1), file(2)}},
		{"indices", []string{tree("07_sriov_vf_pod"), tree("14_lexical_gid_order")}},
		{"layers", []string{tree("01_ib_8hca"), tree("02_rocev2_8hca"), tree("06_none")}},
		{"same-twice", []string{file(0), file(0), file(1)}},
		{"families", []string{tree("02_rocev2_8hca"), tree("13_ipv6_only_roce")}},
		{"none", []string{tree("06_none"), tree("54_link_local_only")}},
		{"infiniband", []string{tree("58_two_ib_fabrics"), tree("47_gpu_switches")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := runConsensus(t, "", tt.args...)
			got := fmt.Sprintf("$ rdmactl env consensus %s\n%s--- stderr\n%s--- exit %d\n",
				strings.Join(tt.args, " "), stdout, stderr, code)
			compareGolden(t, filepath.Join("testdata", "consensus", tt.name+".txt"), got)
		})
	}
}
