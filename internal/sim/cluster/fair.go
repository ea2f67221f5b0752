package cluster

import "container/heap"

// maxHops is the largest number of hops of a flow: PCIe, node, card and leaf at each end, an uplink
// each, and the spine.
const maxHops = 10

// route are the hops of a flow.
type route struct {
	hops [maxHops]int32
	n    uint8
}

func (r *route) add(hop int32) {
	if hop >= 0 {
		r.hops[r.n] = hop
		r.n++
	}
}

func (r *route) list() []int32 { return r.hops[:r.n] }

// fair shares the capacity of hops among flows by max-min fairness (Bertsekas and Gallager, Data
// Networks, section 6.5.2): the hop with the smallest share is full first and fixes the rates of
// its flows; what they leave elsewhere is shared among the others. It returns the rates, and for
// each flow the hop that limits it.
//
// Congestion control with ECN and PFC comes close to these shares for flows of a second (Zhu et
// al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, figure 9).
func fair(routes []route, capacity []float64) (rates []float64, limit []int32) {
	rates, limit = make([]float64, len(routes)), make([]int32, len(routes))
	left := make([]float64, len(capacity))
	copy(left, capacity)
	count := make([]int32, len(capacity))
	start := make([]int32, len(capacity)+1)
	for i := range routes {
		for _, h := range routes[i].list() {
			count[h]++
		}
	}
	for h, n := range count {
		start[h+1] = start[h] + n
	}
	flows := make([]int32, start[len(capacity)])
	next := make([]int32, len(capacity))
	copy(next, start)
	for i := range routes {
		limit[i] = -1
		for _, h := range routes[i].list() {
			flows[next[h]] = int32(i)
			next[h]++
		}
	}
	queue := make(portions, 0, len(capacity))
	for h, n := range count {
		if n > 0 {
			queue = append(queue, portion{left[h] / float64(n), int32(h)})
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		top := &queue[0]
		h := top.hop
		if count[h] == 0 {
			heap.Pop(&queue)
			continue
		}
		if now := max(0, left[h]) / float64(count[h]); now > top.gbps { // flows were fixed elsewhere
			top.gbps = now
			heap.Fix(&queue, 0)
			if queue[0].hop != h {
				continue
			}
		}
		gbps := queue[0].gbps
		for _, f := range flows[start[h]:start[h+1]] {
			if limit[f] >= 0 {
				continue
			}
			rates[f], limit[f] = gbps, h
			for _, other := range routes[f].list() {
				left[other] -= gbps
				count[other]--
			}
		}
	}
	return rates, limit
}

// portion is what a flow gets of a hop.
type portion struct {
	gbps float64
	hop  int32
}

// portions implement heap.Interface, the smallest on top.
type portions []portion

func (s portions) Len() int           { return len(s) }
func (s portions) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s portions) Less(i, j int) bool { return s[i].gbps < s[j].gbps }

// Push adds a portion at the end.
func (s *portions) Push(x any) {
	one, _ := x.(portion)
	*s = append(*s, one)
}

// Pop removes the last.
func (s *portions) Pop() any {
	last := len(*s) - 1
	one := (*s)[last]
	*s = (*s)[:last]
	return one
}
