package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

// gb10 is the PCI device ID of the GPU of a DGX Spark and machines like it.
const gb10 = 0x2e12

func kernelLog() doctor.Check {
	return doctor.Check{
		ID: "kernel-log", Title: "messages of the kernel about a fault of a compute card",
		Severity: doctor.OutcomeFail, Group: doctor.GroupInventory, Numbers: []int{18},
		Facts: []facts.Kind{facts.KindKernelLog}, Unless: noCardForLog,
		Explanation: prose.Join(`
			The driver tells the kernel's log what no counter has: a firmware that stopped
			answering, a module that got too hot, a transmit queue that stood still. The port may be
			active all the time. The log holds what happened since the node started, as far as the
			buffer reaches back: a fault of last week is still a reason to look, and one after which
			the driver started anew is a warning.`),
		Remedy: "Read the lines around the message (dmesg -T). Firmware that stopped answering needs a reset of the " +
			"card, and a firmware update or another card if it comes back.",
		Sources: []string{
			"drivers/net/ethernet/mellanox/mlx5/core: cmd.c, health.c, events.c, main.c",
			"net/sched/sch_generic.c (dev_watchdog)", "drivers/pci/pci.c (__pcie_print_link_status)",
			"github.com/prometheus/node_exporter issue 3434 (ACCESS_REG of restricted functions is harmless)",
		},
		Run: runKernelLog,
	}
}

// noCardForLog returns why no message of the kernel can be about a card for jobs.
func noCardForLog(in *doctor.Input) string {
	s := in.Snapshot
	carries := func(p portRef) bool { return p.carriesJobs(s) }
	if len(s.Cards) > 0 || slices.ContainsFunc(slices.Collect(ports(s)), carries) {
		return ""
	}
	return "the node has no compute port"
}

func runKernelLog(_ context.Context, in *doctor.Input) []doctor.Finding {
	messages := in.Facts.KernelLog.Value
	l := logReader{snapshot: in.Snapshot, incidents: map[string]*incident{}, cables: map[string]*cable{}}
	for i := range messages {
		l.read(&messages[i])
	}
	findings := append(l.faults(), l.unplugged()...)
	if len(findings) > 0 {
		return findings
	}
	carries := func(p portRef) bool { return p.carriesJobs(in.Snapshot) }
	if !slices.ContainsFunc(slices.Collect(ports(in.Snapshot)), carries) {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"%s", noneOf(in.Snapshot, "no compute port, and no message about a card that failed"))}
	}
	return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "no known fault among "+
		english.Count(len(messages), "message")+" of the kernel about cards",
		doctor.Evidence{Path: "dmesg", Value: english.Count(len(messages), "message")})}
}

// incident are the messages of one rule about one object.
type incident struct {
	rule   logRule
	object string
	count  int
	lines  []doctor.Evidence // the first ones and the last
	healed bool
}

// cable records the driver's messages about a module, in order: plugged in, then unplugged.
type cable struct {
	object   string
	plugged  bool
	removals int
	last     doctor.Evidence
}

// logReader collects messages.
type logReader struct {
	snapshot  *inventory.Snapshot
	incidents map[string]*incident // by rule and object
	cables    map[string]*cable    // by function and module
}

// mostLines is how many lines of an incident are quoted.
const mostLines = 3

func (l *logReader) read(m *facts.KernelMessage) {
	address := logFunction.FindString(m.Text)
	if w := logWatchdog.FindStringSubmatch(m.Text); address == "" && w != nil {
		if n := l.snapshot.Netdev(w[1]); n != nil {
			address = n.PCI
		}
	}
	line := doctor.Evidence{Path: fmt.Sprintf("dmesg:%.6f", m.Since.Seconds()), Value: printable(m.Text)}
	for _, r := range logRules() {
		if !r.match.MatchString(m.Text) {
			continue
		}
		if object, ok := l.object(address, r.anyCard && logRDMADriver.MatchString(m.Text)); ok {
			l.add(r, object, line)
		}
		return
	}
	if logHealed.MatchString(m.Text) {
		for _, i := range l.incidents {
			i.healed = i.healed || i.object == address || l.owner(address) == i.object
		}
	}
	if part := logModule.FindStringSubmatch(m.Text); part != nil {
		l.cable(address, part[1], part[2] == "", line)
	}
}

func (l *logReader) add(r logRule, object string, line doctor.Evidence) {
	if r.id == "slot-power" && l.harmlessSlot() {
		r.outcome = doctor.OutcomeInfo
		r.summary += ", which is harmless on this machine (NVIDIA GB10)"
	}
	key := r.id + " " + object
	i := l.incidents[key]
	if i == nil {
		i = &incident{rule: r, object: object}
		l.incidents[key] = i
	}
	i.count++
	i.healed = false
	if len(i.lines) == mostLines {
		i.lines = i.lines[:mostLines-1]
	}
	i.lines = append(i.lines, line)
}

