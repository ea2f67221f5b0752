package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// signalCounterRules are those on the signal of Ethernet links, before and after FEC.
func signalCounterRules() []counterRule {
	return []counterRule{
		{
			id: "bit-errors", numbers: []int{29}, group: doctor.GroupLink, scope: scopeNetdev,
			title:    "bit errors before correction on the link of a compute port",
			counters: countersIn(facts.CountersEthtool, "rx_corrected_bits_phy", "rx_corrected_bits"),
			limits: []counterLimit{
				{doctor.OutcomeWarn, 2.4e-5, "ratio", "a tenth of what RS-FEC (544,514) must correct; " + toCalibrate},
				{
					doctor.OutcomeFail, 2.4e-4, "ratio",
					"IEEE 802.3 (cd, bs, ck): bit error ratio of PAM4 lanes before RS-FEC (544,514)",
				},
			},
			more: []doctor.Threshold{
				{
					Name: "bit-errors-nrz-warn", Value: 2e-6, What: "the same of lanes below 40 Gb/s",
					Source: "a tenth of what RS-FEC (528,514) must correct; " + toCalibrate,
				},
				{
					Name: "bit-errors-nrz-fail", Value: 2e-5, What: "the same of lanes below 40 Gb/s",
					Source: "RS-FEC (528,514) of IEEE 802.3bj leaves fewer than 10^-12 errors up to about 2x10^-5",
				},
			},
			compares: "corrected bits, divided by all bits of the link, of lanes from 40 Gb/s",
			measure:  measureBitErrors, historic: never,
			explanation: prose.Join(`
				These are bits before FEC. Lanes of 50 Gb/s and more (PAM4) always have errors, which
				RS-FEC (544,514) corrects up to a ratio of 2.4x10^-4; slower lanes (NRZ) have RS-FEC (528,514),
				which corrects up to about 2x10^-5. Above that errors remain, and packets are lost; just below,
				a warmer transceiver or a bent cable is enough. Check uncorrected-errors counts what remains
				after FEC.`),
			remedy: "Compare with the other ports of the node. Clean and reseat the transceivers of a port that " +
				"stands out, then replace the cable.",
			actions: signalActions, sources: []string{sourceEthtool, sourceMlx5Stat, sourceBnxt},
		},
		{
			id: "uncorrected-errors", numbers: []int{30}, group: doctor.GroupLink, scope: scopeNetdev,
			title: "errors on the link of a compute port that FEC could not correct",
			counters: append(countersIn(facts.CountersEthtool, "rx_pcs_symbol_err_phy", "rx_symbol_err_phy",
				"rx_pcs_symbol_err", "rx_fec_uncorrectable_blocks"),
				countersIn(facts.CountersNetdev, "statistics/rx_crc_errors")...),
			limits:   increase(doctor.OutcomeFail, "each is a lost packet"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				Errors that remain after FEC, and frames with a wrong checksum, are lost packets. RoCE repeats
				everything from the lost packet on, so that few of them halve the bandwidth. While a link is
				trained such errors are normal; on a link that stays up they are not.`),
			remedy:  "Clean and reseat the cable and the transceivers at both ends, then replace the cable.",
			actions: signalActions, sources: []string{sourceEthtool, sourceMlx5Stat, sourceBnxt},
		},
		{
			id: "lane-errors", numbers: []int{31}, group: doctor.GroupLink, scope: scopeNetdev,
			title:    "lane of a compute port's link with far more bit errors than the others",
			counters: countersIn(facts.CountersEthtool, "rx_err_lane_?_phy"),
			limits: []counterLimit{{
				doctor.OutcomeWarn, 100, "ratio", toCalibrate,
			}},
			more: []doctor.Threshold{{
				Name: "lane-errors-least", Value: 10000, What: "errors of a lane below which lanes are not compared",
				Source: toCalibrate,
			}},
			compares: "errors of the worst lane, divided by those of the median lane",
			measure:  measureLanes, historic: never,
			explanation: prose.Join(`
				A cable or transceiver with one bad lane still works, because FEC corrects the errors of all
				lanes together. It is the first that fails.`),
			remedy:  "Clean and reseat the transceivers; a lane that stays bad needs another cable or transceiver.",
			actions: signalActions, sources: []string{sourceEthtool, sourceMlx5Stat},
		},
	}
}

// signalActions look at the signal of a link.
func signalActions(s *sample) []doctor.Action {
	list := []doctor.Action{
		doctor.Shell("ethtool --show-fec %s", quote(s.object)),
		doctor.Shell("ethtool -m %s   # power and temperature of the module", quote(s.object)),
	}
	if mellanox(s.port.dev) {
		list = append(list, doctor.Shell("mlxlink -d %s --show_ber --show_module", s.port.tool()))
	}
	return append(list, doctor.Note(reseat))
}
