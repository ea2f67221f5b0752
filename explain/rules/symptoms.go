package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// symptomRules returns the rules that package symptoms has as values.
func symptomRules() []Rule {
	var list []Rule
	for _, s := range symptoms.All() {
		list = append(list, Rule{
			ID: s.ID, Name: s.Name, Title: s.Title, Explanation: s.Explanation, Sources: s.Sources,
			Causes: possibleCauses(s),
			Find:   func(f *facts.Facts) []Finding { return findSymptom(f, s) },
		})
	}
	return list
}

// possibleCauses returns the causes that a symptom can have, the most common first.
func possibleCauses(s *symptoms.Symptom) []Cause {
	list := slices.Clone(s.Causes)
	slices.SortStableFunc(list, func(a, b symptoms.Cause) int { return int(b.Weight - a.Weight) })
	var out []Cause
	for i := range list {
		c := &list[i]
		out = append(out, Cause{
			Slug: c.Slug, Title: c.Title, Decide: c.Decide, Remedy: c.Remedy, Sources: c.Sources,
		})
	}
	return out
}

// findSymptom returns the finding of a symptom, none if no line shows it.
func findSymptom(f *facts.Facts, s *symptoms.Symptom) []Finding {
	list := with(of(f, evidence.Symptom), "symptom", s.ID)
	if len(list) == 0 {
		return harmlessSymptom(f, s)
	}
	x := list[0]
	c := &candidates{}
	for i := range s.Causes {
		c.list = append(c.list, symptomCause(f, s, &s.Causes[i], list))
	}
	if s.Name == "result-only" {
		interfacesOf(f, c)
	}
	finding := Finding{What: where(x) + ": " + s.Title, Failure: x, Events: events(list), Causes: c.causes()}
	failedNode(f, &finding)
	return []Finding{finding}
}

// interfacesOf adds what the rest of the logs says of the interfaces for TCP to the causes of a
// call of NCCL that failed without a reason.
func interfacesOf(f *facts.Facts, c *candidates) {
	for _, x := range c.list {
		if x.Slug != "interface-choice" {
			continue
		}
		name, places := bridges(f)
		x.supportsIf(name != "", strong, "among the interfaces for TCP is "+name, places...)
		x.supportsIf(len(f.Nodes) > 1, hint, "the job has several nodes")
	}
}

// harmlessSymptom returns a finding for lines that only look like faults.
func harmlessSymptom(f *facts.Facts, s *symptoms.Symptom) []Finding {
	e := firstOf(f, evidence.Symptom, "symptom", s.ID)
	if e == nil || e.Standing != evidence.Harmless {
		return nil
	}
	return []Finding{{
		Harmless: true, Note: s.Name, Events: []*evidence.Event{e}, What: fmt.Sprintf("%s: %s", e.Place, s.Title),
	}}
}

// symptomCause weighs a cause of a symptom.
func symptomCause(f *facts.Facts, s *symptoms.Symptom, cause *symptoms.Cause, list []*facts.Failure) *candidate {
	c := (&candidates{}).add(cause.Slug, cause.Title, int(cause.Weight)).todo(cause.Decide, cause.Remedy)
	c.from(cause.Sources...)
	spoken := map[string]bool{}
	for _, x := range list {
		line := lineOf(s, x.Event)
		if line == nil || spoken[line.Name] {
			continue
		}
		spoken[line.Name] = true
		switch {
		case line.Decides == cause.Slug:
			c.proves(x.Event.Text, x.Event.Place)
		case slices.Contains(line.Speaks, cause.Slug):
			c.supports(strong, x.Event.Text, x.Event.Place)
		}
	}
	for i := range cause.Clues {
		clue := &cause.Clues[i]
		text, places, ok := follow(f, clue, list)
		switch {
		case !ok:
			continue
		case clue.Text != "":
			text = clue.Text
		}
		if clue.Weight < 0 {
			c.opposes(-int(clue.Weight), text, places...)
		} else {
			c.supports(int(clue.Weight), text, places...)
		}
	}
	return c
}

