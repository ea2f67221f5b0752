package symptoms_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9.]+)*$`)

func TestSymptoms(t *testing.T) {
	ids, names, lines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range symptoms.All() {
		if !regexp.MustCompile(`^RDX-[3-9]\d\d$`).MatchString(s.ID) || ids[s.ID] {
			t.Errorf("ID %q is of another form, or not unique", s.ID)
		}
		if !name.MatchString(s.Name) || names[s.Name] {
			t.Errorf("%s: name %q is of another form, or not unique", s.ID, s.Name)
		}
		ids[s.ID], names[s.Name] = true, true
		if s.Title == "" || s.Explanation == "" || len(s.Sources) == 0 || len(s.Lines) == 0 {
			t.Errorf("%s: title, explanation, sources and lines are required", s.ID)
		}
		if harmless := s.Standing == evidence.Harmless; harmless != (len(s.Causes) == 0) {
			t.Errorf("%s: harmless lines have no causes, all others have some", s.ID)
		}
		for _, l := range s.Lines {
			checkLine(t, s, l)
			if key := l.Program + "/" + l.Name; lines[key] {
				t.Errorf("%s: two lines %s", s.ID, key)
			} else {
				lines[key] = true
			}
		}
		slugs := map[string]bool{}
		for _, c := range s.Causes {
			checkCause(t, s, c)
			if slugs[c.Slug] {
				t.Errorf("%s: two causes %s", s.ID, c.Slug)
			}
			slugs[c.Slug] = true
		}
	}
}

// shortestAnchor is the length from which a text is searched for: shorter ones are in too many
// lines.
const shortestAnchor = 8

func checkLine(t *testing.T, s *symptoms.Symptom, l symptoms.Line) {
	t.Helper()
	if !name.MatchString(l.Name) || l.Program == "" || l.Source == "" || len(l.All) == 0 {
		t.Errorf("%s: line %q needs a name in lower case, program, source and texts", s.ID, l.Name)
		return
	}
	if len(l.All[0]) < shortestAnchor {
		t.Errorf("%s: line %s is searched for by %q", s.ID, l.Name, l.All[0])
	}
	for _, slug := range append(slices.Clone(l.Speaks), l.Decides) {
		known := func(c symptoms.Cause) bool { return c.Slug == slug }
		if slug != "" && !slices.ContainsFunc(s.Causes, known) {
			t.Errorf("%s: line %s speaks for %q, which is no cause of it", s.ID, l.Name, slug)
		}
	}
}

func checkCause(t *testing.T, s *symptoms.Symptom, c symptoms.Cause) {
	t.Helper()
	if c.Slug == "" || c.Title == "" || c.Weight <= 0 || c.Decide == "" || c.Remedy == "" {
		t.Errorf("%s: cause %q needs title, weight, what decides and a remedy", s.ID, c.Slug)
	}
	for _, clue := range c.Clues {
		if clue.Weight == 0 {
			t.Errorf("%s: a clue of %s has no weight", s.ID, c.Slug)
		}
		known := func(l symptoms.Line) bool { return l.Name == clue.Line }
		if clue.Line != "" && !slices.ContainsFunc(s.Lines, known) {
			t.Errorf("%s: a clue of %s is about line %q, which isn't there", s.ID, c.Slug, clue.Line)
		}
	}
}
