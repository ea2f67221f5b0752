// Package explain holds the command rdmactl explain, which says what logs of a job show.
package explain

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/recorded"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/version"
)

// Commands returns the commands of this package.
func Commands() []cli.Entry {
	return []cli.Entry{{Group: cli.GroupCluster, Build: newExplainCommand}}
}

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{explain.Schema: explain.Document{}, valueSchema: valueReport{}}
}

// Output formats that only explain has, beside those of all commands.
const (
	formatSARIF    output.Format = "sarif"
	formatMarkdown output.Format = "markdown"
)

// gcPercent makes the garbage collector run more often than by default: it has a second core while
// lines are matched, and a log of failures leaves much behind.
const gcPercent = 50

// explainFlags are the flags of explain.
type explainFlags struct {
	redact, flows    bool
	code, errno, cqe string
	rule             string
	list             bool
	verb, link       string
}

// instead returns the flag that asks for something else than a report of files, or "".
func (f *explainFlags) instead(cmd *cobra.Command) string {
	for _, name := range []string{"code", "errno", "cqe", "list", "rule"} {
		if cmd.Flags().Changed(name) && (name != "list" || f.list) {
			return "--" + name
		}
	}
	return ""
}

// check returns an error if flags or arguments would have no effect.
func (f *explainFlags) check(cmd *cobra.Command, args []string, format output.Format) error {
	instead := f.instead(cmd)
	switch {
	case (f.verb != "" || f.link != "") && instead != "--errno":
		return errors.New("--verb and --link go with --errno")
	case instead == "" && len(args) == 0:
		return errors.New("missing argument FILE: logs, folders, archives, or - (standard input)")
	case instead == "":
		return nil
	case len(args) > 0:
		return fmt.Errorf("%s reads no files, but %q is given", instead, args[0])
	case f.redact, f.flows:
		return fmt.Errorf("--redact and --flows are for reports of files, not for %s", instead)
	case format == formatSARIF, format == formatMarkdown:
		return fmt.Errorf("-o %s is for reports of files, not for %s", format, instead)
	}
	return nil
}

func newExplainCommand(app *cli.App) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [FILE...]",
		Short: "Explain what went wrong from the logs of a job",
		Long: `Read logs of a job that failed, hung or was slow, and say what happened, which causes remain and in
which order, the evidence for and against each, and the command that decides between them. The
command works offline: it reads the named files only.

FILE is a log, a bundle, a folder with them, an archive or a compressed file; - is standard input. Give the
logs of all ranks and nodes together: often only the comparison shows who failed first. Prefixes of
mpirun, srun, torchrun, Ray, kubectl and container runtimes, time stamps and colours don't matter.

A cause is "proven" only if a line decides it. What can't be seen at the level of these logs is said
under "not visible".

Captures (pcap, pcapng) of RoCE and InfiniBand are explained by their packets; --flows lists what each
queue pair sent. What rdmactl itself has said counts as evidence, as text or JSON: connect, ping, bench,
doctor, env consensus, env lint, k8s lint, cluster verify and report, fabric errors and trace.

Bundles of rdmactl snapshot, alone or beside logs, are checked as by rdmactl doctor --from, and joined
with the nodes of the logs that have the same name or GIDs: their GID tables, ports, settings and
kernel's log decide between causes.

--code, --errno and --cqe explain a single value instead of files.

-o markdown is for an issue or a chat, -o sarif for code hosts. --redact hides names and addresses
and keeps relations: use it before you publish a report.

Exit codes:

    0   nothing wrong seen
    1   a cause was named, even if some inputs could not be read
    2   wrong use, or no input could be read
    3   no line of a known program, even if some inputs could not be read to the end
    6   the time limit expired (--timeout): the report is about what was read before
    7   something failed but no cause can be named, or some inputs could not be read and the rest
        shows nothing wrong
    130 interrupted by Ctrl-C: the report is about what was read before`,
		Example: `  rdmactl explain job.log
  rdmactl explain logs/ dmesg.txt
  rdmactl explain trace.pcapng job.log --flows
  rdmactl explain job.log node17.tar.gz    # a bundle of rdmactl snapshot
  rdmactl explain --code 'status=12 vendor=129 driver=mlx5'
  rdmactl explain --errno 110 --verb ibv_modify_qp --link RoCE
  rdmactl explain logs.tar.gz --redact -o markdown
  kubectl logs -l job-name=train --prefix --tail=-1 | rdmactl explain -`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(app, cmd, args, f) },
	}
	cli.SetFormats(cmd, append(output.Formats(), formatSARIF, formatMarkdown)...)
	flags := cmd.Flags()
	flags.BoolVar(&f.redact, "redact", false,
		"replace names of nodes, addresses and GUIDs; equal ones stay equal")
	flags.BoolVar(&f.flows, "flows", false, "list the flows of captures")
	flags.StringVar(&f.code, "code", "",
		"explain `VALUES` of a completion, such as 'status=12 vendor=129 driver=mlx5'")
	flags.StringVar(&f.errno, "errno", "", "explain an error `NUMBER`, name or text")
	flags.StringVar(&f.verb, "verb", "", "the `CALL` that --errno is of, such as ibv_modify_qp")
	flags.StringVar(&f.link, "link", "", "the `KIND` of port that --errno is of: RoCE, InfiniBand or iWARP")
	flags.StringVar(&f.cqe, "cqe", "", "explain a dump of an error completion of mlx5, in `HEX`")
	flags.BoolVar(&f.list, "list", false, "list the rules instead of reading files")
	flags.StringVar(&f.rule, "rule", "", "describe the rule `ID`, such as RDX-101, instead of reading files")
	cmd.MarkFlagsMutuallyExclusive("code", "errno", "cqe", "list", "rule")
	return cmd
}

