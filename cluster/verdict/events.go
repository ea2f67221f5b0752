package verdict

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"
)

// events are samples in which something happened that one of their places is to blame for: a loss,
// a damaged packet, a failure. A place is to blame if it happened in most of its samples, with any
// partner. The strongest place is accused first and takes its samples with it, so that nobody is
// accused for having met it.
type events struct {
	list  []event
	n     []int32 // samples by place: card·2 + direction
	again []int32 // those of repeats, by place
	// cross and inside are samples between leaves and within one in which a card sends, or
	// receives.
	cross, inside [2][]int32
	// both: the two directions of a card are one place.
	both bool
	// floor is the least background probability of an event in a sample of healthy places.
	floor float64
}

type event struct {
	sample   int32
	from, to int32 // cards
	weight   float64
	retest   bool
}

// blame is a place that events accuse.
type blame struct {
	card      int32
	dir       int
	n, k      int     // samples, and those with the event
	weight    float64 // mean over the samples with the event
	p         float64
	refs      []int
	or        int32 // the other place if all events are with one partner that has met nobody else, or -1
	partners  int
	again     int // samples of repeats
	confirmed int // those with the event
}

func (e *events) place(c int32, d int) int32 {
	if e.both {
		d = 0
	}
	return c*2 + int32(d)
}

func newEvents(cards int, floor float64) *events {
	return &events{
		n: make([]int32, 2*cards), again: make([]int32, 2*cards),
		cross:  [2][]int32{make([]int32, cards), make([]int32, cards)},
		inside: [2][]int32{make([]int32, cards), make([]int32, cards)}, floor: floor,
	}
}

// countSample counts a sample, with or without an event.
func (v *view) countSample(e *events, from, to int32, retest bool) {
	a, b := e.place(from, tx), e.place(to, rx)
	e.n[a]++
	e.n[b]++
	if retest {
		e.again[a]++
		e.again[b]++
	}
	switch a, b := v.cards[from].end.Node, v.cards[to].end.Node; {
	case v.crosses(a, b):
		e.cross[tx][from]++
		e.cross[rx][to]++
	case v.within(a, b):
		e.inside[tx][from]++
		e.inside[rx][to]++
	}
}

// blamed returns the places to blame that repeats, if there are any, confirm.
func (v *view) blamed(e *events, share float64, what string) []blame {
	return slices.DeleteFunc(e.blames(share), func(b blame) bool {
		if v.o.loose || b.again == 0 || b.confirmed > 0 {
			return false
		}
		v.gap(v.run.Name(v.cards[b.card].end), "%s in the rounds of the plan, not when it was repeated", what)
		return true
	})
}

// blames returns the places to blame, the strongest first. If that are many, events are common, and
// places must stand out from the others.
func (e *events) blames(share float64) []blame {
	places := 0
	for _, n := range e.n {
		if n > 0 {
			places++
		}
	}
	out := e.eliminate(share, e.floor)
	if background := e.background(); 3*len(out) > places && background > e.floor {
		out = e.eliminate(share, background)
	}
	return out
}

// eliminate accuses one place after another.
func (e *events) eliminate(share, background float64) []blame {
	at := map[int32][]int32{} // events by place
	for i, x := range e.list {
		a, b := e.place(x.from, tx), e.place(x.to, rx)
		at[a] = append(at[a], int32(i))
		at[b] = append(at[b], int32(i))
	}
	k := make(map[int32]int, len(at))
	for p, list := range at {
		k[p] = len(list)
	}
	gone := make([]bool, len(e.list))
	queue := make(candidates, 0, len(k))
	for _, p := range slices.Sorted(maps.Keys(k)) {
		if score := e.score(p, k[p], share, background); score > 0 {
			queue = append(queue, candidate{p, score})
		}
	}
	heap.Init(&queue)
	var out []blame
	for len(queue) > 0 {
		best := queue[0].place
		if score := e.score(best, k[best], share, background); score < queue[0].score {
			// Others have taken events from it. Scores never grow, so the queue stays right.
			if queue[0].score = score; score > 0 {
				heap.Fix(&queue, 0)
			} else {
				heap.Pop(&queue)
			}
			continue
		}
		heap.Pop(&queue)
		b := blame{card: best / 2, dir: int(best % 2), n: int(e.n[best]), k: k[best], or: -1, again: int(e.again[best])}
		b.p = math.Max(binomialTail(b.n, b.k, background), 1e-300)
		e.fill(&b, best, at[best], gone)
		for _, i := range at[best] {
			if !gone[i] {
				gone[i] = true
				k[e.place(e.list[i].from, tx)]--
				k[e.place(e.list[i].to, rx)]--
			}
		}
		out = append(out, b)
	}
	return out
}

// background returns the probability of an event in a sample of healthy places: the lower quartile
// over the places, which a quarter of good ones suffices for.
func (e *events) background() float64 {
	k := map[int32]int{}
	for _, x := range e.list {
		k[e.place(x.from, tx)]++
		k[e.place(x.to, rx)]++
	}
	var shares []float64
	for p, n := range e.n {
		if n > 0 {
			shares = append(shares, float64(k[int32(p)])/float64(n))
		}
	}
	if len(shares) < 8 {
		return e.floor
	}
	return min(max(e.floor, quantile(shares, 0.25)), 0.99)
}

// score returns how clearly the events of a place exceed the background: the likelihood ratio, and
// the larger share at a tie; 0 if too few samples have one.
func (e *events) score(place int32, k int, share, background float64) float64 {
	n := int(e.n[place])
	if k == 0 || n == 0 || float64(k) < share*float64(n) {
		return 0
	}
	f := float64(k) / float64(n)
	if f < 1.5*background {
		return 0 // as usual
	}
	return float64(k)*math.Log(f/background) + f
}

// candidate is a place that may be to blame.
type candidate struct {
	place int32
	score float64
}

// candidates is a heap, the strongest first.
type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].score > c[j].score || c[i].score == c[j].score && c[i].place < c[j].place
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any) {
	if added, ok := x.(candidate); ok {
		*c = append(*c, added)
	}
}

func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func (e *events) fill(b *blame, place int32, list []int32, gone []bool) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y int32) int {
		return cmp.Compare(e.list[y].weight, e.list[x].weight)
	})
	partners := map[int32]int{}
	for _, i := range list {
		if gone[i] {
			continue
		}
		x := e.list[i]
		b.weight += x.weight
		b.refs = cite(b.refs, int(x.sample))
		if x.retest {
			b.confirmed++
		}
		other := e.place(x.to, rx)
		if other == place {
			other = e.place(x.from, tx)
		}
		partners[other]++
	}
	b.weight /= float64(max(b.k, 1))
	b.partners = len(partners)
	if len(partners) == 1 {
		for other, k := range partners {
			if int(e.n[other]) <= k && b.n <= k {
				b.or = other / 2
			}
		}
	}
}
