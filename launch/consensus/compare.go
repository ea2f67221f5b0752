package consensus

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/launch"
)

// member is a node in a comparison.
type member struct {
	*Node
	name  string
	rails []rail // of Node, with numbers
}

// hasRDMA reports whether jobs on the node can use RDMA, so that its rails are compared.
func (m *member) hasRDMA() bool {
	return m.outcome == launch.OutcomeRDMA || m.outcome == launch.OutcomeLibfabric
}

// rail returns the rail with a number, nil if there is none.
func (m *member) rail(number int) *rail {
	for i := range m.rails {
		if m.rails[i].number == number {
			return &m.rails[i]
		}
	}
	return nil
}

// comparison is the state of Compare.
type comparison struct {
	opts      Options
	libraries []launch.Library
	all       []*member // by name
	members   []*member // those with RDMA
	numbers   []int     // of the rails, sorted
	// misplaced are rails that the check rail-swapped reports: the subnet check leaves them out.
	misplaced map[railOf]bool
	report    Report
}

// railOf is a rail of a node.
type railOf struct {
	member *member
	rail   int
}

// Compare compares nodes. It never fails: with fewer than two nodes the report has no differences.
// The order of nodes doesn't matter.
func Compare(nodes []*Node, opts Options) Report {
	c := &comparison{opts: opts, libraries: opts.Libraries, misplaced: map[railOf]bool{}}
	if c.libraries == nil {
		c.libraries = launch.DefaultLibraries()
	}
	c.report = Report{
		Schema: Schema, Verdict: VerdictAgree, Libraries: c.libraries, Nodes: []NodeReport{}, Rails: []RailReport{},
		Differences: []Difference{},
	}
	c.all = nameNodes(nodes)
	for _, m := range c.all {
		c.report.Nodes = append(c.report.Nodes, NodeReport{
			Name: m.name, Host: m.host, Source: m.source, Outcome: m.outcome, Reason: m.reason, Rails: len(m.rails),
			Socket: m.socket,
		})
		if m.hasRDMA() {
			c.members = append(c.members, m)
		}
		if len(m.incomplete) > 0 {
			c.report.Incomplete = append(c.report.Incomplete, m.name)
		}
	}
	c.report.Pairing = pair(c.members)
	c.collectNumbers()
	c.compareNodes()
	c.findSwapped()
	c.compareRails()
	c.compareValues()
	c.findDuplicates()
	c.addNotes()
	c.report.GID = c.gidReport()
	c.report.Variables = c.variables()
	c.finish()
	return c.report
}

// nameNodes gives every node a unique name and sorts the nodes by name: the host name, or the
// source if that isn't known; with the source if several nodes have the same host name, and a
// number if the sources are equal too. Sources are named without their folders if that is unique.
func nameNodes(nodes []*Node) []*member {
	hosts, files := map[string]int{}, map[string]int{}
	for _, n := range nodes {
		hosts[n.host]++
		files[filepath.Base(n.source)]++
	}
	short := func(source string) string { // without folders, if that is unique
		if base := filepath.Base(source); files[base] == 1 {
			return base
		}
		return source
	}
	members := make([]*member, 0, len(nodes))
	for _, n := range nodes {
		m := &member{Node: n, name: n.host, rails: slices.Clone(n.rails)}
		switch {
		case n.host == "":
			m.name = short(n.source)
		case hosts[n.host] > 1:
			m.name = n.host + " (" + short(n.source) + ")"
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b *member) int { return sysfs.NaturalCompare(a.name, b.name) })
	seen := map[string]int{}
	for _, m := range members {
		base := m.name
		if seen[base]++; seen[base] > 1 {
			m.name = base + " [" + strconv.Itoa(seen[base]) + "]"
		}
	}
	return members
}

func (c *comparison) collectNumbers() {
	for _, m := range c.members {
		for i := range m.rails {
			c.numbers = append(c.numbers, m.rails[i].number)
		}
	}
	slices.Sort(c.numbers)
	c.numbers = slices.Compact(c.numbers)
}

// add adds a difference to the report.
func (c *comparison) add(check Check, d Difference) {
	d.Check, d.Severity, d.Why, d.Remedy = check.ID, c.severity(check), check.Why, check.Remedy
	if check.ID == checkNoRDMA {
		d.Tie = false // nodes without RDMA are at fault, even if they are the majority
	}
	if d.Tie && d.Severity != SeverityNote {
		d.Text += " (a tie: no majority)"
	}
	c.report.Differences = append(c.report.Differences, d)
}

// findCheck returns the check with an ID; the lists contain every ID that the code uses.
func findCheck(list []Check, id string) Check {
	i := slices.IndexFunc(list, func(c Check) bool { return c.ID == id })
	return list[max(i, 0)]
}

// compareNodes compares whether nodes have RDMA, and which rails they have.
func (c *comparison) compareNodes() {
	if len(c.members) == 0 {
		return
	}
	var outcomes, sets []cell
	for _, m := range c.all {
		value := map[launch.Outcome]string{
			launch.OutcomeRDMA: "RDMA through verbs", launch.OutcomeLibfabric: "RDMA through libfabric",
		}[m.outcome]
		e := Evidence{Node: m.name, Value: fmt.Sprintf("%d ports selected", len(m.rails))}
		if value == "" && !m.mayHaveMore() {
			value, e.Value = "no RDMA", m.reason
			if len(m.lost) > 0 {
				e.Path = m.lost[0].file
			}
		}
		outcomes = append(outcomes, cell{m, value, []Evidence{e}})
	}
	for _, m := range c.members {
		set := ""
		if !m.mayHaveMore() {
			set = railSet(m)
		}
		sets = append(sets, cell{m, set, lostEvidence(m)})
	}
	c.compareCells(findCheck(nodeChecks, checkNoRDMA), outcomes)
	c.compareCells(findCheck(nodeChecks, checkHCASet), sets)
}

