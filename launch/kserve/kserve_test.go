package kserve

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/launch"
)

// kserveScript follows the shell script that KServe replaces; it also serves `make bench`.
const kserveScript = "../../integration/bench/kserve.sh"

// TestRecorded compares with what KServe's own script exported on the recorded nodes.
func TestRecorded(t *testing.T) {
	runs, err := testtrees.KServe()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) < 12 {
		t.Fatalf("%d recorded runs, want 12 or more", len(runs))
	}
	for name, run := range runs {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		env := maps.Clone(run.UserEnv)
		if env == nil {
			env = map[string]string{}
		}
		env["KSERVE_INFER_ROCE"] = "true"
		plan, err := Derive(tree.FS(), env)
		if err != nil {
			t.Errorf("Derive(%s): %v", name, err)
			continue
		}
		if diff := cmp.Diff(run.Exported, plan.Environment()); diff != "" {
			t.Errorf("Derive(%s) exports (-recorded +got):\n%s", name, diff)
		}
	}
}

// TestRuleTable holds that no rule is called like another, here or in launch, and that each says
// all.
func TestRuleTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(launch.Rules(), Rules()...) {
		if seen[r.ID] || r.ID == "" || r.Kind == "" || r.When == "" || r.Then == "" || r.Why == "" {
			t.Errorf("rule %+v: incomplete, or a second one of that ID", r)
		}
		seen[r.ID] = true
	}
}

func TestSwitch(t *testing.T) {
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]launch.Outcome{
		"true": launch.OutcomeRDMA, "": launch.OutcomeOff, "True": launch.OutcomeOff, "1": launch.OutcomeOff,
		"true\n": launch.OutcomeOff,
	} {
		plan, err := Derive(tree.FS(), map[string]string{"KSERVE_INFER_ROCE": value})
		if err != nil || plan.Outcome != want || (len(plan.Variables) == 6) != (want == launch.OutcomeRDMA) {
			t.Errorf("KServe with KSERVE_INFER_ROCE=%q = %s, %d variables, %v, want %s",
				value, plan.Outcome, len(plan.Variables), err, want)
		}
	}
	_, err = Derive(tree.FS(),
		map[string]string{"KSERVE_INFER_ROCE": "true", "KSERVE_INFER_IB_GID_INDEX_GREP": `\(v\)\1`})
	if err == nil || !strings.Contains(err.Error(), "back-reference") ||
		!strings.Contains(err.Error(), "KSERVE_INFER_IB_GID_INDEX_GREP") {
		t.Errorf("KServe with a back-reference = %v, want an error that names it and the variable", err)
	}
}

// TestAgainstBash compares with the script on random trees with random settings of the user.
func TestAgainstBash(t *testing.T) {
	bash := need(t, "bash")
	rng := rand.New(rand.NewPCG(5, 6))
	outcomes := map[string]int{}
	for n := range 24 {
		tree := randomKServeTree(t, rng)
		env := randomKServeEnv(rng)
		plan, err := Derive(tree.FS(), env)
		if err != nil {
			t.Fatalf("tree %d: %v", n, err)
		}
		got := map[string]string{}
		for _, name := range kserveNames {
			if v := env[name]; v != "" {
				got[name] = v
			}
		}
		maps.Copy(got, plan.Environment())
		want := runKServeScript(t, bash, tree, env)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tree %d, environment %v (-bash +got):\n%s\n%s", n, env, diff, tree.Text())
		}
		outcomes[fmt.Sprint(len(plan.Variables), len(plan.Conflicts) > 0)]++

		// The same through a folder with a root of its own, as the command reads it.
		dir := t.TempDir()
		if err := tree.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		root, err := sysfs.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Derive(root, env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan, again); diff != "" {
			t.Errorf("tree %d on disk (-memory +disk):\n%s", n, diff)
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(outcomes) < 4 {
		t.Errorf("the random trees gave only these outcomes: %v", outcomes)
	}
}

var kserveNames = []string{
	"NCCL_IB_HCA", "NVSHMEM_HCA_LIST", "UCX_NET_DEVICES", "NCCL_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX",
	"UCX_IB_GID_INDEX",
}

func runKServeScript(t *testing.T, bash string, tree *nodetree.Tree, env map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := tree.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), bash, kserveScript, dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.ExtraFiles, cmd.Stderr = []*os.File{w}, &stderr
	err = cmd.Run()
	_ = w.Close()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for pair := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			got[name] = value
		}
	}
	return got
}

func randomKServeEnv(rng *rand.Rand) map[string]string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	env := map[string]string{"KSERVE_INFER_ROCE": "true"}
	if rng.IntN(10) == 0 {
		env["KSERVE_INFER_ROCE"] = pick("false", "TRUE", "")
	}
	if rng.IntN(3) == 0 {
		env["KSERVE_INFER_IB_GID_INDEX_GREP"] = pick("RoCE v1", "v[12]", "RoCE v2$", `IB\|v2`, "", "nothing",
			`RoCE v\{1\}2`, "^RoCE", "v1\nv2")
	}
	for _, name := range kserveNames {
		if rng.IntN(6) == 0 {
			env[name] = pick("", "7", "mlx5_9", "a'b", "x y", "$HOME")
		}
	}
	return env
}

