package hostlist

import (
	"strconv"
	"strings"
)

// Compress returns the folded form of names, in their order: gpu[001-003,005],login1. [Parse] reads
// it. Neighbours that differ in their last number are folded as scontrol show hostlist does, then
// those that differ in one other number: rack[1-2]n[01-16], gpu[1-2]-ib0.
func Compress(names []string) string {
	var b strings.Builder
	for i, x := range foldOthers(foldLast(names)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(x.head + x.tail)
	}
	return b.String()
}

// item is a folded element: in head, the numbers can still be folded; tail is a bracket with what
// follows it, or empty.
type item struct{ head, tail string }

// foldLast folds numbers at the ends of names.
func foldLast(names []string) []item {
	var items []item
	for i := 0; i < len(names); {
		head := strings.TrimRight(names[i], "0123456789")
		var numbers []string
		j := i
		for ; j < len(names) && foldable(names[j], head, ""); j++ {
			numbers = append(numbers, names[j][len(head):])
		}
		if len(numbers) < 2 {
			items = append(items, item{head: names[i]})
			i++
			continue
		}
		items = append(items, item{head, bracket(numbers)})
		i = j
	}
	return items
}

// foldOthers folds one number of the heads of items with equal tails.
func foldOthers(items []item) []item {
	var out []item
	for i := 0; i < len(items); {
		folded, n := foldRun(items[i:])
		out = append(out, folded)
		i += n
	}
	return out
}

// foldRun folds the first items that differ in only one number of their heads, and returns how many
// they are.
func foldRun(items []item) (item, int) {
	first := items[0]
	for start, end := range numbersOf(first.head) {
		head, tail := first.head[:start], first.head[end:]
		var numbers []string
		for _, x := range items {
			if x.tail != first.tail || !foldable(x.head, head, tail) {
				break
			}
			numbers = append(numbers, x.head[start:len(x.head)-len(tail)])
		}
		if len(numbers) > 1 {
			return item{head, bracket(numbers) + tail + first.tail}, len(numbers)
		}
	}
	return first, 1
}

// numbersOf yields start and end of each run of digits.
func numbersOf(s string) func(yield func(int, int) bool) {
	return func(yield func(int, int) bool) {
		for i := 0; i < len(s); i++ {
			if s[i] < '0' || s[i] > '9' {
				continue
			}
			start := i
			for i < len(s) && s[i] >= '0' && s[i] <= '9' {
				i++
			}
			if !yield(start, i) {
				return
			}
		}
	}
}

// foldable reports whether a name is head, a number that brackets may have, and tail.
func foldable(name, head, tail string) bool {
	rest, ok := strings.CutPrefix(name, head)
	if !ok {
		return false
	}
	number, ok := strings.CutSuffix(rest, tail)
	return ok && digits(number) && len(number) <= maxDigits
}

// bracket returns numbers between brackets, with ranges of those that count up with equal padding.
func bracket(numbers []string) string {
	var b strings.Builder
	separator := "["
	for i := 0; i < len(numbers); {
		j := i + 1
		for j < len(numbers) && numbers[j] == successor(numbers[j-1]) {
			j++
		}
		b.WriteString(separator + numbers[i])
		if j-i > 1 {
			b.WriteString("-" + numbers[j-1])
		}
		i, separator = j, ","
	}
	return b.String() + "]"
}

// successor returns the number after s, with at least as many digits.
func successor(s string) string {
	n, _ := strconv.Atoi(s) // digits, and few enough: foldable
	return format(n+1, len(s))
}
