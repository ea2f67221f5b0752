package checks

import (
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// toCalibrate is the source of limits that nobody has measured.
const toCalibrate = "to be calibrated"

// Sources of counters.
const (
	sourcePMA        = "InfiniBand specification volume 1, section 16.1.3.5 (PortCounters)"
	sourceEthtool    = "Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst"
	sourceMlx5       = "drivers/infiniband/hw/mlx5/counters.c"
	sourceBnxtRe     = "drivers/infiniband/hw/bnxt_re/hw_counters.c"
	sourceIrdma      = "drivers/infiniband/hw/irdma/verbs.c (irdma_hw_stat_names)"
	sourceEFA        = "drivers/infiniband/hw/efa/efa_verbs.c (EFA_DEFINE_PORT_STATS)"
	sourceMlx5Stat   = "drivers/net/ethernet/mellanox/mlx5/core/en_stats.c"
	sourceNVSentinel = "NVIDIA NVSentinel, docs/nic-health-monitor.md"
	sourceBnxt       = "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c"
)

// increase is the limit of rules for which a single event is a finding.
func increase(o doctor.Outcome, source string) []counterLimit {
	return []counterLimit{{outcome: o, source: source}}
}

// linkCounterRules are those on links that went down, and on the counters of InfiniBand ports as a
// whole.
func linkCounterRules() []counterRule {
	return []counterRule{
		{
			id: "link-downed", numbers: []int{20}, group: doctor.GroupLink,
			title:    "link of a compute port that has failed",
			counters: countersIn(groupClassic, "link_downed"),
			limits:   increase(doctor.OutcomeFail, "a job that uses the link at that moment fails"),
			absolute: runLinkDowned, historic: doctor.OutcomeInfo, lost: doctor.OutcomeFail,
			explanation: prose.Join(`
				link_downed counts how often the link failed and could not be recovered. A job that uses the
				port at that moment stops or fails. One or two failures are common: the switch restarted, or a
				cable was plugged in. The counter doesn't show when they happened; a number that grows while
				nobody works on the fabric is a bad cable or transceiver.`),
			remedy: "Read the counter twice with --interval. If it grows, clean or replace the cable and the " +
				"transceivers.",
			actions: cableActions,
			sources: []string{"InfiniBand specification volume 1, PortCounters.LinkDownedCounter"},
		},
		{
			id: "carrier-lost", numbers: []int{21}, group: doctor.GroupLink, scope: scopeNetdev,
			title:    "network device of a compute port that lost its carrier",
			counters: countersIn(facts.CountersNetdev, "carrier_down_count", "carrier_changes"),
			limits: []counterLimit{
				{doctor.OutcomeWarn, 0, "", "a single loss can end a job"},
				{doctor.OutcomeFail, 1, "1/h", toCalibrate + ": two losses in an hour"},
			},
			more: []doctor.Threshold{{
				Name: "carrier-lost-outage", Value: 5, Unit: "s", What: "time without carrier between two readings",
				Source: toCalibrate,
			}},
			compares: "lost carriers", measure: measureCarrier, historic: never,
			explanation: prose.Join(`
				Each loss of the carrier stops all traffic of the port until the link is trained again, which
				takes seconds. Queue pairs retry for their timeout times the number of retries; an outage that
				is longer ends the job. Losses that are shorter than a monitor's period are visible in the
				counter only.`),
			remedy: "Look for the cause at the time of the loss: a switch port that was switched off, a cable or " +
				"transceiver, or a driver that was reloaded.",
			actions: func(s *sample) []doctor.Action {
				return []doctor.Action{
					doctor.Shell("ethtool %s", quote(s.object)),
					doctor.Shell("journalctl -k --since -1h | grep -i %s", quote(s.object)),
				}
			},
			sources: []string{
				"Documentation/ABI/testing/sysfs-class-net (carrier_changes, carrier_down_count)",
				"net/sched/sch_generic.c (netif_carrier_off)",
			},
		},
		{
			id: "dropped-by-rule", numbers: []int{27}, group: doctor.GroupLink,
			title: "packets of a compute port that partitions or missing buffers dropped",
			counters: countersIn(groupClassic, "VL15_dropped", "port_xmit_constraint_errors",
				"port_rcv_constraint_errors"),
			limits: increase(doctor.OutcomeWarn, "a port in the right partition drops none"),
			explanation: prose.Join(`
				Constraint errors are packets that the port dropped because of their partition key or because
				raw packets are not allowed: a peer is in another partition. VL15_dropped counts packets of
				subnet management that found no buffer; the subnet manager repeats them.`),
			remedy: "Compare the partition keys of the nodes, and ask the subnet manager for the partition of the " +
				"port.",
			actions: func(s *sample) []doctor.Action { return []doctor.Action{pkeyAction(s)} },
			sources: []string{sourcePMA},
		},
		{
			id: "counter-saturated", numbers: []int{28}, group: doctor.GroupLink,
			title:    "error counter of a compute port that is saturated",
			counters: countersIn(groupClassic, errorCounters()...),
			limits:   increase(doctor.OutcomeWarn, "a saturated counter hides all further errors"),
			fixed:    true,
			measure:  measureSaturated, once: onceSaturated, good: "not saturated", historic: doctor.OutcomeInfo,
			explanation: prose.Join(`
				The counters of PortCounters stop at their highest value (15, 255, 65535, 2^32-1) and stay
				there. A monitor that compares two readings then sees no increase, however many errors there
				are.`),
			remedy: "Note the values of all counters of the port, reset them, and only then read them twice: a " +
				"saturated counter does not grow. Monitors see the reset too.",
			actions: resetActions,
			sources: []string{sourcePMA},
		},
	}
}

// classicCounterRules are those on single counters that each InfiniBand port has (PMA).
func classicCounterRules() []counterRule {
	return []counterRule{
		classicRule("symbol-errors", 22, "symbol errors on the link of a compute port", "symbol_error", []counterLimit{
			{doctor.OutcomeFail, 120, "1/h", sourceNVSentinel + "; a bit error ratio of 10^-12, which InfiniBand " +
				"allows, is 36 an hour at 10 Gb/s (4X SDR) and 144 at 40 Gb/s (4X QDR)"},
			{doctor.OutcomeWarn, 10, "1/s", sourceNVSentinel},
		}, "", `
			The receiver could not decode a symbol. With FEC such errors are those that it could not correct:
			packets are lost and repeated, and a job is slower at random moments. A steady rate is a dirty or
			damaged cable or transceiver. More than the limit by the hour is a fault, but only once so
			many were counted; between readings that are seconds apart the limit by the second warns.`),
		classicRule("link-recoveries", 23, "link of a compute port that is trained again and again",
			"link_error_recovery", []counterLimit{{doctor.OutcomeWarn, 5, "1/min", sourceNVSentinel}}, "", `
			The link lost its synchronization and recovered by itself. Meanwhile nothing is sent, for
			milliseconds each time; before long such a link goes down.`),
		classicRule("local-link-integrity", 24, "link of a compute port with too many local errors",
			"local_link_integrity_errors", increase(doctor.OutcomeFail, sourcePMA), doctor.OutcomeInfo, `
			The number of physical errors in a short time exceeded the limit that the subnet manager has set
			(LocalPhyErrors). The link retrains or goes down next.`),
		classicRule("buffer-overruns", 25, "receive buffer of a compute port that overflowed",
			"excessive_buffer_overrun_errors", increase(doctor.OutcomeFail, sourcePMA), doctor.OutcomeInfo, `
			Packets arrived for which the receiver had granted no credit, several times in a row: the two ends
			of the link disagree on flow control, as after corrupted credit packets. Packets are lost.`),
		classicRule("rcv-errors", 26, "packets with errors that a compute port received", "port_rcv_errors",
			[]counterLimit{{doctor.OutcomeWarn, 10, "1/s", toCalibrate}}, "", `
			The port dropped packets with a wrong checksum, length or format. They are repeated, which costs
			time. The cause is mostly the link to the switch.`),
		remoteRule(classicRule("remote-physical-errors", 26,
			"packets that were already bad when they reached the last link",
			"port_rcv_remote_physical_errors", increase(doctor.OutcomeWarn, "the cause is on another link"), "", `
			Packets arrived with the mark that an earlier link of their way had corrupted them (EBP). The port
			and its cable are well; a link elsewhere in the fabric is not.`)),
	}
}

// remoteRule changes what to do to look for another link than that of the port.
func remoteRule(r counterRule) counterRule {
	r.remedy = "Look for the link that damages packets: one whose receiving port has symbol errors, in a switch " +
		"or at another node. Leave the cable of this port alone."
	r.actions = func(*sample) []doctor.Action {
		return []doctor.Action{
			{Do: doctor.DoRun, Risk: doctor.RiskNone, Text: "rdmactl fabric errors --interval 1m   # all links"},
			doctor.Note("look for symbol errors on links of switches and other nodes, not at the cable of this port"),
		}
	}
	return r
}

// classicRule is a rule on one counter of PortCounters.
func classicRule(
	id string, number int, title, counter string, limits []counterLimit, historic doctor.Outcome, why string,
) counterRule {
	return counterRule{
		id: id, numbers: []int{number}, group: doctor.GroupLink, title: title,
		counters: countersIn(groupClassic, counter), limits: limits, historic: historic,
		explanation: prose.Join(why),
		remedy: "Clean and reseat the cable and the transceivers at both ends, then replace the cable; if the errors " +
			"stay, change the port of the switch to see which end is bad.",
		actions: cableActions, sources: []string{sourcePMA},
	}
}

// reseat is what to do with a bad cable.
const reseat = "clean and reseat the cable and the transceivers at both ends, then replace the cable"

// cableActions look at the cable and at the other end of the link.
func cableActions(s *sample) []doctor.Action {
	var list []doctor.Action
	if s.port.port.LinkLayer == inventory.LinkLayerInfiniBand {
		list = append(list, doctor.Shell("iblinkinfo -D 0 -C %s -P %d   # the switch port at the other end",
			quote(s.port.dev.Name), s.port.port.Number))
	}
	if mellanox(s.port.dev) {
		list = append(list,
			doctor.Shell("mlxlink -d %s -p %d --show_ber --show_module", s.port.tool(), s.port.port.Number))
	}
	return append(list, doctor.Note(reseat))
}

func pkeyAction(s *sample) doctor.Action {
	return doctor.Shell("grep -H . %s/pkeys/* | grep -v 0x0000", quote(s.port.port.Path))
}

// resetActions reset the counters of a port.
func resetActions(s *sample) []doctor.Action {
	if s.port.port.LinkLayer != inventory.LinkLayerInfiniBand {
		return []doctor.Action{
			doctor.Note("reload the driver of %s when no job runs: it resets all its counters", s.object),
		}
	}
	return append(resetSteps(s.port), doctor.Note("then read them twice, at least a minute apart"),
		doctor.Shell("rdmactl doctor --interval 1m"))
}

// resetSteps reset the counters of an InfiniBand port, which no monitor may miss: the reset is not
// a line to paste.
func resetSteps(p portRef) []doctor.Action {
	port := fmt.Sprintf("-C %s -P %d", quote(p.dev.Name), p.port.Number)
	return []doctor.Action{
		doctor.Shell("perfquery %s   # note these values: they are lost with the reset", port),
		doctor.Note("perfquery -R %s resets all counters of the port, also for those who monitor them", port),
	}
}
