package checks_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// ring records a receive ring of eth0 of at most 8192 entries.
func ring(entries uint32) change {
	return recorded(facts.Facts{Ethtool: known([]facts.Ethtool{
		{Netdev: "eth0", Rings: &facts.Rings{RX: entries, RXMax: 8192}},
	})})
}

// findings returns "outcome object: summary" of a check on a tree, without passes, and whether it
// passed for something.
func findings(t *testing.T, id, tree string, changes ...change) (found []string, passed bool) {
	t.Helper()
	for _, f := range diagnose(t, load(t, tree, changes...), id).Findings {
		if f.Outcome == doctor.OutcomePass {
			passed = true
			continue
		}
		found = append(found, string(f.Outcome)+" "+f.Object+": "+f.Summary)
		checkFinding(t, check(t, id), f)
	}
	return found, passed
}

// expectFindings compares the findings of a check with outcomes and objects, and a word of each.
func expectFindings(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		head, words, _ := strings.Cut(want[i], ": ")
		ok = strings.HasPrefix(got[i], head+": ") && strings.Contains(got[i], words)
	}
	if !ok {
		t.Errorf("%s: -want +got:\n%s", name, cmp.Diff(want, got))
	}
}

func TestFEC(t *testing.T) {
	const ring, bond = "02_rocev2_8hca", "49_bond"
	at := func(active string, mbps, lanes uint32, configured ...string) facts.Ethtool {
		return facts.Ethtool{
			Netdev: "ens0np0", FEC: &facts.FEC{Active: active, Configured: configured},
			Mode: &facts.LinkMode{Mbps: mbps, Lanes: lanes},
		}
	}
	copper := known([]facts.Module{{Netdev: "ens0np0", Passive: true}})
	for _, tt := range []struct {
		name, tree string
		e          facts.Ethtool
		modules    *facts.Datum[[]facts.Module]
		change     change
		want       []string
		pass       bool
	}{
		{"RS", ring, at("RS", 400000, 4), nil, nil, nil, true},
		{"off at 50 for each lane", ring, at("Off", 200000, 4), nil, nil, []string{"warn ens0np0: at 50 Gb/s"}, false},
		{
			"off just below 50, long fibre or short copper", ring, at("Off", 199996, 4), nil, nil,
			[]string{"info ens0np0: depends on"},
			false,
		},
		{
			"off at 4 × 25 over copper", ring, at("Off", 100000, 4), copper, nil,
			[]string{"warn ens0np0: 4 lanes of 25 Gb/s over copper"},
			false,
		},
		{
			"off at 1 × 25 over copper", ring, at("Off", 25000, 1), copper, nil,
			[]string{"info ens0np0: depends on"},
			false,
		},
		{"off at 10", ring, at("Off", 10000, 1), nil, nil, nil, true},
		{
			"off though set", ring, at("Off", 10000, 1, "RS"), nil, nil,
			[]string{"warn ens0np0: although it is set to RS"},
			false,
		},
		{"off and set to off", ring, at("Off", 10000, 1, "Off", "RS"), nil, nil, nil, true},
		{
			"lanes of the RDMA port", ring, at("Off", 0, 0), nil, nil,
			[]string{"warn ens0np0: at 100 Gb/s"},
			false, // 4X NDR
		},
		{"no link", ring, at("Off", 400000, 4), nil, port("mlx5_0", "state", "1: DOWN"), []string{
			"not-applicable node: which a compute port has not", "not-applicable node: tells nothing",
		}, false},
		{
			"no FEC", ring,
			facts.Ethtool{Netdev: "ens0np0"},
			nil, nil,
			[]string{"not-applicable node: tells nothing"},
			false,
		},
		{
			"FEC fails", ring,
			facts.Ethtool{Netdev: "ens0np0", Errors: []string{"FEC: input/output error"}},
			nil, nil,
			[]string{"unknown ens0np0: FEC of ens0np0: input/output error", "not-applicable node: tells nothing"},
			false,
		},
		{
			"nothing answers", ring,
			facts.Ethtool{Netdev: "ens0np0", Errors: []string{"the driver did not answer in time"}},
			nil, nil,
			[]string{"unknown ens0np0: did not answer in time", "not-applicable node: tells nothing"},
			false,
		},
	} {
		f := facts.Facts{Ethtool: known([]facts.Ethtool{tt.e}), Modules: tt.modules}
		got, pass := findings(t, "fec", tt.tree, recorded(f), tt.change)
		if pass != tt.pass {
			t.Errorf("%s: passed %v, want %v", tt.name, pass, tt.pass)
		}
		rest := slices.DeleteFunc(slices.Clone(got), func(s string) bool { // of the seven other ports
			return len(tt.want) < len(got) && strings.HasPrefix(s, "not-applicable node: the driver of a compute port")
		})
		expectFindings(t, tt.name, rest, tt.want...)
	}
	f := facts.Facts{Ethtool: known([]facts.Ethtool{at("Off", 400000, 4)})}
	f.Ethtool.Value[0].Netdev = "ens1np0"
	got, _ := findings(t, "fec", bond, recorded(f))
	if len(got) == 0 || !strings.HasPrefix(got[0], "warn ens1np0") {
		t.Errorf("a member of a bond: %q, want a warning about it", got)
	}
	got, _ = findings(t, "fec", "01_ib_8hca", recorded(f))
	expectFindings(t, "InfiniBand", got, "not-applicable node: no compute port is an Ethernet port")
}

