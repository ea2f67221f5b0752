package bundle

import (
	"bytes"
	"testing"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// BenchmarkRecord records 8 devices with 256 GIDs each.
func BenchmarkRecord(b *testing.B) {
	tree, err := testtrees.Load("30_timing_8x256")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := Record(b.Context(), Options{Sources: inventory.Sources{Root: tree.FS()}, Origin: OriginRoot})
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		if err := r.Encode(&out); err != nil {
			b.Fatal(err)
		}
	}
}
