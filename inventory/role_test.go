package inventory_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

func TestParseRoleSettings(t *testing.T) {
	got, err := inventory.ParseRoleSettings(" 0000:9d:00.*=storage, mlx5_0:1 = compute ,,MT_0000000884=unused")
	want := []inventory.RoleSetting{
		{Pattern: "0000:9d:00.*", Role: inventory.RoleStorage},
		{Pattern: "mlx5_0:1", Role: inventory.RoleCompute},
		{Pattern: "MT_0000000884", Role: inventory.RoleUnused},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ParseRoleSettings: %v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"mlx5_0": "not PATTERN=ROLE", "=storage": "not PATTERN=ROLE", "x=uncertain": `the role of x is "uncertain"`,
		"a=storage,[=storage": "pattern [: ", "a=storage,a=compute": "the pattern a is given twice",
	} {
		if _, err := inventory.ParseRoleSettings(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRoleSettings(%q) = %v, want %s", text, err, want)
		}
	}
}

// TestRoleSettings gives a port another role by each of its names: the setting decides, is the
// reason, and the ports left are judged without it.
func TestRoleSettings(t *testing.T) {
	n, err := realnodes.Load("xe9680_h200_bf3")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"rocep60s0f0", "rocep60s0f0:1", "eth3", "0000:3c:00.*", "0000:3c:00.0",
	} {
		snap, err := inventory.Scan(t.Context(), inventory.Sources{
			Root: n.Tree.FS(), Roles: []inventory.RoleSetting{{Pattern: pattern, Role: inventory.RoleStorage}},
		})
		if err != nil {
			t.Fatal(err)
		}
		p := snap.Device("rocep60s0f0").Ports[0]
		if p.Role != inventory.RoleStorage || p.RoleRule != "configured" || !strings.Contains(p.RoleReason, pattern) {
			t.Errorf("%s: role %s by %s: %s", pattern, p.Role, p.RoleRule, p.RoleReason)
		}
		if rail := snap.Device("rocep77s0f0").Ports[0].Rail; rail == nil || *rail != 1 {
			t.Errorf("%s: the next port has rail %v, want 1", pattern, rail)
		}
		inventory.AssignRoles(&snap, []inventory.RoleSetting{
			{Pattern: "MT_0000000884", Role: inventory.RoleCompute}, {Pattern: "*", Role: inventory.RoleUnused},
		})
		for d, p := range snap.Ports() {
			if want := d.BoardID == "MT_0000000884"; (p.Role == inventory.RoleCompute) != want ||
				(p.Role == inventory.RoleUnused) == want || (p.Rail != nil) != want {
				t.Errorf("%s after AssignRoles: role %q, rail %v", d.Name, p.Role, p.Rail)
			}
		}
	}
}

