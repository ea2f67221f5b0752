package k8s

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/k8s/impact"
)

// k8sImpactBlocks returns a report as text: the nodes, the reasons and how to avoid them, the
// pools, and the assumptions.
func k8sImpactBlocks(r impact.Report, wide bool) []output.Block {
	blocks := []output.Block{impactNodes(r)}
	if reasons := impactReasons(r, wide); len(reasons) > 0 {
		blocks = append(blocks, output.Text{Title: "Why", Lines: reasons})
	}
	if wide {
		if t := impactCards(r); len(t.Rows) > 0 {
			blocks = append(blocks, t)
		}
	}
	if r.Rounds > 0 || r.Counts.Blocked > 0 || wide {
		blocks = append(blocks, impactPools(r, wide))
	}
	for _, part := range []struct {
		title string
		lines [][]output.Cell
	}{
		{"Fails", impactTexts(r, wide, func(n impact.Node) []string { return n.Failures })},
		{"Ignored", impactLines(r.Ignored)},
		{"Unknown", impactTexts(r, wide, func(n impact.Node) []string { return n.Unknown })},
		{"Notes", append(impactTexts(r, wide, func(n impact.Node) []string { return n.Notes }), impactPolicies(r)...)},
		{"Assumptions", impactLines(r.Assumptions)},
	} {
		if len(part.lines) > 0 {
			blocks = append(blocks, output.Text{Title: part.title, Lines: part.lines})
		}
	}
	return append(blocks, output.Text{Lines: [][]output.Cell{impactSum(r)}})
}

func impactNodes(r impact.Report) output.Table {
	t := output.Table{Columns: []output.Column{
		{Name: "node"},
		{Name: "action"},
		{Name: "at worst", Priority: 1},
		{Name: "pool", Priority: 3},
		{Name: "round", Align: output.AlignRight, Priority: 2},
		{Name: "reason", Wrap: true},
	}}
	for _, n := range r.Nodes {
		round := ""
		if n.Round > 0 {
			round = fmt.Sprint(n.Round)
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(n.Name), impactCell(n.Action), impactCell(n.Worst), output.Plain(orDash(n.Pool)),
			output.Plain(orDash(round)), output.Plain(impactBecause(n)),
		})
	}
	return t
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func impactCell(a impact.Action) output.Cell {
	switch a {
	case impact.ActionReboot:
		return output.Bad(string(a))
	case impact.ActionDrain, impact.ActionDisrupt:
		return output.Warn(string(a))
	}
	return output.Good(string(a))
}

// impactBecause returns the reasons for a node's action: "firmware-vfs (ens1, ens2)".
func impactBecause(n impact.Node) string {
	cards := map[impact.ReasonID][]string{}
	var order []impact.ReasonID
	add := func(reasons []impact.Reason, card string) {
		for _, reason := range reasons {
			if reason.Action != n.Worst && reason.Action != n.Action || reason.Action == impact.ActionNothing ||
				reason.Held != "" {
				continue
			}
			if !slices.Contains(order, reason.ID) {
				order = append(order, reason.ID)
			}
			if card != "" {
				cards[reason.ID] = append(cards[reason.ID], card)
			}
		}
	}
	add(n.Reasons, "")
	for _, c := range n.Cards {
		add(c.Reasons, impactCard(c))
	}
	parts := make([]string, 0, len(order))
	for _, id := range order {
		part := string(id)
		if names := cards[id]; len(names) > 0 {
			part += " (" + cli.SomeNames(names, false) + ")"
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) > 0:
	case len(n.Failures) > 0:
		return "the operator fails"
	case len(n.Unknown) > 0:
		return "unknown"
	}
	return orDash(strings.Join(parts, ", "))
}

func impactCard(c impact.Card) string {
	if c.Netdev != "" {
		return c.Netdev
	}
	return c.Address
}

// impactGroup is a reason with all cards that it applies to.
type impactGroup struct {
	reason impact.Reason
	places []string
}

