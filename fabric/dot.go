package fabric

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// WriteDot writes the graph in Graphviz's language: switches of one tier in one row, hosts at the
// bottom, faulty cables (see [Topology.IsFaulty]) in red.
func (t *Topology) WriteDot(w io.Writer) error {
	tiers := t.Tiers()
	var b strings.Builder
	b.WriteString("graph fabric {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	b.WriteString("  edge [fontname=\"sans-serif\", fontsize=8];\n")
	t.dotNodes(&b, tiers)
	t.dotLinks(&b, tiers)
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Topology) dotNodes(b *strings.Builder, tiers map[ib.GUID]int) {
	byTier := map[int][]*Node{}
	for _, n := range t.NodesByName() {
		byTier[tiers[n.GUID()]] = append(byTier[tiers[n.GUID()]], n)
	}
	for _, tier := range slices.Backward(slices.Sorted(maps.Keys(byTier))) {
		fmt.Fprintf(b, "  { rank=same; // tier %d\n", tier)
		for _, n := range byTier[tier] {
			shape := ""
			if !n.IsSwitch() {
				shape = ", shape=ellipse"
			}
			label := dotText(cmp.Or(t.HostName(n), n.Name()))
			if lids := n.LIDs(); lids != "" {
				label += `\nLID ` + lids
			}
			fmt.Fprintf(b, "    \"%s\" [label=\"%s\"%s];\n", dotGUID(n.GUID()), label, shape)
		}
		b.WriteString("  }\n")
	}
}

func (t *Topology) dotLinks(b *strings.Builder, tiers map[ib.GUID]int) {
	links := t.Links()
	for i, l := range links {
		links[i] = t.Ordered(l)
	}
	slices.SortStableFunc(links, func(x, y Link) int {
		return cmp.Or(tiers[y.A.Node]-tiers[x.A.Node], t.ComparePorts(x.A, y.A))
	})
	for _, l := range links {
		above, below := l.A, l.B
		if tiers[below.Node] > tiers[above.Node] { // Graphviz puts the first end higher
			above, below = below, above
		}
		color := ""
		if t.IsFaulty(l) {
			color = ", color=red"
		}
		fmt.Fprintf(b, "  \"%s\" -- \"%s\" [taillabel=\"%d\", headlabel=\"%d\", label=\"%s\"%s];\n",
			dotGUID(above.Node), dotGUID(below.Node), above.Port, below.Port, dotText(t.linkLabel(l)), color)
	}
}

// linkLabel returns the active width and speed of a link, from the first of its ends that is known:
// "4X HDR".
func (t *Topology) linkLabel(l Link) string {
	p := t.Port(l.A)
	if !p.Known {
		p = t.Port(l.B)
	}
	if !p.IsLinkUp() {
		return ""
	}
	return strings.TrimSpace(p.Width().String() + " " + p.Speed().String())
}

func dotGUID(g ib.GUID) string { return fmt.Sprintf("0x%x", g[:]) }

// dotText escapes the special characters of a Graphviz string. Descriptions hold printable ASCII
// only.
func dotText(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }
