package inventory_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
)

// takeDevice removes the RDMA devices of a PCI function.
func takeDevice(address string) func(*inventory.Snapshot) {
	return func(s *inventory.Snapshot) {
		s.Devices = slices.DeleteFunc(s.Devices, func(d inventory.Device) bool { return d.PCI.Address == address })
		cardAt(s, address).Devices = nil
	}
}

func cardAt(s *inventory.Snapshot, address string) *inventory.Card {
	i := slices.IndexFunc(s.Cards, func(c inventory.Card) bool { return c.PCI.Address == address })
	return &s.Cards[i]
}

// TestSecondFunctionOfBlueField takes the RDMA device from functions of BlueFields: only the second
// function of a card may lack it, if the first has one and other cards of the board are alike. In
// xe9680_h200_bf3 and ucsc885a_h200_bf3 0000:9d:00.1 and 0000:35:00.1 have none, as sold; in
// oci_bm_gpu_h200_8 both BlueFields have two.
func TestSecondFunctionOfBlueField(t *testing.T) {
	for _, tt := range []struct {
		name, node string
		change     func(*inventory.Snapshot)
		want       []string
	}{
		{"as sold by Dell", "xe9680_h200_bf3", nil, nil},
		{"as sold by Cisco", "ucsc885a_h200_bf3", nil, nil},
		{
			"the first function has none either", "xe9680_h200_bf3", takeDevice("0000:9d:00.0"),
			[]string{"no-device 0000:9d:00.0", "no-device 0000:9d:00.1"},
		},
		{"the second function has no driver", "xe9680_h200_bf3", func(s *inventory.Snapshot) {
			cardAt(s, "0000:9d:00.1").PCI.Driver = ""
		}, []string{"unbound 0000:9d:00.1"}},
		{"only the second function has one", "oci_bm_gpu_h200_8", takeDevice("0000:9a:00.0"), []string{
			"no-device 0000:9a:00.0",
		}},
		{"another card's second function has one", "oci_bm_gpu_h200_8", takeDevice("0000:9a:00.1"), []string{
			"no-device 0000:9a:00.1",
		}},
		{"no card's second function has one", "oci_bm_gpu_h200_8", func(s *inventory.Snapshot) {
			takeDevice("0000:9a:00.1")(s)
			takeDevice("0000:1f:00.1")(s)
		}, nil},
		{"another model than BlueField", "oci_bm_gpu_h200_8", func(s *inventory.Snapshot) {
			takeDevice("0000:9a:00.1")(s)
			takeDevice("0000:1f:00.1")(s)
			cardAt(s, "0000:9a:00.1").PCI.DeviceID = 0x1021
		}, []string{"no-device 0000:9a:00.1"}},
	} {
		snap := scanNode(t, tt.node)
		if tt.change != nil {
			tt.change(snap)
		}
		var got []string
		for _, o := range snap.Obstacles() {
			got = append(got, o.ID+" "+o.Object)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: obstacles (-want +got):\n%s", tt.name, diff)
		}
	}
}
