// Package spelling finds the most likely intended name of a misspelt one.
package spelling

import "strings"

// Nearest returns the candidate that is closest to name, "" if none is close. A candidate is close
// if at most one in share of the letters (at least one, at most three) must be changed, inserted,
// removed, or swapped with the next. Case is ignored. If several candidates are equally close, it
// returns the first.
func Nearest(name string, candidates []string, share int) string {
	const far = 4
	best, distance := "", far
	for _, c := range candidates {
		limit := min(max(len(c)/share, 1), far-1)
		if d := Distance(strings.ToLower(name), strings.ToLower(c)); d <= limit && d < distance {
			best, distance = c, d
		}
	}
	return best
}

// Shares for [Nearest].
const (
	Loose  = 3 // for words that a user typed
	Strict = 4 // for values that may be correct
)

// Distance is the optimal string alignment distance, in bytes; 64 if the lengths differ by more
// than three or are too large.
func Distance(a, b string) int {
	if abs(len(a)-len(b)) > 3 || len(a) > 64 {
		return 64 // too far, and avoids work for hostile names
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
