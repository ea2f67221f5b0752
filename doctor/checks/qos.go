package checks

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// qosPort is a RoCE port that carries jobs, with the network device that has its flow control: of a
// bond, each of the members.
type qosPort struct {
	portRef
	net *inventory.Netdev
	dcb *facts.DCB // nil if the kernel tells nothing of the device
}

// qosPorts returns the ports whose flow control this node sets, or why it has none.
func qosPorts(in *doctor.Input) (list []qosPort, why string) {
	s := in.Snapshot
	if inContainer(s) {
		return nil, "flow control is set on the host, outside of this container"
	}
	why = noneOf(s, "no compute port uses RoCE")
	for p := range ownPorts(s) {
		if !p.roce() || !p.carriesJobs(s) || p.dev.Software != "" {
			continue
		}
		if p.dev.VF != nil {
			why = "a virtual function has the flow control of its port, which is set on the host"
			continue
		}
		n := p.netdev(s)
		if n == nil {
			why = "the network device of " + p.object() + " is not visible here"
			continue
		}
		for _, name := range n.Connectors() {
			if m := s.Netdev(name); m != nil {
				list = append(list, qosPort{p, m, dcbOf(in, name)})
			}
		}
	}
	return list, why
}

func dcbOf(in *doctor.Input, netdev string) *facts.DCB {
	if !in.Facts.DCB.Known() {
		return nil
	}
	for i := range in.Facts.DCB.Value {
		if d := &in.Facts.DCB.Value[i]; d.Netdev == netdev {
			return d
		}
	}
	return nil
}

// errNoDCB is the reason for ports of which the kernel tells nothing.
var errNoDCB = facts.Absent("the driver has no DCB")

// dcbState returns why a port has no DCB data.
func (p qosPort) dcbState(in *doctor.Input) error {
	if err := in.Facts.DCB.State(); err != nil {
		return fmt.Errorf("%s: %w", facts.KindDCB.What(), err)
	}
	if p.dcb == nil {
		return errNoDCB
	}
	return p.dcb.State()
}

// lossless returns the priorities with PFC, bit n for priority n.
func (p qosPort) lossless(in *doctor.Input) (mask uint8, ev doctor.Evidence, err error) {
	if p.dcb != nil && p.dcb.PFC != nil {
		return p.dcb.PFC.Enabled, p.kernel("pfc", pfcText(p.dcb.PFC.Enabled)), nil
	}
	if err := p.dcbState(in); err != nil {
		return 0, ev, err
	}
	return 0, ev, facts.Absent("the driver has no PFC")
}

// kernel returns an answer of dcbnl as evidence.
func (p qosPort) kernel(what, value string) doctor.Evidence {
	return doctor.Evidence{Path: "dcb:" + p.net.Name + ":" + what, Value: value}
}

// file reads a file of the network device.
func (p qosPort) file(in *doctor.Input, name string) (string, doctor.Evidence, error) {
	full := path.Join(sysfs.ClassNet, p.net.Name, name)
	text, err := in.Facts.Files.Text(full)
	return text, doctor.Evidence{Path: "/" + full, Value: text}, err
}

// pfcText prints priorities as dcb does: "0:off 1:off 2:off 3:on …".
func pfcText(mask uint8) string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, " %d:%s", i, map[bool]string{true: "on", false: "off"}[mask>>i&1 != 0])
	}
	return b.String()[1:]
}

// priorityNames returns "priority 3" or "priorities 3 and 4".
func priorityNames(mask uint8) string {
	list := facts.Priorities(mask)
	switch len(list) {
	case 0:
		return "no priority"
	case 1:
		return fmt.Sprintf("priority %d", list[0])
	}
	var b strings.Builder
	for i, p := range list[:len(list)-1] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(p))
	}
	return fmt.Sprintf("priorities %s and %d", b.String(), list[len(list)-1])
}

// others returns an action that only a person may take, because it can harm other nodes.
func others(format string, args ...any) doctor.Action {
	return doctor.Action{Do: doctor.DoRun, Risk: doctor.RiskOthers, Text: fmt.Sprintf(format, args...)}
}

// qosReport collects the results of the ports.
type qosReport struct {
	findings []doctor.Finding
	good     []doctor.Evidence
	passed   []string                 // names of ports, those of a bond once for all members
	missing  []group[string, portRef] // reasons why a check doesn't apply to ports
}

// add notes a fault, once for a bond if all members have the same.
func (r *qosReport) add(f doctor.Finding) {
	if !slices.ContainsFunc(r.findings, func(o doctor.Finding) bool {
		return o.Object == f.Object && o.Summary == f.Summary
	}) {
		r.findings = append(r.findings, f)
	}
}

func (r *qosReport) pass(p qosPort, ev ...doctor.Evidence) {
	if !slices.Contains(r.passed, p.object()) {
		r.passed = append(r.passed, p.object())
	}
	for _, e := range ev {
		if !slices.Contains(r.good, e) {
			r.good = append(r.good, e)
		}
	}
}

// because notes that a port can't be judged.
func (r *qosReport) because(p portRef, err error) {
	if !errors.Is(err, facts.ErrAbsent) && !errors.Is(err, facts.ErrNotGathered) {
		r.add(doctor.Because(p.object(), err))
		return
	}
	text := err.Error()
	i := slices.IndexFunc(r.missing, func(g group[string, portRef]) bool { return g.value == text })
	if i < 0 {
		i = len(r.missing)
		r.missing = append(r.missing, group[string, portRef]{value: text})
	}
	if !slices.Contains(r.missing[i].members, p) {
		r.missing[i].members = append(r.missing[i].members, p)
	}
}

// done returns the findings: one pass for all ports that passed, and one for each reason why the
// check doesn't apply to some.
func (r *qosReport) done(format string, args ...any) []doctor.Finding {
	var out []doctor.Finding
	if len(r.passed) > 0 {
		out = append(out, doctor.Passed(doctor.ObjectNode,
			english.Count(len(r.passed), "RoCE port")+" "+fmt.Sprintf(format, args...), r.good...))
	}
	out = append(out, r.findings...)
	for _, g := range r.missing {
		out = append(out, doctor.NotApplicable(doctor.ObjectNode, "%s: %s", objects(g.members, 4), g.value))
	}
	return out
}

// eachQoSPort calls judge for each port and returns the report, or the finding that there is none.
func eachQoSPort(in *doctor.Input, text string, judge func(r *qosReport, p qosPort)) []doctor.Finding {
	list, why := qosPorts(in)
	if len(list) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode, "%s", why)}
	}
	r := &qosReport{}
	for _, p := range list {
		judge(r, p)
	}
	return r.done("%s", text)
}
