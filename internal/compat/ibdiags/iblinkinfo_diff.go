package ibdiags

// compare prints the differences between an earlier sweep ("<") and this one (">"), of all nodes or
// of one (C twin: diff_node).
func (l *linkinfo) compare(before, after *subnet, one bool, nodes []*subnetNode) {
	first := before.nodes
	switch {
	case one:
		first = nodes
	case l.only != 0:
		first = before.ofType(l.only)
	}
	for _, n := range first {
		// The C program compares a single node with itself and never finds a difference; here it is
		// looked up in both sweeps.
		was, is := before.byGUID[n.GUID()], after.byGUID[n.GUID()]
		switch {
		case was == nil:
		case is == nil:
			l.node(was, "< ")
		default:
			l.compareNodes(was, is)
		}
	}
	for _, n := range nodes {
		if before.byGUID[n.GUID()] == nil {
			l.node(n, "> ")
		}
	}
}

func (l *linkinfo) compareNodes(was, is *subnetNode) {
	headed := false
	head := func() {
		if !headed {
			l.head(was, "")
			headed = true
		}
	}
	if was.IsSwitch() && l.checks&diffLID != 0 && was.lid != is.lid ||
		l.checks&diffDescription != 0 && was.Description != is.Description {
		l.head(was, "< ")
		l.head(is, "> ")
		headed = true
	}
	if was.Info.NumPorts != is.Info.NumPorts {
		head()
		l.printf("< numports = %d\n> numports = %d\n", was.Info.NumPorts, is.Info.NumPorts)
		return
	}
	for number := 1; number < len(was.ports); number++ {
		a, b := was.ports[number], is.ports[number]
		if a == nil && b == nil || !l.differ(a, b) {
			continue
		}
		head()
		if a != nil {
			l.port(a, "< ")
		}
		if b != nil {
			l.port(b, "> ")
		}
	}
}

// differ reports whether a comparison prints a port, of which one state is known at least.
func (l *linkinfo) differ(a, b *subnetPort) bool {
	if a == nil || b == nil {
		return l.checks&diffPort != 0
	}
	both := a.remote != nil && b.remote != nil
	if l.checks&diffState != 0 && a.Info.PortState != b.Info.PortState {
		return true
	}
	if l.checks&diffPort == 0 {
		return false
	}
	return (a.remote != nil) != (b.remote != nil) || both && (a.remote.guid != b.remote.guid ||
		l.checks&diffLID != 0 && a.remote.lid != b.remote.lid ||
		l.checks&diffDescription != 0 && a.remote.node.Description != b.remote.node.Description)
}
