package evidence

import (
	"hash/maphash"
	"iter"
	"strings"
)

// Limits bounds a [Store].
type Limits struct {
	// Events is the number of events that are kept for each kind, and for each line of symptoms; 0:
	// 4,096.
	Events int
	// Texts is how many bytes of a text or a value are kept; 0: 4,096.
	Texts int
	// Equal is how many equal events of one process are kept; the others only count. 0: 4.
	Equal int
}

// Store holds events in the order in which they were added.
type Store struct {
	limits  Limits
	byKind  map[Kind][]*Event
	kinds   []Kind
	seed    maphash.Seed
	equal   map[key]*group
	kept    map[string]int // by kind, and line of a symptom
	dropped map[Kind]int
}

// group is what a Store knows of equal events.
type group struct {
	kept int
	last *Event
}

// NewStore returns an empty store.
func NewStore(limits Limits) *Store {
	if limits.Events == 0 {
		limits.Events = 4096
	}
	if limits.Texts == 0 {
		limits.Texts = 4096
	}
	if limits.Equal == 0 {
		limits.Equal = 4
	}
	return &Store{
		limits: limits, byKind: map[Kind][]*Event{}, seed: maphash.MakeSeed(), equal: map[key]*group{},
		kept: map[string]int{}, dropped: map[Kind]int{},
	}
}

// Add adds an event, or counts it if the store holds enough equal ones: events of the same kind and
// process with the same fields. The store keeps e.
func (s *Store) Add(e *Event) {
	e.Count, e.Last, e.LastTime = 1, e.Place, e.Time
	s.clip(e)
	if s.byKind[e.Kind] == nil {
		s.kinds = append(s.kinds, e.Kind)
	}
	key, kind := s.keyOf(e), string(e.Kind)+" "+e.Fields["line"]
	g, full := s.equal[key], s.kept[kind] >= s.limits.Events
	switch {
	case g != nil && (g.kept >= s.limits.Equal || full):
		g.last.Count++
		g.last.Last, g.last.LastTime = e.Place, e.Time
		return
	case full:
		s.dropped[e.Kind]++
		return
	case g == nil:
		g = &group{}
		s.equal[key] = g
	}
	g.kept, g.last = g.kept+1, e
	s.kept[kind]++
	s.byKind[e.Kind] = append(s.byKind[e.Kind], e)
}

// clip bounds the texts of an event.
func (s *Store) clip(e *Event) {
	short := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), s.limits.Texts)], "") }
	if len(e.Text) > s.limits.Texts {
		e.Text = short(e.Text) + "…"
	}
	for name, value := range e.Fields {
		if len(value) > s.limits.Texts {
			e.Fields[name] = short(value)
		}
	}
}

// key is equal for equal events; different ones have the same fields once in 2⁶⁴.
type key struct {
	kind    Kind
	process Process
	fields  uint64
}

func (s *Store) keyOf(e *Event) key {
	k := key{kind: e.Kind, process: e.Process}
	for name, value := range e.Fields { // in any order: the sum is the same
		k.fields += maphash.Comparable(s.seed, [2]string{name, value})
	}
	return k
}

// Of returns the events of a kind, in the order in which they were added. A kind that ends in "."
// stands for all kinds that begin with it, one kind after the other.
func (s *Store) Of(kind Kind) iter.Seq[*Event] {
	return func(yield func(*Event) bool) {
		for _, k := range s.kinds {
			if k != kind && !(strings.HasSuffix(string(kind), ".") && strings.HasPrefix(string(k), string(kind))) {
				continue
			}
			for _, e := range s.byKind[k] {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Has reports whether there is an event of the kind.
func (s *Store) Has(kind Kind) bool {
	for range s.Of(kind) {
		return true
	}
	return false
}

// Kinds returns the kinds in the order in which their first events were added.
func (s *Store) Kinds() []Kind { return s.kinds }

// Dropped returns how many events of a kind are neither kept nor counted by a kept one.
func (s *Store) Dropped(kind Kind) int { return s.dropped[kind] }