// symptom returns the first line of the symptom with a name, nil if there is none.
func symptom(f *facts.Facts, name string) *evidence.Event {
	if s := symptoms.ByName(name); s != nil {
		return firstOf(f, evidence.Symptom, "symptom", s.ID)
	}
	return nil
}

// lineOf returns the line of a symptom that an event is of, nil for another symptom's.
func lineOf(s *symptoms.Symptom, e *evidence.Event) *symptoms.Line {
	i := slices.IndexFunc(s.Lines, func(l symptoms.Line) bool { return l.Name == e.Fields["line"] })
	if i < 0 {
		return nil
	}
	return &s.Lines[i]
}

// follow reports whether all conditions of a clue hold, what was seen, and where.
func follow(f *facts.Facts, clue *symptoms.Clue, list []*facts.Failure) (string, []evidence.Place, bool) {
	seen := sighting{places: []evidence.Place{list[0].Event.Place}}
	ok := seen.inLines(clue, list) && seen.ofLibrary(f, clue) && seen.ofVariable(f, clue) &&
		seen.ofPort(f, clue, list[0]) && seen.anywhere(f, clue)
	return seen.text, seen.places, ok
}

// sighting is what a clue has found.
type sighting struct {
	text   string
	places []evidence.Place
}

func (s *sighting) note(text string, places ...evidence.Place) {
	s.text, s.places = text, places
}

// inLines looks at the symptom's own lines.
func (s *sighting) inLines(clue *symptoms.Clue, list []*facts.Failure) bool {
	s.text = list[0].Event.Text
	if clue.Line == "" && clue.Contains == "" && clue.Field == "" {
		return true
	}
	for _, x := range list {
		e := x.Event
		value := e.Fields[clue.Field]
		switch {
		case clue.Line != "" && e.Fields["line"] != clue.Line,
			clue.Contains != "" && !strings.Contains(e.Text, clue.Contains),
			clue.Field != "" && (value == "" || len(clue.Is) > 0 && !slices.Contains(clue.Is, value)):
			continue
		}
		s.note(e.Text, e.Place)
		return true
	}
	return false
}

func (s *sighting) ofLibrary(f *facts.Facts, clue *symptoms.Clue) bool {
	if clue.Library == "" {
		return true
	}
	l, ok := f.Library(clue.Library)
	if !ok {
		return false
	}
	possible, certain := l.Between(clue.Since, clue.Until)
	if !possible || !certain {
		return false
	}
	if len(l.Versions) > 0 {
		s.note(clue.Library+" is "+l.Versions[0].Text, l.Place()...)
	} else {
		s.note("the version of "+clue.Library, l.Place()...)
	}
	return true
}

func (s *sighting) ofVariable(f *facts.Facts, clue *symptoms.Clue) bool {
	if clue.Variable == "" {
		return true
	}
	value, places, ok := variable(f, clue.Variable)
	if !ok || len(clue.Values) > 0 && !slices.Contains(clue.Values, value) {
		return false
	}
	s.note(clue.Variable+"="+value, places...)
	return true
}

func (s *sighting) ofPort(f *facts.Facts, clue *symptoms.Clue, x *facts.Failure) bool {
	return (clue.Link == "" || string(link(x)) == clue.Link) && (clue.Driver == "" || anyDriver(f, clue.Driver))
}

// anywhere looks for a line of another symptom, or an event of a kind.
func (s *sighting) anywhere(f *facts.Facts, clue *symptoms.Clue) bool {
	if clue.Seen == "" {
		return true
	}
	kind := evidence.Kind(clue.Seen)
	if strings.Contains(clue.Seen, "/") {
		kind = evidence.Symptom
	}
	for e := range f.Store.Of(kind) {
		value := e.Fields[clue.SeenField]
		switch {
		case kind == evidence.Symptom && e.Form != clue.Seen,
			clue.SeenField != "" && (value == "" || len(clue.SeenIs) > 0 && !slices.Contains(clue.SeenIs, value)):
			continue
		}
		s.note(e.Text, e.Place)
		return true
	}
	return false
}