func (c *comparison) compareCells(check Check, cells []cell) {
	if groups := groupCells(cells); len(groups) > 1 {
		c.add(check, Difference{Text: describeGroups(groups), Tie: isTie(groups), Groups: groups})
	}
}

// railSet describes the rails of a node: "8 HCAs (rails 0-7)".
func railSet(m *member) string {
	var numbers []int
	for i := range m.rails {
		numbers = append(numbers, m.rails[i].number)
	}
	return fmt.Sprintf("%s (%s)", english.Count(len(numbers), "HCA"), railsText(numbers))
}

func railsText(numbers []int) string {
	if len(numbers) == 1 {
		return "rail " + strconv.Itoa(numbers[0])
	}
	return "rails " + Ranges(numbers)
}

// lostEvidence returns why compute ports of a node are not selected.
func lostEvidence(m *member) []Evidence {
	var out []Evidence
	for i, l := range m.lost {
		if i == evidenceKept {
			break
		}
		out = append(out, Evidence{Node: m.name, Path: l.file, Value: l.name + ": " + l.reason})
	}
	return out
}

// compareRails compares the attributes of each rail and combines rails with the same finding.
func (c *comparison) compareRails() {
	for i := range c.numbers {
		c.report.Rails = append(c.report.Rails, RailReport{Rail: c.numbers[i], Attributes: []Attribute{}})
		for _, m := range c.members {
			if m.rail(c.numbers[i]) != nil {
				c.report.Rails[i].Nodes++
			}
		}
	}
	for k := range railChecks {
		c.compareAttribute(&railChecks[k])
	}
}

// railGroups are the groups of nodes for a rail.
type railGroups struct {
	rail   int
	groups []Group
}

func (c *comparison) compareAttribute(check *railCheck) {
	var found []railGroups
	for i, number := range c.numbers {
		groups := groupCells(c.cells(check, number))
		if len(groups) > 0 {
			best := groups[0]
			c.report.Rails[i].Attributes = append(c.report.Rails[i].Attributes,
				Attribute{check.ID, best.Value, len(best.Nodes), countNodes(groups)})
		}
		if check.ID == checkSubnet {
			groups = groupCells(c.inPlace(check, number))
		}
		if len(groups) > 1 {
			found = append(found, railGroups{number, groups})
		}
	}
	c.addRails(check.Check, found)
}

// addRails adds the differences of rails; those on which the same nodes differ become one.
func (c *comparison) addRails(check Check, found []railGroups) {
	for len(found) > 0 {
		key := partition(found[0].groups)
		var same []railGroups
		found = slices.DeleteFunc(found, func(f railGroups) bool {
			if partition(f.groups) == key {
				same = append(same, f)
				return true
			}
			return false
		})
		c.add(check, joinRails(same))
	}
}

// cells returns the values of a rail on all nodes that have it.
func (c *comparison) cells(check *railCheck, number int) []cell {
	var out []cell
	for _, m := range c.members {
		r := m.rail(number)
		if r == nil {
			continue
		}
		v := cell{member: m, value: check.value(r)}
		if v.value != "" {
			file, text := check.evidence(r)
			v.evidence = []Evidence{{Node: m.name, Path: file, Value: text}}
		}
		out = append(out, v)
	}
	return out
}

// inPlace returns the cells without the rails that are reported as swapped.
func (c *comparison) inPlace(check *railCheck, number int) []cell {
	return slices.DeleteFunc(c.cells(check, number), func(v cell) bool { return c.misplaced[railOf{v.member, number}] })
}

// joinRails combines the rails on which the same nodes differ into one difference.
func joinRails(same []railGroups) Difference {
	d := Difference{Groups: slices.Clone(same[0].groups), Tie: isTie(same[0].groups)}
	for _, s := range same {
		d.Rails = append(d.Rails, s.rail)
	}
	for i := range d.Groups {
		var values []string
		for _, s := range same {
			values = append(values, s.groups[i].Value)
		}
		d.Groups[i].Value = joinValues(values)
	}
	d.Text = railsText(d.Rails) + ": " + describeGroups(d.Groups)
	return d
}

// finish sorts the differences and sets the verdict.
func (c *comparison) finish() {
	rank := map[string]int{}
	for i, check := range slices.Concat(Checks(), c.opts.Values) {
		rank[check.ID] = i
	}
	severities := map[Severity]int{SeverityBreaks: 0, SeveritySlows: 1, SeverityNote: 2}
	slices.SortStableFunc(c.report.Differences, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(severities[a.Severity], severities[b.Severity]),
			cmp.Compare(rank[a.Check], rank[b.Check]))
	})
	switch {
	case len(c.members) == 0:
		c.report.Verdict = VerdictNone
	case c.report.Faults(SeverityBreaks)+c.report.Faults(SeveritySlows) > 0:
		c.report.Verdict = VerdictDiffer
	}
}