func TestModuleHealth(t *testing.T) {
	optical := facts.Module{
		Netdev: "ens0np0", Type: "QSFP28", Celsius: 41, HighAlarm: 80, HighWarning: 75,
		Volts: 3.3, VoltsLow: 3, VoltsHigh: 3.6,
		RXmW: []float64{0.5, 0.5, 0.5, 0.5}, RXLow: 0.1, RXHigh: 2,
		TXmW: []float64{1, 1, 1, 1}, TXLow: 0.2, TXHigh: 3,
	}
	with := func(fn func(m *facts.Module)) facts.Module {
		m := optical
		m.RXmW, m.TXmW = slices.Clone(m.RXmW), slices.Clone(m.TXmW)
		fn(&m)
		return m
	}
	for _, tt := range []struct {
		name   string
		module facts.Module
		change change
		want   []string
		pass   bool
	}{
		{"well", optical, nil, nil, true},
		{"at the warning", with(func(m *facts.Module) { m.Celsius = 75 }), nil, nil, true},
		{
			"above the warning", with(func(m *facts.Module) { m.Celsius = 75.1 }), nil,
			[]string{"warn ens0np0: above its warning"},
			false,
		},
		{
			"at the alarm", with(func(m *facts.Module) { m.Celsius = 80 }), nil,
			[]string{"warn ens0np0: above its warning"},
			false,
		},
		{
			"above the alarm", with(func(m *facts.Module) { m.Celsius = 80.1 }), nil,
			[]string{"fail ens0np0: temperature"},
			false,
		},
		{"no limits", with(func(m *facts.Module) {
			*m = facts.Module{Netdev: "ens0np0", Type: "SFP", Celsius: 99}
		}), nil, []string{
			"not-applicable node: names no limits",
		}, false},
		{"low voltage", with(func(m *facts.Module) { m.Volts = 2.9 }), nil, []string{"fail ens0np0: voltage"}, false},
		{"high voltage", with(func(m *facts.Module) { m.Volts = 3.7 }), nil, []string{"fail ens0np0: voltage"}, false},
		{
			"weak lane", with(func(m *facts.Module) { m.RXmW[2] = 0.09 }), nil,
			[]string{"warn ens0np0: received power of lane 3"},
			false,
		},
		{"lane at the alarm", with(func(m *facts.Module) { m.RXmW[2] = 0.1 }), nil, nil, true},
		{
			"strong lane", with(func(m *facts.Module) { m.RXmW[0] = 2.1 }), nil,
			[]string{"warn ens0np0: received power of lane 1"},
			false,
		},
		{
			"weak laser", with(func(m *facts.Module) { m.TXmW[3] = 0.19 }), nil,
			[]string{"warn ens0np0: sent power of lane 4"},
			false,
		},
		{"unused lanes", with(func(m *facts.Module) { m.RXmW[2], m.RXmW[3] = 0, 0.0009 }), nil, nil, true},
		{
			"weak without a link", with(func(m *facts.Module) { m.RXmW[2] = 0.09 }),
			port("mlx5_0", "state", "1: DOWN"), nil, true,
		},
		{"copper", facts.Module{Netdev: "ens0np0", Type: "QSFP28", Passive: true}, nil, []string{
			"not-applicable node: passive copper",
		}, false},
		{"unreadable", facts.Module{Netdev: "ens0np0", Error: "input/output error"}, nil, []string{
			"unknown ens0np0: input/output error",
		}, false},
		{"partly unreadable", with(func(m *facts.Module) {
			m.Error = "read page 11h: input/output error"
		}), nil, []string{
			"unknown ens0np0: page 11h",
		}, true},
	} {
		got, pass := findings(t, "module-health", "02_rocev2_8hca",
			recorded(facts.Facts{Modules: known([]facts.Module{tt.module})}), tt.change)
		if pass != tt.pass {
			t.Errorf("%s: passed %v, want %v", tt.name, pass, tt.pass)
		}
		got = slices.DeleteFunc(
			got, func(s string) bool { return strings.Contains(s, "has no module that can be read") },
		)
		expectFindings(t, tt.name, got, tt.want...)
	}
}

