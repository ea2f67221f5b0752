// Package spelling finds the name that a misspelt one was most likely meant to be.
package spelling

import "strings"

// Nearest returns the candidate that is closest to name, "" if none is close: at most one in share
// of its letters (at least one, never more than three) has to be changed, inserted, dropped, or
// swapped with the next. Case doesn't count. Of equally close ones the first wins.
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
	Loose  = 3 // for words that were typed at a prompt
	Strict = 4 // for values that may well be right
)

// Distance is the optimal string alignment distance, in bytes; 64 if the lengths differ by more
// than three, or are hostile.
func Distance(a, b string) int {
	if abs(len(a)-len(b)) > 3 || len(a) > 64 {
		return 64 // too far for any use here, and no work for a hostile name
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
