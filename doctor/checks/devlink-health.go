package checks

import (
	"context"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

func devlinkHealth() doctor.Check {
	return doctor.Check{
		ID: "devlink-health", Title: "compute card whose driver reports an error of its health",
		Severity: doctor.OutcomeFail, Group: doctor.GroupInventory, Needs: doctor.NeedDevices, Numbers: []int{17},
		Facts: []facts.Kind{facts.KindDevlink},
		Explanation: prose.Join(`
			Drivers of network cards report faults of firmware and queues through devlink. A
			reporter in the state "error" has seen a fault and not recovered from it: the card may
			still show an active port while its firmware answers nothing. Errors that it recovered
			from are a note, because each one interrupted traffic.`),
		Remedy: "Look at the reporter's diagnosis and at the kernel's log, then let it recover or reset the card. " +
			"Fatal errors of the firmware that come back need a new firmware or another card.",
		Sources: []string{
			"Documentation/networking/devlink/devlink-health.rst, mlx5.rst",
			"net/devlink/health.c (devlink_nl_health_reporter_fill)",
		},
		Run: runDevlinkHealth,
	}
}

func runDevlinkHealth(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	cards := 0
	for i := range in.Facts.Devlink.Value {
		d := &in.Facts.Devlink.Value[i]
		dev := jobDevice(in.Snapshot, strings.TrimPrefix(d.Name, "pci/"))
		if dev == nil {
			continue
		}
		if d.Error != "" {
			findings = append(findings, doctor.Unknown(dev.Name, "devlink of %s: %s", d.Name, d.Error))
		}
		bad := false
		for _, r := range d.Reporters {
			f := reporterFinding(dev.Name, d.Name, r)
			if f.Outcome == doctor.OutcomePass {
				good = append(good, f.Evidence...)
				continue
			}
			bad = true
			findings = append(findings, f)
		}
		if len(d.Reporters) > 0 && !bad && d.Error == "" {
			cards++
		}
	}
	switch {
	case cards > 0:
		findings = append(findings, doctor.Passed(doctor.ObjectNode,
			"no health reporter of "+english.Count(cards, "compute card")+" has seen an error", good...))
	case len(findings) == 0:
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"%s", noneOf(in.Snapshot, "devlink has no health reporter of a compute port's card"))}
	}
	return findings
}

// reporterFinding judges one reporter.
func reporterFinding(object, device string, r facts.HealthReporter) doctor.Finding {
	name, state := r.Name, "healthy"
	if r.Port != "" {
		name += " of port " + r.Port
	}
	if r.Errored {
		state = "error"
	}
	f := doctor.Finding{
		Object: object, Evidence: []doctor.Evidence{{
			Path:  "devlink:" + device + ":" + name,
			Value: fmt.Sprintf("state %s error %d recover %d", state, r.Errors, r.Recoveries),
		}},
	}
	target := quote(device)
	if r.Port != "" {
		target = quote(device + "/" + r.Port)
	}
	f.Actions = []doctor.Action{
		doctor.Shell("devlink health show %s reporter %s", target, quote(r.Name)),
		doctor.Shell("dmesg | grep %s   # what the driver printed", quote(strings.TrimPrefix(device, "pci/"))),
	}
	switch {
	case r.Error != "":
		f.Outcome, f.Actions = doctor.OutcomeUnknown, f.Actions[:1]
		f.Summary = fmt.Sprintf("the state of the health reporter %s is not known: %s", name, r.Error)
		f.Evidence[0].Value = r.Error
	case r.Errored:
		f.Outcome = doctor.OutcomeFail
		f.Summary = fmt.Sprintf("the health reporter %s is in the state error, after %s and %s",
			name, times(r.Errors, "error"), times(r.Recoveries, "recovery"))
		f.Actions = append(f.Actions, doctor.Action{
			Do: doctor.DoRun, Risk: doctor.RiskTraffic,
			Text: fmt.Sprintf("devlink health recover %s reporter %s   # stop jobs first", target, quote(r.Name)),
		})
	case r.Errors > 0:
		f.Outcome = doctor.OutcomeInfo
		f.Summary = fmt.Sprintf("the health reporter %s has seen %s since the driver was loaded, and is healthy now",
			name, times(r.Errors, "error"))
	default:
		f.Outcome = doctor.OutcomePass
	}
	return f
}

// times counts with a noun.
func times(n uint64, noun string) string {
	return english.Count(int(min(n, 1<<31)), noun) //nolint:gosec // limited
}

// jobDevice returns the RDMA device of a PCI function if one of its ports carries jobs, otherwise
// nil.
func jobDevice(s *inventory.Snapshot, address string) *inventory.Device {
	for p := range ports(s) {
		if p.dev.PCI != nil && p.dev.PCI.Address == address && p.carriesJobs(s) {
			return p.dev
		}
	}
	return nil
}
