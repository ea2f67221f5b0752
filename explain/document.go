package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/forms/fabric"
	"github.com/rdmakit/rdmakit/explain/rules"
)

// Schema identifies the JSON form of a report.
const Schema = "rdmakit.explain/v1"

// Verdict is what a report comes to.
type Verdict string

// Verdicts.
const (
	VerdictFault   Verdict = "fault"   // a cause is named
	VerdictUnknown Verdict = "unknown" // something failed, and no rule knows why
	VerdictHealthy Verdict = "healthy" // known programs, and nothing that looks like a fault
	VerdictFacts   Verdict = "facts"   // output of commands about a node, and no log of a program
	VerdictNothing Verdict = "nothing" // no line of a known program
)

// Document is the JSON form of a report.
type Document struct {
	Schema   string            `json:"schema" redact:"-"`
	Verdict  Verdict           `json:"verdict" redact:"-"`
	Findings []FindingDocument `json:"findings"`
	// Unexplained are failures that no finding is about.
	Unexplained []LineDocument `json:"unexplained,omitempty"`
	Facts       FactsDocument  `json:"facts"`
	// Flows are those of captures, if they were asked for.
	Flows  []FlowDocument  `json:"flows,omitempty"`
	Inputs []InputDocument `json:"inputs"`
}

// FindingDocument is a finding. Causes are ranked.
type FindingDocument struct {
	Rule     string          `json:"rule" redact:"-"`
	Name     string          `json:"name" redact:"-"`
	What     string          `json:"what"`
	Harmless bool            `json:"harmless,omitempty"`
	Lines    []LineDocument  `json:"lines"`
	Causes   []CauseDocument `json:"causes"`
}

// LineDocument is a line that shows something.
type LineDocument struct {
	evidence.Place
	Text string `json:"text"`
	// Count is how many lines say the same.
	Count int `json:"count,omitempty"`
	// Causes, of a line that is not explained, are those that its error usually has in any program.
	Causes []CauseDocument `json:"causes,omitempty"`
}

// CauseDocument is a possible cause.
type CauseDocument struct {
	Cause      string             `json:"cause" redact:"-"`
	Title      string             `json:"title"`
	Confidence rules.Confidence   `json:"confidence" redact:"-"`
	For        []EvidenceDocument `json:"for"`
	Against    []EvidenceDocument `json:"against,omitempty"`
	Decide     string             `json:"decide,omitempty"`
	Remedy     string             `json:"remedy,omitempty"`
	Sources    []string           `json:"sources,omitempty" redact:"-"`
}

// EvidenceDocument is a fact for or against a cause.
type EvidenceDocument struct {
	Text   string           `json:"text"`
	Places []evidence.Place `json:"places,omitempty"`
}

// FactsDocument is what the inputs say before anything is concluded.
type FactsDocument struct {
	// Ranks is the number of ranks of the job, and GDR "on" or "off" if its transfers use GPU
	// Direct RDMA or not, as far as lines tell.
	Ranks       int                  `json:"ranks,omitempty"`
	GDR         string               `json:"gdr,omitempty"`
	Nodes       []NodeDocument       `json:"nodes"`
	Libraries   []LibraryDocument    `json:"libraries"`
	Differences []DifferenceDocument `json:"differences,omitempty"`
	Silent      []SilenceDocument    `json:"silent,omitempty"`
	// Hidden says what can't be seen in these inputs.
	Hidden []string `json:"hidden,omitempty"`
}

// NodeDocument is a node.
type NodeDocument struct {
	Name     string           `json:"name"`
	Ranks    []int            `json:"ranks,omitempty"`
	Networks []string         `json:"networks,omitempty"`
	Devices  []DeviceDocument `json:"devices,omitempty"`
	// GIDs are those of the node whose device isn't known, and Peers those of nodes without a log.
	GIDs        []GIDDocument     `json:"gids,omitempty"`
	Peers       []GIDDocument     `json:"peers,omitempty"`
	Bootstrap   []string          `json:"bootstrap,omitempty"`
	Environment []SettingDocument `json:"environment,omitempty"`
	Recorded    *RecordedDocument `json:"recorded,omitempty"`
}

