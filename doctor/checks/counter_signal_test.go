package checks_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/inventory"
)

const net0 = "ens0np0"

func ethtoolReadings(list ...two) change {
	for i := range list {
		list[i].group = facts.CountersEthtool
	}
	return readings(netReadings(net0, list...))
}

// The port has 400 Gb/s: 4x10^12 bits in ten seconds, with and without packets.
func TestCounterBitErrors(t *testing.T) {
	corrected := func(n uint64) two { return two{"", "rx_corrected_bits_phy", 5, 5 + n} }
	idle := []string{"not-applicable " + net0}
	unknownSpeed := func(errno syscall.Errno) change {
		return all(ethtoolReadings(corrected(4e7)), fail("sys/class/net/"+net0+"/speed", errno))
	}
	runCounters(t, []counterSituation{
		{
			"none", "bit-errors", roceTree, ethtoolReadings(corrected(0)),
			[]string{"pass node"},
			net0 + "/speed = 400000",
		},
		{"normal for PAM4", "bit-errors", roceTree, ethtoolReadings(corrected(40000)), []string{"pass node"}, ""},
		// 2.4x10^-4 is the bit error ratio that RS-FEC (544,514) is made for (IEEE 802.3cd, 136.1)
		{"1e-5 on PAM4", "bit-errors", roceTree, ethtoolReadings(corrected(4e7)), []string{"pass node"}, ""},
		{"at the limit", "bit-errors", roceTree, ethtoolReadings(corrected(96e6)), []string{"pass node"}, ""},
		{"above", "bit-errors", roceTree, ethtoolReadings(corrected(96e6 + 1)), []string{"warn " + net0}, "2.4e-05"},
		{
			"at the limit of FEC", "bit-errors", roceTree, ethtoolReadings(corrected(96e7)),
			[]string{"warn " + net0},
			"4e+12 bits in 10s",
		},
		{
			"above what FEC corrects", "bit-errors", roceTree, ethtoolReadings(corrected(96e7 + 1)),
			[]string{"fail " + net0},
			"the limit is 0.00024",
		},
		{
			"at the limit on NRZ", "bit-errors", roceTree, all(eight("rate", "100 Gb/sec (4X EDR)"),
				ethtoolReadings(corrected(8e6))), []string{"pass node"}, "",
		},
		{
			"above on NRZ", "bit-errors", roceTree, all(eight("rate", "100 Gb/sec (4X EDR)"),
				ethtoolReadings(corrected(8e7))), []string{"warn " + net0}, "the limit is 2e-06",
		},
		{
			"above what FEC of NRZ corrects", "bit-errors", roceTree, all(eight("rate", "100 Gb/sec (4X EDR)"),
				ethtoolReadings(corrected(8e7+1))), []string{"fail " + net0}, "the limit is 2e-05",
		},
		{
			"lanes unknown", "bit-errors", roceTree, all(remove("sys/class/infiniband/mlx5_0/ports/1/rate"),
				ethtoolReadings(corrected(9e6))), []string{"unknown " + net0}, "which FEC the link has",
		},
		{
			"the driver counts the bits", "bit-errors", roceTree,
			ethtoolReadings(corrected(300), two{"", "rx_bits_phy", 0, 1e6}),
			[]string{"fail " + net0},
			"ethtool:ens0np0:rx_bits_phy",
		},
		{
			"no bits", "bit-errors", roceTree, all(ethtoolReadings(corrected(4e7), two{"", "rx_bits_phy", 7, 7})),
			idle, "",
		},
		{
			"unknown speed", "bit-errors", roceTree, unknownSpeed(syscall.EINVAL),
			idle, "the speed of the link is not known",
		},
		{
			"a driver that was reloaded", "bit-errors", roceTree,
			ethtoolReadings(two{"", "rx_corrected_bits_phy", 5000, 10}),
			[]string{"unknown " + net0},
			"was reset",
		},
	})
}

