package hostlist

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// part is a piece of an element: a text, or the numbers of a bracket.
type part struct {
	text   string
	ranges []span // nil for a text
}

// span is a range of numbers with the least number of digits that they have.
type span struct{ low, high, width int }

// maxDigits is how many digits a number may have: what an int holds.
const maxDigits = 18

// split returns the parts of an element whose brackets are balanced, or a cause and the offset that
// it is about.
func split(element string) ([]part, int, error) {
	var parts []part
	for rest := element; rest != ""; {
		at := len(element) - len(rest)
		text, group, bracket := strings.Cut(rest, "[")
		if i, err := checkText(text); err != nil {
			return nil, at + i, err
		}
		if text != "" {
			parts = append(parts, part{text: text})
		}
		if !bracket {
			break
		}
		group, rest, _ = strings.Cut(group, "]")
		ranges, i, err := parseRanges(group)
		if err != nil {
			return nil, at + len(text) + 1 + i, err
		}
		parts = append(parts, part{ranges: ranges})
	}
	return parts, 0, nil
}

// parseRanges reads what is between brackets, or returns a cause and its offset.
func parseRanges(group string) ([]span, int, error) {
	var ranges []span
	at := 0
	for text := range strings.SplitSeq(group, ",") {
		r, err := parseRange(text)
		if err != nil {
			return nil, at, err
		}
		ranges = append(ranges, r)
		at += len(text) + 1
	}
	return ranges, 0, nil
}

// parseRange reads a number, or two with a hyphen between them.
func parseRange(text string) (span, error) {
	if text == "" {
		return span{}, errors.New("empty range between brackets or commas")
	}
	first, last, two := strings.Cut(text, "-")
	if !two {
		last = first
	}
	switch {
	case first == "":
		return span{}, fmt.Errorf("range %s has no first number", clip(text))
	case last == "":
		return span{}, fmt.Errorf("range %s has no last number", clip(text))
	}
	low, err := parseNumber(first)
	if err != nil {
		return span{}, err
	}
	high, err := parseNumber(last)
	switch {
	case err != nil:
		return span{}, err
	case low > high:
		return span{}, fmt.Errorf("range %s runs backwards", text)
	case len(first) != len(last) && last[0] == '0', len(first) > len(last):
		return span{}, fmt.Errorf(
			"range %s has numbers of %d and %d digits; with leading zeros, both must have the same",
			text, len(first), len(last))
	}
	return span{low, high, len(first)}, nil
}

// parseNumber reads decimal digits.
func parseNumber(s string) (int, error) {
	if !digits(s) {
		meant := strings.NewReplacer("o", "0", "O", "0", "l", "1", "I", "1").Replace(s)
		i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if digits(meant) {
			return 0, fmt.Errorf("%q is not a number (letter %c for digit %c?)", s, s[i], meant[i])
		}
		return 0, fmt.Errorf("%q is not a number", s[:min(len(s), 60)])
	}
	if len(s) > maxDigits {
		return 0, fmt.Errorf("number %s has more than %d digits", clip(s), maxDigits)
	}
	return strconv.Atoi(s)
}

// digits reports whether a text consists of decimal digits, at least one.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// count returns how many names an element has, at most MaxHosts+1.
func count(parts []part) int {
	names := 1
	for _, p := range parts {
		if p.ranges == nil {
			continue
		}
		numbers := 0
		for _, r := range p.ranges {
			numbers = min(numbers+min(r.high-r.low, MaxHosts)+1, MaxHosts+1)
		}
		names = min(names*numbers, MaxHosts+1)
	}
	return names
}

// expand yields the names of an element.
func expand(parts []part) iter.Seq[string] {
	return func(yield func(string) bool) { extend("", parts, yield) }
}

// extend yields prefix with all continuations by parts, and reports whether to go on.
func extend(prefix string, parts []part, yield func(string) bool) bool {
	if len(parts) == 0 {
		return yield(prefix)
	}
	p, rest := parts[0], parts[1:]
	if p.ranges == nil {
		return extend(prefix+p.text, rest, yield)
	}
	for _, r := range p.ranges {
		for n := r.low; n <= r.high; n++ {
			if !extend(prefix+format(n, r.width), rest, yield) {
				return false
			}
		}
	}
	return true
}

// format returns a number with at least width digits.
func format(n, width int) string { return fmt.Sprintf("%0*d", width, n) }
