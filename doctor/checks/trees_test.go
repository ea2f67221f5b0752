package checks_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// change alters a tree for a test.
type change func(t *testing.T, tree *nodetree.Tree)

// load returns a test tree with changes.
func load(t *testing.T, name string, changes ...change) *nodetree.Tree {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatalf("load tree: %v", err)
	}
	for _, c := range changes {
		if c != nil {
			c(t, tree)
		}
	}
	return tree
}

// set gives a file this content and a newline, as the kernel prints it.
func set(name, value string) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		if err := tree.Set(name, value+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// port is set for a file of port 1 of a device.
func port(dev, file, value string) change {
	return set("sys/class/infiniband/"+dev+"/ports/1/"+file, value)
}

func fail(name string, errno syscall.Errno) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		if err := tree.SetError(name, errno); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(name string) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		if err := tree.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// all joins changes.
func all(changes ...change) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for _, c := range changes {
			c(t, tree)
		}
	}
}

// whole adds what the small trees lack of a whole node: the kernel's release,
// modules, limits, and the character devices of every uverbs device.
func whole(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	limits("unlimited", "unlimited")(t, tree)
	set("proc/sys/kernel/osrelease", "6.8.0-45-generic")(t, tree)
	set("proc/sys/kernel/hostname", "gpu-01")(t, tree)
	set("proc/modules", "ib_uverbs 200704 1 mlx5_ib, Live 0x0000000000000000\n"+
		"rdma_ucm 36864 0 - Live 0x0000000000000000")(t, tree)
	set("dev/infiniband/rdma_cm", "")(t, tree)
	entries, err := fs.ReadDir(tree.FS(), "sys/class/infiniband_verbs")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		set("dev/infiniband/"+e.Name(), "")(t, tree)
	}
}

// limits sets the limits of locked memory of a process without CAP_IPC_LOCK.
func limits(soft, hard string) change {
	return all(
		set("proc/self/limits", fmt.Sprintf("%-26s%-21s%-21s%s\n%-26s%-21s%-21s%s",
			"Limit", "Soft Limit", "Hard Limit", "Units", "Max locked memory", soft, hard, "bytes")),
		set("proc/self/status", "CapEff:\t00000000a80425fb"),
	)
}

// ipcLock makes CAP_IPC_LOCK effective.
func ipcLock(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("proc/self/status", "CapEff:\t00000000a80465fb")(t, tree)
}

// live replaces a text in the recorded answers of the kernel.
func live(old, text string) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		data, err := fs.ReadFile(tree.FS(), "live.json")
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("live.json: %v, without %s", err, old)
		}
		set("live.json", strings.ReplaceAll(string(data), old, text))(t, tree)
	}
}

// pod makes the node look like the inside of a Kubernetes pod.
func pod(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("var/run/secrets/kubernetes.io/serviceaccount/token", "x")(t, tree)
}

// docker makes the node look like the inside of a Docker container.
func docker(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set(".dockerenv", "")(t, tree)
}

// scan reads a tree, with the recorded netlink answers where it has them.
func scan(t *testing.T, tree *nodetree.Tree) inventory.Snapshot {
	t.Helper()
	src := inventory.Sources{Root: tree.FS()}
	if data, err := fs.ReadFile(tree.FS(), "live.json"); err == nil {
		answers := &inventory.Live{}
		if err := json.Unmarshal(data, answers); err != nil {
			t.Fatalf("live.json: %v", err)
		}
		src.Live = answers
	}
	snap, _ := inventory.Scan(t.Context(), src) // what it could not read is in snap.Problems
	return snap
}

// runCheck runs one check.
func runCheck(t *testing.T, id string, snap inventory.Snapshot) doctor.Report {
	t.Helper()
	r, err := doctor.Run(t.Context(), checks.All(), doctor.Input{Snapshot: &snap}, doctor.Options{Only: []string{id}})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	r.Time = time.Time{} // differs from run to run
	return r
}

// factsOf returns what a tree holds beside the inventory: its files, and facts.json.
func factsOf(t *testing.T, tree *nodetree.Tree) *facts.Facts {
	t.Helper()
	f := facts.New(tree.FS())
	if data, err := fs.ReadFile(tree.FS(), "facts.json"); err == nil {
		if err := json.Unmarshal(data, f); err != nil {
			t.Fatalf("facts.json: %v", err)
		}
	}
	return f
}

// diagnose runs checks on a tree, all of them without IDs.
func diagnose(t *testing.T, tree *nodetree.Tree, ids ...string) doctor.Report {
	t.Helper()
	snap := scan(t, tree)
	in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, tree)}
	r, err := doctor.Run(t.Context(), checks.All(), in, doctor.Options{Only: ids})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	r.Time = time.Time{} // differs from run to run
	return r
}

// brief shortens findings to "outcome object".
func brief(r doctor.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Outcome)+" "+f.Object)
	}
	return out
}

// text returns all text of a finding, for tests that search for a word.
func text(f doctor.Finding) string {
	parts := []string{f.Summary, f.Explanation}
	for _, e := range f.Evidence {
		parts = append(parts, e.String())
	}
	return strings.Join(append(parts, f.Remedy...), "\n")
}