// The lanes of the last case are those of a real port (ethtool -S of a 25 Gb/s card).
func TestCounterLanes(t *testing.T) {
	with := func(errors ...uint64) change { return readings(netReadings(net0, lanes(errors...)...)) }
	runCounters(t, []counterSituation{
		{"few errors", "lane-errors", roceTree, with(6, 2, 190, 1), []string{"pass node"}, ""},
		{"just too few", "lane-errors", roceTree, with(6, 2, 9999, 1), []string{"pass node"}, ""},
		{"enough", "lane-errors", roceTree, with(6, 2, 10000, 1), []string{"warn " + net0}, "the median lane by 2"},
		{
			"all lanes alike", "lane-errors", roceTree, with(17722623, 17000000, 20000000, 90000000),
			[]string{"pass node"},
			"",
		},
		{"a hundred times", "lane-errors", roceTree, with(20000, 20000, 20000, 2000000), []string{"pass node"}, ""},
		{
			"more", "lane-errors", roceTree, with(20000, 20000, 20000, 2000001),
			[]string{"warn " + net0},
			"rx_err_lane_3_phy",
		},
		{
			"one lane in use", "lane-errors", roceTree, with(17722623, 0, 0, 0),
			[]string{"not-applicable " + net0},
			"fewer than two",
		},
		{"two of four in use", "lane-errors", roceTree, with(28116, 0, 0, 17722623), []string{"warn " + net0}, ""},
	})
}

func TestCounterPause(t *testing.T) {
	paused := func(us uint64) change { return ethtoolReadings(two{"", "tx_prio3_pause_duration", 1e9, 1e9 + us}) }
	runCounters(t, []counterSituation{
		{"never", "pause-time", roceTree, paused(0), []string{"pass node"}, ""},
		{"1 %", "pause-time", roceTree, paused(100_000), []string{"pass node"}, ""},
		{
			"10 %", "pause-time", roceTree, paused(1_000_000),
			[]string{"warn " + net0},
			"paused for 10 % of 10s; the limit is 1 %",
		},
		{
			"a fifth of the time", "pause-time", roceTree, paused(2_170_000),
			[]string{"fail " + net0},
			"paused for 21.7 %",
		},
		{
			"millions of frames, no time", "pause-time", roceTree,
			ethtoolReadings(two{"", "rx_prio3_pause", 132e6, 133e6}, two{"", "rx_prio3_pause_duration", 5, 5}),
			[]string{"pass node"},
			"",
		},
		{"frames without durations", "pause-time", roceTree, ethtoolReadings(two{"", "rx_prio3_pause", 1, 2}), []string{
			"not-applicable " + net0,
		}, "ethtool:ens0np0:rx_prio?_pause_duration = does not exist"},
		{"at once", "pause-time", roceTree, readings(readingsOf(net0, 0, two{
			facts.CountersEthtool, "rx_prio3_pause_duration", 5, 5,
		})), []string{"unknown " + net0}, "the same time"},
		{"reset", "pause-time", roceTree, ethtoolReadings(two{"", "rx_prio3_pause_duration", 50, 5}), []string{
			"unknown " + net0,
		}, "was reset"},
	})
}

// A priority without PFC may lose packets.
func TestCounterDiscards(t *testing.T) {
	prio3 := two{facts.CountersEthtool, "rx_prio3_discards", 0, 1}
	prio0 := two{facts.CountersEthtool, "rx_prio0_discards", 0, 58591314012}
	mlx5 := two{facts.CountersEthtool, "rx_prio0_packets", 0, 1}
	ofPort := func(after uint64) two { return two{facts.CountersEthtool, "rx_discards_phy", 7, after} }
	pfc := func(enabled uint8, list ...two) change {
		return recorded(facts.Facts{
			DCB:   known([]facts.DCB{{Netdev: net0, PFC: &facts.PFC{Enabled: enabled}}}),
			Rates: known(ratesOf(netReadings(net0, list...))),
		})
	}
	runCounters(t, []counterSituation{
		{
			"lossless", "lossless-discards", roceTree, pfc(1<<3, prio0, prio3),
			[]string{"fail " + net0},
			"rx_prio3_discards rose by 1",
		},
		{"lossy", "lossless-discards", roceTree, pfc(1<<4, prio0, prio3, two{
			facts.CountersEthtool, "rx_prio4_discards", 5, 5,
		}), []string{"pass node"}, ""},
		{"buffers", "lossless-discards", roceTree, pfc(1<<3, two{
			facts.CountersEthtool, "rx_prio3_buf_discard", 0, 1,
		}), []string{"fail " + net0}, ""},
		{
			"no PFC", "lossless-discards", roceTree, pfc(0, prio0),
			[]string{"not-applicable " + net0},
			"no priority is lossless",
		},
		{
			"not counted", "lossless-discards", roceTree, pfc(1<<5, prio0),
			[]string{"not-applicable " + net0},
			"no discards of",
		},
		{
			"of the port, one priority lossless", "lossless-discards", roceTree, pfc(1<<3, ofPort(8)),
			[]string{"warn " + net0},
			"rx_discards_phy rose by 1 in 10s, and the driver doesn't tell the priority; lossless: 3 (PFC by dcbnl)",
		},
		{
			"of the port, all priorities lossless", "lossless-discards", roceTree, pfc(0xff, ofPort(8)),
			[]string{"fail " + net0},
			"rx_discards_phy rose by 1",
		},
		{"none of the port", "lossless-discards", roceTree, pfc(1<<3, ofPort(7)), []string{"pass node"}, ""},
		{
			"of the port, no PFC", "lossless-discards", roceTree, pfc(0, ofPort(8)),
			[]string{"not-applicable " + net0},
			"no priority is lossless",
		},
		{ // the priorities tell that others lost packets
			"of the port beside the priority's", "lossless-discards", roceTree, pfc(1<<3, ofPort(8), two{
				facts.CountersEthtool, "rx_prio3_discards", 0, 0,
			}), []string{"pass node"}, "",
		},
		{
			"without dcbnl, by mlx5's counters", "lossless-discards", roceTree,
			readings(netReadings(net0, prio0, prio3, mlx5, two{facts.CountersEthtool, "rx_prio3_pause", 0, 0})),
			[]string{"fail " + net0},
			"",
		},
		{
			"without dcbnl and PFC", "lossless-discards", roceTree, readings(netReadings(net0, prio0, prio3, mlx5)),
			[]string{"not-applicable " + net0},
			"counters of pause frames",
		},
		{
			"without dcbnl, another driver", "lossless-discards", roceTree, readings(netReadings(net0, prio3)),
			[]string{"not-applicable " + net0},
			"neither dcbnl",
		},
	})
}

