package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/process"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// envLintFlags are the flags of env lint.
type envLintFlags struct {
	source       cli.SourceFlags
	files        []string
	form         string
	pid          int
	pidGiven     bool
	explain      string
	list, strict bool
}

func newEnvLintCommand(app *cli.App) *cobra.Command {
	var f envLintFlags
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Check the network variables of an environment against a node",
		Long: `Check the variables of NCCL and RCCL, UCX, NVSHMEM, Gloo and PyTorch, Mooncake, vLLM, SGLang,
libfabric and Open MPI in an environment against a node. env lint finds devices that don't exist or
are not meant for jobs, GID indices that are empty or not routable, network devices without a route,
contradictions, numbers out of range and misspelt names. Each finding shows its line, its
consequence, and the correct value if it follows from the node. env lint changes nothing.

The environment is that of this process, of another process (--pid), or a file (--env): dotenv, a
shell script, docker's --env-file, systemd's EnvironmentFile, the output of env, a JSON object, or
Kubernetes and Compose manifests, container by container. --form sets the format if the content is
ambiguous: docker keeps quotes, the others remove them. Scripts are not run, only their assignments
are read; values with an expansion are not checked.

The node is this machine, or the one that --root or --from choose. If the process runs in another
mount namespace, such as in a container, its environment is checked against the files that it sees.

Exit codes:

    0   there is no error; there may be warnings and notes
    1   there is an error, or with --strict a warning
    2   a file can't be parsed
    3   the environment has no variable to check
    4   no permission to read the environment of the process
    7   files that the result depends on could not be read`,
		Example: `  rdmactl env lint
  rdmactl env lint --env job.env
  rdmactl env lint --env deployment.yaml --from node17.tar.gz
  kubectl exec pod -- env | rdmactl env lint --env - --form env
  sudo rdmactl env lint --pid 4711
  rdmactl env lint --explain gid-index-unusable`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.pidGiven = cmd.Flags().Changed("pid")
			return runEnvLint(app, cmd, f)
		},
	}
	f.source.AddTo(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.files, "env", nil,
		"check the variables in `FILE`, - for standard input; can be repeated")
	flags.StringVar(&f.form, "form", string(lint.FormAuto), "`FORM` of FILE: "+strings.Join(formNames(), ", "))
	flags.IntVar(&f.pid, "pid", 0, "check the environment of process `PID`")
	flags.BoolVar(&f.strict, "strict", false, "treat warnings as errors")
	flags.BoolVar(&f.list, "list", false, "list the rules without checking anything")
	flags.StringVar(&f.explain, "explain", "", "explain the rule `ID` without checking anything")
	cmd.MarkFlagsMutuallyExclusive("env", "pid", "list", "explain")
	cli.CompleteWords(cmd, "form", formNames())
	cli.CompleteWords(cmd, "explain", lintRuleIDs())
	return cmd
}

func formNames() []string {
	var out []string
	for _, form := range lint.Forms() {
		out = append(out, string(form))
	}
	return out
}

func lintRuleIDs() []string {
	var out []string
	for _, r := range lint.Rules() {
		out = append(out, r.ID)
	}
	return out
}

func runEnvLint(app *cli.App, cmd *cobra.Command, f envLintFlags) error {
	switch {
	case f.list:
		return app.Out.Print(lint.Rules(), lintRuleTable(lint.Rules()))
	case f.explain != "":
		return explainLintRule(app, cmd, f.explain)
	case !slices.Contains(formNames(), f.form):
		return cli.UsageError(cmd, fmt.Errorf("--form: %q is not one of %s", f.form, strings.Join(formNames(), ", ")))
	case f.pidGiven && f.pid <= 0:
		return cli.UsageError(cmd, fmt.Errorf("--pid: %d is not a process ID", f.pid))
	case len(f.files) == 0 && cmd.Flags().Changed("form"):
		return cli.UsageError(cmd, errors.New("--form needs --env"))
	}
	report, err := lintEnv(cmd.Context(), app, f)
	if err != nil {
		return err
	}
	if report.Variables() == 0 {
		return nothingToLint(report)
	}
	if err := app.Out.Print(report, lintBlocks(report, app.Out.Wide())...); err != nil {
		return err
	}
	return lintResult(app, report, f.strict)
}

