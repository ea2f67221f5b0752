package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
)

func TestSelect(t *testing.T) {
	nodes := []Node{
		{Name: "a", Labels: map[string]string{"gpu": "yes"}, PFs: []PF{
			{Address: "0000:3b:00.0", Vendor: "15b3", DeviceID: "1021", Netdev: "ens1", AltNames: []string{"enp59s0"}},
			{Address: "0000:5e:00.0", Vendor: "15b3", DeviceID: "1021"}, // without a network device
			{Address: "0000:86:00.0", Vendor: "8086", DeviceID: "159b", Netdev: "ens3"},
		}},
		{Name: "b", PFs: []PF{{Address: "0000:3b:00.0", Vendor: "15b3", DeviceID: "101b", Netdev: "ens1"}}},
	}
	tests := []struct {
		name     string
		nodes    map[string]string
		selector k8s.NicSelector
		want     []string
	}{
		{"empty", nil, k8s.NicSelector{}, nil},
		{"vendor", nil, k8s.NicSelector{Vendor: "15b3"}, []string{"a ens1 0-7", "b ens1 0-7"}},
		{"vendor and device", nil, k8s.NicSelector{Vendor: "15b3", DeviceID: "1021"}, []string{"a ens1 0-7"}},
		{"upper case", nil, k8s.NicSelector{Vendor: "15B3"}, nil},
		{"address", nil, k8s.NicSelector{RootDevices: []string{"0000:86:00.0", "x"}}, []string{"a ens3 0-7"}},
		{"short address", nil, k8s.NicSelector{RootDevices: []string{"86:00.0"}}, nil},
		{"name", nil, k8s.NicSelector{PfNames: []string{"ens1"}}, []string{"a ens1 0-7", "b ens1 0-7"}},
		{"range", nil, k8s.NicSelector{PfNames: []string{"ens9", "ens1#2-3"}}, []string{"a ens1 2-3", "b ens1 2-3"}},
		{"other name", nil, k8s.NicSelector{PfNames: []string{"enp59s0"}}, []string{"a ens1 0-7"}},
		{"range behind another name", nil, k8s.NicSelector{PfNames: []string{"enp59s0#2-3"}}, []string{"a ens1 0-7"}},
		{
			"range behind another name, then the name", nil,
			k8s.NicSelector{PfNames: []string{"enp59s0#2-3", "ens1#4-5"}},
			[]string{"a ens1 4-5", "b ens1 4-5"},
		},
		{"name and device", nil, k8s.NicSelector{PfNames: []string{"ens1"}, DeviceID: "101b"}, []string{"b ens1 0-7"}},
		{
			"label, or not known",
			map[string]string{"gpu": "yes"},
			k8s.NicSelector{Vendor: "15b3"},
			[]string{"a ens1 0-7", "b ens1 0-7 maybe"},
		},
		{"other label", map[string]string{"gpu": "no"}, k8s.NicSelector{Vendor: "15b3"}, []string{"b ens1 0-7 maybe"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range Select(k8s.PolicySpec{NumVfs: new(8), NodeSelector: tt.nodes, NicSelector: tt.selector},
				nodes) {
				text := s.Node.Name + " " + s.PF.Netdev + " " + string(rune('0'+s.First)) + "-" +
					string(rune('0'+s.Last))
				if s.Maybe {
					text += " maybe"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Select differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePFName(t *testing.T) {
	tests := []struct {
		in   string
		want PFName
		ok   bool
	}{
		{"ens1", PFName{Name: "ens1"}, true},
		{"ens1#0-3", PFName{"ens1", true, 0, 3}, true},
		{"ens1#3-3", PFName{"ens1", true, 3, 3}, true},
		{"ens1#3-0", PFName{}, false},
		{"ens1#3", PFName{}, false},
		{"#0-3", PFName{}, false},
		{"ens1#0-3#4-5", PFName{}, false},
		{"ens1#0-99999999999999999999", PFName{}, false},
		{" ens1", PFName{}, false},
		{"", PFName{}, false},
	}
	for _, tt := range tests {
		if got, err := ParsePFName(tt.in); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParsePFName(%q) = %+v, %v, want %+v, %t", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

// TestMatchesWrongEntries reads entries of pfNames as the operator's controller does: what its
// webhook would refuse has a meaning too.
func TestMatchesWrongEntries(t *testing.T) {
	pf := PF{Address: "0000:3b:00.0", Netdev: "ens1", AltNames: []string{"enp59s0"}}
	tests := []struct {
		entries     []string
		first, last int
		ok          bool
	}{
		{[]string{"ens1#0-3-5"}, 0, 3, true},
		{[]string{"ens1#0-3#4-7"}, 0, 3, true},
		{[]string{"ens1#"}, 0, 7, true},
		{[]string{"ens1##4-7"}, 0, 7, true},
		{[]string{"ens1#3-0"}, 3, 0, true},
		{[]string{"ens1#6-9"}, 6, 9, true},
		{[]string{"ens1#3"}, 0, -1, true}, // the operator gives up
		{[]string{"ens1#a-b"}, 0, -1, true},
		{[]string{"ens1#-3"}, 0, -1, true},
		{[]string{"ens9#3", "ens1#0-3"}, 0, -1, true},
		{[]string{"ens1#0-3", "ens9#3"}, 0, 3, true}, // it doesn't come so far
		{[]string{"enp59s0#3"}, 0, -1, true},
		{[]string{"ens9#3"}, 0, 0, false},
		{[]string{" ens1"}, 0, 0, false},
		{[]string{""}, 0, 0, false},
	}
	for _, tt := range tests {
		first, last, ok := pf.Matches(k8s.PolicySpec{NumVfs: new(8), NicSelector: k8s.NicSelector{PfNames: tt.entries}})
		if first != tt.first || last != tt.last || ok != tt.ok {
			t.Errorf("Matches(%q) = %d, %d, %t, want %d, %d, %t", tt.entries, first, last, ok, tt.first, tt.last, tt.ok)
		}
	}
}
