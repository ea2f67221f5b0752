package verdict

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// maxRails is that of package plan: cards of other rails are not part of a plan.
const maxRails = 64

// card is a card with what the analysis needs of it.
type card struct {
	end    plan.End
	device string
	line   float64 // Gb/s, 0 if unknown
	mtu    float64 // bytes, 0 if unknown
	class  int32   // of cards that are compared with each other
	facts  map[string]string
	fail   *result.Failure
	// known is set once a verdict explains whatever its samples show, by direction: sends,
	// receives.
	known [2]bool
}

// The indices of directions.
const (
	tx = 0
	rx = 1
)

// view is a run with indices. Cards are numbered from 0 in the order of nodes and rails.
type view struct {
	run   *result.Run
	o     Options
	scale result.Scale
	cards []card
	first []int32 // cards of node i are first[i] to first[i+1]
	at    []int32 // card by node·maxRails + rail, -1 for none
	rails []int   // those of the cards, sorted
	leaf  []int32 // of a node, -1 if unknown
	// leaves are the names of leaves, and leafNodes their nodes.
	leaves    []string
	leafNodes [][]int32
	classes   []string
	out       []bool // nodes that a verdict takes out altogether: absent or lost
	verdicts  []Verdict
	gaps      []Gap
	gapSeen   map[Gap]bool
	faulty    []bool // cards with a fault that makes latencies long, other than a low rate
	tests     int    // how many tests were made
	rate      rates
	single    []pathLoss // of the pairs in which a card received
	// countsResends is set if drivers count at the sender what is sent again.
	countsResends bool
}

func newView(run *result.Run, o Options) *view {
	v := &view{run: run, o: o.forRun(run), scale: run.Scaled(), gapSeen: map[Gap]bool{}}
	if !(v.scale.Rate > 0) || math.IsInf(v.scale.Rate, 0) {
		v.scale.Rate = 1
	}
	if !(v.scale.Time > 0) || math.IsInf(v.scale.Time, 0) {
		v.scale.Time = 1
	}
	n := len(run.Cluster.Nodes)
	v.first, v.at = make([]int32, n+1), make([]int32, n*maxRails)
	v.leaf, v.out = make([]int32, n), make([]bool, n)
	for i := range v.at {
		v.at[i] = -1
	}
	var seen [maxRails]bool
	leaves := map[string]int32{}
	for i, node := range run.Cluster.Nodes {
		for j, c := range node.Rails {
			if c.Rail < 0 || c.Rail >= maxRails || v.at[i*maxRails+c.Rail] >= 0 {
				continue
			}
			seen[c.Rail] = true
			v.at[i*maxRails+c.Rail] = int32(len(v.cards))
			v.cards = append(v.cards, v.newCard(i, j, c))
		}
		v.first[i+1] = int32(len(v.cards))
		v.leaf[i] = v.leafOf(i, node.Leaf, leaves)
	}
	for r, ok := range seen {
		if ok {
			v.rails = append(v.rails, r)
		}
	}
	v.classify()
	return v
}

func (v *view) newCard(node, index int, c plan.Card) card {
	x := card{end: plan.End{Node: int32(node), Rail: int16(c.Rail)}, device: c.Device}
	if c.Gbps > 0 && !math.IsInf(c.Gbps, 0) {
		x.line = c.Gbps
	}
	if node < len(v.run.Nodes) && index < len(v.run.Nodes[node].Cards) {
		reported := v.run.Nodes[node].Cards[index]
		x.facts, x.fail = reported.Facts, reported.Failure
		if g, err := strconv.ParseFloat(x.facts[result.FactRate], 64); err == nil && g > 0 && !math.IsInf(g, 0) {
			x.line = g
		}
		if mtu := parse(x.facts[result.FactMTU]); mtu >= 256 && mtu <= 65536 {
			x.mtu = mtu
		}
	}
	x.line *= v.run.Options.Share()
	return x
}

func (v *view) leafOf(node int, name string, leaves map[string]int32) int32 {
	if name == "" {
		return -1
	}
	l, ok := leaves[name]
	if !ok {
		l = int32(len(v.leaves))
		leaves[name] = l
		v.leaves, v.leafNodes = append(v.leaves, name), append(v.leafNodes, nil)
	}
	v.leafNodes[l] = append(v.leafNodes[l], int32(node))
	return l
}

