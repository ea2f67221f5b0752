package impact

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// Input is the input of [Run].
type Input struct {
	// Manifests are the manifests to apply, all at once. Nodes and node states in them belong to
	// the cluster.
	Manifests *manifest.Set
	// Cluster is the present cluster: nodes, preferably with their SriovNetworkNodeStates,
	// policies, pools and the operator's configuration.
	Cluster source.Cluster
	Options Options
}

// Options are facts and choices that no object contains.
type Options struct {
	// OperatorNamespace is the namespace of the SR-IOV operator. If it is empty, Run takes the
	// namespace of the SriovOperatorConfig, or of the states.
	OperatorNamespace string
	// Prune deletes all policies of the cluster that are not in the manifests.
	Prune bool
	// Delete names policies to delete. Those in the manifests are not applied. PolicyNames returns
	// the possible names.
	Delete []string
}

// Run predicts the effect of the manifests on each node.
func Run(in Input) Report {
	if in.Manifests == nil {
		in.Manifests = &manifest.Set{}
	}
	m := newModel(in)
	r := Report{
		Schema: Schema, Files: append([]string{}, in.Manifests.Files...), Nodes: []Node{}, Pools: []Pool{},
		Removed: m.removed, Ignored: m.ignored,
	}
	notes := &assumptions{}
	used := map[string]bool{}
	members := make([]member, 0, len(m.nodes))
	for i := range m.nodes {
		n, x := m.node(&m.nodes[i], notes, used)
		r.Nodes = append(r.Nodes, n)
		members = append(members, x)
	}
	for i := range members {
		members[i].node = &r.Nodes[i]
	}
	r.addAlso()
	m.round(&r, members)
	for _, p := range m.after {
		if !used[p.name] && !slices.Contains(r.Unused, p.name) {
			r.Unused = append(r.Unused, p.name)
			if !m.selectsNode(p) {
				r.NoNode = append(r.NoNode, p.name)
			}
		}
	}
	slices.Sort(r.Unused)
	slices.Sort(r.NoNode)
	r.count()
	r.Counts.Ignored = m.strays
	r.Assumptions = m.assumptions(notes)
	return r
}

// selectsNode reports whether the nodeSelector of a policy selects a node, or may select one.
func (m *model) selectsNode(p *policy) bool {
	return slices.ContainsFunc(m.nodes, func(n source.Node) bool {
		selected, maybe := n.Selected(p.spec.NodeSelector)
		return selected || maybe
	})
}

func (r *Report) count() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		switch n.Action {
		case ActionNothing:
			r.Counts.Nothing++
		case ActionDisrupt:
			r.Counts.Disrupt++
		case ActionDrain:
			r.Counts.Drain++
		case ActionReboot:
			r.Counts.Reboot++
		}
		if n.Worst != n.Action || len(n.Unknown) > 0 {
			r.Counts.Open++
		}
		if len(n.Failures) > 0 {
			r.Counts.Failing++
		}
	}
}

// node evaluates a node.
func (m *model) node(n *source.Node, notes *assumptions, used map[string]bool) (Node, member) {
	out := Node{Name: n.Name, Action: ActionNothing, Worst: ActionNothing}
	state := n.State
	p, maybe, problem := poolOf(n, m.pools)
	x := member{pool: p, problem: problem}
	if p != nil {
		out.Pool = p.name
	}
	if maybe {
		notes.pools = append(notes.pools, n.Name)
	}
	if state != nil {
		x.drains, x.others = isDraining(state), drainedByOthers(state)
		if x.others {
			out.Notes = append(out.Notes, "a program other than the operator drains the node, so pools have no effect")
		}
	}
	if selected, unknown := n.Selected(m.daemons); !selected && !unknown {
		out.Notes = append(out.Notes,
			"configDaemonNodeSelector of the SriovOperatorConfig doesn't select the node: no daemon runs there")
		return out, x
	}
	switch {
	case state == nil && !n.CardsKnown:
		m.unknownCards(n, &out)
	case state != nil && len(state.Status.Interfaces) == 0:
		out.Notes = append(out.Notes, "the operator's daemon found no card on the node, so it applies no policy")
	default:
		m.evaluate(n, state, p, &out, notes, used)
	}
	if state != nil {
		m.inProgress(state, &out)
	}
	return out, x
}

