package doctor

import (
	"bytes"
	"cmp"
	_ "embed" // the template
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/alike"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// PageInput is what the HTML form of a report shows beside the report.
type PageInput struct {
	Snapshot *inventory.Snapshot // for the table of devices; nil for none
}

//go:embed report.html.tmpl
var pageTemplate string

// HTML returns the report as a page that needs no other file: to be attached to a ticket. It loads
// nothing and runs no script, and its style suits light and dark screens and paper.
func (r Report) HTML(in PageInput) ([]byte, error) {
	tmpl, err := template.New("report").Funcs(template.FuncMap{"text": plainText}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	var buf bytes.Buffer
	if err := tmpl.Execute(&buf, r.page(in)); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return buf.Bytes(), nil
}

// page is the data of the template. Texts of the node are cleaned there.
type page struct {
	Report
	In       PageInput
	Verdict  string
	Class    Outcome // colour of the verdict
	Kernel   string
	Facts    []pageRow // devices of the node
	Groups   []pageGroup
	Reasons  []pageReason // why checks don't apply
	Root     []pageLine   // what root would add
	Silenced []pageLine
	Trial    []pageLine
	Totals   []namedCount
}

type pageRow struct{ Device, Card, Board, Firmware, Driver, Port, State, Rate, Netdev string }

type pageGroup struct {
	Title  string
	Faults []pageFault
	Passed []pageLine // of the checks that passed
	Counts []namedCount
	passed int // checks
}

// pageLine is what a check says alike of one object or several.
type pageLine struct {
	Finding
	Objects string // of all of them
	Text    string // the summary, with the names of all of them

	text    alike.Text
	objects []string
}

// pageFault is what a check finds for one reason, of one object or several.
type pageFault struct {
	CheckID, Title string
	Outcome        Outcome
	Lines          []pageLine
	Passed         []pageLine // what the check passed
	findings       []Finding
	Evidence       []Evidence // of all of them, each once
	Explanation    string
	Remedy         []string // of all of them, each line once
}

type pageReason struct {
	Why    string
	Checks string

	text alike.Text
}

func (r Report) page(in PageInput) page {
	p := page{Report: r, In: in, Verdict: verdictText(r.Verdict), Class: r.Verdict}
	if r.NoDevice != "" {
		p.Class = r.Verdict.Worse(OutcomeUnknown)
	}
	names := map[string]bool{}
	for _, o := range r.Objects {
		names[o.Name] = true
	}
	for _, g := range r.groups() {
		p.Groups = append(p.Groups, r.pageGroup(g, names))
	}
	slices.SortStableFunc(p.Groups, func(a, b pageGroup) int { return b.worst().Compare(a.worst()) })
	var silenced, trial, root []Finding
	for _, f := range r.Findings {
		switch {
		case f.Suppressed != nil:
			silenced = append(silenced, f)
		case f.Shadow:
			trial = append(trial, f)
		case f.Outcome == OutcomePrivilege:
			root = append(root, f)
		}
	}
	p.Silenced, p.Trial, p.Root = pageLines(silenced, names), pageLines(trial, names), pageLines(root, names)
	p.Reasons = r.pageReasons(names)
	p.Totals = shownCounts(r.CheckCounts)
	if in.Snapshot != nil {
		p.Kernel, p.Facts = in.Snapshot.Host.Kernel, pageRows(in.Snapshot)
	}
	return p
}

// shownCounts returns the counts that are not 0, in words.
func shownCounts(c Counts) []namedCount {
	words := map[string]string{
		string(OutcomeFail): "failed", string(OutcomePass): "passed", string(OutcomeNotApplicable): "not applicable",
		string(OutcomePrivilege): "only as root", "shadow": "on trial",
	}
	var shown []namedCount
	for _, n := range c.all() {
		if n.n > 0 {
			n.text = fmt.Sprintf("%d %s", n.n, cmp.Or(words[n.name], n.name))
			if n.name == string(OutcomeWarn) {
				n.text = english.Count(n.n, "warning")
			}
			shown = append(shown, n)
		}
	}
	return shown
}

// pageLines makes one line of the findings of a check that say the same of several objects, but for
// their names.
func pageLines(findings []Finding, names map[string]bool) []pageLine {
	var lines []pageLine
	for _, f := range findings {
		text := alike.Of(f.Summary, names)
		i := slices.IndexFunc(lines, func(l pageLine) bool {
			same := l.Suppressed == nil && f.Suppressed == nil ||
				l.Suppressed != nil && f.Suppressed != nil && l.Suppressed.String() == f.Suppressed.String()
			return same && l.CheckID == f.CheckID && l.Outcome == f.Outcome && l.text.Key == text.Key
		})
		if i < 0 {
			i = len(lines)
			lines = append(lines, pageLine{Finding: f, text: text})
		}
		l := &lines[i]
		l.text.Add(text)
		if !slices.Contains(l.objects, f.Object) {
			l.objects = append(l.objects, f.Object)
		}
		l.Objects, l.Text = joined(l.objects), l.text.Format(joined)
	}
	return lines
}

// Lengths of lists on the page beyond which they are folded.
const (
	pageEvidence = 10
	pageObjects  = 16
)

// FirstEvidence and MoreEvidence are for the template: the latter is folded.
func (f pageFault) FirstEvidence() []Evidence {
	if len(f.Evidence) > pageEvidence+1 {
		return f.Evidence[:pageEvidence]
	}
	return f.Evidence
}

// MoreEvidence returns the rest of the evidence.
func (f pageFault) MoreEvidence() []Evidence { return f.Evidence[len(f.FirstEvidence()):] }

// SomeObjects returns the objects, of many only the first and the last ones and their number.
func (l pageLine) SomeObjects() string {
	n := len(l.objects)
	if n <= pageObjects {
		return l.Objects
	}
	const first = 6
	return fmt.Sprintf("%s, … %s (%d)", joined(l.objects[:first]), l.objects[n-1], n)
}

func joined(names []string) string { return strings.Join(names, ", ") }

// Name and Text are for the template.
func (c namedCount) Name() string { return c.name }
func (c namedCount) Text() string { return c.text }

// pageReasons collects why checks don't apply. Reasons that differ in names only are one.
func (r Report) pageReasons(names map[string]bool) []pageReason {
	var reasons []pageReason
	for _, f := range r.Findings {
		if f.Outcome != OutcomeNotApplicable || !f.Counts() {
			continue
		}
		text := alike.Of(f.Summary, names)
		i := slices.IndexFunc(reasons, func(x pageReason) bool { return x.text.Key == text.Key })
		if i < 0 {
			reasons = append(reasons, pageReason{Why: f.Summary, Checks: f.CheckID, text: text})
			continue
		}
		x := &reasons[i]
		x.text.Add(text)
		x.Why = x.text.Format(joined)
		if !slices.Contains(strings.Split(x.Checks, ", "), f.CheckID) {
			x.Checks += ", " + f.CheckID
		}
	}
	return reasons
}

func (r Report) pageGroup(g Group, names map[string]bool) pageGroup {
	out := pageGroup{Title: g.title()}
	var counts Counts
	passed := map[string]bool{} // checks
	for _, c := range r.Checks {
		if c.Group == g {
			counts.add(c)
			passed[c.ID] = c.Outcome == OutcomePass && !c.Suppressed
		}
	}
	out.Counts, out.passed = shownCounts(counts), counts.Pass
	var well, rest []Finding
	for _, f := range r.of(g) {
		switch {
		case !f.Counts():
		case f.Outcome == OutcomePass && passed[f.CheckID]:
			well = append(well, f)
		case f.Outcome == OutcomePass:
			rest = append(rest, f)
		case f.Outcome.Compare(OutcomePass) > 0:
			out.add(f, r.title(f.CheckID))
		}
	}
	out.Passed = pageLines(well, names)
	slices.SortStableFunc(out.Faults, func(a, b pageFault) int { return b.Outcome.Compare(a.Outcome) })
	shown := map[string]bool{} // checks whose rest is shown
	for i := range out.Faults {
		fault := &out.Faults[i]
		of := names
		if fault.Outcome != OutcomeUnknown {
			of = nil // the evidence doesn't tell which name is whose
		}
		fault.Lines = pageLines(fault.findings, of)
		if !shown[fault.CheckID] {
			fault.Passed = pageLines(slices.DeleteFunc(slices.Clone(rest), func(f Finding) bool {
				return f.CheckID != fault.CheckID
			}), names)
			shown[fault.CheckID] = true
		}
	}
	return out
}

// NumberPassed is the number of checks that passed, for the template.
func (g pageGroup) NumberPassed() int { return g.passed }

// add adds a finding to the others of its check that have the same outcome and reason.
func (g *pageGroup) add(f Finding, title string) {
	i := slices.IndexFunc(g.Faults, func(o pageFault) bool {
		return o.CheckID == f.CheckID && o.Outcome == f.Outcome && o.Explanation == f.Explanation
	})
	if i < 0 {
		i = len(g.Faults)
		g.Faults = append(g.Faults, pageFault{
			CheckID: f.CheckID, Title: title, Outcome: f.Outcome, Explanation: f.Explanation,
		})
	}
	fault := &g.Faults[i]
	fault.findings = append(fault.findings, f)
	for _, e := range f.Evidence {
		if !slices.Contains(fault.Evidence, e) {
			fault.Evidence = append(fault.Evidence, e)
		}
	}
	for _, line := range f.Remedy {
		if !slices.Contains(fault.Remedy, line) {
			fault.Remedy = append(fault.Remedy, line)
		}
	}
}

func (r Report) title(id string) string {
	i := slices.IndexFunc(r.Checks, func(c CheckResult) bool { return c.ID == id })
	if i < 0 {
		return ""
	}
	return r.Checks[i].Title
}

// worst returns the outcome of the group's first finding.
func (g pageGroup) worst() Outcome {
	if len(g.Faults) == 0 {
		return OutcomePass
	}
	return g.Faults[0].Outcome
}

// verdictText says what a verdict means for jobs.
func verdictText(o Outcome) string {
	return map[Outcome]string{
		OutcomeFail: "A check failed: jobs don't run, hang, fall back to TCP, or lose much of their " +
			"bandwidth.",
		OutcomeUnknown:       "No check failed, but at least one has no result.",
		OutcomeWarn:          "Jobs run, but slower or at risk.",
		OutcomeInfo:          "No fault was found.",
		OutcomePass:          "No fault was found.",
		OutcomePrivilege:     "Every check needs more privilege.",
		OutcomeNotApplicable: "No check applies to this node.",
	}[o]
}

func pageRows(s *inventory.Snapshot) []pageRow {
	var rows []pageRow
	for d, p := range s.Ports() {
		row := pageRow{
			Device: d.Name, Board: d.BoardID, Firmware: d.Firmware, Driver: d.Driver,
			Port: fmt.Sprint(p.Number), State: p.State.String(), Netdev: p.Netdev,
		}
		if d.PCI != nil {
			row.Card = strings.TrimSpace(d.PCI.Address + " " + d.PCI.Product)
		}
		if p.Rate != nil {
			row.Rate = fmt.Sprintf("%v\u00a0Gb/s", p.Rate.GbPerSecond)
		}
		rows = append(rows, row)
	}
	return rows
}
