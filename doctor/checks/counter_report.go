package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// counterReport collects the verdicts of all objects.
type counterReport struct {
	rule    *counterRule
	twice   bool
	found   []doctor.Finding
	idle    []idle // verdicts of outcome not applicable
	good    int    // objects
	counted int    // counters
	from    time.Duration
	pass    []doctor.Evidence
}

// idle is a reason and the objects that it is about.
type idle struct {
	why      string
	objects  []string
	evidence []doctor.Evidence // of the first
}

func (r *counterReport) errors(s *sample) {
	for _, err := range s.errs {
		f := doctor.Because(s.object, err)
		if f.Outcome == doctor.OutcomeNotApplicable {
			r.skip(s.object, err.Error())
			continue
		}
		r.found = append(r.found, f)
	}
}

func (r *counterReport) skip(object, why string, ev ...doctor.Evidence) {
	i := slices.IndexFunc(r.idle, func(x idle) bool { return x.why == why })
	if i < 0 {
		r.idle = append(r.idle, idle{why: why, evidence: ev})
		i = len(r.idle) - 1
	}
	r.idle[i].objects = append(r.idle[i].objects, object)
}

// add turns the verdicts of an object into findings: one for its faults, one for what is unknown.
func (r *counterReport) add(s *sample, verdicts []verdict) {
	faulty := doctor.Finding{Outcome: doctor.OutcomePass, Object: s.object}
	unknown := doctor.Finding{Outcome: doctor.OutcomePass, Object: s.object}
	good := 0
	for _, v := range verdicts {
		switch v.outcome {
		case doctor.OutcomePass:
			good++
			r.pass = append(r.pass, v.evidence...)
		case doctor.OutcomeNotApplicable:
			r.skip(s.object, v.text)
		case doctor.OutcomeUnknown:
			joinVerdict(&unknown, v)
		default:
			if faulty.Outcome != doctor.OutcomePass && v.outcome.Compare(faulty.Outcome) > 0 {
				faulty = doctor.Finding{Outcome: doctor.OutcomePass, Object: s.object, Evidence: faulty.Evidence}
			}
			if v.outcome.Compare(faulty.Outcome) >= 0 || faulty.Outcome == doctor.OutcomePass {
				joinVerdict(&faulty, v)
			}
		}
	}
	if faulty.Outcome != doctor.OutcomePass {
		faulty.Actions = r.actions(s, faulty.Outcome)
		r.found = append(r.found, faulty)
	}
	if unknown.Outcome != doctor.OutcomePass {
		r.found = append(r.found, unknown)
	}
	if good > 0 && good == len(verdicts) {
		r.good++
		r.counted += good
		if r.twice {
			r.from = max(r.from, s.elapsed())
		}
	}
}

// joinVerdict adds a verdict to a finding.
func joinVerdict(f *doctor.Finding, v verdict) {
	if f.Summary != "" {
		f.Summary += "; "
	}
	f.Outcome, f.Summary = v.outcome, f.Summary+v.text
	f.Evidence = append(f.Evidence, v.evidence...)
}

func (r *counterReport) actions(s *sample, o doctor.Outcome) []doctor.Action {
	var list []doctor.Action
	if (!r.twice || o == doctor.OutcomeInfo) && !r.rule.fixed {
		span := "10s"
		if slices.ContainsFunc(r.rule.limits, func(l counterLimit) bool { return l.span() > time.Second }) {
			span = "1m"
		}
		if saturated(s) && s.port.port.LinkLayer == inventory.LinkLayerInfiniBand {
			list = append(list, resetSteps(s.port)...)
		}
		list = append(list, doctor.Note("does it still grow?"),
			doctor.Shell("rdmactl doctor --only %s --interval %s", r.rule.id, span))
	}
	if r.rule.actions != nil {
		list = append(list, r.rule.actions(s)...)
	}
	return list
}

// saturated reports whether a counter of the object can't grow any more.
func saturated(s *sample) bool {
	return slices.ContainsFunc(s.counters, func(c inventory.Counter) bool { return c.Saturated })
}

func (r *counterReport) findings() []doctor.Finding {
	var out []doctor.Finding
	if r.good > 0 {
		good := "0 since the driver was loaded or they were reset"
		if r.rule.good != "" {
			good = r.rule.good
		}
		text := fmt.Sprintf("%s of %s: %s", english.Count(r.counted, "counter"),
			english.Count(r.good, r.rule.scope.noun()), good)
		if r.twice {
			text = fmt.Sprintf("%s: within the limits for %v", english.Count(r.good, r.rule.scope.noun()),
				spanText(r.from))
		}
		out = append(out, doctor.Passed(doctor.ObjectNode, text, r.pass...))
	}
	out = append(out, r.found...)
	for _, x := range r.idle {
		f := doctor.NotApplicable(doctor.ObjectNode, "%s: %s", english.List(x.objects, 4), x.why)
		if len(x.objects) == 1 {
			f.Object, f.Summary = x.objects[0], x.why
		}
		f.Evidence = x.evidence
		out = append(out, f)
	}
	if len(out) == 0 {
		out = append(out, doctor.NotApplicable(doctor.ObjectNode, "no counter could be read"))
	}
	return out
}

// without says that an object has none of the rule's counters, and names them.
func (r *counterRule) without(in *doctor.Input, s *sample) (string, []doctor.Evidence) {
	why := "the driver has no such counter"
	switch {
	case r.scope == scopePCI:
		why = "the kernel counts no errors of the function (no AER)"
	case s.port.dev.PCI != nil && s.port.dev.PCI.Driver != "":
		why = s.port.dev.PCI.Driver + " has no such counter"
	}
	var ev []doctor.Evidence
	for _, c := range r.counters {
		name, _, _ := strings.Cut(c.name, ":")
		var dir string
		switch c.group {
		case groupClassic, groupDriver:
			dir = path.Join(s.port.port.Path, c.group)
		case facts.CountersNetdev:
			dir = "/" + classNet(s.object)
		case facts.CountersAER:
			dir = "/" + pciDir(s.object)
		default:
			ev = append(ev, doctor.Evidence{Path: "ethtool:" + s.object + ":" + c.name, Value: "does not exist"})
			continue
		}
		if file := path.Join(dir, name); !in.Facts.Files.Exists(strings.TrimPrefix(file, "/")) {
			ev = append(ev, doctor.Evidence{Path: file, Value: "does not exist"})
		}
	}
	return why, ev
}

// noun names an object of the scope.
func (s counterScope) noun() string {
	return [...]string{"compute port", "network device", "PCI function"}[s]
}
