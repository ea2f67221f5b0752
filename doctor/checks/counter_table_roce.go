package checks

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// roceCounterRules are those on what only RoCE has: recovery, ICRC and congestion notifications.
func roceCounterRules() []counterRule {
	return []counterRule{
		{
			id: "roce-slow-restart", numbers: []int{42}, group: doctor.GroupTransport,
			title:    "RoCE connections of a compute port that start slowly again",
			counters: countersIn(groupDriver, "roce_slow_restart"),
			limits:   []counterLimit{{doctor.OutcomeWarn, 10, "1/s", toCalibrate}},
			explanation: prose.Join(`
				After packets were lost, the card sends slowly for a while. Many restarts mean that the network
				loses packets all the time and that connections never reach their rate.`),
			remedy:  "Find where packets are lost, as for packets-lost.",
			actions: lossActions, sources: []string{sourceMlx5},
		},
		{
			id: "roce-retransmission-timeouts", numbers: []int{42}, group: doctor.GroupTransport,
			title:    "RoCE connections of a compute port whose adaptive retransmission timed out",
			counters: countersIn(groupDriver, "roce_adp_retrans_to"),
			limits:   increase(doctor.OutcomeWarn, toCalibrate),
			explanation: prose.Join(`
				With adaptive retransmission the card repeats packets sooner than the timeout of the queue pair
				says (roce_adp_retrans). This counter counts those that timed out nevertheless: packets are lost
				for longer, or the peer is gone.`),
			remedy:  "Find where packets are lost, as for packets-lost.",
			actions: lossActions, sources: []string{sourceMlx5},
		},
		{
			id: "icrc-errors", numbers: []int{43}, group: doctor.GroupTransport,
			title:    "RoCE packets that reached a compute port with a wrong ICRC",
			counters: countersIn(groupDriver, "rx_icrc_encapsulated"),
			limits:   increase(doctor.OutcomeFail, "something on the way changed a packet"),
			historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The ICRC protects what no switch may change. A wrong one behind a right Ethernet checksum means
				that a device on the way corrupted or rewrote the packet: a faulty switch, or one that changes
				fields that it must not. The port drops such packets.`),
			remedy: "Find the device that all affected paths share; compare counters of ports behind different " +
				"switches.",
			actions: lossActions, sources: []string{sourceMlx5},
		},
		{
			id: "cnp-ignored", numbers: []int{45}, group: doctor.GroupTransport,
			title:    "congestion notifications that a compute port ignores",
			counters: countersIn(groupDriver, "rp_cnp_ignored", "cnpIgnored"),
			limits:   increase(doctor.OutcomeWarn, "a port with congestion control ignores none"),
			explanation: prose.Join(`
				Peers tell this port that the network is congested (CNP), and it does not slow down: congestion
				control is off on this card or this priority. It takes bandwidth from all other nodes and causes
				pause frames.`),
			remedy: "Switch on congestion control (DCQCN, reaction point) for the priority of RoCE on this card, as " +
				"on all others.",
			actions: cnpActions, sources: []string{sourceMlx5, sourceIrdma},
		},
		{
			id: "cnp-missing", numbers: []int{46}, group: doctor.GroupTransport,
			title: "marked packets for which a compute port sends no congestion notification",
			counters: countersIn(groupDriver, "np_ecn_marked_roce_packets", "np_cnp_sent", "RxECNMrkd",
				"cnpSent"),
			limits: []counterLimit{{
				doctor.OutcomeWarn, 10000, "ratio", toCalibrate + "; 28 was seen on a port that is well",
			}},
			compares: "marked packets, divided by the notifications", measure: measureCNP, historic: never,
			explanation: prose.Join(`
				Switches mark packets when they are congested (ECN), and the receiver must notify the sender
				(CNP), at a limited rate. A port that receives marks and sends nothing has the notification
				point switched off: senders don't slow down.`),
			remedy:  "Switch on the notification point of ECN for the priority of RoCE on this card, as on all others.",
			actions: cnpActions, sources: []string{sourceMlx5, sourceIrdma},
		},
	}
}

// cnpActions look at the settings of congestion control.
func cnpActions(s *sample) []doctor.Action {
	net := s.port.port.Netdev
	if !mellanox(s.port.dev) || net == "" {
		return []doctor.Action{doctor.Note("compare the settings of congestion control with those of the other cards")}
	}
	return []doctor.Action{
		doctor.Shell("grep -H . /%s/ecn/roce_*/enable/*   # MLNX_OFED", quote(classNet(net))),
		doctor.Note("compare with the other cards, and switch it on for the priority of RoCE"),
	}
}
