package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/source"
)

// TestDifferences counts fabrics by the subnet managers that ports see: a port without a cable sees
// none.
func TestDifferences(t *testing.T) {
	on := func(address string, lid uint16) card {
		return card{Node: &source.Node{Name: "a"}, PF: &source.PF{
			Address: address, Netdev: "ib" + address[3:4], LinkType: "IB",
			Fabric: &source.Fabric{SubnetPrefix: "fe80:0000:0000:0000", SMLID: lid},
		}}
	}
	for _, tt := range []struct {
		name        string
		cards       []card
		wantFabrics []string
	}{
		{"one", []card{on("0001", 7), on("0002", 7)}, []string{"fe80:0000:0000:0000, SM at LID 7"}},
		{"two", []card{on("0001", 7), on("0002", 8)}, []string{
			"fe80:0000:0000:0000, SM at LID 7", "fe80:0000:0000:0000, SM at LID 8",
		}},
		{"a cable is out", []card{on("0001", 7), on("0002", 0)}, []string{"fe80:0000:0000:0000, SM at LID 7"}},
		{"all cables are out", []card{on("0001", 0)}, nil},
	} {
		links, fabrics, names := differences(tt.cards)
		if diff := cmp.Diff(tt.wantFabrics, fabrics); diff != "" || len(links) != 1 || len(names) != len(tt.cards) {
			t.Errorf("%s: %d links, %d names, fabrics (-want +got):\n%s", tt.name, len(links), len(names), diff)
		}
	}
}
