package checks_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// blueField makes the card of mlx5_0 a BlueField-3.
func blueField(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("sys/bus/pci/devices/0000:18:00.0/device", "0xa2dc")(t, tree)
}

// switchOf records what devlink shows of the card's switch.
func switchOf(mode string) change {
	return recorded(facts.Facts{Devlink: known([]facts.DevlinkDevice{
		{Name: "pci/0000:18:00.0", Switch: mode}, {Name: "pci/0000:2a:00.0", Switch: facts.SwitchForeign},
	})})
}

func TestDPUMode(t *testing.T) {
	denied := recorded(facts.Facts{Devlink: &facts.Datum[[]facts.DevlinkDevice]{Denied: "for root"}})
	name := func(text string) change { return set("sys/class/net/ens0np0/phys_port_name", text) }
	for _, c := range []struct {
		name   string
		change change
		want   []string
		says   string
	}{
		{"NIC mode", all(blueField, switchOf("legacy")), []string{"pass node"}, "1 BlueField card"},
		{"NIC mode, switchdev", all(blueField, switchOf("switchdev")), []string{"pass node"}, ""},
		{"DPU mode", all(blueField, switchOf(facts.SwitchForeign)), []string{"warn mlx5_0"}, "OFFLOAD_ENGINE"},
		{"not known", all(blueField, switchOf("")), []string{"not-applicable node"}, "not known"},
		{"denied", all(blueField, denied), []string{"not-applicable node"}, "root only"},
		{"ConnectX cards", switchOf("legacy"), []string{"not-applicable node"}, "no compute port is on a BlueField"},
		{"the Arm system", name("c1pf0"), []string{"info ens0np0"}, "represents a host's function"},
		{"an uplink", name("p0"), []string{"not-applicable node"}, ""},
		{"a representor of this host", name("pf0vf1"), []string{"not-applicable node"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, "02_rocev2_8hca", c.change), "dpu-mode")
			wantBrief(t, r, c.want)
			if !strings.Contains(allText(r.Findings), c.says) {
				t.Errorf("no finding says %q: %s", c.says, allText(r.Findings))
			}
		})
	}
}