// unknownCards evaluates a node whose cards are unknown.
func (m *model) unknownCards(n *source.Node, out *Node) {
	for _, p := range m.after {
		if selected, maybe := n.Selected(p.spec.NodeSelector); selected || maybe {
			out.Unknown = append(out.Unknown,
				"the cards are unknown: add a SriovNetworkNodeState or a snapshot of the node")
			out.Worst = ActionReboot
			return
		}
	}
}

// evaluate evaluates a node whose cards are known.
func (m *model) evaluate(
	n *source.Node, state *k8s.SriovNetworkNodeState, p *pool, out *Node, notes *assumptions, used map[string]bool,
) {
	pfs := cardsOf(n)
	want := settingOf(m.after, n, pfs)
	for _, name := range want.selects {
		used[name] = true
	}
	if want.broken != "" {
		out.Failures = append(out.Failures, want.broken)
		return
	}
	before := m.settingBefore(n, state, pfs)
	m.keepForeign(before, &want, out)
	t := &trial{
		pfs: pfs, before: before, after: want.cards, complete: m.complete, firmwareOff: m.firmwareOff,
		synced: state != nil && state.Status.SyncStatus == "Succeeded",
	}
	out.Reasons = m.rdmaMode(n, state, p)
	t.system = len(out.Reasons) > 0
	t.changed = t.changes()
	out.Reasons = append(out.Reasons, kernelArguments(before, want.cards)...)
	v := t.compare()
	t.failures = len(v.failures)
	if text := m.lockdown(t, state); text != "" {
		v.stopped, v.failures = text, append(v.failures, text)
	}
	m.systemdMode(t, v, out)
	m.fill(t, v, out)
	m.otherPriority(n, t, out)
	if m.bridges && m.bridged(want.selects) {
		out.Unknown = append(out.Unknown,
			"Open vSwitch bridges (feature gate manageSoftwareBridges) are not compared: a difference drains the node")
		out.Worst = worse(out.Worst, m.undrained(ActionDrain))
	}
	notes.of(n, state, t, want)
}

// changes reports whether the desired setting of the node changes, or may change.
func (t *trial) changes() bool {
	return t.system || t.before == nil || !equalCards(t.before, t.after)
}

// bridged reports whether one of the policies has a bridge.
func (m *model) bridged(names []string) bool {
	return slices.ContainsFunc(m.after,
		func(p *policy) bool { return p.spec.Bridge != nil && slices.Contains(names, p.name) })
}

// settingBefore returns the present desired setting of a node, nil if it is unknown.
func (m *model) settingBefore(n *source.Node, state *k8s.SriovNetworkNodeState, pfs []pf) map[string]*config {
	if state != nil && state.Spec != nil {
		return fromStateSpec(*state.Spec).cards
	}
	if len(m.before) > 0 {
		return settingOf(m.before, n, pfs).cards
	}
	return nil
}

// keepForeign keeps the setting of PFs whose present policy is not in the files, because the policy
// stays in the cluster.
func (m *model) keepForeign(before map[string]*config, want *setting, out *Node) {
	if m.complete {
		return
	}
	known := func(name string) bool { return m.known[name] }
	for _, address := range sortedKeys(before) {
		c := before[address]
		foreign := slices.DeleteFunc(c.policies(), known)
		if len(foreign) == 0 {
			continue
		}
		if want.cards[address] == nil {
			kept := c.clone()
			kept.applied = []Applied{{Policy: foreign[0], Effect: EffectDecides}}
			want.cards[address] = kept
			out.Notes = append(out.Notes,
				fmt.Sprintf("%s has policy %s, which is not in the files and is assumed to stay",
					address, strings.Join(foreign, ", ")))
			continue
		}
		out.Unknown = append(out.Unknown, fmt.Sprintf(
			"%s has policy %s, which is not in the files: its combination with the policies in the files is unknown",
			address, strings.Join(foreign, ", ")))
		out.Worst = ActionReboot
	}
}

