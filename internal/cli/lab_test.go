package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// labMain is rdmactl with commands that behave in ways no real command should: the scripts run it as "lab".
func labMain() int {
	app := NewApp(append(AllCommands(), labCommands()...))
	app.Grace = time.Second
	return Main(app)
}

func labCommands() []Entry {
	return []Entry{
		{Group: GroupNode, Build: func(app *App) *cobra.Command {
			return labCommand("wait", func(cmd *cobra.Command) error {
				app.Out.Note("waiting")
				<-cmd.Context().Done()
				return fmt.Errorf("read port: %w", cmd.Context().Err())
			})
		}},
		{Group: GroupNode, Build: func(app *App) *cobra.Command {
			return labCommand("hang", func(*cobra.Command) error {
				app.Out.Note("hanging")
				select {}
			})
		}},
		{Group: GroupNode, Build: func(*App) *cobra.Command {
			return labCommand("panic", func(*cobra.Command) error { panic("no such bug") })
		}},
		{Group: GroupNode, Build: func(app *App) *cobra.Command {
			return labCommand("hostile", func(*cobra.Command) error {
				name := "leaf\x1b[2J\u009b31m\n7"
				t := output.Table{Columns: []output.Column{{Name: "node"}, {Name: "state"}}}
				t.Rows = [][]output.Cell{{output.Plain(name), output.Good("up")}, {output.Plain("節点"), output.Bad("down")}}
				app.Out.Note("note: %s", name)
				app.Log.Warn("found", "node", name)
				return errors.Join(app.Out.Print([]string{name}, t), fmt.Errorf("node %s is broken", name))
			})
		}},
		{Group: GroupNode, Build: func(app *App) *cobra.Command {
			return labCommand("progress", func(*cobra.Command) error {
				defer app.Out.Progress("reading", 2).Done()
				return app.Out.Print("done", output.Paragraph("done"))
			})
		}},
		{Group: GroupNode, Build: func(app *App) *cobra.Command {
			cmd := labCommand("formats", func(*cobra.Command) error { return app.Out.Raw([]byte(app.Out.Format() + "\n")) })
			SetFormats(cmd, "sh", output.FormatJSON)
			AddSettings(cmd, "mtu", "device")
			return cmd
		}},
		{Group: GroupNode, Build: newFailCommand},
	}
}

func newFailCommand(*App) *cobra.Command {
	failures := map[string]error{
		"silent":      exitSilently(ExitNotFound),
		"pending":     exitf(ExitPending, "3 changes are pending"),
		"permission":  fmt.Errorf("open uverbs0: %w", fs.ErrPermission),
		"unreachable": fmt.Errorf("dial 10.0.0.7: %w", syscall.ECONNREFUSED),
		"timeout":     fmt.Errorf("wait for peer: %w", context.DeadlineExceeded),
		"hints":       withHints(exitf(ExitPartial, "2 nodes were left out"), "look at node 7", "look at node 7", "then at node 9"),
		"plain":       errors.New("link is down"),
		"pipe":        fmt.Errorf("write to peer: %w", syscall.EPIPE),
	}
	cmd := &cobra.Command{Use: "fail KIND"}
	cmd.RunE = func(_ *cobra.Command, args []string) error { return failures[args[0]] }
	return cmd
}

func labCommand(name string, run func(cmd *cobra.Command) error) *cobra.Command {
	return &cobra.Command{Use: name, RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) }}
}
