package doctor

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Prometheus returns the report in the text format of Prometheus, for the textfile collector of
// node_exporter. Samples have no node: the exporter's target is it.
//
// Each check is a series whose label outcome is its result, or "suppressed" if only suppressed
// findings of it deserve a look; an alert selects outcome="fail". Findings are series only if they
// deserve a look, so that their number stays small on a healthy node; those that are suppressed
// have a name of their own, so that an alert on findings ignores them.
func (r Report) Prometheus() []byte {
	var p exposition
	p.gauge("rdmactl_doctor_last_run_timestamp_seconds", "Time of the run.")
	p.sample(seconds(r.Time))
	if r.Recording != nil && !r.Recording.Taken.IsZero() {
		p.gauge("rdmactl_doctor_recorded_timestamp_seconds", "Time when the node was recorded.")
		p.sample(seconds(r.Recording.Taken))
	}
	p.gauge("rdmactl_doctor_verdict", "Worst outcome of all findings that count; the value is always 1.")
	p.sample(1, "outcome", string(r.Verdict))
	if r.ExitCode != nil {
		p.gauge("rdmactl_doctor_exit_code", "Exit code of the run.")
		p.sample(float64(*r.ExitCode))
	}
	devices := 0
	for _, o := range r.Objects {
		if o.Kind == KindDevice {
			devices++
		}
	}
	p.gauge("rdmactl_doctor_rdma_devices", "RDMA devices that the node has.")
	p.sample(float64(devices))
	p.gauge("rdmactl_doctor_checks", "Checks by their worst outcome; suppressed and shadow are not in the others.")
	for _, c := range r.CheckCounts.all() {
		p.sample(float64(c.n), "outcome", c.name)
	}
	p.gauge("rdmactl_doctor_findings", "Findings by outcome; suppressed and shadow are not in the others.")
	for _, c := range r.Counts.all() {
		p.sample(float64(c.n), "outcome", c.name)
	}
	p.gauge("rdmactl_doctor_check", "Outcome of each check that counts; the value is always 1.")
	for _, c := range r.Checks {
		if !c.Shadow {
			p.sample(1, "check", c.ID, "group", c.Group.title(), "outcome", c.state())
		}
	}
	p.gauge("rdmactl_doctor_finding", "Findings that count and deserve a look, by object.")
	p.findings(r.Findings, Finding.Counts)
	p.gauge("rdmactl_doctor_suppressed_finding", "Findings that are suppressed, by object.")
	p.findings(r.Findings, func(f Finding) bool { return f.Suppressed != nil })
	p.gauge("rdmactl_doctor_changed_limit", "Limits of checks that the run changed.")
	for _, l := range r.Limits {
		p.sample(l.Value, "limit", l.Name, "unit", l.Unit)
	}
	p.gauge("rdmactl_doctor_gather_seconds", "Time that gathering a kind of data took.")
	for _, g := range r.Gathered {
		p.sample(g.Seconds, "kind", string(g.Kind), "state", string(g.State))
	}
	return p.buf.Bytes()
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// state returns the outcome of a check, or that its findings are suppressed.
func (c CheckResult) state() string {
	if c.Suppressed {
		return "suppressed"
	}
	return string(c.Outcome)
}

// findings writes the number of the wanted findings of equal labels: a check may have several for
// an object, and Prometheus rejects a file with a series twice.
func (p *exposition) findings(all []Finding, wanted func(Finding) bool) {
	type series struct {
		check, object string
		kind          Kind
		outcome       Outcome
	}
	count := map[series]int{}
	var order []series
	for _, f := range all {
		if !wanted(f) || f.Outcome.Compare(OutcomePass) <= 0 {
			continue
		}
		s := series{f.CheckID, f.Object, f.Kind, f.Outcome}
		if count[s]++; count[s] == 1 {
			order = append(order, s)
		}
	}
	for _, s := range order {
		p.sample(float64(count[s]),
			"check", s.check, "object", s.object, "kind", string(s.kind), "outcome", string(s.outcome))
	}
}

type namedCount struct {
	name, text string // of the outcome; text is for people, set by shownCounts
	n          int
}

// all returns the counts with the names of their outcomes.
func (c Counts) all() []namedCount {
	return []namedCount{
		{name: string(OutcomeFail), n: c.Fail},
		{name: string(OutcomeUnknown), n: c.Unknown},
		{name: string(OutcomeWarn), n: c.Warn},
		{name: string(OutcomeInfo), n: c.Info},
		{name: string(OutcomePass), n: c.Pass},
		{name: string(OutcomeNotApplicable), n: c.NotApplicable},
		{name: string(OutcomePrivilege), n: c.Privilege},
		{name: "suppressed", n: c.Suppressed},
		{name: "shadow", n: c.Shadow},
	}
}

// exposition is a document in the text exposition format 0.0.4.
type exposition struct {
	buf  bytes.Buffer
	name string // of the gauge
}

func (p *exposition) gauge(name, help string) {
	p.name = name
	fmt.Fprintf(&p.buf, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// sample writes a value with labels, which are pairs of name and value.
func (p *exposition) sample(value float64, labels ...string) {
	p.buf.WriteString(p.name)
	if len(labels) > 0 {
		escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
		for i := 0; i < len(labels); i += 2 {
			sep := ","
			if i == 0 {
				sep = "{"
			}
			text := escape.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD"))
			p.buf.WriteString(sep + labels[i] + `="` + text + `"`)
		}
		p.buf.WriteString("}")
	}
	p.buf.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}
