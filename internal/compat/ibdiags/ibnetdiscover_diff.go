package ibdiags

import (
	"github.com/rdmakit/rdmakit/wire/mad"
)

// compare prints the differences between an earlier sweep ("<") and this one (">"), by type of node
// (C twin: diff).
func (n *netdiscover) compare(before, after *subnet) {
	for _, part := range []struct {
		check diffChecks
		kind  mad.NodeType
	}{{diffSwitch, mad.NodeTypeSwitch}, {diffCA, mad.NodeTypeCA}, {diffRouter, mad.NodeTypeRouter}} {
		if n.checks&part.check == 0 {
			continue
		}
		for _, node := range before.ofType(part.kind) {
			if other := after.byGUID[node.GUID()]; other != nil {
				n.compareNodes(node, other)
			} else {
				n.only(node, "< ")
			}
		}
		for _, node := range after.ofType(part.kind) {
			if before.byGUID[node.GUID()] == nil {
				n.only(node, "> ")
			}
		}
	}
}

// only prints a node that is in only one of the sweeps.
func (n *netdiscover) only(node *subnetNode, prefix string) {
	n.head(node, false, prefix, prefix)
	for number := 1; number < len(node.ports); number++ {
		if p := node.ports[number]; p != nil && p.remote != nil {
			n.cable(p, prefix)
		}
	}
}

// compareNodes prints the differences of a node, under its head.
func (n *netdiscover) compareNodes(before, after *subnetNode) {
	headed := false
	if n.checks&diffLID != 0 && before.lid != after.lid ||
		n.checks&diffDescription != 0 && before.Description != after.Description {
		n.head(before, false, "", "< ")
		n.detail(after, "> ")
		n.printf("\n")
		headed = true
	}
	head := func() {
		if !headed {
			n.head(before, false, "", "")
			headed = true
		}
	}
	if before.Info.NumPorts != after.Info.NumPorts {
		head()
		n.printf("< numports = %d\n> numports = %d\n", before.Info.NumPorts, after.Info.NumPorts)
		return
	}
	if n.checks&(diffPort|diffLID) == 0 {
		return
	}
	for number := 1; number < len(before.ports); number++ {
		was, is := before.ports[number], after.ports[number]
		left, right := n.differ(was, is)
		// For a port without a cable the C program would dereference a null pointer.
		if left && was.remote != nil {
			head()
			n.cable(was, "< ")
		}
		if right && is.remote != nil {
			head()
			n.cable(is, "> ")
		}
	}
}

// differ reports which of the two states of a port a comparison prints.
func (n *netdiscover) differ(was, is *subnetPort) (left, right bool) {
	cabled := func(p *subnetPort) bool { return p != nil && p.remote != nil }
	both := was != nil && is != nil
	if n.checks&diffPort != 0 {
		switch {
		case was != nil && is == nil, both && cabled(was) && !cabled(is):
			left = true
		case was == nil && is != nil, both && !cabled(was) && cabled(is):
			right = true
		case both && (was.guid != is.guid || cabled(was) && cabled(is) && was.remote.guid != is.remote.guid):
			return true, true
		}
	}
	if !both {
		return left, right
	}
	if n.checks&diffLID != 0 && was.lid != is.lid {
		return true, true
	}
	if n.checks&diffPort != 0 && cabled(was) && cabled(is) &&
		(n.checks&diffDescription != 0 && was.remote.node.Description != is.remote.node.Description ||
			n.checks&diffLID != 0 && was.remote.lid != is.remote.lid) {
		return true, true
	}
	return left, right
}
