package node

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/internal/edge/process"
	"github.com/rdmakit/rdmakit/launch"
)

// execSchema is the version of execReport.
const execSchema = "rdmakit.exec/v1"

// execFlags are the flags of exec.
type execFlags struct {
	planFlags
	allowNone, allowPartial, dryRun bool
}

// execReport is the output of exec --dry-run.
type execReport struct {
	Schema string `json:"schema"`
	// File is the program that would be started: the first one found in the directories of PATH.
	File      string   `json:"file"`
	Arguments []string `json:"arguments"` // the first is the name as given
	// Set are the variables that are set for the program, Unset those that are removed.
	Set    map[string]string `json:"set"`
	Unset  []string          `json:"unset"`
	Launch launch.Plan       `json:"launch"` // why
}

func newExecCommand(app *cli.App) *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "exec [flags] [--] CMD [ARG...]",
		Short: "Run a program with the variables that env derives",
		Long: `Set the variables that env derives, and replace the process of rdmactl with CMD (execve). CMD keeps
the PID (1 in a container), parent, process group, terminal, standard streams and limits; it
receives the signals, and its exit code is the exit code. CMD is looked up in PATH. The first
argument that is not a flag is CMD; all arguments after it belong to CMD. In scripts put -- before
CMD, in case CMD begins with a hyphen.

Variables that are already set keep their values, as with env; --override replaces them. This
applies with --root and --from too, because CMD runs on this machine.

CMD is not started if RDMA can't be used or if files that the result depends on could not be read,
because a job that silently runs over TCP or with fewer rails slows down all nodes. --tcp-fallback
starts CMD with RDMA turned off, --allow-none without RDMA settings, --allow-partial with
the variables derived from the files that could be read. --timeout limits the time until CMD starts.

Exit codes if CMD was not started:

    3      RDMA can't be used
    7      files that the result depends on could not be read
    126    CMD can't be started
    127    CMD isn't found
    2 4 6  as for env`,
		Example: `  rdmactl exec -- vllm serve /models/llama --tensor-parallel-size 8
  rdmactl exec -q --for nccl --tcp-fallback -- torchrun train.py
  rdmactl exec --dry-run -- python3 -m sglang.launch_server`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExec(app, cmd, flags, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // flags after CMD belong to CMD
	f.BoolVar(&flags.allowNone, "allow-none", false, "start CMD even if no port can be used")
	f.BoolVar(&flags.allowPartial, "allow-partial", false,
		"start CMD even if files that the result depends on could not be read")
	f.BoolVar(&flags.dryRun, "dry-run", false,
		"print the variables and the command as a shell script without starting CMD")
	flags.addTo(cmd)
	return cmd
}

func runExec(app *cli.App, cmd *cobra.Command, flags execFlags, args []string) error {
	structured := app.Out.Structured() && app.Config.Origin("output") == config.OriginFlag
	if structured && !flags.dryRun {
		return cli.UsageError(cmd, errors.New("-o json and -o yaml need --dry-run, because CMD uses standard output"))
	}
	if args[0] == "" {
		return cli.UsageError(cmd, errors.New("CMD is empty"))
	}
	gate := process.NewGate()
	defer gate.Close() // for the returns without a start
	plan, _, err := planEnv(app, cmd, flags.planFlags, app.Environment())
	if err != nil {
		return err
	}
	noteEnv(app, plan, launch.FormatShell)
	if err := execRefusal(plan, flags); err != nil {
		return err
	}
	path, found := app.LookupEnv("PATH")
	if !found {
		path = process.SystemPath
	}
	p := process.Program{Args: args, Files: process.Find(args[0], path), Environ: plan.Apply(app.Environ)}
	if flags.dryRun {
		return printExec(app, plan, p, structured)
	}
	app.Out.Close()
	if s := gate.Close(); s != nil {
		return &cli.SignalError{Signal: s}
	}
	return startError(p.Start(process.Exec))
}

// startError returns the error with the exit code that shells use for a program that could not be
// started.
func startError(err error) error {
	if e, ok := errors.AsType[*process.StartError](err); ok {
		return &cli.ExitError{Code: e.Code, Err: e}
	}
	return err
}

// execRefusal returns the reason not to start CMD, nil if it is to be started.
func execRefusal(plan launch.Plan, flags execFlags) error {
	if len(plan.Incomplete) > 0 && !flags.allowPartial {
		first := plan.Incomplete[0]
		err := cli.Exitf(cli.ExitPartial,
			"not started: %d files that the result depends on could not be read, the first is %s: %s",
			len(plan.Incomplete), first.Path, first.Error)
		return cli.WithHints(err, "--allow-partial starts it with the files that could be read")
	}
	if plan.Outcome != launch.OutcomeNone || flags.tcpFallback || flags.allowNone {
		return nil
	}
	why := "RDMA can't be used"
	for _, w := range plan.Warnings {
		if w.Rule == "nothing-usable" {
			why = w.Text
		}
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "not started: %s", why),
		"rdmactl doctor shows what to fix",
		"--tcp-fallback starts it with RDMA turned off, --allow-none without RDMA settings")
}

// printExec prints what would be started. It returns the errors that a start is sure to return.
func printExec(app *cli.App, plan launch.Plan, p process.Program, structured bool) error {
	report := execReport{
		Schema: execSchema, Arguments: p.Args, Set: plan.Environment(), Unset: []string{}, Launch: plan,
	}
	for _, u := range plan.Unset {
		report.Unset = append(report.Unset, u.Name)
	}
	err := p.Start(func(file string, _, _ []string) error {
		report.File = file
		return process.CanStart(file)
	})
	if err != nil {
		return startError(err)
	}
	if structured {
		return app.Out.Print(report)
	}
	text, err := launch.Format(plan, launch.FormatShell)
	if err != nil {
		return err
	}
	words := make([]string, len(p.Args))
	for i, arg := range p.Args {
		words[i] = shellWord(arg)
	}
	command := "exec "
	if strings.HasPrefix(p.Args[0], "-") { // exec would parse it as an option
		command = "exec env -- "
	}
	return app.Out.Raw(append(text, command+strings.Join(words, " ")+"\n"...))
}

// shellWord quotes an argument for a POSIX shell if necessary.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/=@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
