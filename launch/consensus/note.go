package consensus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// addNotes adds the notes.
func (c *comparison) addNotes() {
	var sockets []cell
	for _, m := range c.members {
		sockets = append(sockets, cell{member: m, value: m.socket})
	}
	c.compareCells(findCheck(noteChecks, checkSocket), sockets)
	c.noteShared()
	c.noteUnknown()
	c.noteIncomplete()
}

// noteShared adds a note about rails that are in the same subnet on most nodes.
func (c *comparison) noteShared() {
	rails := map[string][]int{}
	for _, r := range c.report.Rails {
		if a := r.Attribute(checkSubnet); a.Nodes > 0 {
			rails[a.Value] = append(rails[a.Value], r.Rail)
		}
	}
	var subnets []string
	for s, numbers := range rails {
		if len(numbers) > 1 {
			subnets = append(subnets, s)
		}
	}
	slices.SortFunc(subnets, sysfs.NaturalCompare)
	for _, s := range subnets {
		c.add(findCheck(noteChecks, checkShared), Difference{
			Rails: rails[s], Text: fmt.Sprintf("%s share %s", railsText(rails[s]), s),
			Groups: []Group{{Value: s, Nodes: c.names(c.members)}},
		})
	}
}

func (c *comparison) names(members []*member) []string {
	var out []string
	for _, m := range members {
		out = append(out, m.name)
	}
	return out
}

// noteUnknown adds notes about unknown attributes, by check, with the nodes.
func (c *comparison) noteUnknown() {
	for k := range railChecks {
		check := &railChecks[k]
		if check.applies == nil {
			continue
		}
		var missing []*member
		reason := ""
		for _, m := range c.members {
			for i := range m.rails {
				r := &m.rails[i]
				if !check.applies(r) || check.value(r) != "" {
					continue
				}
				if len(missing) == 0 || missing[len(missing)-1] != m {
					missing = append(missing, m)
				}
				reason = unknownReason(check.ID, r)
			}
		}
		if len(missing) == 0 {
			continue
		}
		who := joinNames(c.names(missing))
		if len(missing) == len(c.members) && len(missing) > 2 {
			who = fmt.Sprintf("all %d nodes", len(missing))
		}
		c.add(findCheck(noteChecks, checkUnknown), Difference{
			Text:   fmt.Sprintf("%s of rails is unknown on %s: %s", strings.Split(check.What, ":")[0], who, reason),
			Groups: []Group{{Value: "unknown", Nodes: c.names(missing)}},
		})
	}
}

func unknownReason(id string, r *rail) string {
	switch {
	case id == checkMTU && r.fabric != nil:
		return "on InfiniBand only the device reports it (ibv_devinfo)"
	case id == checkMTU:
		return "the network device is not visible"
	case id == checkSubnet:
		return "no rtnetlink data was recorded, so prefix lengths are missing"
	case id == "fabric":
		return "no subnet manager has configured the port"
	}
	return "the file could not be read"
}

func (c *comparison) noteIncomplete() {
	for _, m := range c.all {
		if len(m.incomplete) == 0 {
			continue
		}
		var proof []Evidence
		for i, p := range m.incomplete {
			if i == evidenceKept {
				break
			}
			proof = append(proof, Evidence{Node: m.name, Path: p.Path, Value: p.Error})
		}
		c.add(findCheck(noteChecks, checkUncertain), Difference{
			Text: fmt.Sprintf("%s: %s that the comparison depends on could not be read",
				m.name, english.Count(len(m.incomplete), "file")),
			Groups: []Group{{Value: "incomplete", Nodes: []string{m.name}, Evidence: proof}},
		})
	}
}
