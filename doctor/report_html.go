package doctor

import (
	"bytes"
	_ "embed" // the template
	"fmt"
	"html/template"
	"slices"
	"strings"

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
	Root     []Finding    // what root would add
	Silenced []Finding
	Trial    []Finding
	Totals   []namedCount
}

type pageRow struct{ Device, Card, Board, Firmware, Driver, Port, State, Rate, Netdev string }

type pageGroup struct {
	Title  string
	Faults []pageFault
	Passed []Finding
}

// pageFault is what a check finds for one reason, of one object or several.
type pageFault struct {
	CheckID, Title string
	Outcome        Outcome
	Findings       []Finding
	Evidence       []Evidence // of all of them, each once
	Explanation    string
	Remedy         []string // of all of them, each line once
}

type pageReason struct {
	Why    string
	Checks string
}

func (r Report) page(in PageInput) page {
	p := page{Report: r, In: in, Verdict: verdictText(r.Verdict), Class: r.Verdict}
	if r.NoDevice != "" {
		p.Class = r.Verdict.Worse(OutcomeUnknown)
	}
	for _, g := range r.groups() {
		p.Groups = append(p.Groups, r.pageGroup(g))
	}
	slices.SortStableFunc(p.Groups, func(a, b pageGroup) int { return b.worst().Compare(a.worst()) })
	for _, f := range r.Findings {
		switch {
		case f.Suppressed != nil:
			p.Silenced = append(p.Silenced, f)
		case f.Shadow:
			p.Trial = append(p.Trial, f)
		case f.Outcome == OutcomePrivilege:
			p.Root = append(p.Root, f)
		case f.Outcome == OutcomeNotApplicable:
			p.reason(f)
		}
	}
	for _, c := range r.CheckCounts.all() {
		if c.n > 0 {
			p.Totals = append(p.Totals, c)
		}
	}
	if in.Snapshot != nil {
		p.Kernel, p.Facts = in.Snapshot.Host.Kernel, pageRows(in.Snapshot)
	}
	return p
}

// Name and Count are for the template.
func (c namedCount) Name() string { return c.name }
func (c namedCount) Count() int   { return c.n }

func (p *page) reason(f Finding) {
	i := slices.IndexFunc(p.Reasons, func(x pageReason) bool { return x.Why == f.Summary })
	if i < 0 {
		p.Reasons = append(p.Reasons, pageReason{Why: f.Summary, Checks: f.CheckID})
		return
	}
	p.Reasons[i].Checks += ", " + f.CheckID
}

func (r Report) pageGroup(g Group) pageGroup {
	out := pageGroup{Title: g.title()}
	for _, f := range r.of(g) {
		switch {
		case !f.Counts():
		case f.Outcome == OutcomePass:
			out.Passed = append(out.Passed, f)
		case f.Outcome.Compare(OutcomePass) > 0:
			out.add(f, r.title(f.CheckID))
		}
	}
	slices.SortStableFunc(out.Faults, func(a, b pageFault) int { return b.Outcome.Compare(a.Outcome) })
	return out
}

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
	fault.Findings = append(fault.Findings, f)
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
