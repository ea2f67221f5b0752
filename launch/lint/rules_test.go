package lint

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// treeNode is a scanned tree of internal/testkit/testtrees.
type treeNode struct {
	snap inventory.Snapshot
	root fs.FS
}

// loadNode scans a tree with its recorded netlink answers; edit may change it before.
func loadNode(t testing.TB, name string, edit func(*nodetree.Tree)) treeNode {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(tree)
	}
	src := inventory.Sources{Root: tree.FS()}
	if data, err := fs.ReadFile(tree.FS(), "live.json"); err == nil {
		live := &inventory.Live{}
		if err := json.Unmarshal(data, live); err != nil {
			t.Fatal(err)
		}
		src.Live = live
	}
	// Trees with files that can't be read give an error too; they are here for that.
	snap, _ := inventory.Scan(t.Context(), src)
	return treeNode{snap: snap, root: tree.FS()}
}

func runPairs(n treeNode, pairs ...string) Report {
	return Run(Input{
		Snapshot: &n.snap, Root: n.root, Environments: []Environment{FromPairs("test", FormEnviron, pairs)},
	})
}

// findingsOf returns what a rule found.
func findingsOf(r Report, id string) []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Rule == id {
			out = append(out, f)
		}
	}
	return out
}

// edits change a node before a rule's own examples are tried on it.
func edits(rule string) func(t testing.TB, n *treeNode) {
	switch rule {
	case "tc-host":
		return func(t testing.TB, n *treeNode) {
			*n = loadNode(t, "02_rocev2_8hca", func(tree *nodetree.Tree) { setHostClass(t, tree, "106") })
		}
	case "cross-nic":
		return func(_ testing.TB, n *treeNode) { n.snap.Devices[1].SystemGUID = n.snap.Devices[0].SystemGUID }
	case "socket-ipoib", "ipoib-trap":
		return func(_ testing.TB, n *treeNode) { withIPoIB(&n.snap) }
	}
	return func(testing.TB, *treeNode) {}
}

// TestRules demands of every rule what a reader relies on: fields, a wrong environment
// that it tells, with a remedy, a right one and a near miss on which it is silent.
func TestRules(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z]+[a-z0-9]*(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	misses := nearMisses()
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			if !kebab.MatchString(r.ID) || seen[r.ID] {
				t.Errorf("ID %q is not kebab-case, or used twice", r.ID)
			}
			seen[r.ID] = true
			for name, v := range map[string]string{
				"title": r.Title, "explanation": r.Explanation, "remedy": r.Remedy, "node": r.On,
				"variables": strings.Join(r.Variables, ""), "sources": strings.Join(r.Sources, ""),
			} {
				if v == "" {
					t.Errorf("no %s", name)
				}
			}
			if !slices.Contains(Severities(), r.Severity) {
				t.Errorf("severity %q is unknown", r.Severity)
			}
			n := loadNode(t, r.On, nil)
			edits(r.ID)(t, &n)
			found := findingsOf(runPairs(n, r.Wrong...), r.ID)
			if len(found) == 0 {
				t.Errorf("silent on its own wrong example %q", r.Wrong)
			}
			for _, f := range found {
				if f.Summary == "" || f.Remedy == "" || f.Variable == "" {
					t.Errorf("finding %+v has no summary, remedy or variable", f)
				}
				if slices.Index(Severities(), f.Severity) < slices.Index(Severities(), r.Severity) {
					t.Errorf("severity %s is worse than the rule's %s", f.Severity, r.Severity)
				}
				t.Logf("%s %s=%s: %s; %v", f.Severity, f.Variable, f.Value, f.Summary, f.Fixes)
			}
			if got := findingsOf(runPairs(n, r.Right...), r.ID); len(got) > 0 {
				t.Errorf("findings for its right example %q: %+v", r.Right, got)
			}
			miss, ok := misses[r.ID]
			if !ok {
				t.Fatal("no near miss in nearMisses")
			}
			for _, m := range miss {
				n := loadNode(t, m.on, nil)
				if m.edit != nil {
					m.edit(&n.snap)
				}
				if got := findingsOf(runPairs(n, m.env...), r.ID); len(got) > 0 {
					t.Errorf("findings for the near miss %q on %s (%s): %+v", m.env, m.on, m.why, got)
				}
			}
		})
	}
	for id := range misses {
		if !seen[id] {
			t.Errorf("near miss for %q, which is no rule", id)
		}
	}
}

