package clib

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walk returns the options that getopt finds, the operands, and the messages.
func walk(args []string, ordered bool) (found, operands []string, messages string) {
	var errOut strings.Builder
	g := NewGetopt(args, []Option{Value("device", 'd'), Flag("debug", 'D'), Flag("list", 'l')})
	g.Name, g.ErrOut, g.Ordered = "prog", &errOut, ordered
	for {
		letter, arg, ok := g.Next()
		if !ok {
			return found, g.Operands, errOut.String()
		}
		found = append(found, string(letter)+arg)
	}
}

func TestGetopt(t *testing.T) {
	tests := []struct {
		args            string
		found, operands string
		messages        string
	}{
		{"", "", "", ""},
		{"-l -D", "l D", "", ""},
		{"-lDdx", "l D dx", "", ""},
		{"-ld x y", "l dx", "y", ""},
		{"a -l b", "l", "a b", ""},
		{"a -- -l b", "", "a -l b", ""},
		{"-d -- -l", "d-- l", "", ""},
		{"- -l", "l", "-", ""},
		{"--list --dev x --device=y --device=", "l dx dy d", "", ""},
		{"--de", "?", "", "prog: option '--de' is ambiguous; possibilities: '--device' '--debug'\n"},
		{"--de=1", "?", "", "prog: option '--de=1' is ambiguous; possibilities: '--device' '--debug'\n"},
		{"--l=1", "?", "", "prog: option '--list' doesn't allow an argument\n"},
		{"--dev", "?", "", "prog: option '--device' requires an argument\n"},
		{"-d", "?", "", "prog: option requires an argument -- 'd'\n"},
		{"-lx", "l ?", "", "prog: invalid option -- 'x'\n"},
		{"--nosuch=1", "?", "", "prog: unrecognized option '--nosuch=1'\n"},
	}
	for _, tt := range tests {
		found, operands, messages := walk(strings.Fields(tt.args), false)
		got := []string{strings.Join(found, " "), strings.Join(operands, " "), messages}
		if diff := cmp.Diff([]string{tt.found, tt.operands, tt.messages}, got); diff != "" {
			t.Errorf("getopt of %q, -want +got:\n%s", tt.args, diff)
		}
	}
	if found, operands, _ := walk([]string{"a", "-l"}, true); found != nil || len(operands) != 2 {
		t.Errorf("getopt of a -l with POSIXLY_CORRECT = %q, %q, want no option and two operands", found, operands)
	}
}

// TestShortOnly holds the parser without long options to getopt(3).
func TestShortOnly(t *testing.T) {
	g := NewGetopt([]string{"-a", "--x", "--a", "b", "--", "-a"}, []Option{Flag("", 'a'), Flag("x", 'x')})
	g.ShortOnly = true
	var found string
	for {
		letter, _, ok := g.Next()
		if !ok {
			break
		}
		found += string(rune(letter))
	}
	if want := "a?x?a"; found != want || len(g.Operands) != 2 {
		t.Errorf("options %q, operands %q, want %q, [b -a]", found, g.Operands, want)
	}
}

func FuzzGetopt(f *testing.F) {
	f.Add("-ld x --de=1 -- y")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		found, operands, _ := walk(args, false)
		if len(found) > len(line) || len(operands) > len(args) {
			t.Errorf("getopt of %q finds %d options and %d operands", line, len(found), len(operands))
		}
	})
}
