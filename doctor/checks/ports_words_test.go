package checks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// finding returns the only finding of a check for an object.
func finding(t *testing.T, r doctor.Report, object string) doctor.Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Object == object })
	if i < 0 {
		t.Fatalf("nothing about %s: %v", object, summaries(r))
	}
	return r.Findings[i]
}

// The driver mana_ib of older kernels answers a query of a port with zeros.
func TestPortWithoutStateOfMANA(t *testing.T) {
	tree := realNode(t, "azure_mana_vm")
	r := diagnose(t, tree)
	if slices.Contains(outcomesOf(r), doctor.OutcomeUnknown) {
		t.Errorf("want nothing unknown: %v", bad(r, doctor.OutcomeUnknown))
	}
	if f := finding(t, diagnose(t, tree, "port-active"), "mana_0:1"); f.Outcome != doctor.OutcomeNotApplicable ||
		!strings.Contains(f.Summary, "mana_ib") {
		t.Errorf("port-active = %+v", f)
	}
	r = diagnose(t, load(t, "01_ib_8hca", port("mlx5_0", "state", "0: NOP")), "port-active")
	if f := finding(t, r, "mlx5_0:1"); f.Outcome != doctor.OutcomeUnknown {
		t.Errorf("NOP of another driver = %+v, want unknown", f)
	}
}

// Spare ports get no advice about cables.
func TestSparePorts(t *testing.T) {
	r := diagnose(t, realNode(t, "b200_ndr_and_hdr100"), "port-active")
	for object, why := range map[string]string{
		"mlx5_1:1": "spare port is down: Polling, no signal from the other end",
		"mlx5_5:1": "spare port is down: Disabled, switched off on this side",
		"mlx5_6:1": "spare port is down: network device enp41s0f1np1 is switched off",
	} {
		f := finding(t, r, object)
		if f.Outcome != doctor.OutcomeInfo || f.Summary != why || !strings.Contains(f.Explanation, "are others") ||
			!slices.Equal(f.Remedy, []string{"# nothing, unless this port is meant to be used"}) {
			t.Errorf("%s: %s %q, %s, %q", object, f.Outcome, f.Summary, f.Explanation, f.Remedy)
		}
	}
	r = diagnose(t, load(t, "01_ib_8hca", state("mlx5_0", "1: DOWN", "2: Polling")), "port-active")
	if f := finding(t, r, "mlx5_0:1"); !strings.Contains(f.Summary, "other end: check the cable") ||
		!strings.Contains(strings.Join(f.Remedy, "\n"), "reseat") {
		t.Errorf("a compute port that is down: %q, %q", f.Summary, f.Remedy)
	}
	f := finding(t, diagnose(t, realNode(t, "h100_12ib_4cabled_cx5"), "port-active"), "mlx5_0:1")
	if f.Outcome != doctor.OutcomeInfo || !strings.HasPrefix(f.Remedy[0], "# nothing, unless") {
		t.Errorf("a port of uncertain role: %s, %q", f.Outcome, f.Remedy)
	}
}

// TestAddressesOfClouds has network devices whose address a cloud chooses.
func TestAddressesOfClouds(t *testing.T) {
	f := finding(t, diagnose(t, realNode(t, "azure_hb_an_ib"), "gid-routable"), "rdmaP23800p0s2:1")
	if f.Outcome != doctor.OutcomeNotApplicable || !strings.Contains(f.Summary, "hv_netvsc") {
		t.Errorf("the accelerated path of an Azure VM: %+v", f)
	}
	snap := scan(t, realNode(t, "azure_hb_an_ib"))
	snap.Netdev("eth0").Driver = "openvswitch" // another master
	if f = finding(t, runCheck(t, "gid-routable", snap), "rdmaP23800p0s2:1"); f.Outcome != doctor.OutcomeInfo {
		t.Errorf("a member of another device: %+v", f)
	}
	const empty, dmi = "0000:0000:0000:0000:0000:0000:0000:0000", "sys/devices/virtual/dmi/id/"
	bare := all(port("mlx5_0", "gids/2", empty), port("mlx5_0", "gids/3", empty))
	for vendor, own := range map[string]bool{
		"Google": false, "Amazon EC2": false, "Supermicro": true, "": true, "Microsoft Corporation": true,
	} {
		r := diagnose(t, load(t, "02_rocev2_8hca", bare, set(dmi+"sys_vendor", vendor)), "gid-routable")
		text := strings.Join(finding(t, r, "mlx5_0:1").Remedy, "\n")
		if strings.Contains(text, "ip addr add") != own || strings.Contains(text, "DHCP") == own {
			t.Errorf("the remedy at %q: %s", vendor, text)
		}
	}
	r := diagnose(t, load(t, "02_rocev2_8hca", bare, set(dmi+"sys_vendor", "Microsoft Corporation"),
		set(dmi+"product_name", "Virtual Machine")), "gid-routable")
	if text := strings.Join(finding(t, r, "mlx5_0:1").Remedy, "\n"); strings.Contains(text, "ip addr add") {
		t.Errorf("the remedy in an Azure VM: %s", text)
	}
}

