package checks

import (
	"regexp"

	"github.com/rdmakit/rdmakit/doctor"
)

// logRule is a kind of message of the kernel.
type logRule struct {
	id      string
	match   *regexp.Regexp
	outcome doctor.Outcome
	// summary describes the fault; it is followed by the number of messages.
	summary string
	actions []doctor.Action // in the order in which they help
	// anyCard makes the rule apply to a card without an RDMA device, which may be the reason.
	anyCard bool
	// healed makes a later start or recovery of the driver turn the fault into a warning.
	healed bool
}

// logRules returns the messages that the check knows, the first that matches counts. Messages that
// no rule matches are harmless or unknown. The texts are those of the kernel's source; mlx5 has
// changed the function names before them, never the texts.
func logRules() []logRule {
	reset := doctor.Action{
		Do: doctor.DoNote, Risk: doctor.RiskTraffic,
		Text: "drain the node, then reload the driver or reset the card; if it comes back, update the firmware",
	}
	return []logRule{
		{ // drivers/net/ethernet/mellanox/mlx5/core/cmd.c
			id: "command-timeout", outcome: doctor.OutcomeFail, anyCard: true, healed: true,
			match:   regexp.MustCompile(`timeout\. Will cause a leak of a command resource|\) No done completion$`),
			summary: "the firmware did not answer commands of the driver",
			actions: []doctor.Action{reset},
		},
		{ // health.c, fw.c, main.c: 65535.65535.65535 is what a dead card reads as
			id: "firmware-dead", outcome: doctor.OutcomeFail, anyCard: true, healed: true,
			match: regexp.MustCompile(
				`device's health compromised|Fatal error \d+ detected|\bsynd 0x[0-9a-f]*[1-9a-f][0-9a-f]*: |` +
					`health recovery (flow aborted|failed)|PCI slot is unavailable|` +
					`firmware version: 65535\.65535\.65535|Firmware over \d+ MS in (pre-)?initializing state`),
			summary: "the firmware of the card stopped working",
			actions: []doctor.Action{reset, doctor.Note("look for messages about temperature before it")},
		},
		{ // drivers/base/dd.c
			id: "probe-failed", outcome: doctor.OutcomeFail, anyCard: true, healed: true,
			match: regexp.MustCompile(`probe (of \S+|with driver \S+) failed with error -\d+|` +
				`mlx5_load_one failed with error code -\d+`),
			summary: "the driver could not start the card",
			actions: []doctor.Action{
				doctor.Note("the lines before it in dmesg have the reason; compare firmware and driver versions"),
			},
		},
		{ // events.c
			id: "temperature", outcome: doctor.OutcomeWarn,
			match: regexp.MustCompile(`High temperature on sensors with bit set|` +
				`Port module event\[error\]: .*High Temperature`),
			summary: "the card or its module was too hot",
			actions: []doctor.Action{doctor.Shell("sensors"), doctor.Note("check airflow and fans")},
		},
		{
			id: "module-error", outcome: doctor.OutcomeWarn,
			match:   regexp.MustCompile(`Port module event\[error\]: module \d+, `),
			summary: "the card rejected a module or cable",
			actions: []doctor.Action{doctor.Note("reseat the module, then swap it; check that the card supports it")},
		},
		{ // net/sched/sch_generic.c, en_main.c, bnxt.c
			id: "transmit-timeout", outcome: doctor.OutcomeWarn,
			match:   regexp.MustCompile(`NETDEV WATCHDOG: .*transmit queue \d+ timed out|: TX timeout detected`),
			summary: "a transmit queue stood still for seconds",
			actions: []doctor.Action{
				doctor.Note("look for pause frames and for errors of the firmware at the same time"),
			},
		},
		{
			id: "slot-power", outcome: doctor.OutcomeWarn,
			match:   regexp.MustCompile(`Detected insufficient power on the PCIe slot`),
			summary: "the slot advertises less power than the card may need",
			actions: []doctor.Action{doctor.Note("connect the auxiliary power of card or riser, or use another slot")},
		},
		{ // drivers/pci/pci.c
			id: "pcie-limited", outcome: doctor.OutcomeInfo,
			match:   regexp.MustCompile(`available PCIe bandwidth, limited by`),
			summary: "a PCI Express link between card and root limited it when its driver started",
			actions: []doctor.Action{doctor.Note("check pcie-link compares the link with the port's rate")},
		},
	}
}

// Further messages that the check needs.
var (
	logFunction = regexp.MustCompile(`\b[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b`)
	logWatchdog = regexp.MustCompile(`NETDEV WATCHDOG: (\S+) \(\S+\):`)
	// The driver started, or the card recovered.
	logHealed  = regexp.MustCompile(`health recovery succeeded|firmware version: \d+\.\d+\.\d+`)
	logModule  = regexp.MustCompile(`Port module event: module (\d+), Cable (un)?plugged`)
	firstFunct = regexp.MustCompile(`:00\.0$`)
	// Drivers whose cards are there for RDMA; others also drive plain network cards.
	logRDMADriver = regexp.MustCompile(`^(mlx[45]_core|hfi1|qib|efa|erdma)\b`)
)
