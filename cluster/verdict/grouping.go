package verdict

import (
	"fmt"
	"math"
	"slices"
)

// grouping is a division of nodes into groups: within a group, half a round trip takes what the two
// hosts add to it, and between groups hop more.
type grouping struct {
	label  []int       // of a node: the number of its group, -1 for none
	offset [][]float64 // by rail and node: what a host adds
	hop    float64
	noise  float64
	least  float64 // hop that would be clear
	wrong  float64 // share of the pairs on the wrong side of the middle
	why    string  // why it isn't clear, "" if it is
}

// members returns the nodes of each group, by their index in the latencies.
func (g *grouping) members() [][]int {
	out := make([][]int, 0)
	for i, label := range g.label {
		for label >= len(out) {
			out = append(out, nil)
		}
		if label >= 0 {
			out[label] = append(out[label], i)
		}
	}
	return slices.DeleteFunc(out, func(m []int) bool { return len(m) == 0 })
}

// infer returns the groups of nodes. Hosts are taken as alike first; if that shows none, they may
// differ from the start. That needs three groups: of two, the hosts of one could be faster.
func (l *pairTimes) infer() grouping {
	alike := l.grouping(false)
	if alike.why == "" {
		return alike
	}
	if free := l.grouping(true); free.why == "" {
		return free
	}
	return alike
}

// grouping looks for groups and for what hosts add in turns, each with what the other one has
// found.
func (l *pairTimes) grouping(free bool) grouping {
	g := grouping{offset: make([][]float64, len(l.rails))}
	for r, x := range l.rails {
		g.offset[r] = slices.Repeat([]float64{mean(x) / 2}, len(l.nodes))
	}
	if free {
		g.label = make([]int, len(l.nodes)) // one group
		l.fit(&g)
	}
	rest := l.rest(&g)
	limit, scale := twoClasses(rest)
	const turns = 20
	for range turns {
		label := l.group(rest, limit, scale)
		same := slices.Equal(label, g.label)
		if g.label = label; same {
			break
		}
		l.fit(&g)
		rest = l.rest(&g)
		near, far := l.classes(rest, g.label)
		if len(near) == 0 || len(far) == 0 {
			break
		}
		limit, scale = (mean(near)+mean(far))/2, math.Abs(mean(far)-mean(near))/2
	}
	l.rate(&g, rest, free)
	return g
}

// rest returns what is left of latencies without what hosts add, the mean over the rails.
func (l *pairTimes) rest(g *grouping) []float64 {
	n := len(l.nodes)
	out := make([]float64, n*n)
	count := make([]float64, n*n)
	for r, x := range l.rails {
		a := g.offset[r]
		for i := range n {
			for j := range n {
				if y := x[l.at(i, j)]; !math.IsNaN(y) {
					out[l.at(i, j)] += y - a[i] - a[j]
					count[l.at(i, j)]++
				}
			}
		}
	}
	for k := range out {
		out[k] /= count[k] // NaN for none
	}
	return out
}

// fit finds what hosts add, and the hop, for given groups: least squares, one variable after the
// other.
func (l *pairTimes) fit(g *grouping) {
	const sweeps = 12
	far := func(i, j int) float64 {
		if g.label[i] == g.label[j] {
			return 0
		}
		return 1
	}
	for range sweeps {
		for r, x := range l.rails {
			a := g.offset[r]
			for i := range a {
				sum, n := 0.0, 0.0
				for j := range a {
					if y := x[l.at(i, j)]; i != j && !math.IsNaN(y) {
						sum += y - a[j] - g.hop*far(i, j)
						n++
					}
				}
				if n > 0 {
					a[i] = sum / n
				}
			}
		}
		near, between := l.classes(l.rest(g), g.label)
		if len(near) == 0 || len(between) == 0 {
			g.hop = 0
			continue
		}
		middle := mean(near)
		g.hop = mean(between) - middle
		for _, a := range g.offset {
			for i := range a {
				a[i] += middle / 2
			}
		}
	}
}

// classes returns the values of pairs within groups and of those between groups.
func (l *pairTimes) classes(rest []float64, label []int) (near, far []float64) {
	for i := range label {
		for j := range i {
			switch y := rest[l.at(i, j)]; {
			case math.IsNaN(y):
			case label[i] == label[j]:
				near = append(near, y)
			default:
				far = append(far, y)
			}
		}
	}
	return near, far
}

// twoClasses returns the value that separates two classes with the least variance within them, and
// half the distance of their means (N. Otsu, A Threshold Selection Method from Gray-Level
// Histograms, IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979).
func twoClasses(values []float64) (limit, half float64) {
	x := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(x)
	total := 0.0
	for _, y := range x {
		total += y
	}
	best, low := -1.0, 0.0
	for k := 1; k < len(x); k++ {
		low += x[k-1]
		a, b := low/float64(k), (total-low)/float64(len(x)-k)
		if between := float64(k) * float64(len(x)-k) * (b - a) * (b - a); between > best && x[k] > x[k-1] {
			best, limit, half = between, (x[k]+x[k-1])/2, (b-a)/2
		}
	}
	return limit, half
}

