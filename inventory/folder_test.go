package inventory_test

import (
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

func scanDir(t testing.TB, dir string) inventory.Snapshot {
	t.Helper()
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	snap, err := inventory.Scan(t.Context(), inventory.Sources{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
