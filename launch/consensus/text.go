package consensus

import (
	"slices"
	"strconv"
	"strings"
)

// namesShown is the number of nodes in a sentence.
const namesShown = 6

// joinNames joins names for a sentence: "a", "a and b", "a, b and 12 more".
func joinNames(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n <= namesShown:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names[:namesShown-1], ", ") + " and " + strconv.Itoa(len(names)-namesShown+1) + " more"
}

// Ranges formats sorted numbers as ranges: "0-2,5".
func Ranges(numbers []int) string {
	list := slices.Compact(slices.Sorted(slices.Values(numbers)))
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		text := strconv.Itoa(list[i])
		if j > i {
			text += "-" + strconv.Itoa(list[j])
		}
		out = append(out, text)
		i = j + 1
	}
	return strings.Join(out, ",")
}