// impactReasons lists each reason once with its nodes and cards, the worst first.
func impactReasons(r impact.Report, wide bool) [][]output.Cell {
	var groups []*impactGroup
	byText := map[string]*impactGroup{}
	add := func(reasons []impact.Reason, place string) {
		for _, reason := range reasons {
			key := string(reason.Action) + string(reason.ID) + reason.Text + reason.Held + avoidKey(reason.Avoid)
			g := byText[key]
			if g == nil {
				g = &impactGroup{reason: reason}
				byText[key] = g
				groups = append(groups, g)
			}
			g.places = append(g.places, place)
		}
	}
	for _, n := range r.Nodes {
		add(n.Reasons, n.Name)
		for _, c := range n.Cards {
			add(c.Reasons, n.Name+" "+impactCard(c))
		}
	}
	rank := []impact.Action{impact.ActionReboot, impact.ActionDrain, impact.ActionDisrupt, impact.ActionNothing}
	slices.SortStableFunc(groups, func(a, b *impactGroup) int {
		return slices.Index(rank, a.reason.Action) - slices.Index(rank, b.reason.Action)
	})
	var lines [][]output.Cell
	for _, g := range groups {
		lines = append(lines, g.lines(wide)...)
	}
	return lines
}

func avoidKey(avoid []impact.Avoid) string {
	var b strings.Builder
	for _, a := range avoid {
		b.WriteString(a.Change + string(a.Leaves))
	}
	return b.String()
}

func (g *impactGroup) lines(wide bool) [][]output.Cell {
	r := g.reason
	action := impactCell(r.Action)
	switch {
	case r.Held != "":
		action = output.Dim("later: " + string(r.Action))
	case r.Open:
		action.Text = "possibly " + action.Text
	}
	lines := [][]output.Cell{{
		output.Plain("  "), action, output.Dim("  " + string(r.ID)), output.Plain("  "),
		output.Plain(cli.SomeNames(g.places, wide)).Flow(0),
	}}
	add := func(text string) {
		lines = append(lines, []output.Cell{output.Plain("       "), output.Plain(text).Flow(cli.TextWidth)})
	}
	add(r.Text)
	if r.Held != "" {
		add("not now: " + r.Held)
	}
	for _, a := range r.Avoid {
		also := ""
		if len(a.Also) > 0 {
			also = "; the policy also applies to " + cli.SomeNames(a.Also, wide)
		}
		lines = append(lines, []output.Cell{
			output.Dim("       avoid: "), output.Plain(a.Change).Flow(0),
			output.Dim(" (remaining action: " + string(a.Leaves) + also + ")").Flow(0),
		})
	}
	return lines
}

// impactCards lists each card with its present and future settings, and its policies.
func impactCards(r impact.Report) output.Table {
	t := output.Table{Title: "Cards", Columns: []output.Column{
		{Name: "node"},
		{Name: "card"},
		{Name: "address", Priority: 4},
		{Name: "action"},
		{Name: "vfs"},
		{Name: "total", Priority: 3},
		{Name: "mtu", Priority: 1},
		{Name: "link", Priority: 2},
		{Name: "policies", Wrap: true},
	}}
	for _, n := range r.Nodes {
		for _, c := range n.Cards {
			w := impact.Wanted{VFs: c.Now.VFs}
			if c.Wanted != nil {
				w = *c.Wanted
			} else if len(c.Reasons) > 0 {
				w.VFs = 0
			}
			t.Rows = append(t.Rows, []output.Cell{
				output.Plain(n.Name), output.Plain(impactCard(c)), output.Plain(c.Address), impactCell(c.Action),
				output.Plain(impactChange(fmt.Sprint(c.Now.VFs), fmt.Sprint(w.VFs))),
				output.Plain(impactFirmware(c.Now)),
				output.Plain(impactChange(figureOrNone(c.Now.MTU), figureOrNone(w.MTU))),
				output.Plain(impactChange(c.Now.LinkType, strings.ToUpper(w.LinkType))), output.Plain(impactApplied(c)),
			})
		}
	}
	return t
}

