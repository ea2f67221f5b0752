package forms

import (
	"strings"
	"testing"
)

// check compares the automaton with strings.Index.
func check(t *testing.T, patterns []string, text string) {
	t.Helper()
	a := newAutomaton(patterns)
	got := make([]int, len(patterns))
	for i := range got {
		got[i] = -1
	}
	a.scan(text, func(p uint16, end int) {
		if got[p] < 0 {
			got[p] = end - len(patterns[p])
		}
	})
	some := false
	for i, p := range patterns {
		want := strings.Index(text, p)
		some = some || want >= 0
		if got[i] != want {
			t.Errorf("%q in %q at %d, want %d", p, text, got[i], want)
		}
	}
	if a.contains([]byte(text)) != some {
		t.Errorf("contains(%q) = %v, want %v", text, !some, some)
	}
}

func TestAutomaton(t *testing.T) {
	patterns := []string{"he", "she", "his", "hers", "s", "she sells", "e"}
	for _, text := range []string{"", "ushers", "she sells his", "xyz", "hhe", "shshe"} {
		check(t, patterns, text)
	}
	check(t, []string{"ab", "ab"}, "cab") // the same anchor in two forms
	// More than the table has of a pattern: another end, none, and a pattern within another one.
	long := []string{
		"0123456789abcdefgh",
		"0123456789abcdefgx",
		"0123456789abcdef",
		"9abcdefghij",
		"789abcdefghijklmnop",
	}
	for _, text := range []string{
		"0123456789abcdefgh", "x0123456789abcdefgy", "0123456789abcdefg0123456789abcdefgx",
		"0123456789abcdefghijklmnop",
	} {
		check(t, long, text)
	}
	for _, text := range []string{
		"0123456789abcdefg", "0123456789abcdefgx", "0123456789abcdefz", "789abcdefghijklmno",
		"789abcdefghijklmnox",
	} {
		check(t, []string{long[0], long[1], long[4]}, text)
		check(t, []string{long[1]}, text)
		check(t, []string{long[4]}, text)
	}
}

func FuzzAutomaton(f *testing.F) {
	f.Add("he", "she", "hers", "ushers")
	f.Add("aa", "a", "aaa", "aaaa")
	f.Fuzz(func(t *testing.T, p, q, r, text string) {
		if p == "" || q == "" || r == "" || len(p)+len(q)+len(r) > 4096 {
			return
		}
		check(t, []string{p, q, r}, text)
	})
}
