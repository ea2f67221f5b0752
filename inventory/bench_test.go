package inventory_test

import (
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// BenchmarkScan reads 8 cards with 256 GIDs each: from memory, from a folder
// through sysfs.Root, and from a folder through plain os.Root.
func BenchmarkScan(b *testing.B) {
	for _, name := range []string{"30_timing_8x256", "31_timing_worst_8x256"} {
		b.Run(name, func(b *testing.B) { benchmarkScan(b, name) })
	}
}

func benchmarkScan(b *testing.B, name string) {
	tree, err := testtrees.Load(name)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := tree.WriteDir(dir); err != nil {
		b.Fatal(err)
	}
	fast, err := sysfs.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer fast.Close() //nolint:errcheck // a benchmark's folder
	plain, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // a benchmark's folder
	sources := map[string]inventory.Sources{
		"memory": {Root: tree.FS()}, "folder": {Root: fast}, "os.Root": {Root: plain.FS()},
	}
	for kind, src := range sources {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if snap, err := inventory.Scan(b.Context(), src); err != nil || len(snap.Devices) != 8 {
					b.Fatalf("%d devices, %v", len(snap.Devices), err)
				}
			}
		})
	}
}

// A caller outside this project can use only os.Root: the snapshot must be the same, except for
// errors, which a plain folder can't reproduce.
func TestScanOfOSRoot(t *testing.T) {
	tree := load(t, "01_ib_8hca")
	want := scan(t, tree)
	dir := t.TempDir()
	if err := tree.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // read only
	got, err := inventory.Scan(t.Context(), inventory.Sources{Root: root.FS()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("snapshot through os.Root differs (-memory +folder):\n%s", diff)
	}
}
