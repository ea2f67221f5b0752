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

// execReport is what exec --dry-run tells.
type execReport struct {
	Schema string `json:"schema"`
	// File is what would be started: the first of the folders in PATH that has it.
	File      string   `json:"file"`
	Arguments []string `json:"arguments"` // the name as it was given comes first
	// Set and Unset are the variables that the program gets, and those that it doesn't get.
	Set    map[string]string `json:"set"`
	Unset  []string          `json:"unset"`
	Launch launch.Plan       `json:"launch"` // why
}

func newExecCommand(app *cli.App) *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "exec [flags] [--] CMD [ARG...]",
		Short: "Run a program in the environment that env derives",
		Long: `Exec derives the variables as env does, sets them, and becomes CMD: the process stays the same, and
with it its PID (1 in a container), its parent, process group, terminal, streams and limits. Signals
and the exit code are CMD's own; nothing of rdmactl is left. CMD is looked for in PATH. The first
word that is no flag is CMD, and all behind it is its own; -- in front of it is for scripts, where
CMD may begin with a hyphen.

What the environment has already is kept, as with env; --override replaces it. The environment
counts with --root and --from too, for CMD runs here.

CMD is not started when no RDMA can be used (exit code 3), or when files that decide could not be
read (7): a job over TCP, or with rails missing, is slow on all nodes, and nobody sees why.
--tcp-fallback starts it with RDMA turned off, --allow-none as it is, --allow-partial with what
was read.

Exit codes besides CMD's own: 127 when CMD isn't found, 126 when it can't be started, 2, 3, 4, 6 and
7 as for env. --timeout bounds the time until CMD starts.`,
		Example: `  rdmactl exec -- vllm serve /models/llama --tensor-parallel-size 8
  rdmactl exec -q --for nccl --tcp-fallback -- torchrun train.py
  rdmactl exec --dry-run -- python3 -m sglang.launch_server`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExec(app, cmd, flags, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // flags behind CMD are CMD's
	f.BoolVar(&flags.allowNone, "allow-none", false, "start CMD when no port can be used")
	f.BoolVar(&flags.allowPartial, "allow-partial", false, "start CMD when files that decide could not be read")
	f.BoolVar(&flags.dryRun, "dry-run", false,
		"print what would be set and started, as a shell script, and start nothing")
	flags.addTo(cmd)
	return cmd
}

func runExec(app *cli.App, cmd *cobra.Command, flags execFlags, args []string) error {
	structured := app.Out.Structured() && app.Config.Origin("output") == config.OriginFlag
	if structured && !flags.dryRun {
		return cli.UsageError(cmd, errors.New("standard output is CMD's: -o json and yaml need --dry-run"))
	}
	if args[0] == "" {
		return cli.UsageError(cmd, errors.New("CMD is empty"))
	}
	gate := process.NewGate()
	defer gate.Close() // on the ways out that start nothing
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

// startError ends the run with the code that shells have for a program that could not be started.
func startError(err error) error {
	if e, ok := errors.AsType[*process.StartError](err); ok {
		return &cli.ExitError{Code: e.Code, Err: e}
	}
	return err
}

// execRefusal tells why CMD is not started, nil if it is.
func execRefusal(plan launch.Plan, flags execFlags) error {
	if len(plan.Incomplete) > 0 && !flags.allowPartial {
		first := plan.Incomplete[0]
		err := cli.Exitf(cli.ExitPartial, "not started: %d files that decide could not be read, the first is %s: %s",
			len(plan.Incomplete), first.Path, first.Error)
		return cli.WithHints(err, "--allow-partial starts it with what was read")
	}
	if plan.Outcome != launch.OutcomeNone || flags.tcpFallback || flags.allowNone {
		return nil
	}
	why := "no RDMA can be used"
	for _, w := range plan.Warnings {
		if w.Rule == "nothing-usable" {
			why = w.Text
		}
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "not started: %s", why),
		"rdmactl doctor tells what to do", "--tcp-fallback starts it with RDMA turned off, --allow-none as it is")
}

// printExec tells what would be started. An error that starting would surely meet is met here too.
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
	if strings.HasPrefix(p.Args[0], "-") { // exec would take it for an option
		command = "exec env -- "
	}
	return app.Out.Raw(append(text, command+strings.Join(words, " ")+"\n"...))
}

// shellWord quotes an argument for a POSIX shell where it needs it.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/=@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
