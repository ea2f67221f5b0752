package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
)

// everyCommand visits the commands below parent with their names: "config", "config show".
func everyCommand(parent *cobra.Command, visit func(name string, cmd *cobra.Command)) {
	for _, cmd := range parent.Commands() {
		visit(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), cmd)
		everyCommand(cmd, visit)
	}
}

func TestCommandsAreDocumented(t *testing.T) {
	root := clitest.NewApp(All()).Root()
	everyCommand(root, func(name string, cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, want a summary without full stop", name, cmd.Short)
		}
		if cmd.Example == "" {
			t.Errorf("%s: no Example", name)
		}
		if !cmd.Hidden && cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s: no group in the table of commands", name)
		}
		if cmd.PersistentPreRunE != nil || cmd.PersistentPreRun != nil {
			t.Errorf("%s: a persistent hook of its own would replace the one that prepares the run", name)
		}
		if cmd.Run != nil {
			t.Errorf("%s: Run can't fail, use RunE", name)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage is %q, want text without full stop", name, f.Name, f.Usage)
			}
			if f.Name != strings.ToLower(f.Name) || strings.Contains(f.Name, "_") {
				t.Errorf("%s --%s: want lower case and hyphens", name, f.Name)
			}
		})
	})
}

// exitCodeLine is a line of the table of exit codes: a code or nothing, and text from the ninth
// column on.
var exitCodeLine = regexp.MustCompile(`^    (\d   |\d\d  |\d\d\d |    )[^ ]`)

// TestExitCodesAreTables checks the tables in the help of all commands, which terminals and manual
// pages lay out anew.
func TestExitCodesAreTables(t *testing.T) {
	tables := 0
	everyCommand(clitest.NewApp(All()).Root(), func(name string, cmd *cobra.Command) {
		codes := cli.LongOf(cmd).ExitCodes
		if codes == "" {
			if strings.Contains(cmd.Long, "Exit codes:") || strings.Contains(cmd.Long, "The exit code is 0") {
				t.Errorf("%s: the exit codes in its help are not its last part, below %q", name, "Exit codes:")
			}
			return
		}
		tables++
		for line := range strings.SplitSeq(codes, "\n") {
			if !exitCodeLine.MatchString(line) {
				t.Errorf("%s: line %q in the table of exit codes", name, line)
			}
		}
	})
	if tables < 15 {
		t.Errorf("%d commands have a table of exit codes, want more", tables)
	}
}

// TestCommandsHaveScripts requires a script for each command, which runs each of its subcommands.
func TestCommandsHaveScripts(t *testing.T) {
	everyCommand(clitest.NewApp(All()).Root(), func(name string, cmd *cobra.Command) {
		top, _, _ := strings.Cut(name, " ")
		file := filepath.Join("testdata", "script", top+".txtar")
		script, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: no script: %v", name, err)
			return
		}
		run := regexp.MustCompile(
			`(?m)^(! )?(exec|exits \d+|ttyin.*\n\s*exec) rdmactl (.* )?` + regexp.QuoteMeta(name) + `\b`)
		if cmd.Runnable() && !run.Match(script) {
			t.Errorf("%s: %s doesn't run it", name, file)
		}
	})
}

var exampleEnd = regexp.MustCompile(`[|>;)]|&&| #`)

// exampleArgs returns the arguments of rdmactl in a line of an example, up to a pipe or another
// shell operator.
func exampleArgs(line string) (args []string, ok bool) {
	_, rest, ok := strings.Cut(line, "rdmactl ")
	if !ok {
		return nil, strings.TrimSpace(line) == "rdmactl"
	}
	if end := exampleEnd.FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	for word := range strings.FieldsSeq(rest) {
		args = append(args, strings.Trim(word, `"'`))
	}
	return args, true
}

