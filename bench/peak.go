package bench

// shortestInterval returns the smallest mean time per message, in the unit of its arguments, over
// all ranges of messages i to j: the time from the posting of i to the completion of j, divided by
// the number of messages. completed is 0 for a message without its own completion. The result is 0
// if there are no messages.
//
// perftest compares every i with every j. Here the posts are points (i, posted[i]) and the
// completions points (j+1, completed[j]): the smallest slope between them is a tangent to the upper
// hull of the posts before j, found by bisection.
func shortestInterval(posted, completed []int64) float64 {
	best := 0.0
	var hull []int
	above := func(a, b, c int) bool { // b lies above the line from a to c
		return (posted[b]-posted[a])*int64(c-a) > (posted[c]-posted[a])*int64(b-a)
	}
	for j := range posted {
		for len(hull) >= 2 && !above(hull[len(hull)-2], hull[len(hull)-1], j) {
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, j)
		if completed[j] == 0 {
			continue
		}
		slope := func(k int) float64 { return float64(completed[j]-posted[hull[k]]) / float64(j+1-hull[k]) }
		low, high := 0, len(hull)-1
		for low < high {
			if mid := (low + high) / 2; slope(mid) <= slope(mid+1) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		if s := slope(low); s > 0 && (best == 0 || s < best) {
			best = s
		}
	}
	return best
}
