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

func TestAddExitCodes(t *testing.T) {
	root := &cobra.Command{Long: "About."}
	for range 2 {
		AddExitCodes(root)
		if diff := cmp.Diff(Long{About: "About.", ExitCodes: ExitCodes()}, LongOf(root)); diff != "" {
			t.Errorf("LongOf(root) (-want +got):\n%s", diff)
		}
	}
}