func TestCounterCarrier(t *testing.T) {
	with := func(down time.Duration, list ...two) change {
		r := readingsOf(net0, span, list...)
		r.Down, r.Sampled = down, 200*time.Millisecond
		return readings(r)
	}
	losses := func(n uint64) two { return two{facts.CountersNetdev, "carrier_down_count", 3, 3 + n} }
	both := func(n uint64) two { return two{facts.CountersNetdev, "carrier_changes", 7, 7 + n} }
	runCounters(t, []counterSituation{
		{"none", "carrier-lost", roceTree, with(0, losses(0), both(0)), []string{"pass node"}, ""},
		{
			"one, shorter than a look", "carrier-lost", roceTree, with(0, losses(1), both(2)),
			[]string{"warn " + net0},
			"the number of lost carriers rose by 1 in 10s",
		},
		{"two", "carrier-lost", roceTree, with(0, losses(2), both(4)), []string{"fail " + net0}, "the limit is 1/h"},
		{"an old kernel", "carrier-lost", roceTree, with(0, both(2)), []string{"warn " + net0}, "rose by 1 in"},
		{
			"an old kernel, still down", "carrier-lost", roceTree, with(time.Second, both(1)),
			[]string{"warn " + net0},
			"for 1s of 10s",
		},
		{"an old kernel, twice", "carrier-lost", roceTree, with(0, both(3)), []string{"fail " + net0}, ""},
		{
			"4.9 s", "carrier-lost", roceTree, with(4900*time.Millisecond, losses(1)),
			[]string{"warn " + net0},
			"4.9s of 10s",
		},
		{"5 s", "carrier-lost", roceTree, with(5*time.Second, losses(1)), []string{"fail " + net0}, "5s of 10s"},
		{
			"never had one", "carrier-lost", roceTree, with(span, losses(0)),
			[]string{"not-applicable " + net0},
			"all the time",
		},
		{"the driver was reloaded", "carrier-lost", roceTree, with(0, two{
			facts.CountersNetdev, "carrier_down_count", 3, 0,
		}), []string{"unknown " + net0}, "was reset"},
	})
}

// With an interval a saturated counter hides what was asked for.
func TestCounterSaturated(t *testing.T) {
	errors := func(name string, before, after uint64) change {
		return readings(portReadings(port0, two{"counters", name, before, after}))
	}
	warn := []string{"warn " + port0}
	runCounters(t, []counterSituation{
		{
			"4 bits", "counter-saturated", ibTree, errors("excessive_buffer_overrun_errors", 15, 15),
			warn, "saturated at 15",
		},
		{"8 bits", "counter-saturated", ibTree, errors("link_downed", 255, 255), warn, "perfquery -R -C mlx5_0 -P 1"},
		{"16 bits", "counter-saturated", ibTree, errors("VL15_dropped", 0, 65535), warn, ""},
		{"one below", "counter-saturated", ibTree, errors("VL15_dropped", 65534, 65534), []string{"pass node"}, ""},
		{"was reset", "counter-saturated", ibTree, errors("VL15_dropped", 65535, 0), []string{"pass node"}, ""},
		{"on Ethernet", "counter-saturated", roceTree, errors("link_downed", 255, 255), warn, "reload the driver"},
	})
}