// owner returns the name of the RDMA device of a PCI function, or its address.
func (l *logReader) owner(address string) string {
	for i := range l.snapshot.Devices {
		if d := &l.snapshot.Devices[i]; d.PCI != nil && d.PCI.Address == address {
			return d.Name
		}
	}
	return address
}

// object returns what a message about a PCI function is about, and whether it matters to jobs: the
// RDMA device if one of its ports carries jobs. A card without a device matters if anyCard is set:
// the fault may be the reason. A virtual function without one was given to somebody or removed.
func (l *logReader) object(address string, anyCard bool) (string, bool) {
	if d := jobDevice(l.snapshot, address); d != nil {
		return d.Name, true
	}
	if l.owner(address) != address || !anyCard || address == "" || inContainer(l.snapshot) {
		return "", false
	}
	for _, c := range l.snapshot.Cards {
		if c.PCI.Address == address {
			return address, c.VF == nil && len(c.Netdevs) == 0
		}
	}
	for _, n := range l.snapshot.Netdevs {
		if n.PCI == address {
			return "", false // a card that has nothing to do with RDMA
		}
	}
	return address, firstFunct.MatchString(address) // gone, and no virtual function
}

// harmlessSlot reports whether the machine prints a message about the power of its slots at each
// start, which its maker calls harmless.
func (l *logReader) harmlessSlot() bool {
	return slices.ContainsFunc(l.snapshot.GPUs, func(g inventory.GPU) bool {
		return g.PCI.VendorID == 0x10de && g.PCI.DeviceID == gb10
	})
}

// faults returns a finding for each incident.
func (l *logReader) faults() []doctor.Finding {
	var findings []doctor.Finding
	for _, key := range slices.Sorted(maps.Keys(l.incidents)) {
		i := l.incidents[key]
		f := doctor.Finding{
			Outcome: i.rule.outcome, Object: i.object, Evidence: i.lines,
			Summary: fmt.Sprintf("%s: %s", i.rule.summary, english.Count(i.count, "message")),
			Actions: slices.Concat(
				[]doctor.Action{doctor.Shell("dmesg -T | grep %s", quote(l.pattern(i)))}, i.rule.actions),
		}
		if i.rule.id == "probe-failed" && l.snapshot.Device(i.object) != nil {
			continue // it has a device now
		}
		if i.rule.healed && i.healed && f.Outcome == doctor.OutcomeFail {
			f.Outcome = doctor.OutcomeWarn
			f.Summary += "; after that the driver started anew or the card recovered"
		}
		findings = append(findings, f)
	}
	slices.SortStableFunc(findings, func(a, b doctor.Finding) int {
		if c := b.Outcome.Compare(a.Outcome); c != 0 {
			return c
		}
		return strings.Compare(a.Object+a.Summary, b.Object+b.Summary)
	})
	return findings
}

// pattern returns what to search for in the log.
func (l *logReader) pattern(i *incident) string {
	if d := l.snapshot.Device(i.object); d != nil && d.PCI != nil {
		return d.PCI.Address
	}
	return i.object
}

// cable notes that a module was plugged in or out. Drivers tell of empty cages when they start, so
// only a module that was in before counts as pulled out.
func (l *logReader) cable(address, module string, in bool, line doctor.Evidence) {
	object, ok := l.object(address, false)
	if !ok {
		return
	}
	key := address + " " + module
	c := l.cables[key]
	if c == nil {
		c = &cable{object: object}
		l.cables[key] = c
	}
	if !in && c.plugged {
		c.removals++
		c.last = line
	}
	c.plugged = in
}

// unplugged returns a finding for each module that was pulled out.
func (l *logReader) unplugged() []doctor.Finding {
	var findings []doctor.Finding
	for _, key := range slices.Sorted(maps.Keys(l.cables)) {
		c := l.cables[key]
		if c.removals == 0 {
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: c.object, Evidence: []doctor.Evidence{c.last},
			Summary: "the cable or module was pulled out since the driver started, and is not back",
			Actions: []doctor.Action{doctor.Note("plug the cable in; check that it locks at both ends")},
		}
		if c.plugged {
			f.Outcome = doctor.OutcomeInfo
			f.Summary = "the cable or module was pulled out " + english.Count(c.removals, "time") +
				" since the driver started, and is back"
		}
		findings = append(findings, f)
	}
	slices.SortStableFunc(findings, func(a, b doctor.Finding) int {
		return strings.Compare(a.Object+a.Summary, b.Object+b.Summary)
	})
	return findings
}
