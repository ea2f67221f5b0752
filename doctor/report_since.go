package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Changes are the differences between the findings of an earlier report and those of this one. Only
// what deserves a look is compared: findings of outcome info, warn, unknown and fail that count.
type Changes struct {
	// New also has entries of GID tables that have moved, which only the comparison shows.
	New     []Finding `json:"new"`
	Gone    []Finding `json:"gone"` // of the earlier report; their checks now pass
	Changed []Change  `json:"changed"`
	// NotJudged holds findings of the earlier report whose checks have no result now.
	NotJudged []Finding `json:"notJudged"`
	// Vanished holds the objects of the earlier report that the node no longer has. Their findings
	// are not among those that are gone.
	Vanished []VanishedObject `json:"vanished"`
	// NotCompared holds the checks that only one of the reports has.
	NotCompared []NotCompared `json:"notCompared"`
}

// VanishedObject is an object that the node no longer has.
type VanishedObject struct {
	Object

	Findings []Finding `json:"findings,omitempty"` // of the earlier report, about the object
}

// NotCompared is a check that only one of two reports has.
type NotCompared struct {
	CheckID string `json:"check"`
	// New reports that the later report has the check.
	New bool `json:"new"`
}

// Change is a finding that has another outcome or another summary than before.
type Change struct {
	Before Finding `json:"before"`
	Now    Finding `json:"now"`
}

// Errors of [ParseReport] and [Report.Compare].
var (
	// ErrNotReport is about data that is no report.
	ErrNotReport = errors.New("not a report of doctor")
	// ErrVersion is about a report whose schema has another version.
	ErrVersion = errors.New("a report of another version")
	// ErrOtherNode is about reports of different nodes.
	ErrOtherNode = errors.New("a report of another node")
	// ErrNoNode is about a report without the name of its node.
	ErrNoNode = errors.New("the name of the node is not known")
)

// ParseReport reads the JSON form of a report. The error matches [ErrNotReport] for other data and
// [ErrVersion] for a report whose schema is not [Schema].
func ParseReport(data []byte) (Report, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Report{}, fmt.Errorf("%w: not JSON: %w", ErrNotReport, err)
	}
	switch {
	case head.Schema == Schema:
	case isBelow(head.Schema, "rdmakit.doctor"):
		return Report{}, fmt.Errorf("%w: %s, want %s", ErrVersion, head.Schema, Schema)
	case head.Schema == "":
		return Report{}, fmt.Errorf("%w: it has no schema", ErrNotReport)
	default:
		return Report{}, fmt.Errorf("%w: its schema is %s", ErrNotReport, head.Schema)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrNotReport, err)
	}
	return r, nil
}

// Compare sets Since to what has changed since an earlier report of the same node. Findings of
// checks that one of the reports doesn't have are left out: they appeared or disappeared with their
// check, which Since names. The error matches [ErrOtherNode] if the reports are of nodes with
// different names, and [ErrNoNode] if one of them has no name.
func (r *Report) Compare(before Report) error {
	switch {
	case before.Node == "":
		return fmt.Errorf("earlier report: %w", ErrNoNode)
	case r.Node == "":
		return fmt.Errorf("this report: %w", ErrNoNode)
	case before.Node != r.Node:
		return fmt.Errorf("%w: %q, not %q", ErrOtherNode, before.Node, r.Node)
	}
	c := Changes{
		New: []Finding{}, Gone: []Finding{}, NotJudged: []Finding{}, Changed: []Change{},
		Vanished: r.vanished(before), NotCompared: r.notCompared(before),
	}
	old, now := before.worthALook(*r), r.worthALook(before)
	now = slices.DeleteFunc(now, func(f Finding) bool { return take(&old, f, sameText) != nil })
	for _, f := range now {
		switch was := take(&old, f, sameObject); {
		case was != nil:
			c.Changed = append(c.Changed, Change{Before: *was, Now: f})
		default:
			c.New = append(c.New, f)
		}
	}
	for _, f := range old {
		switch {
		case slices.ContainsFunc(r.Findings, func(n Finding) bool { return !n.Counts() && sameObject(n, f) }):
			// suppressed meanwhile, or on trial
		case c.addToVanished(f):
		case r.judges(f) && !(before.hasObject(f.Object) && !r.hasObject(f.Object)):
			c.Gone = append(c.Gone, f)
		default:
			c.NotJudged = append(c.NotJudged, f)
		}
	}
	c.New = append(c.New, r.movedGIDs(before)...)
	r.Since = &c
	return nil
}