func TestLinkWidth(t *testing.T) {
	mode := func(m *facts.LinkMode) change {
		return recorded(facts.Facts{Ethtool: known([]facts.Ethtool{{Netdev: net0, Mode: m}})})
	}
	modes := func(mbps uint32, peer ...string) change {
		return mode(&facts.LinkMode{
			Mbps: mbps, Peer: peer,
			Advertised: []string{"Autoneg", "100000baseCR4/Full", "200000baseCR4/Full", "FEC_RS"},
		})
	}
	runCounters(t, []counterSituation{
		{"4X", "link-width", ibTree, nil, []string{"pass node"}, "rate = 400 Gb/sec (4X NDR)"},
		{ // the kernel has no LinkSpeedSupported, and none is faster: nothing may be said about the speed
			"4X at the speed of an older generation", "link-width", ibTree, eight("rate", "40 Gb/sec (4X QDR)"),
			[]string{"pass node"},
			"8 InfiniBand links with more than one lane, as fast as others on the same model of card (rdmactl",
		},
		{"1X", "link-width", ibTree, port("mlx5_0", "rate", "100 Gb/sec (1X NDR)"), []string{
			"pass node", "fail " + port0,
		}, "the link uses a single lane: 100 Gb/sec (1X NDR)"},
		{"a split cable", "link-width", ibTree, eight("rate", "200 Gb/sec (2X NDR)"), []string{"pass node"}, ""},
		{"down", "link-width", ibTree, all(state("mlx5_0", "1: DOWN", "2: Polling"), port("mlx5_0", "rate",
			"2.5 Gb/sec (1X SDR)")), []string{"pass node"}, "7 InfiniBand links"},
		{"Ethernet without ethtool", "link-width", roceTree, nil, []string{"not-applicable node"}, "takes ethtool"},
		{"25 Gb/s are one lane by design", "link-width", roceTree, eight("rate", "25 Gb/sec (1X EDR)"), []string{
			"not-applicable node",
		}, ""},
		{"as fast as both can", "link-width", roceTree, modes(100000, "Autoneg", "100000baseCR4/Full"), []string{
			"pass node",
		}, "1 Ethernet link at the highest speed that both ends advertise"},
		{
			"slower than both can", "link-width", roceTree, modes(100000, "200000baseCR4/Full", "100000baseCR4/Full"),
			[]string{"fail " + port0},
			"the link runs at 100 Gb/s, both ends can 200 Gb/s (200000baseCR4/Full)",
		},
		{
			"the peer can more than we", "link-width", roceTree,
			modes(200000, "400000baseCR4/Full", "200000baseCR4/Full"),
			[]string{"pass node"},
			"",
		},
		{
			"no common mode", "link-width", roceTree, modes(100000, "Autoneg", "FEC_RS"),
			[]string{"not-applicable node"},
			"no autonegotiation",
		},
		{"no speed", "link-width", roceTree, mode(&facts.LinkMode{}), []string{"not-applicable node"}, "no speed"},
		{"ethtool failed", "link-width", roceTree, recorded(facts.Facts{Ethtool: failed[[]facts.Ethtool]()}), []string{
			"not-applicable node",
		}, "connection refused"},
	})
}

// The carrier and the signal are those of the members of a bond.
func TestCounterOfBondMembers(t *testing.T) {
	n, err := realnodes.Load("h800_eight_bonds_mgmt_and_storage")
	if err != nil {
		t.Fatal(err)
	}
	bond := ""
	var members []string
	snap := scan(t, n.Tree)
	for _, p := range snap.Ports() {
		if d := snap.Netdev(p.Netdev); p.Role == inventory.RoleCompute && d != nil && d.Bond != nil && bond == "" {
			bond, members = d.Name, d.Bond.Slaves
		}
	}
	if len(members) != 2 {
		t.Fatalf("bond %s has members %v, want 2", bond, members)
	}
	lost := two{facts.CountersNetdev, "carrier_down_count", 0, 1}
	readings(netReadings(bond, lost), netReadings(members[1], lost))(t, n.Tree)
	r := diagnose(t, n.Tree, "carrier-lost")
	if got := bad(r, doctor.OutcomeWarn); len(got) != 1 || r.Findings[0].Object != members[1] {
		t.Errorf("carrier-lost = %v, want a warning of the member %s alone", summaries(r), members[1])
	}
}
