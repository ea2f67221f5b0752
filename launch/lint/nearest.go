package lint

import "strings"

// nearest returns the candidate that a name was most likely meant to be, "" where none
// is near: at most a quarter of the letters (and never more than three) are changed,
// lost, added, or swapped with the next. Case doesn't count.
func nearest(name string, candidates []string) string {
	best, distance := "", 4
	for _, c := range candidates {
		limit := min(max(len(c)/4, 1), 3)
		if d := distanceOf(strings.ToLower(name), strings.ToLower(c), limit); d <= limit && d < distance {
			best, distance = c, d
		}
	}
	return best
}

// distanceOf counts the edits between two names, limit+1 for more than limit.
func distanceOf(a, b string, limit int) int {
	if max(len(a), len(b)) > 64 || max(len(a)-len(b), len(b)-len(a)) > limit {
		return limit + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