// TestRoleRules changes one thing on a real machine for each rule that the machines don't need, and
// checks that every rule of the table decides somewhere.
func TestRoleRules(t *testing.T) {
	seen := map[string]bool{"configured": true} // TestRoleSettings
	for _, name := range realnodes.Names() {
		for _, p := range scanNode(t, name).Ports() {
			if p.RoleRule == "" || p.RoleReason == "" {
				t.Errorf("%s: %s has rule %q and reason %q", name, p.Path, p.RoleRule, p.RoleReason)
			}
			seen[p.RoleRule] = true
		}
	}
	for _, name := range []string{"51_rxe_siw", "62_rxe_beside_cards"} {
		snap, _ := inventory.Scan(t.Context(), sources(t, load(t, name)))
		for _, p := range snap.Ports() {
			seen[p.RoleRule] = true
		}
	}
	type (
		snapshot = inventory.Snapshot
		device   = inventory.Device
		port     = inventory.Port
	)
	const xe9680, rail, dpu = "xe9680_h200_bf3", "rocep60s0f0", "rocep157s0f0"
	far := func(p *inventory.Port) {
		gpus := slices.Clone(p.GPUs)
		for i := range gpus {
			gpus[i].Distance = inventory.PCIDistanceNODE
		}
		p.GPUs = gpus
	}
	noGPUs := func(s *inventory.Snapshot) {
		s.GPUs = nil
		for _, p := range s.Ports() {
			p.GPUs = nil
		}
	}
	for _, tt := range []struct {
		name, node, device string
		change             func(*snapshot, *device, *port)
		role               inventory.Role
		rule               string
	}{
		{"a DPU as fast as the rails", xe9680, dpu, func(_ *snapshot, _ *device, p *port) {
			p.Rate = &inventory.Rate{GbPerSecond: 400}
		}, inventory.RoleUncertain, "other-board"},
		{"the same without GPUs", xe9680, dpu, func(s *snapshot, _ *device, p *port) {
			p.Rate = &inventory.Rate{GbPerSecond: 400}
			noGPUs(s)
		}, inventory.RoleUncertain, "other-board"},
		{"half of the rails of another board", xe9680, rail, func(s *snapshot, _ *device, _ *port) {
			noGPUs(s)
			for i := range s.Devices[:4] {
				s.Devices[i].BoardID = "ZZ"
			}
		}, inventory.RoleCompute, "same-rate"},
		{"a slow rail", xe9680, rail, func(_ *snapshot, _ *device, p *port) {
			p.Rate = &inventory.Rate{GbPerSecond: 200}
		}, inventory.RoleCompute, "other-rate"},
		{"a slow rail of another board", xe9680, rail, func(_ *snapshot, d *device, p *port) {
			p.Rate, d.BoardID = &inventory.Rate{GbPerSecond: 200}, "ZZ"
		}, inventory.RoleCompute, "other-rate"},
		{"a rail without a link", xe9680, rail, func(_ *snapshot, _ *device, p *port) {
			p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStatePolling
		}, inventory.RoleCompute, "no-link"},
		{"a rail of another board", xe9680, rail, func(_ *snapshot, d *device, _ *port) {
			d.BoardID = "ZZ"
		}, inventory.RoleCompute, "covers-gpu"},
		{"a ninth card of the board, far from GPUs", xe9680, dpu, func(_ *snapshot, d *device, p *port) {
			p.Rate, d.BoardID = &inventory.Rate{GbPerSecond: 400}, "MT_0000001069"
			far(p)
		}, inventory.RoleStorage, "surplus"},
		{"equal ports in another subnet", "sr675_rtxpro_cx7", "mlx5_8", func(_ *snapshot, _ *device, p *port) {
			p.Fabric = &inventory.Fabric{SubnetPrefix: 7, SMLID: 1}
		}, inventory.RoleStorage, "other-subnet"},
		{"no rate", xe9680, dpu, func(_ *snapshot, _ *device, p *port) {
			p.Rate = nil
		}, inventory.RoleUnknown, "rate-unknown"},
		{"the default route on a rail", xe9680, rail, func(s *snapshot, _ *device, p *port) {
			s.Host.DefaultRoutes = []inventory.DefaultRoute{{Family: "ipv4", Netdev: p.Netdev}}
		}, inventory.RoleCompute, "near-gpu"},
		{"the default route on one of two rails", xe9680, rail, func(s *snapshot, _ *device, p *port) {
			s.Devices = slices.DeleteFunc(s.Devices, func(d device) bool {
				return d.Name != rail && d.Name != "rocep26s0f0"
			})
			s.Host.DefaultRoutes = []inventory.DefaultRoute{{Family: "ipv4", Netdev: "eth3"}}
		}, inventory.RoleManagement, "default-route"},
		{"five of eight rails without a link", xe9680, rail, func(s *snapshot, _ *device, _ *port) {
			for _, name := range []string{rail, "rocep77s0f0", "rocep94s0f0", "rocep156s0f0", "rocep188s0f0"} {
				p := &s.Device(name).Ports[0]
				p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStatePolling
			}
		}, inventory.RoleCompute, "no-link"},
		{"a bond beside unbonded rails of its board", xe9680, dpu, func(s *snapshot, d *device, p *port) {
			p.Rate, d.BoardID = &inventory.Rate{GbPerSecond: 400}, "MT_0000001069"
			s.Netdev(p.Netdev).Bond = &inventory.Bond{}
		}, inventory.RoleUncertain, "other-board"},
		{"the DPU without a link", xe9680, dpu, func(_ *snapshot, _ *device, p *port) {
			p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStateDisabled
		}, inventory.RoleUnused, "down-other"},
		{"the default route on the DPU", xe9680, dpu, func(s *snapshot, _ *device, p *port) {
			s.Host.DefaultRoutes = []inventory.DefaultRoute{{Family: "ipv4", Netdev: p.Netdev}}
		}, inventory.RoleManagement, "default-route"},
	} {
		snap := scanNode(t, tt.node)
		d := snap.Device(tt.device)
		tt.change(snap, d, &d.Ports[0])
		inventory.AssignRoles(snap, nil)
		if p := snap.Device(tt.device).Ports[0]; p.Role != tt.role || p.RoleRule != tt.rule {
			t.Errorf("%s: role %q by %s (%s), want %q by %s",
				tt.name, p.Role, p.RoleRule, p.RoleReason, tt.role, tt.rule)
		}
		seen[tt.rule] = true
	}
	for _, r := range inventory.RoleRules() {
		if !seen[r.Name] || r.When == "" {
			t.Errorf("rule %+v decides nowhere, or doesn't say when", r)
		}
	}
}