// randomKServeTree makes a node with everything that the script stumbles over.
func randomKServeTree(t *testing.T, rng *rand.Rand) *nodetree.Tree {
	t.Helper()
	tree := nodetree.New()
	set := func(name, content string) {
		if err := tree.Set(name, content); err != nil {
			t.Fatal(err)
		}
	}
	set("proc/driver/nvidia/params", "x: 1\n")
	names := []string{
		"mlx5_0", "mlx5_1", "mlx5_10", "mlx5_2", "mlx5_11", "mlx5_bond_0", "mlx4_0", "rocep1s0", "mlx5_a b",
		"mlx5_[0-9]", "mlx5_$(id)", "mlx5_'q", "mlx5_*",
	}
	for _, name := range names {
		if rng.IntN(5) < 2 {
			continue
		}
		dir := path.Join("sys/devices/pci0000:00", name)
		port := path.Join(dir, "ports/1")
		if err := tree.Mkdir(port); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(12) > 0 {
			set(port+"/state",
				[]string{"4: ACTIVE\n", "4: ACTIVE\n", "4: ACTIVE", "5: ACTIVE_DEFER\n", "1: DOWN\n", ""}[rng.IntN(6)])
		}
		indices := rng.Perm(30)[:rng.IntN(5)]
		for _, i := range indices {
			randomKServeGID(t, rng, tree, port, strconv.Itoa(i))
		}
		if err := tree.Link("sys/class/infiniband/"+name, "../../devices/pci0000:00/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if rng.IntN(4) == 0 {
		set("sys/class/infiniband/mlx5_file", "no folder\n")
		if err := tree.Link("sys/class/infiniband/mlx5_gone", "../../devices/nowhere"); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func randomKServeGID(t *testing.T, rng *rand.Rand, tree *nodetree.Tree, port, index string) {
	t.Helper()
	kinds := []string{"RoCE v2\n", "RoCE v2\n", "IB/RoCE v1\n", "", "RoCE v2", "x\nRoCE v2\n"}
	gids := []string{
		"0000:0000:0000:0000:0000:ffff:0a00:0101\n", "0000:0000:0000:0000:0000:ffff:0a00:0102\n",
		"fe80:0000:0000:0000:ba3f:ffff:fea5:1000\n", "fe80:0000:0000:0000:ba3f:d2ff:fea5:1000\n",
		"0000:0000:0000:0000:0000:0000:0000:0000\n", "2001:0db8:0000:0000:0000:0000:0000:ffff\n", "",
	}
	err := tree.Set(port+"/gid_attrs/types/"+index, kinds[rng.IntN(len(kinds))])
	switch rng.IntN(12) {
	case 0: // no such GID
	case 1:
		err = tree.Mkdir(port + "/gids/" + index)
	case 2:
		err = tree.Link(port+"/gids/"+index, "nowhere")
	default:
		err = tree.Set(port+"/gids/"+index, gids[rng.IntN(len(gids))])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTies pins what the order of bash's table makes of equal counts.
func TestTies(t *testing.T) {
	tests := []struct {
		indices []int // of one device each
		want    string
	}{
		{[]int{5, 7}, "7"},
		{[]int{7, 5}, "7"},
		{[]int{5, 11}, "5"},
		{[]int{4, 6}, "6"},
		{[]int{2, 6}, "6"},
		{[]int{1, 5}, "5"},
		{[]int{13, 15}, "13"},
		{[]int{5, 3}, "3"},
		{[]int{5, 5, 3}, "5"},
		{[]int{7, 3, 7, 3}, "3"},
		{[]int{9}, "9"},
		// One bucket: the youngest comes first.
		{[]int{15, 178}, "178"},
		{[]int{178, 15}, "15"},
	}
	for _, tt := range tests {
		tree := nodetree.New()
		for d, index := range tt.indices {
			port := fmt.Sprintf("sys/class/infiniband/mlx5_%d/ports/1", d)
			for name, content := range map[string]string{
				"state": "4: ACTIVE\n", fmt.Sprintf("gids/%d", index): "0000:0000:0000:0000:0000:ffff:0a00:0101\n",
				fmt.Sprintf("gid_attrs/types/%d", index): "RoCE v2\n",
			} {
				if err := tree.Set(path.Join(port, name), content); err != nil {
					t.Fatal(err)
				}
			}
		}
		plan, err := Derive(tree.FS(), map[string]string{"KSERVE_INFER_ROCE": "true"})
		if got := plan.Environment()["UCX_IB_GID_INDEX"]; err != nil || got != tt.want {
			t.Errorf("index for %v = %q, %v, want %q", tt.indices, got, err, tt.want)
		}
	}
}

// TestErrors checks that unreadable files are no match, as for grep.
func TestErrors(t *testing.T) {
	tree, err := testtrees.Load("02_rocev2_8hca")
	if err != nil {
		t.Fatal(err)
	}
	errno, _ := sysfs.ErrnoByName("EACCES")
	for _, name := range []string{
		"mlx5_0/ports/1/state", "mlx5_1/ports/1/gid_attrs/types/3", "mlx5_1/ports/1/gid_attrs/types/1",
	} {
		if err := tree.SetError("sys/class/infiniband/"+name, errno); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := Derive(tree.FS(), map[string]string{"KSERVE_INFER_ROCE": "true"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Environment()["NCCL_IB_HCA"], "mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"; got != want {
		t.Errorf("NCCL_IB_HCA = %s, want %s", got, want)
	}
	var reasons []string
	for _, p := range plan.Ports[:2] {
		reasons = append(reasons, p.Reason)
	}
	if want := []string{
		"the state of port 1 does not contain ACTIVE", `no GID type of port 1 matches "RoCE v2"`,
	}; !slices.Equal(reasons, want) {
		t.Errorf("reasons = %q, want %q", reasons, want)
	}
}

func BenchmarkDerive(b *testing.B) {
	for _, name := range []string{"30_timing_8x256", "31_timing_worst_8x256"} {
		b.Run(name, func(b *testing.B) {
			tree, err := testtrees.Load(name)
			if err != nil {
				b.Fatal(err)
			}
			root := tree.FS()
			env := map[string]string{"KSERVE_INFER_ROCE": "true"}
			for b.Loop() {
				if _, err := Derive(root, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
