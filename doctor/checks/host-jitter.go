package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

const clockSourceFile = sysfs.ClockSource + "/current_clocksource"

func hostJitter() doctor.Check {
	return doctor.Check{
		ID: "host-jitter", Title: "settings of the host that make latency vary", Severity: doctor.OutcomeWarn,
		Group: doctor.GroupHost, Numbers: []int{85},
		Reads: slices.Concat([]string{
			pciFiles("numa_node"), "/" + sysfs.NUMANodes + "/online", "/" + clockSourceFile, "/" + sysfs.NUMABalancing,
			"/" + sysfs.CPUGovernor, "/" + sysfs.CPUIdleStates + "/latency", "/" + sysfs.CPUIdleStates + "/disable",
		}, machineFiles()),
		Thresholds: []doctor.Threshold{{
			Name: "idle-latency-note", Value: 100, Unit: "µs",
			What:   "longer exit latency of an idle state that is enabled",
			Source: "to be calibrated",
		}},
		Explanation: prose.Join(`
			Collectives wait for the slowest rank. A clock that is read through hardware takes a microsecond each
			time; a card of unknown NUMA node gets buffers and threads on the wrong socket; frequency governors,
			deep idle states and the migration of pages between nodes delay a rank now and then.`),
		Remedy: "Use the clock source tsc, the governor performance, and kernel.numa_balancing=0 on nodes for jobs.",
		Sources: []string{
			"Documentation/admin-guide/pm/cpufreq.rst, cpuidle.rst", "Documentation/admin-guide/sysctl/kernel.rst",
			"kernel/time/clocksource.c", "drivers/pci/pci-sysfs.c (numa_node)",
		},
		Run: runHostJitter,
	}
}

func runHostJitter(_ context.Context, in *doctor.Input) []doctor.Finding {
	if len(computePorts(in.Snapshot)) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s",
			noneOf(in.Snapshot, "no compute port is on a PCI card"))}
	}
	m := machineOf(in)
	var findings []doctor.Finding
	var good []doctor.Evidence
	if f, ok := clockSource(in); ok && f.Outcome != doctor.OutcomePass {
		findings = append(findings, f)
	} else if ok {
		good = append(good, f.Evidence...)
	}
	if m.known && !m.virtual {
		findings = append(findings, noNUMANode(in)...)
	}
	notes, well := slowSettings(in, m)
	good = append(good, well...)
	if len(notes) > 0 {
		findings = append(findings, settingsNote(notes))
	}
	switch {
	case len(good) == 0 && len(findings) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"neither clock source nor settings of the processors are known")}
	case len(good) > 0 && worst(findings).Compare(doctor.OutcomeInfo) <= 0:
		return append([]doctor.Finding{doctor.Passed(doctor.ObjectNode,
			"no setting of the host that is known to delay ranks much", good...)}, findings...)
	}
	return findings
}

func clockSource(in *doctor.Input) (doctor.Finding, bool) {
	text, err := in.Facts.Files.Text(clockSourceFile)
	if err != nil {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Outcome: doctor.OutcomePass, Object: doctor.ObjectNode,
		Evidence: []doctor.Evidence{fileEvidence(clockSourceFile, text)},
	}
	if slices.Contains([]string{"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}, text) {
		f.Outcome = doctor.OutcomeWarn
		f.Summary = fmt.Sprintf("the clock source is %s: each reading of the clock goes to slow hardware", text)
		f.Actions = []doctor.Action{
			doctor.Shell("dmesg | grep -iE 'tsc|clocksource'   # why the kernel gave up tsc"),
			doctor.Note("if the tsc is sound, boot with tsc=reliable; else update the BIOS"),
		}
	}
	return f, true
}

// noNUMANode returns a finding for each compute card of a machine with several NUMA nodes whose
// node the firmware doesn't tell.
func noNUMANode(in *doctor.Input) []doctor.Finding {
	online, err := in.Facts.Files.Text(sysfs.NUMANodes + "/online")
	if err != nil || !strings.ContainsAny(online, "-,") {
		return nil
	}
	var findings []doctor.Finding
	for _, g := range groupBy(computePorts(in.Snapshot), func(p portRef) string { return p.dev.PCI.Address }) {
		file := path.Join(function(g.value), "numa_node")
		if text, err := in.Facts.Files.Text(file); err != nil || text != "-1" {
			continue
		}
		findings = append(findings, doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: g.value, Kind: doctor.KindPCI,
			Summary:  "the firmware does not say on which NUMA node the card is",
			Evidence: []doctor.Evidence{fileEvidence(file, "-1"), fileEvidence(sysfs.NUMANodes+"/online", online)},
			Actions: []doctor.Action{
				doctor.Note("update the BIOS, or enable NUMA in it (memory interleaving hides the nodes)"),
			},
		})
	}
	return findings
}

// setting is one that can delay a rank.
type setting struct {
	text string
	ev   doctor.Evidence
	fix  doctor.Action
}

func settingsNote(notes []setting) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeInfo, Object: doctor.ObjectNode,
		Explanation: "These are common defaults. They cost little bandwidth; if iterations vary from step to step, " +
			"change them one by one and measure.",
	}
	var texts []string
	for _, n := range notes {
		texts = append(texts, n.text)
		f.Evidence = append(f.Evidence, n.ev)
		f.Actions = append(f.Actions, n.fix)
	}
	f.Summary = strings.Join(texts, "; ")
	return f
}

// slowSettings returns the settings that can delay a rank, and the evidence of those that don't. In
// a virtual machine the host's count for the processors.
func slowSettings(in *doctor.Input, m machine) (notes []setting, well []doctor.Evidence) {
	files := in.Facts.Files
	if text, err := files.Text(sysfs.NUMABalancing); err == nil {
		ev := fileEvidence(sysfs.NUMABalancing, text)
		if text != "0" {
			notes = append(notes, setting{
				"the kernel moves pages between NUMA nodes", ev, doctor.Sysctl("kernel.numa_balancing", "0"),
			})
		} else {
			well = append(well, ev)
		}
	}
	if m.virtual {
		return notes, well
	}
	// The governors of all processors are set together: the first stands for all.
	if text, err := files.Text(sysfs.CPUGovernor); err == nil && text == "performance" {
		well = append(well, fileEvidence(sysfs.CPUGovernor, text))
	} else if err == nil {
		notes = append(notes, setting{
			"the frequency governor is " + text, fileEvidence(sysfs.CPUGovernor, text),
			doctor.Shell("cpupower frequency-set -g performance"),
		})
	}
	if n, ok := deepIdle(in); ok {
		notes = append(notes, n)
	}
	return notes, well
}

// deepIdle returns the enabled idle state with the longest exit latency, if that is long.
func deepIdle(in *doctor.Input) (setting, bool) {
	files := in.Facts.Files
	most, at := 0.0, ""
	for _, dir := range files.Glob(sysfs.CPUIdleStates) {
		text, err := files.Text(dir + "/latency")
		latency, perr := strconv.ParseFloat(text, 64)
		if err != nil || perr != nil {
			continue
		}
		if disabled, err := files.Text(dir + "/disable"); err == nil && disabled != "0" {
			continue
		}
		if latency > most {
			most, at = latency, dir
		}
	}
	if most <= in.Threshold("idle-latency-note") {
		return setting{}, false
	}
	return setting{
		fmt.Sprintf("an idle processor needs up to %.0f µs to wake up", most),
		fileEvidence(at+"/latency", strconv.FormatFloat(most, 'f', -1, 64)),
		doctor.Shell("cpupower idle-set -D %.0f   # disables the states with a longer latency",
			in.Threshold("idle-latency-note")),
	}, true
}
