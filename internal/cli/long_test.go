package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestLongOf(t *testing.T) {
	for _, tt := range []struct {
		short, long string
		want        Long
	}{
		{"Do it", "", Long{About: "Do it."}},
		{"Do it", "Do it well.", Long{About: "Do it well."}},
		{"Do it", "Do it\nwell.\n\nMore.\n\nMost.", Long{About: "Do it\nwell.", Details: "More.\n\nMost."}},
		{
			"Do it", "Do it.\n\nExit codes:\n\n    0   done\n    1   not",
			Long{About: "Do it.", ExitCodes: "    0   done\n    1   not"},
		},
		{"Do it", "Do it.\n\nMore.\n\nExit codes:\n\n    0   done", Long{"Do it.", "More.", "    0   done"}},
	} {
		if diff := cmp.Diff(tt.want, LongOf(&cobra.Command{Short: tt.short, Long: tt.long})); diff != "" {
			t.Errorf("LongOf(%q) (-want +got):\n%s", tt.long, diff)
		}
	}
}

func TestCodes(t *testing.T) {
	for _, tt := range []struct {
		table string
		want  []CodeMeaning
	}{
		{"", nil},
		{"        of nothing", nil},
		{"    0", []CodeMeaning{{"0", ""}}},
		{
			"    0   done\n    130 interrupted, by Ctrl-C\n        or SIGTERM\n\n    1   not",
			[]CodeMeaning{{"0", "done"}, {"130", "interrupted, by Ctrl-C or SIGTERM"}, {"1", "not"}},
		},
	} {
		if diff := cmp.Diff(tt.want, Long{ExitCodes: tt.table}.Codes()); diff != "" {
			t.Errorf("codes of %q (-want +got):\n%s", tt.table, diff)
		}
	}
}
