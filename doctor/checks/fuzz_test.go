package checks_test

import (
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
)

// FuzzRealNodes changes the machines that people have: it drops, replaces and duplicates files,
// links, folders and lines. Whatever they become, the scan, the roles, the checks and env say
// something complete about them and don't panic.
func FuzzRealNodes(f *testing.F) {
	names := realnodes.Names()
	for i := 0; i < len(names); i += 9 { // one step of each kind
		var steps []byte
		for kind := range byte(len(mutations)) {
			steps = append(steps, kind, byte(7*i), byte(i)+kind, kind, 3)
		}
		f.Add(uint16(i), steps)
	}
	type machine struct {
		tree  *nodetree.Tree
		paths []string
	}
	loaded := map[string]machine{}
	f.Fuzz(func(t *testing.T, node uint16, steps []byte) {
		name := names[int(node)%len(names)]
		m, ok := loaded[name]
		if !ok {
			n, err := realnodes.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			m = machine{n.Tree, append(paths(t, n.Tree), "live.json")}
			loaded[name] = m
		}
		tree := m.tree.Clone()
		const step, most = 5, 64 // bytes of a step: kind, which path (2), which other one (2)
		for s := range slices.Chunk(steps[:min(len(steps), step*most)], step) {
			if len(s) == step {
				mutate := mutations[int(s[0])%len(mutations)]
				mutate(tree, m.paths, binary.BigEndian.Uint16(s[1:]), binary.BigEndian.Uint16(s[3:]))
			}
		}
		judge(t, tree)
	})
}

// judge does what the commands do with a node.
func judge(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	site := []inventory.RoleSetting{{Pattern: "*_7", Role: inventory.RoleStorage}}
	src := inventory.Sources{Root: tree.FS(), Roles: site}
	if data, err := fs.ReadFile(tree.FS(), "live.json"); err == nil {
		live := &inventory.Live{}
		if json.Unmarshal(data, live) == nil {
			src.Live = live
		}
	}
	snap, _ := inventory.Scan(t.Context(), src) // what it could not read is in snap.Problems
	rails := map[int]bool{}
	for _, p := range snap.Ports() {
		if p.RoleRule == "" || p.RoleReason == "" || (p.Rail != nil) != (p.Role == inventory.RoleCompute) {
			t.Errorf("%s: role %q by %q (%s), rail %v", p.Path, p.Role, p.RoleRule, p.RoleReason, p.Rail)
		}
		if p.Rail != nil {
			rails[*p.Rail] = true
		}
	}
	for i := range len(rails) {
		if !rails[i] {
			t.Errorf("of %d rails none has the number %d", len(rails), i)
		}
	}
	for _, o := range snap.Obstacles() {
		if o.ID == "" || o.Text == "" {
			t.Errorf("incomplete obstacle %+v", o)
		}
	}
	r, err := doctor.Run(t.Context(), checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		checkFinding(t, check(t, f.CheckID), f)
	}
	if plan, err := launch.Derive(snap, launch.Options{}); err != nil || plan.Effect == "" {
		t.Errorf("Derive: effect %q, %v", plan.Effect, err)
	}
}

// mutations change a tree at one of its paths, with the help of another one. Errors mean that an
// earlier step took the path away, which is fine.
var mutations = []func(tree *nodetree.Tree, paths []string, at, other uint16){
	func(tree *nodetree.Tree, paths []string, at, _ uint16) { _ = tree.Remove(pick(paths, at)) },
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		errnos := []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.EINVAL, syscall.ENODEV}
		_ = tree.SetError(pick(paths, at), errnos[int(other)%len(errnos)])
	},
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		_ = tree.Set(pick(paths, at), garbage[int(other)%len(garbage)])
	},
	// The content of the next file of the same name, such as the rate of another port.
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		name := pick(paths, at)
		for i := range paths {
			p := paths[(int(other)+i)%len(paths)]
			if data, err := fs.ReadFile(tree.FS(), p); err == nil && p != name && path.Base(p) == path.Base(name) {
				_ = tree.Set(name, string(data))
				return
			}
		}
	},
	// A link leads where another one does: a device twice, a card in two places.
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		name := pick(paths, at)
		target, err := fs.ReadLink(tree.FS(), name)
		if err != nil {
			return
		}
		if other%2 == 0 {
			_ = tree.Link(name+"_7", target)
			return
		}
		for i := range paths {
			p := paths[(int(other)+i)%len(paths)]
			if target, err := fs.ReadLink(tree.FS(), p); err == nil && p != name && path.Dir(p) == path.Dir(name) {
				_ = tree.Remove(name)
				_ = tree.Link(name, target)
				return
			}
		}
	},
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		changeLines(tree, pick(paths, at), func(lines []string, i int) []string {
			return slices.Delete(lines, i, i+1)
		}, other)
	},
	func(tree *nodetree.Tree, paths []string, at, other uint16) {
		changeLines(tree, pick(paths, at), func(lines []string, i int) []string {
			return slices.Insert(lines, i, lines[i])
		}, other)
	},
	// Numbers and words of a line of live.json change places with those of the line before.
	func(tree *nodetree.Tree, _ []string, at, other uint16) {
		changeLines(tree, "live.json", func(lines []string, i int) []string {
			a, b := strings.Split(lines[i], ","), strings.Split(lines[max(i-1, 0)], ",")
			a[int(at)%len(a)] = b[int(at)%len(b)]
			lines[i] = strings.Join(a, ",")
			return lines
		}, other)
	},
}

func pick(paths []string, at uint16) string { return paths[int(at)%len(paths)] }

// changeLines applies a change at a line of a file.
func changeLines(tree *nodetree.Tree, name string, change func(lines []string, i int) []string, which uint16) {
	data, err := fs.ReadFile(tree.FS(), name)
	if err != nil || len(data) == 0 {
		return
	}
	lines := slices.Collect(strings.Lines(string(data)))
	_ = tree.Set(name, strings.Join(change(lines, int(which)%len(lines)), ""))
}
