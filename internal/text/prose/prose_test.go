package prose

import (
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"empty", "", ""},
		{"blank", "\n\t\t\n", ""},
		{"one line", "one line", "one line"},
		{"wrapped", "\n\t\ta port\n\t\thas a GID", "a port has a GID"},
		{"blanks at the end", "\n\ta port \n\thas a GID\n\t", "a port has a GID"},
		{"paragraphs", "\n\tone\n\ttwo\n\n\tthree\n\tfour\n", "one two\n\nthree four"},
		{"two blank lines", "\n\tone\n\n\n\ttwo", "one\n\n\ntwo"},
		{"blanks in a blank line", "\n\tone\n\t\n\ttwo", "one\n\ntwo"},
		{"indented more", "\n\tdo:\n\t  ip link\n\t  ip addr\n\tand\n\tthen", "do:\n  ip link\n  ip addr\nand then"},
		{"indented by a tab more", "\n\tdo:\n\t\tip link\n", "do:\n\tip link"},
		{"indented less", "\n\t\tone\n\ttwo\n\t\tthree", "one\n\ttwo\nthree"},
		{"two blanks inside a line", "\n\tone  two\n\tthree", "one  two three"},
		{"no ASCII", "\n\tein Gerät\n\tund mehr …", "ein Gerät und mehr …"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Join(tt.raw); got != tt.want {
				t.Errorf("Join(%q) = %q, want %q", tt.raw, got, tt.want)
			}
		})
	}
}

func TestWrapMarkdown(t *testing.T) {
	tests := []struct{ name, page, want string }{
		{"empty", "", ""},
		{"short lines stay", "one\ntwo\n", "one\ntwo\n"},
		{"no line feed at the end", "one two three four five six", "one two three four\nfive six"},
		{"long line", "one two three four five six\n", "one two three four\nfive six\n"},
		{
			"its paragraph alone", "a\nb\n\none two three four five six\nseven\n\nc\nd\n",
			"a\nb\n\none two three four\nfive six seven\n\nc\nd\n",
		},
		{"a long word", "one https://example.com/a/b/c two\n", "one\nhttps://example.com/a/b/c\ntwo\n"},
		{"columns, not bytes", "äöü éèê äöü éèê äöü\n", "äöü éèê äöü éèê äöü\n"},
		{"code span", "see `a b c` and `one two three four` here\n", "see `a b c` and\n`one two three four`\nhere\n"},
		{"code span with a tick", "see ``a ` b c`` and more here\n", "see ``a ` b c`` and\nmore here\n"},
		{"list", "- one two three four five\n- six\n", "- one two three four\n  five\n- six\n"},
		{"numbers", "10. one two three four five\n", "10. one two three\n    four five\n"},
		{
			"nested list", "- a\n  - one two three four five\n    six seven\n",
			"- a\n  - one two three\n    four five six\n    seven\n",
		},
		{"marker at a line's beginning", "one two three fourth - five\n", "one two three\nfourth - five\n"},
		{"number at a line's beginning", "one two three fourth 5. five\n", "one two three\nfourth 5. five\n"},
		{"table", "| one two three four five |\n|---|\n", "| one two three four five |\n|---|\n"},
		{"heading", "# one two three four five six\n", "# one two three four five six\n"},
		{"HTML", "<!-- one two three four five six -->\n", "<!-- one two three four five six -->\n"},
		{"quotation", "> one two three four five six\n", "> one two three four five six\n"},
		{"fence", "```sh\none two three four five six\n```\n", "```sh\none two three four five six\n```\n"},
		{"code", "    one two three four five six\n", "    one two three four five six\n"},
		{"line break", "one two three four five  \nsix\n", "one two three four\nfive  \nsix\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := WrapMarkdown(tt.page, 20)
			if got != tt.want {
				t.Errorf("WrapMarkdown(%q) = %q, want %q", tt.page, got, tt.want)
			}
			if again := WrapMarkdown(got, 20); again != got {
				t.Errorf("WrapMarkdown(%q) = %q, want it unchanged", got, again)
			}
			if a, b := strings.Fields(tt.page), strings.Fields(got); strings.Join(a, " ") != strings.Join(b, " ") {
				t.Errorf("WrapMarkdown(%q) has the words %q", tt.page, b)
			}
		})
	}
}
