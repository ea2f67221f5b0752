package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// Derive derives the launch environment of a node. It is a pure function: the same snapshot and
// options give the same [Plan]. It returns an error only if the options don't fit the node
// ([ErrOptions]: a selector that matches no port, --pin-gid on ports with different indices). For a
// node without RDMA it returns a Plan with [OutcomeNone] and the reasons.
func Derive(snapshot inventory.Snapshot, opts Options) (Plan, error) {
	dv, err := newDerivation(&snapshot, opts)
	if err != nil {
		return Plan{}, err
	}
	dv.checkPorts()
	dv.group()
	switch {
	case len(dv.selected) > 0:
		dv.plan.Outcome = OutcomeRDMA
	case len(dv.efa) > 0:
		dv.plan.Outcome = OutcomeLibfabric
	}
	if err := dv.checkPin(); err != nil {
		return Plan{}, fmt.Errorf("derive launch environment: %w", err)
	}
	dv.chooseSocket()
	for i := range variableRules {
		variableRules[i].derive(dv, &variableRules[i])
	}
	dv.mergeUser()
	dv.checkUser()
	dv.describePorts()
	dv.plan.Effect, dv.plan.Unseen = dv.effect(), snapshot.Unseen()
	dv.warnings()
	return dv.plan, nil
}

// derivation is the state of Derive.
type derivation struct {
	snapshot         *inventory.Snapshot
	opts             Options
	routes           RouteFunc
	include, exclude []selector
	candidates       []*candidate
	selected, efa    []*candidate
	profile          profile // of the selected RoCE ports
	derived          []Variable
	plan             Plan
}

func newDerivation(snapshot *inventory.Snapshot, opts Options) (*derivation, error) {
	dv := &derivation{snapshot: snapshot, opts: opts, routes: opts.Routes}
	dv.plan = Plan{Schema: Schema, Outcome: OutcomeNone, Ports: []PortPlan{}, Variables: []Variable{}}
	if dv.plan.Libraries = inOrder(opts.Libraries); opts.Libraries == nil {
		dv.plan.Libraries = DefaultLibraries()
	}
	if dv.routes == nil {
		dv.routes = RoutesOf(*snapshot)
	}
	dv.opts.Peer = opts.Peer.Unmap()
	var err error
	if dv.include, err = parseSelectors("include", opts.Include); err == nil {
		dv.exclude, err = parseSelectors("exclude", opts.Exclude)
	}
	if err == nil {
		err = checkSelectors("include", dv.include, snapshot)
	}
	if err == nil {
		err = checkSelectors("exclude", dv.exclude, snapshot)
	}
	if p := dv.opts.Peer; err == nil && p.IsValid() && (p.IsUnspecified() || p.IsMulticast()) {
		err = &OptionError{Option: "peer", Text: p.String() + " is not the address of a node"}
	}
	if err != nil {
		return nil, fmt.Errorf("derive launch environment: %w", err)
	}
	return dv, nil
}

func (dv *derivation) wants(l Library) bool { return slices.Contains(dv.plan.Libraries, l) }

// describePorts fills in the choices of the libraries for each port and moves the ports into the
// Plan.
func (dv *derivation) describePorts() {
	planned := dv.effective()
	for _, c := range dv.candidates {
		c.plan.NCCLAuto = ncclChoice(c.device, c.port, nil)
		c.plan.UCXAuto = ucxChoice(c.port)
		if c.device.SMIOf != "" {
			c.plan.UCXAuto = &AutoChoice{Index: -1, Note: c.plan.NCCLAuto.Note}
		}
		if dv.wants(LibraryNCCL) {
			c.plan.NCCLPlanned = ncclChoice(c.device, c.port, planned)
		}
		dv.findReach(c)
		dv.plan.Ports = append(dv.plan.Ports, *c.plan)
	}
}

// findReach finds the route from the port's address to the peer.
func (dv *derivation) findReach(c *candidate) {
	if !dv.opts.Peer.IsValid() || c.plan.GID == nil {
		return
	}
	route, err := dv.routes(dv.opts.Peer, c.plan.GID.Addr)
	switch {
	case errors.Is(err, ErrNoRoute) || err == nil && !c.onNetdev(route.Netdev):
		c.plan.Reach = ReachNo
	case err != nil: // not known
	case route.Gateway.IsValid():
		c.plan.Reach = ReachGateway
	default:
		c.plan.Reach = ReachDirect
	}
}

// warnings adds the warnings of the Plan.
func (dv *derivation) warnings() {
	if n := len(dv.selected); n > ncclMaxDevices && dv.wants(LibraryNCCL) {
		dv.plan.warn(ruleHCALimit, fmt.Sprintf("%d ports are selected, NCCL uses %d of them", n, ncclMaxDevices))
	}
	for _, c := range dv.selected {
		dv.warnPort(c)
	}
	dv.warnUverbs()
	dv.warnIncluded()
	dv.warnRails()
	dv.warnReach()
	if dv.plan.Outcome == OutcomeNone {
		dv.warnNothing()
	}
	for _, p := range dv.snapshot.Problems {
		if decides(p.Path) {
			dv.plan.Incomplete = append(dv.plan.Incomplete, p)
		}
	}
	if n := len(dv.plan.Incomplete); n > 0 {
		first := dv.plan.Incomplete[0]
		text := fmt.Sprintf("%d files that the result depends on could not be read, the first is %s: %s",
			n, first.Path, first.Error)
		dv.plan.warn(ruleIncomplete, text, first.Path)
	}
}

