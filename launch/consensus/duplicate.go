package consensus

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// owners maps values that must be unique to the nodes that have them, and to the evidence.
type owners struct {
	order []string
	nodes map[string][]*member
	proof map[string][]Evidence
}

func newOwners() *owners {
	return &owners{nodes: map[string][]*member{}, proof: map[string][]Evidence{}}
}

func (o *owners) add(value string, m *member, file, text string) {
	list := o.nodes[value]
	if len(list) > 0 && list[len(list)-1] == m {
		return // twice on one node: ports of one card share a GUID
	}
	if len(list) == 0 {
		o.order = append(o.order, value)
	}
	o.nodes[value] = append(list, m)
	if len(o.proof[value]) < evidenceKept {
		o.proof[value] = append(o.proof[value], Evidence{Node: m.name, Path: file, Value: text})
	}
}

// findDuplicates finds values that two nodes share but must not.
func (c *comparison) findDuplicates() {
	unique := c.sameNodes()
	hosts, guids, systems, gids, macs := newOwners(), newOwners(), newOwners(), newOwners(), newOwners()
	lids := map[ib.SubnetPrefix]*owners{}
	for _, m := range unique {
		if m.host != "" {
			hosts.add(m.host, m, "", m.source)
		}
		for i := range m.rails {
			r := &m.rails[i]
			if !r.nodeGUID.IsZero() {
				guids.add(r.nodeGUID.String(), m, guidFile(r), r.name())
			}
			if !r.portGUID.IsZero() && r.portGUID != r.nodeGUID {
				guids.add(r.portGUID.String(), m, portFile(r, "gids/0"), r.name())
			}
			if !r.systemGUID.IsZero() && r.systemGUID != r.nodeGUID {
				systems.add(r.systemGUID.String(), m, path.Join(r.path, "../../sys_image_guid"), r.name())
			}
			for _, e := range r.gids {
				gids.add(e.addr.String(), m, portFile(r, fmt.Sprintf("gids/%d", e.index)), r.name())
			}
			if r.mac != "" && strings.Trim(r.mac, "0:") != "" {
				macs.add(r.mac, m, r.netdevPath, r.mac)
			}
			if r.fabric != nil && r.lid != 0 {
				prefix := r.fabric.SubnetPrefix // each subnet has its own LIDs
				if lids[prefix] == nil {
					lids[prefix] = newOwners()
				}
				lids[prefix].add(fmt.Sprintf("LID %d on rail %d", r.lid, r.number), m, portFile(r, "lid"), r.location())
			}
		}
	}
	for i, o := range []*owners{hosts, guids, systems, gids, macs} {
		id := []string{checkHost, checkGUID, checkSystem, checkGID, checkMAC}[i]
		c.reportDuplicates(findCheck(duplicateChecks, id), o)
	}
	for _, prefix := range slices.Sorted(maps.Keys(lids)) {
		c.reportDuplicates(findCheck(duplicateChecks, checkLID), lids[prefix])
	}
	c.findLimited(unique)
}

// sameNodes reports nodes with exactly the same cards. It returns the nodes with only one of each
// such set, because all other values of the others are duplicates too.
func (c *comparison) sameNodes() []*member {
	o := newOwners()
	keys := map[*member]string{}
	for _, m := range c.all {
		var guids []string
		for i := range m.rails {
			if r := &m.rails[i]; !r.nodeGUID.IsZero() {
				guids = append(guids, r.nodeGUID.String())
			}
		}
		if slices.Sort(guids); len(guids) > 0 {
			keys[m] = strings.Join(slices.Compact(guids), ", ")
			o.add(keys[m], m, guidFile(&m.rails[0]), m.rails[0].nodeGUID.String())
		}
	}
	c.reportDuplicates(findCheck(duplicateChecks, checkSameNode), o)
	var out []*member
	for _, m := range c.all {
		if key := keys[m]; key == "" || o.nodes[key][0] == m {
			out = append(out, m)
		}
	}
	return out
}

// guidFile returns the file with the device's GUID, two directories above the port.
func guidFile(r *rail) string { return path.Join(r.path, "../../node_guid") }

// reportDuplicates adds one difference for all values that the same nodes share.
func (c *comparison) reportDuplicates(check Check, o *owners) {
	type shared struct {
		nodes  []string
		values []string
		proof  []Evidence
	}
	var found []*shared
	byNodes := map[string]*shared{}
	for _, value := range o.order {
		if len(o.nodes[value]) < 2 {
			continue
		}
		var names []string
		for _, m := range o.nodes[value] {
			names = append(names, m.name)
		}
		key := strings.Join(names, "\x00")
		if byNodes[key] == nil {
			byNodes[key] = &shared{nodes: names, proof: o.proof[value]}
			found = append(found, byNodes[key])
		}
		byNodes[key].values = append(byNodes[key].values, value)
	}
	for _, s := range found {
		value := joinValues(s.values)
		verb := " is on "
		if len(s.values) > 1 {
			verb = " are on "
		}
		text := value + verb + joinNames(s.nodes)
		if check.ID == checkSameNode {
			text = joinNames(s.nodes) + " have the same cards"
		}
		c.add(check, Difference{Text: text, Groups: []Group{{Value: value, Nodes: s.nodes, Evidence: s.proof}}})
	}
}

// findLimited finds two or more limited members of a partition on one rail; unique has each node
// once.
func (c *comparison) findLimited(unique []*member) {
	once := make(map[*member]bool, len(unique))
	for _, m := range unique {
		once[m] = true
	}
	members := slices.DeleteFunc(slices.Clone(c.members), func(m *member) bool { return !once[m] })
	check := findCheck(duplicateChecks, checkLimited)
	o := newOwners()
	rails := map[string][]int{}
	for _, number := range c.numbers {
		var key []string
		for _, m := range members {
			if r := m.rail(number); r != nil && r.pkey != nil && r.fabric != nil && !r.pkey.Full() {
				key = append(key, m.name)
			}
		}
		if len(key) < 2 {
			continue
		}
		name := strings.Join(key, "\x00")
		if rails[name] == nil {
			for _, m := range members {
				if r := m.rail(number); slices.Contains(key, m.name) {
					file, text := pkeyEvidence(r)
					o.add(name, m, file, text)
				}
			}
		}
		rails[name] = append(rails[name], number)
	}
	for _, name := range o.order {
		var names []string
		for _, m := range o.nodes[name] {
			names = append(names, m.name)
		}
		c.add(check, Difference{
			Rails: rails[name], Text: railsText(rails[name]) + ": limited members on " + joinNames(names),
			Groups: []Group{{Value: "limited member", Nodes: names, Evidence: o.proof[name]}},
		})
	}
}