// classify groups cards that should be equally fast: of one board at one rate. A rate that only few
// cards of a board have is no class: their links have trained to less than they can.
func (v *view) classify() {
	type key struct {
		board string
		line  float64
	}
	count, boards := map[key]int{}, map[string]int{}
	usual := map[string]key{}
	for _, c := range v.cards {
		k := key{c.facts[result.FactBoard], c.line}
		count[k]++
		boards[k.board]++
	}
	for _, k := range slices.SortedFunc(maps.Keys(count), func(a, b key) int {
		return cmp.Or(strings.Compare(a.board, b.board), cmp.Compare(a.line, b.line))
	}) {
		if count[k] >= count[usual[k.board]] {
			usual[k.board] = k
		}
	}
	number := map[key]int32{}
	for i := range v.cards {
		c := &v.cards[i]
		k := key{c.facts[result.FactBoard], c.line}
		if k.board != "" && k.line < usual[k.board].line && count[k]*10 < boards[k.board] {
			k = usual[k.board]
			c.line = k.line
		}
		id, ok := number[k]
		if !ok {
			id = int32(len(v.classes))
			number[k] = id
			rate := "rate unknown"
			if k.line > 0 {
				rate = strconv.FormatFloat(k.line, 'g', 6, 64) + " Gb/s"
			}
			v.classes = append(v.classes, strings.TrimSpace(k.board+" "+rate))
		}
		c.class = id
	}
}

// find returns the number of a card, -1 for none.
func (v *view) find(e plan.End) int32 {
	if e.Node < 0 || int(e.Node) >= len(v.leaf) || e.Rail < 0 || e.Rail >= maxRails {
		return -1
	}
	return v.at[int(e.Node)*maxRails+int(e.Rail)]
}

// stage returns the name of a sample's stage, "" for none.
func (v *view) stage(s *result.Sample) plan.Name {
	if int(s.Stage) >= len(v.run.Stages) {
		return ""
	}
	return v.run.Stages[s.Stage].Name
}

// nodeCards returns the range of the numbers of a node's cards.
func (v *view) nodeCards(node int32) (from, to int32) { return v.first[node], v.first[node+1] }

func (v *view) nodeName(node int32) string {
	if node < 0 || int(node) >= len(v.run.Cluster.Nodes) || v.run.Cluster.Nodes[node].Name == "" {
		return "node " + strconv.Itoa(int(node))
	}
	return v.run.Cluster.Nodes[node].Name
}

// crosses reports whether the leaves of two nodes are known and differ.
func (v *view) crosses(a, b int32) bool {
	return v.leaf[a] >= 0 && v.leaf[b] >= 0 && v.leaf[a] != v.leaf[b]
}

// within reports whether two nodes have the same leaf. If no leaf is known, all nodes are one
// group; traffic with a node that alone has no leaf is neither within a leaf nor between two.
func (v *view) within(a, b int32) bool {
	return v.leaf[a] == v.leaf[b] && (v.leaf[a] >= 0 || len(v.leaves) == 0)
}

// payload returns the share of the line rate that is payload. Of RoCE v2 over IPv4, a packet of MTU
// bytes has 82 more: preamble, frame and gap 38 (IEEE 802.3), IP 20, UDP 8, BTH 12, ICRC 4 (IBTA
// annex A17). InfiniBand has 26: LRH 8, BTH 12, ICRC 4, VCRC 2. RETH is in the first packet of a
// message only.
func (c *card) payload() float64 {
	mtu := c.mtu
	if mtu == 0 {
		mtu = 1024
	}
	if c.facts[result.FactGIDType] == "IB" {
		return mtu / (mtu + 26)
	}
	return mtu / (mtu + 82)
}

// gbps returns the rate of a sample in Gb/s of the hardware, 0 if it can't have been measured.
func (v *view) gbps(s *result.Sample) float64 {
	g := float64(s.Gbps) * v.scale.Rate
	if !(g > 0) || math.IsInf(g, 0) {
		return 0
	}
	return g
}