func scanNode(t *testing.T, name string) *inventory.Snapshot {
	t.Helper()
	n, err := realnodes.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: n.Tree.FS()})
	return &snap
}

// TestRoleRulesDocumented compares the table of docs/node.md with the rules.
func TestRoleRulesDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/node.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| rule | role | when |\n|---|---|---|\n")
	for _, r := range inventory.RoleRules() {
		role := string(r.Role)
		switch {
		case r.Name == "configured":
			role = "the one given"
		case role == "":
			role = "none"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", r.Name, role, r.When)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/node.md has not this table:\n%s", want.String())
	}
}

// TestRailsFollowGPUs swaps the GPUs of two rails: their numbers follow.
func TestRailsFollowGPUs(t *testing.T) {
	snap := scanNode(t, "xe9680_h200_bf3")
	a, b := &snap.Device("rocep26s0f0").Ports[0], &snap.Device("rocep60s0f0").Ports[0]
	a.GPUs, b.GPUs = b.GPUs, a.GPUs
	inventory.AssignRoles(snap, nil)
	if *a.Rail != 1 || *b.Rail != 0 {
		t.Errorf("rails %d and %d, want 1 and 0", *a.Rail, *b.Rail)
	}
}

// TestSMIOfKernel takes the word of nldev, whatever the names and files are.
func TestSMIOfKernel(t *testing.T) {
	src := sources(t, load(t, "01_ib_8hca"))
	src.Live = &inventory.Live{Devices: []inventory.LiveDevice{{Name: "mlx5_3", Index: 3, SMIOf: "mlx5_0"}}}
	snap, _ := inventory.Scan(t.Context(), src)
	d := snap.Device("mlx5_3")
	if d.SMIOf != "mlx5_0" || d.Ports[0].Role != inventory.RoleUnused || d.Ports[0].RoleRule != "smi" {
		t.Errorf("mlx5_3: SMI of %q, role %q by %s", d.SMIOf, d.Ports[0].Role, d.Ports[0].RoleRule)
	}
}

// TestSMIWithoutHasSMI removes has_smi from recordings of multi-plane cards: the missing uverbs and
// the name tell.
func TestSMIWithoutHasSMI(t *testing.T) {
	for node, want := range map[string]int{"xdr_cx8_smi_nodev": 1, "gb300_xdr_smi_nodev": 4} {
		n, err := realnodes.Load(node)
		if err != nil {
			t.Fatal(err)
		}
		devices, err := fs.ReadDir(n.Tree.FS(), "sys/class/infiniband")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range devices {
			for port := range 4 {
				removeAll(t, n.Tree, fmt.Sprintf("sys/class/infiniband/%s/ports/%d/has_smi", d.Name(), port+1))
			}
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: n.Tree.FS()})
		smi := 0
		for _, d := range snap.Devices {
			if is := strings.HasPrefix(d.Name, "smi"); is != (d.SMIOf != "") {
				t.Errorf("%s: %s is SMI of %q", node, d.Name, d.SMIOf)
			}
			if d.SMIOf == "" {
				continue
			}
			smi++
			for _, p := range d.Ports {
				if p.HasSMI != nil || p.Role != inventory.RoleUnused || p.RoleRule != "smi" {
					t.Errorf("%s: %s: has_smi %v, role %q by %s", node, p.Path, p.HasSMI, p.Role, p.RoleRule)
				}
			}
		}
		if smi != want {
			t.Errorf("%s: %d SMI devices, want %d", node, smi, want)
		}
		got := 0 // rails, which are those of the tree's head
		for _, p := range snap.Ports() {
			if p.Rail != nil {
				got++
			}
		}
		if got != len(n.Right.Compute) {
			t.Errorf("%s: %d rails, want %v", node, got, n.Right.Compute)
		}
	}
}

