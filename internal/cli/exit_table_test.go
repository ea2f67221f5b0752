package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExitTable(t *testing.T) {
	parent, child := &cobra.Command{Use: "rdmactl"}, &cobra.Command{Use: "x"}
	parent.AddCommand(child)
	if codes, own := ExitCodesOf(child); own || codes != ExitCodes() {
		t.Errorf("ExitCodesOf(x) = %q, %t, want the common table, false", codes, own)
	}
	if _, own := ExitCodesOf(parent); !own {
		t.Error("ExitCodesOf(root) has no table")
	}
	SetExitCodes(child, CodeMeaning{ExitOK, "good"},
		CodeMeaning{ExitPending, strings.Repeat("word ", 19) + "end"})
	want := "    0   good\n    10  " + strings.TrimSpace(strings.Repeat("word ", 18)) + "\n        word end"
	if codes, own := ExitCodesOf(child); !own || codes != want {
		t.Errorf("ExitCodesOf(x) = %t\n%s\nwant\n%s", own, codes, want)
	}
}

func TestAboutOf(t *testing.T) {
	for _, tt := range []struct{ short, long, about, details string }{
		{"Do it", "", "Do it.", ""},
		{"Do it", "Do it well.", "Do it well.", ""},
		{"Do it", "Do it\nwell.\n\nMore.\n\nMost.", "Do it\nwell.", "More.\n\nMost."},
	} {
		about, details := aboutOf(&cobra.Command{Short: tt.short, Long: tt.long})
		if about != tt.about || details != tt.details {
			t.Errorf("aboutOf(%q) = %q, %q, want %q, %q", tt.long, about, details, tt.about, tt.details)
		}
	}
}
