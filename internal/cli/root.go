package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs app with the arguments of this process, or the applet whose name it was started under,
// and returns the exit code. The first Ctrl-C (or SIGTERM) ends the context of the command, the
// second one ends the process.
func Main(app *App) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	args, byLink := linkArgs(os.Args)
	if byLink {
		app.ProgramName = os.Args[0]
	}
	return app.Run(ctx, args)
}

// Run runs the command that args name, without the program's own name, and returns the exit code.
// It prints the error if there is one.
func (app *App) Run(ctx context.Context, args []string) int {
	app.abandon = make(chan error, 1)
	if app.Grace == 0 {
		app.Grace = grace
	}
	root := app.Root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		plainUsages(root)
	}
	app.SetArgs(root, args)
	defer app.cleanUp()

	// The command runs in its own goroutine so that a read that never returns can't outlast
	// --timeout. An abandoned goroutine ends with the process.
	type outcome struct {
		path string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		path, err := execute(ctx, root)
		done <- outcome{path, err}
	}()
	// Nor can it outlast the grace period after a signal: opening a FIFO without a writer blocks
	// forever.
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if _, ok := errors.AsType[*SignalError](cause); !ok {
			return
		}
		if app.state.reading.Load() {
			app.leave(fmt.Errorf("%w while reading standard input", cause))
		} else {
			time.AfterFunc(app.Grace, func() { app.leave(cause) })
		}
	})
	defer stop()
	select {
	case o := <-done:
		return app.finish(o.path, o.err)
	case err := <-app.abandon:
		path := ""
		if cmd := app.state.command.Load(); cmd != nil {
			path = pathOf(cmd, root)
		}
		return app.report(path, err)
	}
}

// plainUsages removes the backquotes around the names of values, which a shell would show in its
// completions.
func plainUsages(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, child := range cmd.Commands() {
		plainUsages(child)
	}
}

// leave ends Run without waiting for the command.
func (app *App) leave(cause error) {
	select {
	case app.abandon <- cause:
	default: // an earlier cause is kept
	}
}

// execute runs the command and returns its name. A panic is reported as a bug, and not with the
// runtime's exit code, which would mean "wrong use".
func execute(ctx context.Context, root *cobra.Command) (path string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = WithHints(fmt.Errorf("internal error: %v\n%s", r, debug.Stack()),
				"this is a bug in rdmactl: please report it")
		}
	}()
	cmd, err := root.ExecuteContextC(ctx)
	return pathOf(cmd, root), explain(cmd.Context(), err)
}

// pathOf returns the name of a command without that of the program.
func pathOf(cmd, root *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), root.Name()), " ")
}

// explain prefixes an error with the cause that ended the context, because that cause made the
// command fail, and the error of a killed child or a closed socket doesn't mention it. An ExitError
// is left alone: the command chose it.
func explain(ctx context.Context, err error) error {
	if err == nil || ctx == nil || ctx.Err() == nil {
		return err
	}
	var exit *ExitError
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &exit), errors.Is(err, cause):
		return err
	case err.Error() == ctx.Err().Error():
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// finish reports the outcome of a command. A failed write to standard output is an error even if
// the command ignored it, except when the reader closed the pipe, as head does.
func (app *App) finish(path string, err error) int {
	if app.Out != nil {
		app.Out.Close()
	}
	failed := app.stdout.failed()
	switch {
	case errors.Is(failed, syscall.EPIPE):
		return exitBrokenPipe
	case failed != nil && !errors.Is(err, failed):
		if silent, ok := errors.AsType[*ExitError](err); ok && silent.Err == nil {
			err = nil // nothing to report
		}
		err = errors.Join(&ExitError{Code: ExitFault, Err: failed}, err)
	}
	return app.report(path, err)
}

// endings are what is to be done when Run returns, with its command or without.
type endings struct {
	mu   sync.Mutex
	list []func()
}

// atEnd has f called when Run returns, also where the command doesn't.
func (app *App) atEnd(f func()) {
	app.ends.mu.Lock()
	defer app.ends.mu.Unlock()
	app.ends.list = append(app.ends.list, f)
}

func (app *App) cleanUp() {
	app.ends.mu.Lock()
	defer app.ends.mu.Unlock()
	for _, f := range app.ends.list {
		f()
	}
}

// Root returns the tree of commands, ready to be run or documented.
func (app *App) Root() *cobra.Command {
	app.stdout, app.ends, app.state = &stickyWriter{w: app.Stdout}, &endings{}, &runState{}
	root := &cobra.Command{
		Use:   "rdmactl COMMAND",
		Short: "Find, check and configure RDMA on GPU nodes, InfiniBand fabrics and Kubernetes",
		Long: `rdmactl finds the RDMA devices of a node, checks them, explains each fault and how to fix it, and
prints the environment variables that jobs need. It also sweeps InfiniBand subnets, measures
bandwidth and latency between two hosts, and plans and checks SR-IOV networks on Kubernetes.

Data goes to standard output, notes and progress to standard error. Commands that print data also
print it as JSON (-o json) and YAML (-o yaml).` + exitHead + ExitCodes(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: app.Prepare,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(app.Stdin)
	root.SetOut(app.stdout)
	root.SetErr(app.Stderr)
	root.SetHelpFunc(app.help)
	root.SetUsageFunc(func(cmd *cobra.Command) error { app.help(cmd, nil); return nil })
	root.SetFlagErrorFunc(app.flagParseError)
	root.AddGroup(groups()...)
	app.addGlobalFlags(root)
	version := root.Flags().Bool("version", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return PrintVersion(app)
		}
		return app.shortHelp(cmd)
	}
	root.Args = checkSubcommand
	var order []string
	for _, e := range app.Commands {
		cmd := e.Build(app)
		cmd.GroupID = e.Group
		order = append(order, cmd.Name())
		root.AddCommand(cmd)
	}
	app.order = order
	help := newHelpCommand()
	help.GroupID = GroupSetup
	root.AddCommand(help)
	root.SetHelpCommand(help)
	root.Example = rootExample(root)
	finishCommand(root)
	app.root = root
	return root
}

// rootExample shows the first steps, as far as they exist.
func rootExample(root *cobra.Command) string {
	var b strings.Builder
	for _, s := range firstSteps() {
		if childOf(root, s.command) != nil {
			b.WriteString("  rdmactl " + s.command + "\n")
		}
	}
	return b.String() + "  rdmactl config show --origin"
}

// finishCommand sets up what cmd and its subcommands have in common: a check of the arguments, with
// exit code 2, and the help as the action of a command that only groups others.
func finishCommand(cmd *cobra.Command) {
	check := cmd.Args
	cmd.SuggestionsMinimumDistance = 2
	switch {
	case cmd.HasSubCommands() && !cmd.Runnable():
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Use += " COMMAND"
		check = checkSubcommand
	case check == nil:
		check = checkArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return UsageError(cmd, err)
		}
		return nil
	}
	for _, child := range cmd.Commands() {
		finishCommand(child)
	}
}

// flagParseError returns the error for a wrong flag. If the command is unknown too, the error names
// only the command, because the flag may be right for the intended one.
func (app *App) flagParseError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() {
		if args := cmd.Flags().Args(); len(args) > 0 {
			return UsageError(cmd, unknownCommand(cmd, args[0]))
		}
	}
	return flagError(cmd, err)
}