// TestSeverities holds every rule to the severity that it claims as its worst.
func TestSeverities(t *testing.T) {
	for _, r := range Rules() {
		n := loadNode(t, r.On, nil)
		edits(r.ID)(t, &n)
		worst := false
		for _, wrong := range append([][]string{r.Wrong}, worse()[r.ID]...) {
			for _, f := range findingsOf(runPairs(n, wrong...), r.ID) {
				worst = worst || f.Severity == r.Severity
			}
		}
		if !worst {
			t.Errorf("%s claims %s and no environment of the tests brings that out", r.ID, r.Severity)
		}
	}
}

// worse are environments that bring out the worst of a rule where its example doesn't.
func worse() map[string][][]string {
	return map[string][][]string{
		"hca-down":     {{"NCCL_IB_HCA==mlx5_3"}},
		"nccl-net":     {{"NCCL_NET=IB", "NCCL_IB_DISABLE=1"}},
		"socket-local": {{"GLOO_SOCKET_IFNAME=docker0", "NNODES=2"}},
		"value-type":   {{"NCCL_IB_DISABLE=true"}},
	}
}

// TestDerivedIsClean lints what launch itself derives, on every tree, with and without
// pinned indices.
func TestDerivedIsClean(t *testing.T) {
	for _, name := range testtrees.Names() {
		n := loadNode(t, name, nil)
		for _, opts := range []launch.Options{
			{Libraries: launch.Libraries()},
			{Libraries: launch.Libraries(), PinGID: true},
			{Libraries: launch.Libraries(), TCPFallback: true},
		} {
			plan, err := launch.Derive(n.snap, opts)
			if err != nil {
				continue // --pin-gid doesn't fit every node
			}
			var pairs []string
			for _, k := range slices.Sorted(maps.Keys(plan.Environment())) {
				pairs = append(pairs, k+"="+plan.Environment()[k])
			}
			for _, f := range runPairs(n, pairs...).Findings {
				if f.Severity != SeverityNote {
					t.Errorf("%s, %+v: %s %s %s=%s: %s", name, opts, f.Severity, f.Rule, f.Variable, f.Value, f.Summary)
				}
			}
		}
	}
}

// TestFixesAreRight applies the proposals for each rule's wrong example, and demands
// that the rule is silent then and that no error is left.
func TestFixesAreRight(t *testing.T) {
	for _, r := range Rules() {
		n := loadNode(t, r.On, nil)
		edits(r.ID)(t, &n)
		env := map[string]string{}
		for _, pair := range r.Wrong {
			k, v, _ := strings.Cut(pair, "=")
			env[k] = v
		}
		fixed := false
		for _, f := range findingsOf(runPairs(n, r.Wrong...), r.ID) {
			for _, fix := range f.Fixes {
				fixed = true
				if delete(env, fix.Name); !fix.Unset {
					env[fix.Name] = fix.Value
				}
			}
		}
		if !fixed {
			continue
		}
		var pairs []string
		for _, k := range slices.Sorted(maps.Keys(env)) {
			pairs = append(pairs, k+"="+env[k])
		}
		for _, f := range runPairs(n, pairs...).Findings {
			if f.Rule == r.ID || f.Severity == SeverityError {
				t.Errorf("%s: after its fixes %q: %s %s: %s", r.ID, pairs, f.Severity, f.Rule, f.Summary)
			}
		}
	}
}

// TestProviderWithoutDevices has an EFA provider on nodes with other devices and with none.
func TestProviderWithoutDevices(t *testing.T) {
	for name, want := range map[string]string{
		"46_usb_thunderbolt": "the node has no RDMA device",
		"51_rxe_siw":         "the node has no EFA device, only rxe0, siw0",
	} {
		found := findingsOf(runPairs(loadNode(t, name, nil), "FI_PROVIDER=efa"), "fi-provider")
		if len(found) != 1 || found[0].Summary != want {
			t.Errorf("FI_PROVIDER=efa on %s: findings %+v, want the summary %q", name, found, want)
		}
	}
}