// TestIndexOfPortsWithoutAddress has rails on which no index fits.
func TestIndexOfPortsWithoutAddress(t *testing.T) {
	const empty = "0000:0000:0000:0000:0000:0000:0000:0000"
	env := recorded(facts.Facts{Environment: known(map[string]string{"NCCL_IB_GID_INDEX": "3"})})
	bare := func(devices ...string) change {
		var list []change
		for _, d := range devices {
			list = append(list, port(d, "gids/2", empty), port(d, "gids/3", empty))
		}
		return all(append(list, env)...)
	}
	f := finding(t, diagnose(t, load(t, "02_rocev2_8hca", bare("mlx5_5")), "gid-index"), "node")
	const want = "NCCL_IB_GID_INDEX=3 fits all 7 RoCE ports with an address (without one, see gid-routable: " +
		"mlx5_5:1) today"
	if f.Outcome != doctor.OutcomeInfo || f.Summary != want {
		t.Errorf("one rail without an address: %s %s", f.Outcome, f.Summary)
	}
	f = finding(t, diagnose(t, load(t, "02_rocev2_8hca", bare("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4",
		"mlx5_5", "mlx5_6", "mlx5_7")), "gid-index"), "node")
	if f.Outcome != doctor.OutcomeNotApplicable || !strings.Contains(f.Summary, "no index fits") {
		t.Errorf("no rail has an address: %s %s", f.Outcome, f.Summary)
	}
	none := all(bare("mlx5_5"), port("mlx5_5", "gids/0", empty), port("mlx5_5", "gids/1", empty))
	f = finding(t, diagnose(t, load(t, "02_rocev2_8hca", none), "gid-routable"), "mlx5_5:1")
	if !strings.Contains(f.Summary, "slots: network device ") || !strings.Contains(f.Summary, "has no IP address") {
		t.Errorf("an empty table: %s", f.Summary)
	}
}

// TestPortDownSince has lines as the drivers write them (drivers/net/ethernet/mellanox/mlx5/core
// /en_main.c: "Link up", "Link down"; broadcom/bnxt: "NIC Link is Down").
func TestPortDownSince(t *testing.T) {
	log := func(lines ...string) *facts.Datum[[]facts.KernelMessage] {
		var list []facts.KernelMessage
		for i, text := range lines {
			list = append(list, facts.KernelMessage{Since: time.Duration(i+1) * time.Hour, Text: text})
		}
		return known(list)
	}
	carrier := func(name string, up, down uint32) *facts.Datum[[]facts.Link] {
		return known([]facts.Link{{Name: name, CarrierUp: up, CarrierDown: down}})
	}
	const card = "mlx5_core 0000:18:00.0 ens0np0: "
	uptime := set("proc/uptime", "7212.40 50.00")
	for _, c := range []struct {
		name   string
		facts  facts.Facts
		change change
		says   string // after the advice, "" for nothing
	}{
		{"nothing known", facts.Facts{}, nil, ""},
		{"just now", facts.Facts{KernelLog: log(card+"Link up", card+"Link down")}, uptime, "; it went down 12s ago"},
		{"without uptime", facts.Facts{KernelLog: log(card + "Link down")}, nil, "; it went down 1h0m0s after boot"},
		{"an uptime before the message", facts.Facts{KernelLog: log("", "", card+"Link down")}, uptime, "3h0m0s after"},
		{"another driver", facts.Facts{KernelLog: log("bnxt_en 0000:18:00.0 ens0np0: NIC Link is Down")}, nil, "after"},
		{"up again", facts.Facts{KernelLog: log(card+"Link down", card+"Link up")}, uptime, ""},
		{"another device", facts.Facts{KernelLog: log("mlx5_core 0000:19:00.0 xens0np0: Link down")}, uptime, ""},
		{"never up", facts.Facts{Links: carrier("ens0np0", 0, 0)}, nil, "; it has had no link since the driver"},
		{"switched off once", facts.Facts{Links: carrier("ens0np0", 0, 1)}, nil, "; it has had no link since"},
		{"went down", facts.Facts{Links: carrier("ens0np0", 3, 3)}, nil, "; it has lost its link 3 times since"},
		{"counts of another", facts.Facts{Links: carrier("ens1np0", 0, 0)}, nil, ""},
		{"neither could be read", facts.Facts{
			Links: failed[[]facts.Link](), KernelLog: failed[[]facts.KernelMessage](),
		}, uptime, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			down := all(state("mlx5_0", "1: DOWN", "3: Disabled"), set("sys/class/net/ens0np0/carrier", "0"),
				set("sys/class/net/ens0np0/operstate", "down"), recorded(c.facts))
			f := finding(t, diagnose(t, load(t, "02_rocev2_8hca", down, c.change), "port-active"), "mlx5_0:1")
			const advice = "the transceiver and the switch port"
			_, since, found := strings.Cut(f.Summary, advice)
			if !found || !strings.Contains(since, c.says) || c.says == "" && since != "" {
				t.Errorf("summary %q, want %q after the advice", f.Summary, c.says)
			}
			if c.says != "" && len(f.Evidence) < 5 {
				t.Errorf("no evidence of it: %v", f.Evidence)
			}
		})
	}
}
