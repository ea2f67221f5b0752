package checks_test

import (
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/launch"
)

// On a node of which any part is missing, unreadable or nonsense, no check
// panics and every finding is complete.
func TestDamagedTrees(t *testing.T) {
	const rounds = 12
	for _, name := range testtrees.Names() {
		if strings.HasPrefix(name, "3") {
			continue // thousands of files each, and nothing new in them
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intact := load(t, name, whole)
			files := paths(t, intact)
			for seed := range uint64(rounds) {
				tree := intact.Clone()
				damage(t, tree, files, rand.New(rand.NewPCG(seed, 1)))
				snap := scan(t, tree)
				for _, c := range checks.All() {
					for _, f := range runCheck(t, c.ID, snap).Findings {
						checkFinding(t, c, f)
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// The same on the machines that people have, with what env makes of them.
func TestDamagedRealNodes(t *testing.T) {
	for _, name := range realnodes.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			intact, err := realnodes.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			files := paths(t, intact.Tree)
			for seed := range uint64(2) {
				tree := intact.Tree.Clone()
				damage(t, tree, files, rand.New(rand.NewPCG(seed, 2)))
				snap := scan(t, tree)
				for _, c := range checks.All() {
					for _, f := range runCheck(t, c.ID, snap).Findings {
						checkFinding(t, c, f)
					}
				}
				plan, err := launch.Derive(snap, launch.Options{})
				if err != nil || plan.Effect == "" {
					t.Errorf("seed %d: Derive: effect %q, %v", seed, plan.Effect, err)
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// paths lists everything in a tree.
func paths(t *testing.T, tree *nodetree.Tree) []string {
	t.Helper()
	var list []string
	err := fs.WalkDir(tree.FS(), ".", func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != "." && p != "live.json" { // no file of the node
			list = append(list, p)
		}
		return nil // a folder that can't be listed is part of some trees
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// garbage is what a file may say instead of what it should.
var garbage = []string{
	"", "\n", "garbage\n", "-1\n", "99999999999999999999\n", "0x\n", "4:\n", ": ACTIVE\n", "\xff\xfe\x00",
	"$(reboot)\n", "7: x\n", "0\n",
}

// damage breaks between one and a third of the paths, each in one of several ways.
func damage(t *testing.T, tree *nodetree.Tree, files []string, rnd *rand.Rand) {
	t.Helper()
	errnos := []syscall.Errno{syscall.EIO, syscall.EACCES, syscall.EINVAL, syscall.ENODEV}
	for range 1 + rnd.IntN(1+len(files)/3) {
		name := files[rnd.IntN(len(files))]
		// Errors mean that an earlier blow took the path away, which is fine.
		switch rnd.IntN(4) {
		case 0:
			_ = tree.Remove(name)
		case 1:
			_ = tree.SetError(name, errnos[rnd.IntN(len(errnos))])
		default:
			_ = tree.Set(name, garbage[rnd.IntN(len(garbage))])
		}
	}
}
