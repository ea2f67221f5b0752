package rules

import (
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// made is a symptom for tests, with one cause that has the clues.
func made(clues ...symptoms.Clue) *symptoms.Symptom {
	return &symptoms.Symptom{
		ID: "RDX-999", Name: "made", Title: "made for a test",
		Lines: []symptoms.Line{
			{Name: "plain", Program: symptoms.UCX},
			{Name: "speaking", Program: symptoms.UCX, Speaks: []string{"x"}},
			{Name: "deciding", Program: symptoms.UCX, Decides: "x"},
		},
		Causes: []symptoms.Cause{{Slug: "x", Title: "x", Weight: symptoms.Rare, Clues: clues}},
	}
}

// shown returns the facts of a line of the symptom, and of other events.
func shown(line string, others ...*evidence.Event) *facts.Facts {
	store := evidence.NewStore(evidence.Limits{})
	store.Add(&evidence.Event{
		Kind:     evidence.Symptom,
		Place:    evidence.Place{File: "f", Line: 1},
		Text:     "failed: errno 12",
		Form:     "ucx/" + line,
		Fields:   evidence.Fields{"symptom": "RDX-999", "line": line, "errno": "12"},
		Standing: evidence.Failed,
	})
	for i, e := range others {
		e.Place = evidence.Place{File: "f", Line: i + 2}
		store.Add(e)
	}
	return facts.New(store)
}

func version(text string) *evidence.Event {
	return &evidence.Event{Kind: evidence.UCXVersion, Fields: evidence.Fields{"version": text}}
}

func TestSymptomClues(t *testing.T) {
	variable := &evidence.Event{Kind: evidence.NCCLEnv, Fields: evidence.Fields{"name": "UCX_TLS", "value": "tcp"}}
	seen := &evidence.Event{
		Kind: evidence.Symptom, Form: "nccl/other", Standing: evidence.Harmless,
		Fields: evidence.Fields{"symptom": "RDX-998", "line": "other"},
	}
	with := func(weight symptoms.Weight, c symptoms.Clue) symptoms.Clue { c.Weight = weight; return c }
	const plain = int(symptoms.Rare)
	for _, c := range []struct {
		name, line string
		clue       symptoms.Clue
		others     []*evidence.Event
		want       int
	}{
		{"no clue holds", "plain", with(10, symptoms.Clue{Contains: "nothing"}), nil, plain},
		{"the line speaks", "speaking", with(10, symptoms.Clue{Contains: "nothing"}), nil, plain + strong},
		{"a text", "plain", with(10, symptoms.Clue{Contains: "errno 12"}), nil, plain + 10},
		{"against it", "plain", with(-3, symptoms.Clue{Contains: "errno 12"}), nil, plain - 3},
		{"a field", "plain", with(10, symptoms.Clue{Field: "errno", Is: []string{"11", "12"}}), nil, plain + 10},
		{"another value", "plain", with(10, symptoms.Clue{Field: "errno", Is: []string{"11"}}), nil, plain},
		{"the line", "plain", with(10, symptoms.Clue{Line: "plain"}), nil, plain + 10},
		{"another line", "plain", with(10, symptoms.Clue{Line: "speaking"}), nil, plain},
		{
			"a version", "plain", with(10, symptoms.Clue{Library: "ucx", Until: "1.10"}),
			[]*evidence.Event{version("1.9")},
			15,
		},
		{
			"a later version", "plain", with(10, symptoms.Clue{Library: "ucx", Until: "1.10"}),
			[]*evidence.Event{version("1.11")},
			plain,
		},
		{
			"two versions", "plain", with(10, symptoms.Clue{Library: "ucx", Until: "1.10"}),
			[]*evidence.Event{version("1.9"), version("1.11")},
			plain,
		},
		{
			"a variable", "plain", with(10, symptoms.Clue{Variable: "UCX_TLS", Values: []string{"tcp"}}),
			[]*evidence.Event{variable},
			15,
		},
		{
			"another value of it", "plain", with(10, symptoms.Clue{Variable: "UCX_TLS", Values: []string{"rc"}}),
			[]*evidence.Event{variable},
			plain,
		},
		{"a line elsewhere", "plain", with(10, symptoms.Clue{Seen: "nccl/other"}), []*evidence.Event{seen}, 15},
		{"not that line", "plain", with(10, symptoms.Clue{Seen: "nccl/another"}), []*evidence.Event{seen}, plain},
	} {
		found := findSymptom(shown(c.line, c.others...), made(c.clue))
		if len(found) != 1 || len(found[0].Causes) != 1 || found[0].Causes[0].Weight != c.want {
			t.Errorf("%s: findings %+v, want one with weight %d", c.name, found, c.want)
		}
	}
}

func TestSymptomDecides(t *testing.T) {
	found := findSymptom(shown("deciding"), made())
	if got := found[0].Causes[0].Confidence; got != Proven {
		t.Errorf("the line decides: %s, want proven", got)
	}
	found = findSymptom(shown("deciding"), made(symptoms.Clue{Weight: -1, Contains: "errno"}))
	if got := found[0].Causes[0].Confidence; got == Proven {
		t.Error("proven, though something speaks against it")
	}
}

// Findings without a failure come before failures of lines that say too little.
func TestUnsureFindingsComeLast(t *testing.T) {
	vague := &evidence.Event{Kind: evidence.OtherFailure, Standing: evidence.Vague, Fields: evidence.Fields{}}
	store := evidence.NewStore(evidence.Limits{})
	store.Add(vague)
	f := facts.New(store)
	rule := func(id string, x *facts.Failure) Rule {
		return Rule{ID: id, Find: func(*facts.Facts) []Finding { return []Finding{{What: id, Failure: x}} }}
	}
	got := Judge(f, []Rule{rule("vague", f.Failures[0]), rule("sockets", nil)})
	if len(got) != 2 || got[0].What != "sockets" {
		t.Errorf("findings %v, want the one without a failure first", got)
	}
}

// A card is an end of all failures only if the other ends are on several nodes.
func TestOneEnd(t *testing.T) {
	a, b, c := &facts.Node{Name: "a"}, &facts.Node{Name: "b"}, &facts.Node{Name: "c"}
	pair := func(from, to *facts.Node, device string) *facts.Failure {
		return &facts.Failure{Node: from, Peer: to, Device: device}
	}
	for _, tt := range []struct {
		name string
		list []*facts.Failure
		want string
	}{
		{"both ways", []*facts.Failure{pair(a, b, "d"), pair(c, a, "d"), pair(b, a, "d")}, "d of a"},
		{"two nodes only", []*facts.Failure{pair(a, b, "d"), pair(b, a, "d"), pair(a, b, "d")}, ""},
		{"another card", []*facts.Failure{pair(a, b, "d"), pair(c, a, "e"), pair(b, a, "d")}, ""},
		{"another pair", []*facts.Failure{pair(a, b, "d"), pair(c, b, "d"), pair(a, c, "d")}, ""},
		{"few", []*facts.Failure{pair(a, b, "d"), pair(c, a, "d")}, ""},
	} {
		if got, _ := oneEnd(tt.list); got != tt.want {
			t.Errorf("%s: oneEnd = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestBridges(t *testing.T) {
	node := func(sockets ...string) *facts.Facts {
		n := &facts.Node{Name: "a"}
		for _, s := range sockets {
			n.Sockets = append(n.Sockets, facts.Value{Text: s})
		}
		return &facts.Facts{Nodes: []*facts.Node{n}}
	}
	if got, _ := bridges(node("bond0:10.0.0.1", "br-1f0c77a2be19:172.19.0.1")); got != "br-1f0c77a2be19" {
		t.Errorf("bridges = %q, want br-1f0c77a2be19", got)
	}
	if got, _ := bridges(node("bond0:10.0.0.1", "bridge0:10.1.0.1")); got != "" {
		t.Errorf("bridges = %q, want none", got)
	}
	listed := node("bond0:10.0.0.1", "br-1f0c77a2be19:172.19.0.1", "bridge0:10.1.0.1")
	for address, want := range map[string]string{
		"172.19.0.1": "br-1f0c77a2be19", "10.0.0.1": "", "10.1.0.1": "", "172.19.0.12": "", "": "",
	} {
		if got := bridgeAt(listed, address); got != want {
			t.Errorf("bridgeAt(%q) = %q, want %q", address, got, want)
		}
	}
}