func (dv *derivation) warnPort(c *candidate) {
	if c.device.Software != "" {
		dv.plan.warn(ruleSoftware, fmt.Sprintf("%s is a software device (%s)", c.plan.Name(), c.device.Software),
			c.device.Path)
	}
	g := c.plan.GID
	if g == nil {
		return
	}
	if g.Addr.Is4() && g.Addr.IsLinkLocalUnicast() {
		dv.plan.warn(ruleLinkLocal4,
			fmt.Sprintf("%s has %s, which is not routed: peers must be on the same link", c.plan.Name(), g.Addr))
	}
	if n := c.plan.NCCLPlanned; n != nil && n.Used && n.Index != g.Index {
		dv.plan.warn(ruleNCCLOther,
			fmt.Sprintf("%s: NCCL uses index %d instead of %d", c.plan.Name(), n.Index, g.Index))
	}
	if u := c.plan.UCXAuto; u != nil && u.Index != g.Index && !dv.opts.PinGID && dv.wants(LibraryUCX) {
		dv.plan.warn(ruleUCXOther, fmt.Sprintf("%s: UCX uses index %d instead of %d", c.plan.Name(), u.Index, g.Index))
	}
}

// warnRails warns of compute ports that can't be used while others are selected.
func (dv *derivation) warnRails() {
	if len(dv.selected) == 0 {
		return
	}
	var lost, files []string
	for _, c := range dv.candidates {
		if c.port.Role == inventory.RoleCompute && c.plan.Decision == DecisionRejected && c.plan.Rule != "port-iwarp" {
			lost = append(lost, c.plan.Name()+" ("+c.plan.Reason+")")
			files = append(files, c.plan.Files...)
		}
	}
	if len(lost) > 0 {
		all := len(lost) + len(dv.selected)
		text := fmt.Sprintf("%d of %d compute ports left out: %s", len(lost), all, strings.Join(lost, ", "))
		dv.plan.warn(ruleRails, text, files...)
	}
}

// warnUverbs warns of devices that programs can't open.
func (dv *derivation) warnUverbs() {
	used := append(slices.Clone(dv.selected), dv.efa...)
	if len(used) > 0 && dv.snapshot.Host.Container != nil && !dv.snapshot.Host.DevInfiniBand {
		dv.plan.warn(ruleUverbs,
			"this container has no /"+sysfs.DevInfiniBand+": programs in it can't open RDMA devices",
			"/"+sysfs.DevInfiniBand)
		return
	}
	reported := map[string]bool{}
	for _, c := range used {
		for _, char := range c.device.Chars {
			if strings.HasPrefix(char.Name, "uverbs") && char.OpenError != "" && !reported[char.Path] {
				reported[char.Path] = true
				dv.plan.warn(ruleUverbs, fmt.Sprintf("%s: %s: %s", c.device.Name, char.Path, char.OpenError), char.Path)
			}
		}
	}
}

// warnIncluded warns of ports that --include selects but that can't be used.
func (dv *derivation) warnIncluded() {
	for _, c := range dv.candidates {
		if len(dv.include) > 0 && c.plan.Decision != DecisionSelected && c.plan.Rule != "port-not-included" &&
			c.plan.Rule != "port-excluded" {
			dv.plan.warn(ruleIncluded, fmt.Sprintf("%s can't be used: %s", printableName(c.plan.Name()), c.plan.Reason),
				c.plan.Files...)
		}
	}
}

func (dv *derivation) warnReach() {
	var yes, no []string
	for _, c := range dv.selected {
		switch c.plan.Reach {
		case ReachDirect, ReachGateway:
			yes = append(yes, c.plan.Name())
		case ReachNo:
			no = append(no, c.plan.Name())
		}
	}
	if len(yes) > 0 && len(no) > 0 {
		dv.plan.warn(ruleReach,
			fmt.Sprintf("%s is reachable from %s but not from %s: correct if every rail is a separate subnet",
				dv.opts.Peer, strings.Join(yes, ", "), strings.Join(no, ", ")))
	}
}

func (dv *derivation) warnNothing() {
	if len(dv.candidates) == 0 {
		dv.plan.warn(ruleNothing, "no RDMA: the node has no RDMA device", "/"+sysfs.ClassInfiniBand)
		return
	}
	first := dv.candidates[0].plan
	for _, c := range dv.candidates { // the one that was meant for jobs
		if c.port.Role == inventory.RoleCompute || c.port.Role == inventory.RoleUncertain {
			first = c.plan
			break
		}
	}
	text := fmt.Sprintf("no RDMA: %s can't be used: %s", first.Name(), first.Reason)
	if n := len(dv.candidates); n > 1 {
		text = fmt.Sprintf("no RDMA: none of %d ports can be used; for %s: %s", n, first.Name(), first.Reason)
	}
	dv.plan.warn(ruleNothing, text, first.Files...)
}

// decides reports whether the Plan depends on a file.
func decides(name string) bool {
	if name == "/"+sysfs.ProcNetRoute || name == "/"+sysfs.ProcNetIPv6Route {
		return true
	}
	rest, ok := strings.CutPrefix(name, "/"+sysfs.ClassInfiniBand)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/") // device, "ports", number, file …
	switch len(parts) {
	case 1:
		return true
	case 2:
		return parts[1] == "ports" || parts[1] == "node_type"
	case 3:
		return parts[1] == "ports"
	}
	return parts[1] == "ports" &&
		slices.Contains([]string{"state", "link_layer", "rate", "gids", "gid_attrs"}, parts[3])
}

// effective returns the environment of a program: the user's variables, overridden by those of the
// Plan.
func (dv *derivation) effective() map[string]string {
	env := map[string]string{}
	for name, value := range dv.opts.Environment {
		if value != "" {
			env[name] = value
		}
	}
	for _, u := range dv.plan.Unset {
		delete(env, u.Name)
	}
	for _, v := range dv.plan.Variables {
		env[v.Name] = v.Value
	}
	return env
}