// TestSettingsOfSite covers what a site may write: addresses as lspci prints them, patterns that
// match nothing, and roles that don't make the port with the default route a rail.
func TestSettingsOfSite(t *testing.T) {
	set := func(pattern string, role inventory.Role) []inventory.RoleSetting {
		return []inventory.RoleSetting{{Pattern: pattern, Role: role}}
	}
	snap := scanNode(t, "xe9680_h200_bf3")
	for _, pattern := range []string{"9d:00.0", "0000:9D:00.*", "rocep157s0f0:1"} {
		site := set(pattern, inventory.RoleManagement)
		inventory.AssignRoles(snap, site)
		if p := snap.Device("rocep157s0f0").Ports[0]; p.Role != inventory.RoleManagement {
			t.Errorf("%s: role %s by %s", pattern, p.Role, p.RoleRule)
		}
		if u := inventory.UnmatchedRoles(snap, site); u != nil {
			t.Errorf("%s: unmatched %v", pattern, u)
		}
	}
	if u := inventory.UnmatchedRoles(snap, set("mlx5_9", inventory.RoleUnused)); !slices.Equal(u, []string{"mlx5_9"}) {
		t.Errorf("unmatched = %v, want mlx5_9", u)
	}

	lag := scanNode(t, "lag_ocp_compute_bond_down")
	inventory.AssignRoles(lag, set("mlx5_bond_1", inventory.RoleStorage))
	if p := lag.Device("mlx5_bond_0").Ports[0]; p.Role != inventory.RoleManagement || p.RoleRule != "default-route" {
		t.Errorf("mlx5_bond_0: role %s by %s, want management by default-route", p.Role, p.RoleRule)
	}

	vfs, _ := inventory.Scan(t.Context(), sources(t, load(t, "40_pf_vfs")))
	inventory.AssignRoles(&vfs, set("*", inventory.RoleCompute))
	for d, p := range vfs.Ports() {
		if d.VF != nil && p.Role != inventory.RoleUnknown {
			t.Errorf("%s, a virtual function of a pod: role %s by %s", d.Name, p.Role, p.RoleRule)
		}
	}
}

// TestDefaultRouteOf puts the default route on devices above the port's.
func TestDefaultRouteOf(t *testing.T) {
	snap := inventory.Snapshot{Netdevs: []inventory.Netdev{
		{Name: "eth0", Master: "bond0"},
		{Name: "bond0"},
		{Name: "bond0.7", Lower: "bond0"},
		{Name: "eth1"},
		{Name: "eth1.7", Lower: "eth1"},
		{Name: "tun0"},
	}}
	for _, tt := range []struct {
		route string
		want  []string // the ports that carry it
	}{
		{"eth0", []string{"eth0"}},
		{"bond0", []string{"eth0"}},
		{"bond0.7", []string{"eth0"}},
		{"eth1.7", []string{"eth1"}},
		{"tun0", nil},
		{"gone", nil},
		{"", nil},
	} {
		snap.Host.DefaultRoutes = []inventory.DefaultRoute{{Family: "ipv4", Netdev: tt.route}}
		var got []string
		for _, netdev := range []string{"eth0", "eth1", "none", ""} {
			if r := snap.DefaultRouteOf(&inventory.Port{Netdev: netdev}); r != nil && r.Netdev == tt.route {
				got = append(got, netdev)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("the route on %q is carried by %q, want %q", tt.route, got, tt.want)
		}
	}
}

// TestRailsDown takes the link from all rails: the DPU doesn't become one.
func TestRailsDown(t *testing.T) {
	snap := scanNode(t, "xe9680_h200_bf3")
	for d, p := range snap.Ports() {
		if d.BoardID == "MT_0000001069" {
			p.State, p.PhysState = inventory.PortStateDown, inventory.PhysStatePolling
		}
	}
	inventory.AssignRoles(snap, nil)
	if p := snap.Device("rocep157s0f0").Ports[0]; p.Role != inventory.RoleUncertain || p.RoleRule != "fabric-down" {
		t.Errorf("the DPU has role %s by %s (%s), want uncertain by fabric-down", p.Role, p.RoleRule, p.RoleReason)
	}
}