// systemdMode adds the reboot that configurationMode systemd requires for any change
// (pkg/daemon/daemon.go).
func (m *model) systemdMode(t *trial, v *verdict, out *Node) {
	touched := t.before != nil || len(t.after) > 0
	worst := worstOf(out.Reasons)
	for _, reasons := range v.cards {
		worst = worse(worst, worstOf(reasons))
	}
	if m.systemd && (t.changed && touched || worst != ActionNothing) {
		out.Reasons = append(out.Reasons, Reason{
			ID: ReasonSystemd, Action: ActionReboot,
			Text: "configurationMode of the operator is systemd: each change reboots the node",
		})
	}
}

// fill converts a verdict to the exported form.
func (m *model) fill(t *trial, v *verdict, out *Node) {
	for i := range t.pfs {
		p := &t.pfs[i]
		c := t.after[p.Address]
		if c == nil && len(v.cards[p.Address]) == 0 && (p.NumVFs == 0 || t.before[p.Address] == nil) {
			continue
		}
		out.Cards = append(out.Cards, m.card(t, v, p, c))
	}
	out.Failures = append(out.Failures, v.failures...)
	out.Notes = append(out.Notes, v.notes...)
	m.adjust(out.Reasons, v.stopped)
	out.Action = worse(out.Action, actionOf(out.Reasons))
	out.Worst = worse(out.Worst, worstOf(out.Reasons))
	for i := range out.Cards {
		c := &out.Cards[i]
		m.adjust(c.Reasons, v.stopped)
		c.Action = actionOf(c.Reasons)
		out.Action = worse(out.Action, c.Action)
		out.Worst = worse(out.Worst, worstOf(c.Reasons))
	}
	for i := range out.Reasons {
		for j := range out.Reasons[i].Avoid {
			a := &out.Reasons[i].Avoid[j]
			for _, c := range out.Cards {
				a.Leaves = worse(a.Leaves, c.Action)
			}
		}
	}
	out.Worst = worse(out.Worst, out.Action)
}

func (m *model) card(t *trial, v *verdict, p *pf, c *config) Card {
	card := Card{
		Address: p.Address, Netdev: p.Netdev, Vendor: p.Vendor, DeviceID: p.DeviceID,
		Now: Now{VFs: p.NumVFs, TotalVFs: p.TotalVFs, MTU: p.MTU, LinkType: p.LinkType, ESwitchMode: p.ESwitchMode},
	}
	if p.settings() != nil {
		card.Now.FirmwareVFs = new(p.gives())
	}
	if c != nil {
		card.Wanted, card.Policies = c.wanted(), c.applied
	}
	worst := worstOf(v.cards[p.Address])
	for _, r := range v.cards[p.Address] {
		if r.Held == "" {
			t.avoid(p, &r, worst)
		}
		card.Reasons = append(card.Reasons, r)
	}
	slices.SortStableFunc(card.Reasons, func(a, b Reason) int { return cmp.Compare(b.Action.rank(), a.Action.rank()) })
	return card
}

// adjust changes reasons if draining is disabled, or if the operator fails before the drain.
func (m *model) adjust(reasons []Reason, stopped string) {
	for i := range reasons {
		r := &reasons[i]
		r.Action = m.undrained(r.Action)
		for j := range r.Avoid {
			r.Avoid[j].Leaves = m.undrained(r.Avoid[j].Leaves)
		}
		if stopped != "" && r.Held == "" {
			r.Held, r.Avoid = stopped, nil
		}
	}
}

// undrained returns ActionDisrupt for a drain if draining is disabled.
func (m *model) undrained(a Action) Action {
	if a == ActionDrain && m.noDrain {
		return ActionDisrupt
	}
	return a
}

// otherPriority evaluates the node once more as if the webhook had set the missing priorities.
func (m *model) otherPriority(n *source.Node, t *trial, out *Node) {
	if len(m.implied) == 0 {
		return
	}
	other := settingOf(m.withWebhook, n, t.pfs)
	m.keepForeign(t.before, &other, &Node{}) // the notes are in out already
	if other.broken != "" || equalCards(other.cards, t.after) {
		return
	}
	try := *t
	try.after = other.cards
	try.changed = try.changes()
	v := try.compare()
	for _, reasons := range v.cards {
		out.Worst = worse(out.Worst, m.undrained(worstOf(reasons)))
	}
	out.Unknown = append(out.Unknown, fmt.Sprintf(
		"policies without a priority (%s) are assumed to have 0, the highest; if the operator's webhook is on, it "+
			"sets 99, and the cards get other settings", strings.Join(m.implied, ", ")))
}