// addToVanished adds the finding to its object, false if that has not vanished.
func (c *Changes) addToVanished(f Finding) bool {
	i := slices.IndexFunc(c.Vanished, func(v VanishedObject) bool { return v.Name == f.Object })
	if i < 0 {
		return false
	}
	c.Vanished[i].Findings = append(c.Vanished[i].Findings, f)
	return true
}

// vanished returns the objects of an earlier report that the node no longer has. Network devices
// come and go with containers: only those that had a finding are among them.
func (r *Report) vanished(before Report) []VanishedObject {
	gone := []VanishedObject{}
	add := func(o Object) {
		known := slices.ContainsFunc(gone, func(v VanishedObject) bool { return v.Object == o })
		if !known && r.misses(o) {
			gone = append(gone, VanishedObject{Object: o})
		}
	}
	for _, o := range before.Objects {
		if o.Kind != KindNetdev {
			add(o)
		}
	}
	for _, f := range before.worthALook(before) {
		switch o := (Object{f.Kind, f.Object}); {
		case f.Kind == KindDevice, f.Kind == KindPort, f.Kind == KindNetdev, slices.Contains(before.Objects, o):
			add(o)
		}
	}
	return gone
}

// misses reports whether the node was seen not to have the object.
func (r *Report) misses(o Object) bool {
	if r.hasObject(o.Name) {
		return false
	}
	switch o.Kind {
	case KindDevice:
		return true
	case KindPort: // of a device whose files can't be read, no port is known
		device, _, _ := cutLast(o.Name, ":")
		return !slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return f.Outcome == OutcomeUnknown && f.Object == device
		})
	}
	// A report without any object of the kind is of a container or a partial recording.
	return slices.ContainsFunc(r.Objects, func(have Object) bool { return have.Kind == o.Kind })
}

// notCompared returns the checks that only one of the reports has: first those of the earlier one.
func (r *Report) notCompared(before Report) []NotCompared {
	list := []NotCompared{}
	for _, c := range before.Checks {
		if !r.hasCheck(c.ID) {
			list = append(list, NotCompared{CheckID: c.ID})
		}
	}
	for _, c := range r.Checks {
		if !before.hasCheck(c.ID) {
			list = append(list, NotCompared{CheckID: c.ID, New: true})
		}
	}
	return list
}

// hasCheck reports whether the report has a result of the check. That of the suppressions is there
// only if it has findings, and every report counts as having it.
func (r *Report) hasCheck(id string) bool {
	return id == SuppressionsID || slices.ContainsFunc(r.Checks, func(c CheckResult) bool { return c.ID == id })
}

// take removes the first finding that is equal to f and returns it, nil if there is none.
func take(from *[]Finding, f Finding, equal func(a, b Finding) bool) *Finding {
	i := slices.IndexFunc(*from, func(o Finding) bool { return equal(o, f) })
	if i < 0 {
		return nil
	}
	found := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return &found
}

func sameText(a, b Finding) bool {
	return sameObject(a, b) && a.Outcome == b.Outcome && a.Summary == b.Summary
}

// judges reports whether the finding's check has a result for its object in this report, so that
// its absence is good news.
func (r *Report) judges(f Finding) bool {
	for _, c := range r.Checks {
		if c.ID == f.CheckID && (c.Outcome == OutcomeNotApplicable || c.Outcome == OutcomePrivilege) {
			return false
		}
	}
	return !slices.ContainsFunc(r.Findings, func(n Finding) bool {
		return n.CheckID == f.CheckID && n.Outcome == OutcomeUnknown && n.Object == ObjectNode
	})
}

// hasObject reports whether the node has an object of the name.
func (r *Report) hasObject(name string) bool {
	return slices.ContainsFunc(r.Objects, func(o Object) bool { return o.Name == name })
}

func sameObject(a, b Finding) bool { return a.CheckID == b.CheckID && a.Object == b.Object }

// worthALook returns the findings that a comparison is about.
func (r *Report) worthALook(other Report) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		return !other.hasCheck(f.CheckID) || !f.Counts() || f.Outcome.Compare(OutcomePass) <= 0
	})
}

// Worse returns the findings that are new or whose outcome is worse than before.
func (c Changes) Worse() []Finding {
	all := slices.Clone(c.New)
	for _, ch := range c.Changed {
		if ch.Now.Outcome.Compare(ch.Before.Outcome) > 0 {
			all = append(all, ch.Now)
		}
	}
	return all
}
