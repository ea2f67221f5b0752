package node

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/inventory"
)

// BenchmarkDoctorBundle does what "doctor --from" does with a bundle of eight cards: unpack, scan,
// run all checks, print.
func BenchmarkDoctorBundle(b *testing.B) {
	for _, name := range []string{"01_ib_8hca", "02_rocev2_8hca", "hgx_8rail_two_card_bond"} {
		b.Run(name, func(b *testing.B) {
			tree, err := testtrees.Load(name)
			if slices.Contains(realnodes.Names(), name) {
				var n *realnodes.Node
				n, err = realnodes.Load(name)
				tree = n.Tree
			}
			if err != nil {
				b.Fatal(err)
			}
			recorded, err := bundle.Record(b.Context(),
				bundle.Options{Sources: inventory.Sources{Root: tree.FS()}, Origin: bundle.OriginRoot})
			if err != nil {
				b.Fatal(err)
			}
			var file bytes.Buffer
			if err := recorded.Encode(&file); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				n, err := sources.ReadBundle(name, bytes.NewReader(file.Bytes()))
				if err != nil {
					b.Fatal(err)
				}
				snap, _ := inventory.Scan(b.Context(), n.Sources) // the report has what could not be read
				r, err := doctor.Run(b.Context(), checks.All(), doctor.Input{Snapshot: &snap, Facts: n.Facts()},
					doctor.Options{NotCovered: checks.NotCovered()})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := output.New(output.Options{}).Render(nil, ReportBlocks(r, DetailShort)...); err != nil {
					b.Fatal(err)
				}
				n.Close()
			}
		})
	}
}