// TestExamplesParse checks that examples use existing commands, flags, arguments and values.
func TestExamplesParse(t *testing.T) {
	root := clitest.NewApp(All()).Root()
	examples := map[string]string{"rdmactl": root.Example}
	everyCommand(root, func(name string, cmd *cobra.Command) { examples[name] = cmd.Example })
	for name, example := range examples {
		runs := 0
		for line := range strings.Lines(example) {
			args, ok := exampleArgs(line)
			if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			runs++
			if err := parses(args); err != nil {
				t.Errorf("%s: example %q: %v", name, strings.TrimSpace(line), err)
			}
		}
		if runs == 0 {
			t.Errorf("%s: no line of the example runs rdmactl", name)
		}
	}
}

// parses runs the command of args up to its RunE.
func parses(args []string) error {
	app := clitest.NewApp(All())
	root := app.Root()
	stub := func(cmd *cobra.Command, _ []string) error { return nil }
	everyCommand(root, func(_ string, cmd *cobra.Command) { cmd.RunE = stub })
	app.SetArgs(root, args)
	return root.ExecuteContext(context.Background())
}

func TestExampleArgs(t *testing.T) {
	tests := []struct {
		line string
		want string
		ok   bool
	}{
		{"  rdmactl", "", true},
		{"  rdmactl detect -o json | jq .", "detect -o json", true},
		{`  eval "$(rdmactl env --for nccl)"`, "env --for nccl", true},
		{"  source <(rdmactl completion bash)", "completion bash", true},
		{`  rdmactl show "mlx5_0" # a card`, "show mlx5_0", true},
		{"  jq .", "", false},
	}
	for _, tt := range tests {
		got, ok := exampleArgs(tt.line)
		if strings.Join(got, " ") != tt.want || ok != tt.ok {
			t.Errorf("exampleArgs(%q) = %q, %t, want %q, %t", tt.line, got, ok, tt.want, tt.ok)
		}
	}
	if parses([]string{"config", "show", "--orign"}) == nil || parses([]string{"version", "-o", "jsn"}) == nil ||
		parses([]string{"vrsion"}) == nil {
		t.Error("parses accepts examples that can't run")
	}
}

// TestRunsSideBySide checks that runs share no state: two Apps at a time, each with its own flags
// and streams.
func TestRunsSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i, format := range []string{"json", "yaml", "table", "wide", "json", "yaml"} {
		wg.Go(func() {
			var out, errOut bytes.Buffer
			app := clitest.NewApp(All())
			app.Stdout, app.Stderr = &out, &errOut
			app.Environ = []string{"RDMAKIT_MTU=256", "RDMAKIT_MTU=1024"}
			if code := app.Run(context.Background(), []string{"config", "show", "-o", format}); code != 0 {
				t.Errorf("run %d: config show -o %s = %d: %s", i, format, code, errOut.String())
			}
			if !strings.Contains(out.String(), "1024") {
				t.Errorf("run %d: config show -o %s printed %q, want mtu 1024", i, format, out.String())
			}
		})
	}
	wg.Wait()
}

// TestAppletsNameCommands holds the commands that "applet list" names beside the C tools to those
// that exist.
func TestAppletsNameCommands(t *testing.T) {
	r := runPlain(t, "applet", "list", "-o", "json")
	var report struct {
		Applets []struct{ Name, Command string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || len(report.Applets) == 0 {
		t.Fatalf("applet list -o json: %v, %d applets", err, len(report.Applets))
	}
	root := clitest.NewApp(All()).Root()
	for _, a := range report.Applets {
		words := strings.Fields(a.Command)
		cmd, rest, err := root.Find(words)
		switch {
		case err != nil || len(words) == 0 || !cmd.Runnable() || cmd.GroupID == cli.GroupApplet:
			t.Errorf("applet list names %q for %s, which is no command of ours: %v", a.Command, a.Name, err)
		case len(rest) > 0 && cmd.ParseFlags(rest) != nil:
			t.Errorf("applet list names %q for %s, which has not these flags", a.Command, a.Name)
		}
	}
}
