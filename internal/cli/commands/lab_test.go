package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// labMain is rdmactl with commands that behave in ways no real command should: the scripts run it
// as "lab".
func labMain() int {
	app := cli.NewApp(append(All(), labCommands()...))
	app.Grace = time.Second
	return cli.Main(app)
}

func labCommands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
			return clitest.Command("wait", func(cmd *cobra.Command) error {
				app.Out.Note("waiting")
				<-cmd.Context().Done()
				return fmt.Errorf("read port: %w", cmd.Context().Err())
			})
		}},
		{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
			return clitest.Command("hang", func(*cobra.Command) error {
				app.Out.Note("hanging")
				select {}
			})
		}},
		{Group: cli.GroupNode, Build: func(*cli.App) *cobra.Command {
			return clitest.Command("panic", func(*cobra.Command) error { panic("no such bug") })
		}},
		{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
			return clitest.Command("hostile", func(*cobra.Command) error {
				name := "leaf\x1b[2J\u009b31m\n7"
				t := output.Table{Columns: []output.Column{{Name: "node"}, {Name: "state"}}}
				t.Rows = [][]output.Cell{
					{output.Plain(name), output.Good("up")},
					{output.Plain("節点"), output.Bad("down")},
				}
				app.Out.Note("note: %s", name)
				app.Log.Warn("found", "node", name)
				return errors.Join(app.Out.Print([]string{name}, t), fmt.Errorf("node %s is broken", name))
			})
		}},
		{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
			return clitest.Command("progress", func(*cobra.Command) error {
				defer app.Out.Progress("reading", 2).Done()
				return app.Out.Print("done", output.Paragraph("done"))
			})
		}},
		{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
			cmd := clitest.Command("formats",
				func(*cobra.Command) error { return app.Out.Raw([]byte(app.Out.Format() + "\n")) })
			cli.SetFormats(cmd, "sh", output.FormatJSON)
			cli.AddSettings(cmd, "mtu", "device")
			return cmd
		}},
		{Group: cli.GroupNode, Build: newFailCommand},
	}
}

func newFailCommand(*cli.App) *cobra.Command {
	failures := map[string]error{
		"silent":      cli.ExitSilently(cli.ExitNotFound),
		"pending":     cli.Exitf(cli.ExitPending, "3 changes are pending"),
		"permission":  fmt.Errorf("open uverbs0: %w", fs.ErrPermission),
		"unreachable": fmt.Errorf("dial 10.0.0.7: %w", syscall.ECONNREFUSED),
		"timeout":     fmt.Errorf("wait for peer: %w", context.DeadlineExceeded),
		"hints": cli.WithHints(cli.Exitf(cli.ExitPartial, "2 nodes were left out"), "look at node 7",
			"look at node 7", "then at node 9"),
		"plain": errors.New("link is down"),
		"pipe":  fmt.Errorf("write to peer: %w", syscall.EPIPE),
	}
	cmd := &cobra.Command{Use: "fail KIND"}
	cmd.RunE = func(_ *cobra.Command, args []string) error { return failures[args[0]] }
	return cmd
}