// RecordedDocument is what a recording of the node has.
type RecordedDocument struct {
	File    string `json:"file"`
	Host    string `json:"host,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	Memlock string `json:"memlock,omitempty"` // of the process that recorded
	// Partial reports that the recording is damaged: what it doesn't have proves nothing.
	Partial bool                   `json:"partial,omitempty"`
	Ports   []RecordedPortDocument `json:"ports"`
	// Environment has the variables of the process that recorded; those of a job may differ.
	Environment []SettingDocument `json:"environment,omitempty"`
}

// RecordedPortDocument is a port of a recorded node.
type RecordedPortDocument struct {
	Device   string     `json:"device"`
	Port     int        `json:"port"`
	Link     facts.Link `json:"link,omitempty"`
	State    string     `json:"state"`
	Driver   string     `json:"driver,omitempty"`
	Firmware string     `json:"firmware,omitempty"`
	Netdev   string     `json:"netdev,omitempty"`
	MTU      int        `json:"mtu,omitempty"`  // active MTU in bytes
	GIDs     int        `json:"gids"`           // entries of the GID table that aren't empty
	Best     string     `json:"best,omitempty"` // the GID of RoCE v2 to use: "3 10.0.0.1"
}

// SettingDocument is a variable with its values; more than one if the node's processes differ.
type SettingDocument struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// DeviceDocument is an RDMA device.
type DeviceDocument struct {
	Name string        `json:"name"`
	Port int           `json:"port,omitempty"`
	Link facts.Link    `json:"link,omitempty"`
	MTU  int           `json:"mtu,omitempty"`
	GIDs []GIDDocument `json:"gids,omitempty"`
	GDR  string        `json:"gpuDirect,omitempty"`
}

// GIDDocument is a GID that connections used; index -1 is unknown.
type GIDDocument struct {
	Index int    `json:"index"`
	GID   string `json:"gid"`
}

// LibraryDocument is a library with its versions, or with their limits by the forms of lines.
type LibraryDocument struct {
	Name          string   `json:"name"`
	Versions      []string `json:"versions,omitempty"`
	Since         string   `json:"since,omitempty"`
	Until         string   `json:"until,omitempty"`
	Contradiction string   `json:"contradiction,omitempty"`
}

// DifferenceDocument is a value that differs between nodes.
type DifferenceDocument struct {
	What   string              `json:"what"`
	Values []NodeValueDocument `json:"values"`
}

// NodeValueDocument is a value with the nodes that have it.
type NodeValueDocument struct {
	Value string   `json:"value"`
	Nodes []string `json:"nodes"`
}

// SilenceDocument is a node or rank that others wait for.
type SilenceDocument struct {
	Node string `json:"node"`
	Rank *int   `json:"rank,omitempty"`
	Why  string `json:"why"`
}

// InputDocument is what was read of an input.
type InputDocument struct {
	Name       string         `json:"name"`
	Bytes      int64          `json:"bytes"`
	Lines      int            `json:"lines"`
	Recognized map[string]int `json:"recognized,omitempty"`
	Capture    bool           `json:"capture,omitempty"` // lines are packets
	Other      string         `json:"other,omitempty"`   // what it is, if it has nothing to explain
	Binary     bool           `json:"binary,omitempty"`
	// Recording is what was read of a recorded node.
	Recording *RecordingDocument `json:"recording,omitempty"`
	Error     string             `json:"error,omitempty"`
}

// Verdict returns what the report comes to.
func (r *Report) Verdict() Verdict {
	recognized, judged := false, false
	for _, in := range r.Inputs {
		recognized = recognized || len(in.Recognized) > 0
		for program := range in.Recognized {
			judged = judged || program != fabric.CommandsProgram
		}
	}
	switch {
	case !recognized:
		return VerdictNothing
	case slices.ContainsFunc(r.Findings, func(f rules.Finding) bool { return len(f.Causes) > 0 }):
		return VerdictFault
	case len(r.Facts.Failures) > 0, r.Facts.Store.Has(evidence.OtherTrouble),
		r.Facts.Store.Has(evidence.PythonException):
		return VerdictUnknown
	case !judged:
		return VerdictFacts
	}
	return VerdictHealthy
}

// Document returns the JSON form.
func (r *Report) Document() Document {
	d := Document{Schema: Schema, Verdict: r.Verdict(), Findings: []FindingDocument{}, Facts: factsDocument(r.Facts)}
	for i := range r.Findings {
		d.Findings = append(d.Findings, findingDocument(&r.Findings[i]))
	}
	d.Unexplained = unexplained(r)
	for _, in := range r.Inputs {
		doc := InputDocument{
			Name: in.Name, Bytes: in.Bytes, Lines: in.Lines, Recognized: maps.Clone(in.Recognized),
			Capture: in.Capture, Other: in.Other, Binary: in.Binary,
		}
		if in.Recording != nil {
			doc.Recording = in.Recording.document()
		}
		if in.Err != nil {
			doc.Error = in.Err.Error()
		}
		d.Inputs = append(d.Inputs, doc)
	}
	return d
}

// Partial reports whether an input could not be read to its end.
func (d *Document) Partial() bool {
	return slices.ContainsFunc(d.Inputs, func(in InputDocument) bool { return in.Error != "" })
}

// Nothing returns the headline for [VerdictNothing].
func (d *Document) Nothing() string {
	read := slices.ContainsFunc(d.Inputs, func(in InputDocument) bool { return in.Error == "" || in.Lines > 0 })
	switch {
	case !read:
		return "nothing could be read"
	case d.Partial():
		return "no line of a known program in what could be read"
	case slices.ContainsFunc(d.Unexplained, func(l LineDocument) bool { return len(l.Causes) > 0 }):
		return "no line of a known program, but errors that any program can have"
	}
	return "no line of a known program"
}

// First returns the finding that the verdict rests on, and its first cause. The verdict is
// [VerdictFault].
func (d *Document) First() (*FindingDocument, *CauseDocument) {
	i := slices.IndexFunc(d.Findings, func(f FindingDocument) bool { return len(f.Causes) > 0 })
	return &d.Findings[i], &d.Findings[i].Causes[0]
}

// unexplained returns the failures whose line isn't in a finding.
func unexplained(r *Report) []LineDocument {
	shown, cited := map[*evidence.Event]bool{}, map[evidence.Place]bool{}
	for _, f := range r.Findings {
		for _, e := range f.Events {
			shown[e] = true
		}
		for _, c := range f.Causes {
			for _, list := range [...][]rules.Evidence{c.For, c.Against} {
				for _, e := range list {
					for _, p := range e.Places {
						cited[p] = true
					}
				}
			}
		}
	}
	var list []LineDocument
	for _, x := range r.Facts.Failures {
		if !shown[x.Event] && !cited[x.Event.Place] {
			list = append(list, unexplainedLine(x.Event))
		}
	}
	if len(list) > 0 || slices.ContainsFunc(r.Findings, func(f rules.Finding) bool { return len(f.Causes) > 0 }) {
		return list
	}
	return append(list, troubles(r.Facts.Store)...)
}

// maxTroubles is how many lines of unknown programs are shown, and maxUsual how many of them are
// those whose error has usual causes.
const maxTroubles, maxUsual = 5, 3

// troubles returns lines of unknown programs: those whose error has usual causes, each cause once,
// then the first one of the others, where things began, and the last ones, where they ended.
func troubles(store *evidence.Store) []LineDocument {
	var usual, rest []LineDocument
	for _, kind := range [...]evidence.Kind{evidence.PythonException, evidence.OtherTrouble} {
		for e := range store.Of(kind) {
			line := unexplainedLine(e)
			same := func(l LineDocument) bool { return l.Causes[0].Title == line.Causes[0].Title }
			switch {
			case len(line.Causes) == 0:
				rest = append(rest, line)
			case len(usual) < maxUsual && !slices.ContainsFunc(usual, same):
				usual = append(usual, line)
			}
		}
	}
	head := func(l LineDocument) bool { return strings.Contains(l.Text, "Traceback (most recent call last)") }
	if others := slices.DeleteFunc(slices.Clone(rest), head); len(usual)+len(others) > 0 {
		rest = others
	}
	slices.SortStableFunc(usual, byPlace)
	slices.SortStableFunc(rest, byPlace)
	if room := maxTroubles - len(usual); len(rest) > room {
		rest = slices.Delete(rest, 1, len(rest)-room+1)
	}
	return append(usual, rest...)
}

func byPlace(a, b LineDocument) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

func unexplainedLine(e *evidence.Event) LineDocument {
	return LineDocument{
		Place: e.Place, Text: e.Text, Count: e.Count, Causes: causeDocuments(rules.GeneralCauses(e.Text)),
	}
}

func findingDocument(f *rules.Finding) FindingDocument {
	d := FindingDocument{
		Rule: f.Rule.ID, Name: f.Rule.Name, What: f.What, Harmless: f.Harmless, Causes: []CauseDocument{},
	}
	for _, e := range f.Events {
		line := LineDocument{Place: e.Place, Text: e.Text}
		if e.Count > 1 {
			line.Count = e.Count
		}
		d.Lines = append(d.Lines, line)
	}
	d.Causes = append(d.Causes, causeDocuments(f.Causes)...)
	return d
}

func causeDocuments(list []rules.Cause) (docs []CauseDocument) {
	for _, c := range list {
		docs = append(docs, CauseDocument{
			Cause: c.Slug, Title: c.Title, Confidence: c.Confidence, For: evidenceDocuments(c.For),
			Against: evidenceDocuments(c.Against), Decide: c.Decide, Remedy: c.Remedy, Sources: c.Sources,
		})
	}
	return docs
}

func evidenceDocuments(list []rules.Evidence) []EvidenceDocument {
	docs := []EvidenceDocument{}
	for _, e := range list {
		docs = append(docs, EvidenceDocument(e))
	}
	return docs
}

func factsDocument(f *facts.Facts) FactsDocument {
	d := FactsDocument{
		Ranks: f.Ranks, GDR: f.GDR, Nodes: []NodeDocument{}, Libraries: []LibraryDocument{}, Hidden: f.Hidden,
	}
	for _, n := range f.Nodes {
		d.Nodes = append(d.Nodes, nodeDocument(n))
	}
	for _, l := range f.Libraries {
		d.Libraries = append(d.Libraries, LibraryDocument{
			Name: l.Name, Versions: texts(l.Versions), Since: l.Since, Until: l.Until, Contradiction: l.Contradiction,
		})
	}
	for _, x := range f.Differences {
		doc := DifferenceDocument{What: x.What}
		for _, v := range x.Values {
			value := NodeValueDocument{Value: v.Text}
			for _, n := range v.Nodes {
				value.Nodes = append(value.Nodes, n.Name)
			}
			doc.Values = append(doc.Values, value)
		}
		d.Differences = append(d.Differences, doc)
	}
	for _, s := range f.Silent {
		doc := SilenceDocument{Node: s.Node.Name, Why: s.Why}
		if rank := s.Rank; rank != evidence.NoRank {
			doc.Rank = &rank
		}
		d.Silent = append(d.Silent, doc)
	}
	return d
}

// gidDocuments returns GIDs by index, then by value.
func gidDocuments(list []facts.GIDUse) []GIDDocument {
	var docs []GIDDocument
	for _, g := range list {
		docs = append(docs, GIDDocument{Index: g.Index, GID: g.GID.Addr().String()})
	}
	slices.SortFunc(docs, func(a, b GIDDocument) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.GID, b.GID))
	})
	return docs
}

func nodeDocument(n *facts.Node) NodeDocument {
	d := NodeDocument{Name: n.Name, Ranks: n.Ranks, Networks: texts(n.Networks), Bootstrap: texts(n.Bootstrap)}
	d.GIDs, d.Peers = gidDocuments(n.GIDs), gidDocuments(n.PeerGIDs)
	if n.Recorded != nil {
		d.Recorded = recordedDocument(n.Recorded)
	}
	for _, s := range n.Environment {
		d.Environment = append(d.Environment, SettingDocument{Name: s.Name, Values: texts(s.Values)})
	}
	for _, x := range n.Devices {
		device := DeviceDocument{Name: x.Name, Port: x.Port, Link: x.Link, MTU: x.MTU, GDR: x.GDR}
		device.GIDs = gidDocuments(x.GIDs)
		d.Devices = append(d.Devices, device)
	}
	return d
}

func texts(list []facts.Value) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Text)
	}
	return out
}
