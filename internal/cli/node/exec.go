package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/config"
	"github.com/rdmakit/rdmakit/launch"
)

// execSchema is the version of execReport.
const execSchema = "rdmakit.exec/v1"

// The exit codes of what could not be started, as shells, env and nohup have them.
const (
	exitCannotStart = 126 // found, and can't be started
	exitNoProgram   = 127 // not found
)

// systemPath is where execvp of the C library looks when PATH is not set.
const systemPath = "/bin:/usr/bin"

// scriptShell runs files that are executable and have no #! line, as execvp does it.
const scriptShell = "/bin/sh"

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
		Long: `Exec derives the variables as env does, sets them, and becomes CMD: the process stays the same, and with it its
PID (1 in a container), its parent, process group, terminal, streams and limits. Signals and the exit code are CMD's
own; nothing of rdmactl is left. CMD is looked for in PATH. The first word that is no flag is CMD, and all behind it
is its own; -- in front of it is for scripts, where CMD may begin with a hyphen.

What the environment has already is kept, as with env; --override replaces it. The environment counts with --root and
--from too, for CMD runs here.

CMD is not started when no RDMA can be used (exit code 3), or when files that decide could not be read (7): a job over
TCP, or with rails missing, is slow on all nodes, and nobody sees why. --tcp-fallback starts it with RDMA turned off,
--allow-none as it is, --allow-partial with what was read.

Exit codes besides CMD's own: 127 when CMD isn't found, 126 when it can't be started, 2, 3, 4, 6 and 7 as for env.
--timeout bounds the time until CMD starts.`,
		Example: `  rdmactl exec -- vllm serve /models/llama --tensor-parallel-size 8
  rdmactl exec -q --for nccl --tcp-fallback -- torchrun train.py
  rdmactl exec --dry-run -- python3 -m sglang.launch_server`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExec(app, cmd, flags, args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // flags behind CMD are CMD's
	f.BoolVar(&flags.allowNone, "allow-none", false, "start CMD when no port can be used")
	f.BoolVar(&flags.allowPartial, "allow-partial", false, "start CMD when files that decide could not be read")
	f.BoolVar(&flags.dryRun, "dry-run", false, "print what would be set and started, as a shell script, and start nothing")
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
	gate := newSignalGate()
	defer func() { _ = gate.close() }() // on the ways out that start nothing
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
		path = systemPath
	}
	p := program{args: args, candidates: candidates(args[0], path), environ: execEnviron(app.Environ, plan)}
	if flags.dryRun {
		return printExec(app, plan, p, structured)
	}
	app.Out.Close()
	if err := gate.close(); err != nil {
		return err
	}
	return p.start(execve)
}

// execRefusal tells why CMD is not started, nil if it is.
func execRefusal(plan launch.Plan, flags execFlags) error {
	if len(plan.Incomplete) > 0 && !flags.allowPartial {
		first := plan.Incomplete[0]
		err := cli.Exitf(cli.ExitPartial, "not started: %d files that decide could not be read, the first is %s: %s", len(plan.Incomplete), first.Path, first.Error)
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

// execEnviron returns environ with the variables of plan in the place of others of their names.
func execEnviron(environ []string, plan launch.Plan) []string {
	gone := map[string]bool{}
	for _, v := range plan.Variables {
		gone[v.Name] = true
	}
	for _, u := range plan.Unset {
		gone[u.Name] = true
	}
	out := slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return gone[name]
	})
	for _, v := range plan.Variables {
		out = append(out, v.Name+"="+v.Value)
	}
	return out
}

// program is what exec starts.
type program struct {
	args       []string // the name first, as it was given
	candidates []string // files that may be it, in the order to try them
	environ    []string
}

// candidates returns the files that name may stand for: itself if it has a slash, or else one in each folder of PATH.
// An empty folder is the current one.
func candidates(name, path string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		out = append(out, strings.TrimSuffix(dir, "/")+"/"+name)
	}
	return out
}

// start tries the candidates as execvp does: what isn't there is passed over, and so is what may not be run, which is
// remembered. try returns only if it fails, or if it only looks. The error has an exit code.
func (p program) start(try func(file string, args, environ []string) error) error {
	var denied error
	for _, file := range p.candidates {
		err := try(file, p.args, p.environ)
		if errors.Is(err, syscall.ENOEXEC) {
			err = try(scriptShell, append([]string{scriptShell, file}, p.args[1:]...), p.environ)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EACCES):
			denied = fmt.Errorf("%s: %w", file, err)
		case !isAbsent(err):
			return &cli.ExitError{Code: exitCannotStart, Err: fmt.Errorf("start %s: %w", file, err)}
		case isFile(file):
			err = cli.Exitf(exitNoProgram, "start %s: %w", file, err)
			return cli.WithHints(err, "the file is there: what its #! line names is missing, or the loader of the C library it was built for")
		}
	}
	switch {
	case denied != nil:
		return &cli.ExitError{Code: exitCannotStart, Err: fmt.Errorf("start %w", denied)}
	case strings.Contains(p.args[0], "/"):
		return cli.Exitf(exitNoProgram, "start %s: no such file", p.args[0])
	}
	return cli.Exitf(exitNoProgram, "start %s: not found in PATH", p.args[0])
}

// isAbsent reports whether a candidate isn't there, or its folder can't be reached.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ESTALE) ||
		errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ETIMEDOUT)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// printExec tells what would be started. An error that starting would surely meet is met here too.
func printExec(app *cli.App, plan launch.Plan, p program, structured bool) error {
	report := execReport{Schema: execSchema, Arguments: p.args, Set: plan.Environment(), Unset: []string{}, Launch: plan}
	for _, u := range plan.Unset {
		report.Unset = append(report.Unset, u.Name)
	}
	err := p.start(func(file string, _, _ []string) error {
		report.File = file
		return canStart(file)
	})
	if err != nil {
		return err
	}
	if structured {
		return app.Out.Print(report)
	}
	text, err := launch.Format(plan, launch.FormatShell)
	if err != nil {
		return err
	}
	words := make([]string, len(p.args))
	for i, arg := range p.args {
		words[i] = shellWord(arg)
	}
	command := "exec "
	if strings.HasPrefix(p.args[0], "-") { // exec would take it for an option
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
