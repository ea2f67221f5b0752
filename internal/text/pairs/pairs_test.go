package pairs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/text/pairs"
)

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want []pairs.Pair
		err  string
	}{
		{"# nothing\n\n", []pairs.Pair{}, ""},
		{"a=1\n\n b = 2=3 # remark\na=\n", []pairs.Pair{{"a", "1", 1}, {"b", "2=3", 3}, {"a", "", 4}}, ""},
		{"a: 1\nb: never\n", []pairs.Pair{{"a", "1", 1}, {"b", "never", 2}}, ""},
		{"{a: 1}", []pairs.Pair{{"a", "1", 1}}, ""},
		{"a\nb=1", nil, "line 1: not of the form Name=VALUE like the other lines"},
		{"- a", nil, "neither lines of Name=VALUE nor a YAML mapping of names to values"},
		{"a: [1]", nil, "line 1: not a name with a value"},
	}
	for _, tt := range tests {
		got, err := pairs.Parse([]byte(tt.text))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || text != tt.err {
			t.Errorf("Parse(%q): error %q, want %q; pairs (-want +got):\n%s", tt.text, text, tt.err, diff)
		}
	}
}