func runExplain(app *cli.App, cmd *cobra.Command, args []string, f explainFlags) error {
	if err := f.check(cmd, args, app.Out.Format()); err != nil {
		return cli.UsageError(cmd, err)
	}
	switch f.instead(cmd) {
	case "":
	case "--list":
		return printRules(app, rules.All())
	case "--rule":
		return printRule(app, cmd, f.rule)
	default:
		return explainValue(app, cmd, &f)
	}
	progress := app.ReadingProgress("reading MiB", 0, args)
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	ctx := cmd.Context()
	report, stopped := explain.Explain(ctx, input.Until(ctx, args, cmd.InOrStdin()),
		explain.Options{Progress: mebibytes(progress.Add), Recordings: recorded.Read})
	progress.Done()
	d := report.Document()
	if f.flows {
		d.AddFlows(report)
	}
	if f.redact {
		r, err := bundle.NewRedactor(nil)
		if err != nil {
			return err
		}
		d.Redact(r.Text)
	}
	if err := printDocument(app, &d); err != nil || stopped != nil {
		return errors.Join(err, stopped)
	}
	return exit(report)
}

// printDocument prints a report in the format of the run.
func printDocument(app *cli.App, d *explain.Document) error {
	switch app.Out.Format() {
	case formatSARIF:
		data, err := d.SARIF(version.Info().Version)
		if err != nil {
			return err
		}
		return app.Out.Raw(data)
	case formatMarkdown:
		return app.Out.Raw(d.Markdown())
	}
	return app.Out.Print(d, blocks(d, app.Out.Format() == output.FormatWide)...)
}

// mebibytes calls add with the whole mebibytes that were read since the last call.
func mebibytes(add func(int)) func(name string, bytes int64) {
	var current string
	var done int64
	return func(name string, bytes int64) {
		if name != current {
			current, done = name, 0
		}
		if more := bytes>>20 - done; more > 0 {
			add(int(more))
			done += more
		}
	}
}

// exit returns the exit code of a report.
func exit(r *explain.Report) error {
	var unread []error
	read := false
	for _, in := range r.Inputs {
		if in.Err != nil {
			unread = append(unread, cli.InputError(in.Err))
		}
		read = read || in.Err == nil || in.Lines > 0
	}
	partly := len(unread) > 0
	switch r.Verdict() {
	case explain.VerdictFault:
		return cli.ExitSilently(cli.ExitFault)
	case explain.VerdictNothing:
		if partly && !read {
			return errors.Join(unread...)
		}
		if !partly {
			return cli.ExitSilently(cli.ExitNotFound)
		}
		return cli.Exitf(cli.ExitNotFound, "%d of %d inputs could not be read to the end", len(unread), len(r.Inputs))
	case explain.VerdictUnknown, explain.VerdictFacts:
		return cli.ExitSilently(cli.ExitPartial)
	}
	if partly {
		return cli.Exitf(cli.ExitPartial, "%d of %d inputs could not be read to the end", len(unread), len(r.Inputs))
	}
	return nil
}
