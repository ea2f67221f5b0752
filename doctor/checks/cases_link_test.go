package checks_test

import (
	"syscall"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// linkCases are those of link quality.
func linkCases() []numberCase {
	fec := func(active string) change {
		return recorded(facts.Facts{Ethtool: known([]facts.Ethtool{{
			Netdev: "ens0np0", FEC: &facts.FEC{Active: active, Configured: []string{"Auto"}, Auto: true},
			Mode: &facts.LinkMode{Mbps: 400000, Lanes: 4},
		}})})
	}
	module := func(celsius float64) change {
		return recorded(facts.Facts{Modules: known([]facts.Module{
			{Netdev: "ens0np0", Type: "OSFP", Celsius: celsius, HighAlarm: 80, HighWarning: 75},
		})})
	}
	hot := func(milliCelsius string) change {
		const hwmon = "sys/bus/pci/devices/0000:18:00.0/hwmon/hwmon4/"
		return all(set(hwmon+"temp1_input", milliCelsius), set(hwmon+"temp1_crit", "105000"))
	}
	modules := []numberCase{
		{
			32, "fec", "02_rocev2_8hca", nil, fec("RS"), fec("Off"),
			recorded(facts.Facts{Ethtool: failed[[]facts.Ethtool]()}),
			doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
		{
			33, "module-health", "02_rocev2_8hca", nil, module(75), module(80.1),
			recorded(facts.Facts{Modules: &facts.Datum[[]facts.Module]{Denied: "root would show it"}}),
			doctor.OutcomeFail, "ens0np0", doctor.OutcomePrivilege,
		},
		{
			33, "card-temperature", "02_rocev2_8hca", nil, hot("94000"), hot("105000"),
			all(hot("94000"), fail("sys/bus/pci/devices/0000:18:00.0/hwmon/hwmon4/temp1_input", syscall.EIO)),
			doctor.OutcomeFail, "mlx5_0", doctor.OutcomeUnknown,
		},
	}
	const ib, roce = "01_ib_8hca", "02_rocev2_8hca"
	classic := func(number int, id, counter string, before, good, bad uint64, want doctor.Outcome) numberCase {
		return counterCase(number, id, ib, "mlx5_0:1", "counters", counter, before, good, bad, want)
	}
	ethtool := func(number int, id, counter string, good, bad uint64, want doctor.Outcome) numberCase {
		return counterCase(number, id, roce, "ens0np0", facts.CountersEthtool, counter, 0, good, bad, want)
	}
	cases := []numberCase{
		classic(20, "link-downed", "link_downed", 2, 2, 3, doctor.OutcomeFail),
		counterCase(21, "carrier-lost", roce, "ens0np0", facts.CountersNetdev, "carrier_down_count", 3, 3, 4,
			doctor.OutcomeWarn),
		classic(22, "symbol-errors", "symbol_error", 7, 7, 128, doctor.OutcomeFail),
		classic(23, "link-recoveries", "link_error_recovery", 0, 0, 6, doctor.OutcomeWarn),
		classic(24, "local-link-integrity", "local_link_integrity_errors", 1, 1, 2, doctor.OutcomeFail),
		classic(25, "buffer-overruns", "excessive_buffer_overrun_errors", 1, 1, 2, doctor.OutcomeFail),
		classic(26, "rcv-errors", "port_rcv_errors", 14, 114, 115, doctor.OutcomeWarn),
		classic(26, "remote-physical-errors", "port_rcv_remote_physical_errors", 5, 5, 6, doctor.OutcomeWarn),
		classic(27, "dropped-by-rule", "VL15_dropped", 5, 5, 6, doctor.OutcomeWarn),
		classic(27, "dropped-by-rule", "port_xmit_constraint_errors", 5, 5, 6, doctor.OutcomeWarn),
		classic(27, "dropped-by-rule", "port_rcv_constraint_errors", 5, 5, 6, doctor.OutcomeWarn),
		classic(28, "counter-saturated", "symbol_error", 0, 65534, 65535, doctor.OutcomeWarn),
		classic(28, "counter-saturated", "link_downed", 255, 254, 255, doctor.OutcomeWarn),
		// 400 Gb/s for 10 s are 4x10^12 bits.
		ethtool(29, "bit-errors", "rx_corrected_bits_phy", 96e6, 96e6+1, doctor.OutcomeWarn),
		ethtool(29, "bit-errors", "rx_corrected_bits_phy", 96e6, 96e7+1, doctor.OutcomeFail),
		ethtool(29, "bit-errors", "rx_corrected_bits", 0, 96e7+1, doctor.OutcomeFail),
		ethtool(30, "uncorrected-errors", "rx_pcs_symbol_err_phy", 0, 1, doctor.OutcomeFail),
		ethtool(30, "uncorrected-errors", "rx_symbol_err_phy", 0, 1, doctor.OutcomeFail),
		ethtool(30, "uncorrected-errors", "rx_fec_uncorrectable_blocks", 0, 1, doctor.OutcomeFail),
		counterCase(30, "uncorrected-errors", roce, "ens0np0", facts.CountersNetdev, "statistics/rx_crc_errors",
			9, 9, 10, doctor.OutcomeFail),
		{
			31, "lane-errors", roce, nil,
			readings(netReadings("ens0np0", lanes(28116, 30000, 29000, 2811600)...)),
			readings(netReadings("ens0np0", lanes(28116, 30000, 29000, 17722623)...)),
			recorded(facts.Facts{Rates: failed[facts.Rates]()}), doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
		{
			35, "link-width", ib, nil, nil, port("mlx5_0", "rate", "100 Gb/sec (1X NDR)"),
			failEight("rate", syscall.EIO),
			doctor.OutcomeFail, "mlx5_0:1", doctor.OutcomeUnknown,
		},
	}
	return append(cases, modules...)
}

func lanes(errors ...uint64) []two {
	var out []two
	for i, n := range errors {
		out = append(out, two{facts.CountersEthtool, "rx_err_lane_" + string(rune('0'+i)) + "_phy", 0, n})
	}
	return out
}
