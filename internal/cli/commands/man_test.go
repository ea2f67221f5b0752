package commands

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/cli/self"
)

// TestManPagesKeepTheHelp compares each page with the help of its command, word by word, because
// text that markdown interprets as emphasis or a link would be lost in the conversion to roff.
func TestManPagesKeepTheHelp(t *testing.T) {
	names := 0
	for _, cmd := range self.Reference(clitest.NewApp(All()).Root()) {
		before := helpTexts(cmd)
		page, err := self.ManPage(cmd)
		if err != nil {
			t.Fatalf("ManPage(%s) = %v", cmd.CommandPath(), err)
		}
		plain := roffText(string(page))
		for _, text := range before {
			names += len(regexp.MustCompile(`\w+_\w+`).FindAllString(text, -1))
			if want := strings.Join(strings.Fields(text), " "); !strings.Contains(plain, want) {
				t.Errorf("the page of %s is missing %q", cmd.CommandPath(), want)
			}
		}
		for _, title := range []string{"EXIT STATUS", "ENVIRONMENT", "FILES"} {
			if strings.Count(string(page), "\n.SH "+title+"\n") != 1 {
				t.Errorf("the page of %s has no section %s, or two", cmd.CommandPath(), title)
			}
		}
		if after := helpTexts(cmd); strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("ManPage(%s) changes the help", cmd.CommandPath())
		}
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, `\fB-`) && strings.ContainsAny(line, `="`) {
				t.Errorf("the page of %s has the option %q, want what stands for its value", cmd.CommandPath(), line)
			}
		}
	}
	if names < 20 {
		t.Errorf("%d words such as mlx5_0 in the help: it is no longer read", names)
	}
}

// helpTexts returns what the help of cmd says about it, its examples and its flags.
func helpTexts(cmd *cobra.Command) []string {
	cmd.InitDefaultHelpFlag()
	cmd.InheritedFlags()                                      // adds them to its own
	about, _, _ := strings.Cut(cmd.Long, "\n\nExit codes:\n") // which have a section
	texts := []string{cmd.Short, about, cmd.Example}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name, usage := pflag.UnquoteUsage(f)
		texts = append(texts, strings.TrimSpace("--"+f.Name+" "+name)+" "+usage)
	})
	return texts
}

// roffText returns the plain text of a page, on one line.
func roffText(page string) string {
	page = regexp.MustCompile(`(?m)^\.[A-Z]{2}\b.*$`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`\\f[BIPR]|\\&`).ReplaceAllString(page, "")
	page = regexp.MustCompile(`\\(.)`).ReplaceAllString(page, "$1")
	return strings.Join(strings.Fields(page), " ")
}
