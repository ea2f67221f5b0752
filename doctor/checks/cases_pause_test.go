package checks_test

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// pauseCases are those of counters of flow control.
func pauseCases() []numberCase {
	const roce = "02_rocev2_8hca"
	ethtool := func(id, counter string, good, bad uint64, want doctor.Outcome) numberCase {
		return counterCase(56, id, roce, "ens0np0", facts.CountersEthtool, counter, 0, good, bad, want)
	}
	dcb := known([]facts.DCB{{Netdev: "ens0np0", PFC: &facts.PFC{Enabled: 1 << 3}}})
	discards := func(n uint64) change {
		return recorded(facts.Facts{
			DCB: dcb,
			Rates: known(ratesOf(netReadings("ens0np0", two{facts.CountersEthtool, "rx_prio3_discards", 7, 7 + n},
				two{facts.CountersEthtool, "rx_prio0_discards", 0, 58591314012}))),
		})
	}
	return []numberCase{
		// 1 % and 10 % of 10 s, in microseconds.
		ethtool("pause-time", "rx_prio3_pause_duration", 100_000, 100_001, doctor.OutcomeWarn),
		ethtool("pause-time", "tx_prio3_pause_duration", 100_000, 1_000_001, doctor.OutcomeFail),
		ethtool("pause-time", "rx_global_pause_duration", 100_000, 2_170_000, doctor.OutcomeFail),
		ethtool("pause-time", "tx_global_pause_duration", 100_000, 2_170_000, doctor.OutcomeFail),
		ethtool("pause-time", "pfc_pri3_rx_duration_us", 100_000, 2_170_000, doctor.OutcomeFail),
		ethtool("pause-time", "pfc_pri3_tx_duration_us", 100_000, 2_170_000, doctor.OutcomeFail),
		ethtool("pause-storm", "tx_pause_storm_error_events", 0, 1, doctor.OutcomeFail),
		{
			57, "lossless-discards", roce, nil, discards(0), discards(1),
			recorded(facts.Facts{DCB: dcb, Rates: failed[facts.Rates]()}),
			doctor.OutcomeFail, "ens0np0", doctor.OutcomeUnknown,
		},
	}
}

// pcieCases are those of counters of PCI Express.
func pcieCases() []numberCase {
	const roce, function = "02_rocev2_8hca", "0000:18:00.0"
	aer := func(id, counter string, good, bad uint64, want doctor.Outcome) numberCase {
		return counterCase(80, id, roce, function, facts.CountersAER, counter, 2, 2+good, 2+bad, want)
	}
	stalled := func(counter string, n uint64) change {
		return recorded(facts.Facts{
			Ethtool: known([]facts.Ethtool{{Netdev: "ens0np0", Stats: map[string]uint64{counter: n}}}),
		})
	}
	return []numberCase{
		aer("pcie-errors", "aer_dev_fatal:TOTAL_ERR_FATAL", 0, 1, doctor.OutcomeFail),
		aer("pcie-errors", "aer_dev_nonfatal:TOTAL_ERR_NONFATAL", 0, 1, doctor.OutcomeFail),
		aer("pcie-corrected-errors", "aer_dev_correctable:TOTAL_ERR_COR", 1, 11, doctor.OutcomeWarn),
		counterCase(81, "pcie-overflows", roce, "ens0np0", facts.CountersEthtool, "outbound_pci_buffer_overflow",
			5, 5, 6, doctor.OutcomeFail),
		{
			81, "pcie-stalls", roce, nil, stalled("outbound_pci_stalled_rd", 5), stalled("outbound_pci_stalled_rd", 6),
			recorded(facts.Facts{Ethtool: failed[[]facts.Ethtool]()}),
			doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
		{
			81, "pcie-stalls", roce, nil, stalled("outbound_pci_stalled_wr", 5), stalled("outbound_pci_stalled_wr", 6),
			recorded(facts.Facts{Ethtool: failed[[]facts.Ethtool]()}),
			doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
	}
}
