package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// pauseCounterRules are those on flow control of Ethernet.
func pauseCounterRules() []counterRule {
	return []counterRule{
		{
			id: "pause-time", numbers: []int{56}, group: doctor.GroupQoS, scope: scopeNetdev,
			title: "compute port that spends much of its time paused",
			counters: countersIn(facts.CountersEthtool, "rx_prio?_pause_duration", "tx_prio?_pause_duration",
				"rx_global_pause_duration", "tx_global_pause_duration", "pfc_pri?_rx_duration_us",
				"pfc_pri?_tx_duration_us"),
			limits: []counterLimit{
				{doctor.OutcomeWarn, 1, "%", toCalibrate},
				{doctor.OutcomeFail, 10, "%", toCalibrate},
			},
			compares: "share of the time between two readings that a priority, or the port, was paused",
			measure:  measurePause, historic: never,
			explanation: prose.Join(`
				While a port is paused it sends nothing on that priority. rx counts the time that the switch
				paused this port: the network or a receiver is congested. tx counts the time that this port
				paused the switch: the host takes packets too slowly, and the congestion spreads to others.
				Pause frames are normal; the share of the time is what matters, not their number since the
				driver was loaded.`),
			remedy: "tx: look for PCI Express stalls, a narrow slot, and a busy host (pcie-stalls, pcie-link). rx: " +
				"find the slow receiver behind the switch, and check that ECN slows down senders before PFC does.",
			actions: pauseActions, sources: []string{sourceEthtool, sourceBnxt},
		},
		{
			id: "pause-storm", numbers: []int{56}, group: doctor.GroupQoS, scope: scopeNetdev,
			title:    "compute port that paused the switch until the card gave up",
			counters: countersIn(facts.CountersEthtool, "tx_pause_storm_error_events"),
			limits:   increase(doctor.OutcomeFail, "the card drops packets of a lossless priority then"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The card sent pause frames without an end, because the host took no packets at all, until its
				protection disabled them and it dropped packets. Meanwhile the switch was blocked, and with it
				other nodes.`),
			remedy: "The host or the card's PCI Express link hung: look at the kernel's log of that time, and keep " +
				"the node out of jobs until the cause is known.",
			actions: pauseActions, sources: []string{sourceEthtool},
		},
		{
			id: "lossless-discards", numbers: []int{57}, group: doctor.GroupQoS, scope: scopeNetdev,
			title: "packets of a lossless priority that a compute port dropped",
			counters: countersIn(facts.CountersEthtool, "rx_prio?_discards", "rx_prio?_buf_discard",
				"rx_prio?_cong_discard", portDiscards),
			limits:   increase(doctor.OutcomeFail, "a lossless priority loses nothing"),
			compares: "discards of a lossless priority",
			measure:  measureLossless, historic: never, uses: []facts.Kind{facts.KindDCB},
			explanation: prose.Join(`
				The port dropped packets of a priority with PFC: its buffers were full, since pause frames came
				too late or were ignored. The buffer is too small for the length of the cable and the MTU, or the switch
				does not use PFC on this priority. RDMA repeats all that follows a lost packet. A driver without
				counters of each priority has one for all of them (rx_discards_phy), also for lossy ones.`),
			remedy: "Use PFC on the same priority in the switch, and a receive buffer with enough room for the " +
				"cable's length and the MTU.",
			actions: func(s *sample) []doctor.Action {
				return []doctor.Action{
					doctor.Shell("dcb pfc show dev %s", quote(s.object)),
					doctor.Shell("dcb buffer show dev %s", quote(s.object)),
					{Do: doctor.DoNote, Risk: doctor.RiskOthers, Text: "use PFC on the same priority in the switch"},
				}
			},
			sources: []string{sourceEthtool, sourceMlx5Stat},
		},
	}
}

// pauseActions look at the settings of flow control.
func pauseActions(s *sample) []doctor.Action {
	return []doctor.Action{
		doctor.Shell("dcb pfc show dev %s", quote(s.object)),
		doctor.Shell("ethtool -a %s", quote(s.object)),
		doctor.Note("rx: look for a slow receiver behind the switch; tx: look at this host and its PCI Express link"),
	}
}