// figureOrNone returns a number, "" for 0.
func figureOrNone(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// impactChange returns "8 → 16", or only the first value if the second is equal or absent.
func impactChange(now, wanted string) string {
	if wanted == "" || now == wanted {
		return orDash(now)
	}
	return orDash(now) + " → " + wanted
}

func impactApplied(c impact.Card) string {
	parts := make([]string, 0, len(c.Policies))
	for _, p := range slices.Backward(c.Policies) {
		parts = append(parts, p.Policy+" "+p.Effect)
	}
	return orDash(strings.Join(parts, ", "))
}

func impactPools(r impact.Report, wide bool) output.Table {
	t := output.Table{Title: "Pools", Columns: []output.Column{
		{Name: "pool"},
		{Name: "nodes", Align: output.AlignRight},
		{Name: "at once", Align: output.AlignRight, Priority: 2},
		{Name: "rounds", Align: output.AlignRight},
		{Name: "at worst", Align: output.AlignRight, Priority: 1},
		{Name: "possible order", Wrap: true},
	}}
	for _, p := range r.Pools {
		atOnce := fmt.Sprint(p.AtOnce)
		if p.AtOnce < 0 {
			atOnce = "all"
		}
		batches := make([]string, 0, len(p.Batches))
		for _, b := range p.Batches {
			batches = append(batches, strings.Join(b, "+"))
		}
		order := cli.SomeNames(batches, wide)
		if p.Error != "" {
			order = p.Error
		}
		t.Rows = append(t.Rows, []output.Cell{
			output.Plain(orDash(p.Name)), output.Plain(fmt.Sprint(p.Nodes)), output.Plain(atOnce),
			output.Plain(fmt.Sprint(len(p.Batches))),
			output.Plain(fmt.Sprint(p.WorstRounds)), output.Plain(orDash(order)),
		})
	}
	return t
}

// impactTexts lists texts about nodes, each once with its nodes.
func impactTexts(r impact.Report, wide bool, of func(impact.Node) []string) [][]output.Cell {
	nodes := map[string][]string{}
	var order []string
	for _, n := range r.Nodes {
		for _, text := range of(n) {
			if nodes[text] == nil {
				order = append(order, text)
			}
			nodes[text] = append(nodes[text], n.Name)
		}
	}
	texts := make([]string, 0, len(order))
	for _, text := range order {
		texts = append(texts, cli.SomeNames(nodes[text], wide)+": "+text)
	}
	return impactLines(texts)
}

func impactPolicies(r impact.Report) [][]output.Cell {
	var texts []string
	for _, name := range r.Removed {
		texts = append(texts, "policy "+name+" is removed")
	}
	if len(r.NoNode) > 0 {
		texts = append(texts,
			"no node has the labels of policy "+strings.Join(r.NoNode, ", ")+": no effect until a node gets them")
	}
	noCard := slices.DeleteFunc(slices.Clone(r.Unused),
		func(name string) bool { return slices.Contains(r.NoNode, name) })
	if len(noCard) > 0 {
		texts = append(texts, "no known card matches policy "+strings.Join(noCard, ", "))
	}
	return impactLines(texts)
}

// impactLines wraps texts, and indents the continuation lines.
func impactLines(texts []string) [][]output.Cell {
	var lines [][]output.Cell
	for _, text := range texts {
		lines = append(lines, []output.Cell{output.Plain("  "), output.Plain(text).Flow(cli.TextWidth).Hang(2)})
	}
	return lines
}

// impactSum returns "8 nodes: 1 reboot, 2 drain, 5 not disrupted; at least 3 rounds".
func impactSum(r impact.Report) []output.Cell {
	c := r.Counts
	cells := []output.Cell{output.Bold(english.Count(len(r.Nodes), "node") + ": ")}
	var parts []output.Cell
	add := func(n int, style func(string) output.Cell, word string) {
		if n > 0 {
			parts = append(parts, style(fmt.Sprintf("%d %s", n, word)))
		}
	}
	add(c.Reboot, output.Bad, "reboot")
	add(c.Drain, output.Warn, "drain")
	add(c.Disrupt, output.Warn, "disrupt")
	add(c.Nothing, output.Good, "not disrupted")
	add(c.Failing, output.Bad, "fail")
	if c.Ignored > 0 {
		parts = append(parts, output.Bad(english.Count(c.Ignored, "policy")+" ignored"))
	}
	add(c.Open, output.Plain, "not fully known")
	for i, part := range parts {
		if i > 0 {
			cells = append(cells, output.Plain(", "))
		}
		cells = append(cells, part)
	}
	if r.Rounds > 0 {
		cells = append(cells, output.Plain("; at least "+english.Count(r.Rounds, "round")))
	}
	return cells
}

// impactFirmware returns the number of VFs that a PF supports: sriov_totalvfs, and the firmware's
// number if it is known and differs.
func impactFirmware(now impact.Now) string {
	if now.FirmwareVFs != nil && *now.FirmwareVFs != now.TotalVFs {
		return fmt.Sprintf("%d, firmware %d", now.TotalVFs, *now.FirmwareVFs)
	}
	return fmt.Sprint(now.TotalVFs)
}
