package output

import (
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"mlx5_0", "mlx5_0"},
		{`back\slash`, `back\slash`},
		{"a\tb\nc\r", `a\tb\nc\r`},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"del\x7f", `del\x7f`},
		{"csi\u009b2J", `csi\u009b2J`},
		{"\x9b2J", `\x9b2J`}, // a raw C1 byte is not UTF-8
		{"cut \xe2\x82", `cut \xe2\x82`},
		{"evil\u202etxt.exe", `evil\u202etxt.exe`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"line\u2028sep", `line\u2028sep`},
		{"節点-7 ü é 👩‍🚀", "節点-7 ü é 👩‍🚀"},
		{"real \ufffd stays", "real \ufffd stays"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("node \x1b[2J")
	f.Add("\xff\u202e\U000e0001")
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q, not UTF-8", s, got)
		}
		for _, r := range got {
			if hostile(r) {
				t.Errorf("Clean(%q) = %q, holds %U", s, got, r)
			}
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean(%q) = %q, want it unchanged", got, again)
		}
	})
}