// lintEnv reads the environments and the node, and applies the rules.
func lintEnv(ctx context.Context, app *cli.App, f envLintFlags) (lint.Report, error) {
	envs, err := lintEnvironments(app, f)
	if err != nil {
		return lint.Report{}, err
	}
	n, err := openLintNode(app, f)
	if err != nil {
		return lint.Report{}, err
	}
	defer n.Close()
	n.Names = nil // the rules don't depend on the names of cards
	snap, _, err := app.ScanNode(ctx, n)
	if err != nil {
		return lint.Report{}, err
	}
	if !n.Local && !f.pidGiven && len(f.files) == 0 {
		app.Out.Note("note: the environment is that of this process, but the node is another machine")
	}
	return lint.Run(lint.Input{Snapshot: &snap, Root: n.Root, Environments: envs, Here: n.Local}), nil
}

// lintEnvironments reads the environments that the flags name.
func lintEnvironments(app *cli.App, f envLintFlags) ([]lint.Environment, error) {
	switch {
	case f.pidGiven:
		env, err := readProcessEnvironment(f.pid)
		return []lint.Environment{env}, err
	case len(f.files) == 0:
		return []lint.Environment{lint.FromPairs("this process", lint.FormEnviron, app.Environ)}, nil
	}
	progress := app.ReadingProgress("reading environments: files", len(f.files), f.files)
	defer progress.Done()
	var out []lint.Environment
	for _, name := range f.files {
		envs, err := readLintFile(app, name, lint.Form(f.form))
		if err != nil {
			return nil, err
		}
		out = append(out, envs...)
		progress.Add(1)
	}
	return out, nil
}

// openLintNode opens the node to check against: for a process in another mount namespace, the files
// that this process sees.
func openLintNode(app *cli.App, f envLintFlags) (*sources.Node, error) {
	if !f.pidGiven || f.source.From != "" || app.Config.Root != "" && app.Config.Root != "/" {
		return app.OpenNode(f.source)
	}
	other := process.OtherNamespaces(f.pid)
	if !other.Mount {
		if other.Network {
			app.Out.Note(
				"note: process %d is in another network namespace: it may have other network devices and GID "+
					"tables than those that the check uses", f.pid)
		}
		return app.OpenNode(f.source)
	}
	n, err := openProcessRoot(f.pid)
	if err != nil {
		app.Out.Note(
			"note: process %d is in another mount namespace, whose files can't be read here (%v): "+
				"the check uses this node instead", f.pid, err)
		return app.OpenNode(f.source)
	}
	app.Out.Note(
		"note: process %d is in another mount namespace: the check uses the files that it sees, below /proc/%d/root",
		f.pid, f.pid)
	return n, nil
}

// nothingToLint returns the error that no rule applies to any variable, with hints.
func nothingToLint(r lint.Report) error {
	var names []string
	for _, e := range r.Environments {
		names = append(names, e.Name)
	}
	err := cli.Exitf(cli.ExitNotFound,
		"nothing to check: no variable of NCCL, UCX, NVSHMEM, Gloo, Mooncake, libfabric or Open MPI in %s",
		strings.Join(names, ", "))
	return cli.WithHints(err, "the libraries use their defaults; rdmactl env prints the variables to set",
		"--env FILE and --pid PID check another environment")
}

// lintResult returns the error that carries the exit code of a run.
func lintResult(app *cli.App, r lint.Report, strict bool) error {
	switch {
	case r.Counts.Error > 0 || strict && r.Counts.Warn > 0:
		return cli.ExitSilently(cli.ExitFault)
	case len(r.Incomplete) > 0:
		return cli.ExitSilently(cli.ExitPartial)
	case r.Counts.Warn > 0:
		app.Out.Note("note: %s; with --strict the exit code is 1", english.Count(r.Counts.Warn, "warning"))
	}
	return nil
}

func explainLintRule(app *cli.App, cmd *cobra.Command, id string) error {
	rule, ok := lint.FindRule(id)
	if !ok {
		err := fmt.Errorf("--explain: no rule %q", id)
		return cli.UsageError(cmd,
			cli.WithHints(cli.WithHints(err, cli.DidYouMean(spelling.Nearest(id, lintRuleIDs(), spelling.Loose))...),
				"rdmactl env lint --list lists the rules"))
	}
	return app.Out.Print(rule, lintRuleBlocks(rule)...)
}
