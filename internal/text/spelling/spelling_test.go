package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	candidates := []string{"detect", "doctor", "env", "exec", "config"}
	tests := []struct{ name, want string }{
		{"detct", "detect"},
		{"dtecet", "detect"},
		{"docter", "doctor"},
		{"evn", "env"},
		{"ENV", "env"},
		{"x", ""},
		{"", ""},
		{"completely different", ""},
		{strings.Repeat("a", 1<<20), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.name, candidates, Loose); got != tt.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}
