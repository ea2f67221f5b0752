// Package explain holds the command rdmactl explain, which says what logs of a job show.
package explain

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// Commands returns the commands of this package.
func Commands() []cli.Entry {
	return []cli.Entry{{Group: cli.GroupCluster, Build: newExplainCommand}}
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{explain.Schema: explain.Document{}}
}

func newExplainCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain FILE...",
		Short: "Explain what went wrong from the logs of a job",
		Long: `Read logs of a job that failed, hung or was slow, and say what happened, which causes remain and in
which order, the evidence for and against each, and the command that decides between them. The
command works offline: it reads the named files only.

FILE is a log, a folder with logs, an archive or a compressed file; - is standard input. Give the
logs of all ranks and nodes together: often only the comparison shows who failed first. Prefixes of
mpirun, srun, torchrun, Ray, kubectl and container runtimes, time stamps and colours don't matter.

A cause is "proven" only if a line decides it. What can't be seen at the level of these logs is said
under "not visible".

Exit codes:

    0   nothing wrong seen
    1   a cause was named
    2   wrong use
    3   no line of a known program
    7   something failed but no cause can be named, or an input could not be read`,
		Example: `  rdmactl explain job.log
  rdmactl explain logs/ dmesg.txt
  kubectl logs -l job-name=train --prefix --tail=-1 | rdmactl explain -`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(app, cmd, args) },
	}
	return cmd
}

func runExplain(app *cli.App, cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.UsageError(cmd, errors.New("missing argument FILE: logs, folders, archives, or - (standard input)"))
	}
	report, err := explain.Explain(cmd.Context(), input.All(args, cmd.InOrStdin()), explain.Options{})
	if err != nil {
		return err
	}
	if err := app.Out.Print(report.Document(), blocks(report)...); err != nil {
		return err
	}
	return exit(report)
}

// exit returns the exit code of a report.
func exit(r *explain.Report) error {
	var unread []error
	for _, in := range r.Inputs {
		if in.Err != nil {
			unread = append(unread, cli.InputError(in.Err))
		}
	}
	switch r.Verdict() {
	case explain.VerdictFault:
		return cli.ExitSilently(cli.ExitFault)
	case explain.VerdictNothing:
		if len(unread) == len(r.Inputs) && len(unread) > 0 {
			return errors.Join(unread...)
		}
		return cli.ExitSilently(cli.ExitNotFound)
	case explain.VerdictUnknown:
		return cli.ExitSilently(cli.ExitPartial)
	}
	if len(unread) > 0 {
		return cli.Exitf(cli.ExitPartial, "%d of %d inputs could not be read", len(unread), len(r.Inputs))
	}
	return nil
}