func TestCardTemperature(t *testing.T) {
	const hwmon = "sys/bus/pci/devices/0000:18:00.0/hwmon/hwmon4/"
	sensor := func(n, now, most, label string) change {
		return func(t *testing.T, tree *nodetree.Tree) {
			t.Helper()
			set(hwmon+"temp"+n+"_input", now)(t, tree)
			if most != "" {
				set(hwmon+"temp"+n+"_crit", most)(t, tree)
			}
			if label != "" {
				set(hwmon+"temp"+n+"_label", label)(t, tree)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change change
		want   []string
		pass   bool
	}{
		{"cool", sensor("1", "94999", "105000", "asic"), nil, true},
		{
			"near", sensor("1", "95000", "105000", "asic"),
			[]string{"warn mlx5_0: the sensor asic has 95 °C, 10 °C below"},
			false,
		},
		{"just below", sensor("1", "104999", "105000", ""), []string{"warn mlx5_0: the sensor temp1"}, false},
		{"at the limit", sensor("1", "105000", "105000", "asic"), []string{"fail mlx5_0: its limit is 105 °C"}, false},
		{"frost", sensor("1", "-5000", "105000", "asic"), nil, true},
		{"a module near its limit", sensor("2", "69000", "70000", "Module0"), nil, true},
		{
			"a module at its limit", sensor("2", "70000", "70000", "Module0"),
			[]string{"warn mlx5_0: the module Module0"},
			false,
		},
		{"two sensors", all(
			sensor("1", "106000", "105000", "asic"), sensor("2", "50000", "70000", "Module0"),
		), []string{
			"fail mlx5_0: the sensor asic",
		}, true},
		{
			"no limit", sensor("1", "200000", "", "asic"),
			[]string{"not-applicable node: no temperature with a limit"},
			false,
		},
		{
			"limit 0", sensor("1", "200000", "0", "asic"),
			[]string{"not-applicable node: no temperature with a limit"},
			false,
		},
		{"text", sensor("1", "hot", "105000", "asic"), []string{"unknown mlx5_0: is no number"}, false},
		{"denied", all(sensor("1", "1", "105000", "asic"), fail(hwmon+"temp1_input", syscall.EACCES)), []string{
			"needs-privilege mlx5_0: permission denied",
		}, false},
		{"not there", nil, []string{"not-applicable node: no temperature"}, false},
	} {
		got, pass := findings(t, "card-temperature", "02_rocev2_8hca", tt.change)
		if pass != tt.pass {
			t.Errorf("%s: passed %v, want %v", tt.name, pass, tt.pass)
		}
		expectFindings(t, tt.name, got, tt.want...)
	}
}

func TestGlobalPause(t *testing.T) {
	on := []facts.Ethtool{{Netdev: "ens0np0", Pause: &facts.Pause{RX: true}}}
	pfc := func(bits uint8) *facts.Datum[[]facts.DCB] {
		return known([]facts.DCB{{Netdev: "ens0np0", PFC: &facts.PFC{Enabled: bits}}})
	}
	for _, tt := range []struct {
		name string
		f    facts.Facts
		want []string
		pass bool
	}{
		{
			"rx beside PFC",
			facts.Facts{Ethtool: known(on), DCB: pfc(8)},
			[]string{"warn ens0np0: (rx on tx off) beside PFC on priorities 0x08"},
			false,
		},
		{"without PFC", facts.Facts{Ethtool: known(on), DCB: pfc(0)}, nil, true},
		{"PFC unknown", facts.Facts{Ethtool: known(on), DCB: known([]facts.DCB{{Netdev: "ens0np0"}})}, []string{
			"not-applicable node: whether PFC is too is unknown",
		}, false},
		{"no DCB", facts.Facts{Ethtool: known(on)}, []string{"not-applicable node: dcbnl"}, false},
		{
			"pause fails",
			facts.Facts{
				Ethtool: known([]facts.Ethtool{{Netdev: "ens0np0", Errors: []string{"pause: no such device"}}}),
				DCB:     pfc(8),
			},
			[]string{"unknown ens0np0: no such device"},
			false,
		},
	} {
		got, pass := findings(t, "global-pause", "02_rocev2_8hca", recorded(tt.f))
		if pass != tt.pass {
			t.Errorf("%s: passed %v, want %v", tt.name, pass, tt.pass)
		}
		got = slices.DeleteFunc(
			got, func(s string) bool { return strings.Contains(s, "tells nothing of global pause") },
		)
		expectFindings(t, tt.name, got, tt.want...)
	}
	// What stops the link of a shared switch must not be pasted.
	r := diagnose(t, load(t, "02_rocev2_8hca", recorded(facts.Facts{Ethtool: known(on), DCB: pfc(8)})), "global-pause")
	for _, f := range r.Findings {
		for _, line := range f.Remedy {
			if !strings.HasPrefix(line, "#") {
				t.Errorf("the remedy %q is a command", line)
			}
		}
	}
}

func TestReceiveRing(t *testing.T) {
	got, _ := findings(t, "receive-ring", "51_rxe_siw", ring(2047))
	if len(got) == 0 || !strings.HasPrefix(got[0], "info rxe0:1: the receive ring of eth0 has 2047 entries of 8192") {
		t.Errorf("just below a quarter: %q", got)
	}
	got, pass := findings(t, "receive-ring", "51_rxe_siw", ring(2048))
	if len(got) != 0 || !pass {
		t.Errorf("a quarter: %q, passes %v", got, pass)
	}
	got, pass = findings(t, "receive-ring", "62_rxe_beside_cards", ring(1))
	if pass {
		t.Error("passes on a node whose jobs use cards")
	}
	expectFindings(t, "rxe beside cards", got, "not-applicable node: no compute port is a software device")
	got, pass = findings(
		t, "receive-ring", "51_rxe_siw", recorded(facts.Facts{Ethtool: known([]facts.Ethtool{{Netdev: "eth0"}})}),
	)
	if pass {
		t.Error("passes without rings")
	}
	expectFindings(t, "no rings", got, "not-applicable node: under which the driver has rings")
}

func TestDevlinkHealth(t *testing.T) {
	devices := func(list ...facts.DevlinkDevice) change {
		return recorded(facts.Facts{Devlink: known(list)})
	}
	card := func(address string, r ...facts.HealthReporter) facts.DevlinkDevice {
		return facts.DevlinkDevice{Name: "pci/" + address, Reporters: r}
	}
	healthy := facts.HealthReporter{Name: "fw"}
	stuck := facts.HealthReporter{Name: "tx", Port: "65535", Errored: true, Errors: 3, Recoveries: 2}
	once := facts.HealthReporter{Name: "tx", Errors: 1, Recoveries: 1}
	for _, tt := range []struct {
		name, tree string
		change     change
		want       []string
		pass       bool
	}{
		{"well", "01_ib_8hca", devices(card("0000:18:00.0", healthy)), nil, true},
		{"one stuck", "01_ib_8hca", devices(
			card("0000:18:00.0", healthy, stuck), card("0000:2a:00.0", healthy),
		), []string{
			"fail mlx5_0: tx of port 65535 is in the state error, after 3 errors and 2 recoveries",
		}, true},
		{"recovered", "01_ib_8hca", devices(card("0000:18:00.0", once)), []string{
			"info mlx5_0: 1 error since the driver was loaded",
		}, false},
		{
			"another card", "01_ib_8hca", devices(card("0000:ff:00.0", stuck)),
			[]string{"not-applicable node: no health reporter"},
			false,
		},
		{
			"no reporters", "01_ib_8hca", devices(card("0000:18:00.0")),
			[]string{"not-applicable node: no health reporter"},
			false,
		},
		{"partly read", "01_ib_8hca", devices(facts.DevlinkDevice{
			Name: "pci/0000:18:00.0", Reporters: []facts.HealthReporter{healthy}, Error: "message 2: incomplete",
		}), []string{"unknown mlx5_0: message 2"}, false},
		{"one reporter of two", "01_ib_8hca", devices(
			card("0000:18:00.0", facts.HealthReporter{Name: "rx", Error: "no state"}, stuck),
			card("0000:2a:00.0", healthy),
		), []string{
			"unknown mlx5_0: the state of the health reporter rx is not known: no state",
			"fail mlx5_0: tx of port 65535 is in the state error",
		}, true},
		{"parameters failed", "01_ib_8hca", devices(facts.DevlinkDevice{
			Name: "pci/0000:18:00.0", Reporters: []facts.HealthReporter{healthy}, ParameterErrors: []string{"EIO"},
		}), nil, true},
		{
			"management card", "40_pf_vfs", devices(card("0000:e1:00.0", stuck)),
			[]string{"not-applicable node: no health reporter"},
			false,
		},
	} {
		got, pass := findings(t, "devlink-health", tt.tree, tt.change)
		if pass != tt.pass {
			t.Errorf("%s: passed %v, want %v", tt.name, pass, tt.pass)
		}
		expectFindings(t, tt.name, got, tt.want...)
	}
}