// group makes groups of nodes that are near to each other: of those that are near to the node with
// most neighbours, and so on; then each node moves to the group of which most are near to it.
func (l *pairTimes) group(rest []float64, limit, scale float64) []int {
	n := len(l.nodes)
	if !(scale > 0) { // all pairs are alike
		return make([]int, n)
	}
	vote := func(i, j int) float64 { // 1 for clearly near, -1 for clearly far
		y := (limit - rest[l.at(i, j)]) / scale
		if math.IsNaN(y) || i == j {
			return 0
		}
		return min(max(y, -1), 1)
	}
	label := slices.Repeat([]int{-1}, n)
	groups := 0
	for ; slices.Contains(label, -1); groups++ {
		first, most := -1, -1
		for i := range n {
			degree := 0
			for j := range n {
				if label[j] < 0 && vote(i, j) > 0 {
					degree++
				}
			}
			if label[i] < 0 && degree > most {
				first, most = i, degree
			}
		}
		for j := range n {
			if label[j] < 0 && vote(first, j) > 0 {
				label[j] = groups
			}
		}
		label[first] = groups
	}
	const rounds = 30
	for range rounds {
		moved := false
		for i := range n {
			score := make([]float64, groups+1) // the last one: a group of its own
			for j := range n {
				if j != i {
					score[label[j]] += vote(i, j)
				}
			}
			own := score[label[i]]
			best := label[i]
			for k, s := range score {
				if s > max(score[best], 1e-9) {
					best = k
				}
			}
			if own < -1e-9 && best == label[i] {
				best = groups
			}
			if best != label[i] {
				label[i], moved = best, true
				groups = max(groups, best+1)
			}
		}
		if !moved {
			break
		}
	}
	return renumber(label)
}

// renumber numbers groups in the order of their first nodes.
func renumber(label []int) []int {
	number := map[int]int{}
	for i, old := range label {
		k, ok := number[old]
		if !ok {
			k = len(number)
			number[old] = k
		}
		label[i] = k
	}
	return label
}

// rate finds out how clear groups are.
func (l *pairTimes) rate(g *grouping, rest []float64, free bool) {
	near, far := l.classes(rest, g.label)
	several := 0
	for _, m := range g.members() {
		if len(m) > 1 {
			several++
		}
	}
	if len(near) == 0 || len(far) == 0 || several < 2 {
		g.hop, g.noise = 0, leftover(nil, slices.Concat(near, far), len(l.nodes)+1)
		g.why = fmt.Sprintf("latencies show no groups of nodes: pairs differ by a noise of %.2g µs", g.noise)
		return
	}
	g.hop = mean(far) - mean(near)
	parameters := len(l.nodes) + 1
	g.noise = leftover(near, far, parameters)
	g.least = clearGap * g.noise * (1 + fewFreedom/float64(max(len(near)+len(far)-parameters, 1)))
	middle := (mean(far) + mean(near)) / 2
	pairs, wrong := make([]float64, len(l.nodes)), make([]float64, len(l.nodes))
	count := 0.0
	for i := range l.nodes {
		for j := range l.nodes {
			y := rest[l.at(i, j)]
			if i == j || math.IsNaN(y) {
				continue
			}
			pairs[i]++
			if (g.label[i] == g.label[j]) != (y < middle) {
				wrong[i]++
				count++
			}
		}
	}
	g.wrong = count / float64(2*(len(near)+len(far)))
	unknown := 0
	for i := range wrong {
		if wrong[i] > mostWrongOfNode*pairs[i] {
			unknown++
			g.label[i] = -1
		}
	}
	g.why = g.unclear(several, unknown, free)
}

// unclear returns why groups are not clear, "" if they are.
func (g *grouping) unclear(several, unknown int, free bool) string {
	switch {
	case g.hop < leastHop:
		return fmt.Sprintf("latencies show no groups of nodes: half a round trip differs by %.2g µs, as much as by "+
			"cables", max(g.hop, 0))
	case g.hop < g.least:
		return fmt.Sprintf("latencies show no clear groups of nodes: half a round trip differs by %.2g µs, and with a "+
			"noise of %.2g µs only %.2g µs would be clear", g.hop, g.noise, g.least)
	case g.wrong > mostWrong, float64(unknown) > mostWrongOfNode*float64(len(g.label)):
		return fmt.Sprintf("latencies show no clear groups of nodes: %.0f %% of the pairs contradict them", 100*g.wrong)
	case free && several <= 2:
		return "latencies show two groups of nodes, which can be faster and slower hosts as well"
	}
	return ""
}

// leftover returns the standard deviation of pairs around the mean of their class, if that many
// parameters were fitted to them.
func leftover(near, far []float64, parameters int) float64 {
	all := make([]float64, 0, len(near)+len(far))
	for _, class := range [][]float64{near, far} {
		middle := median(slices.Clone(class))
		for _, y := range class {
			all = append(all, math.Abs(y-middle))
		}
	}
	const normal = 1.4826 // the standard deviation of a normal distribution by its median deviation
	freedom := max(len(all)-parameters, 1)
	return normal * median(all) * math.Sqrt(float64(len(all))/float64(freedom))
}

// mean returns the mean of what is known.
func mean(x []float64) float64 {
	sum, n := 0.0, 0.0
	for _, y := range x {
		if !math.IsNaN(y) {
			sum += y
			n++
		}
	}
	return sum / max(n, 1)
}
