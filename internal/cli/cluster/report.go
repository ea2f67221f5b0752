package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/report"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/version"
)

// formatJUnit is the output format for CI systems.
const formatJUnit output.Format = "junit"

// reportFlags are the flags of commands that print a verification.
type reportFlags struct {
	html, save, baseline string
}

func (f *reportFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.html, "html", "", "write a page with maps, distributions and evidence to the new `FILE`")
	flags.StringVar(&f.save, "save", "", "write the whole result as JSON to the new `FILE`")
	flags.StringVar(&f.baseline, "baseline", "", "compare with this earlier result or journal `FILE`")
	cli.SetFormats(cmd, append(output.Formats(), formatJUnit)...)
}

func newReportCommand(app *cli.App) *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report RESULT",
		Short: "Show a verification: verdicts, figures and maps, also as a page",
		Long: `Show the verification in RESULT, a journal or a file of --save: what is slow, unsteady or broken with the
evidence, and the figures of each rail. An unfinished verification is shown as far as it got. -v adds
maps and evidence, --html writes a page that needs no network, -o junit is for CI systems.

Exit codes:

    0   nothing was found
    1   something is slow, unsteady or broken, or a node never joined or vanished
    2   wrong use: command, flag or argument; RESULT is not a verification
    7   not everything was measured: the run was ended early`,
		Example: `  rdmactl cluster report rdmakit-verify-20261126-144300.journal
  rdmactl cluster report -v result.json --html report.html
  rdmactl cluster report today.json --baseline yesterday.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := readRun(args[0])
			if err == nil {
				err = newFiles(f.html, f.save)
			}
			if err != nil {
				return err
			}
			return f.show(app, run)
		},
	}
	f.addTo(cmd)
	return cmd
}

// readRun reads a result or a journal.
func readRun(name string) (*result.Run, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.InputError(fmt.Errorf("open result: %w", err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	run, _, err := leader.ReadJournal(file)
	if errors.Is(err, leader.ErrNoJournal) {
		if _, err := file.Seek(0, 0); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		run, err = result.Read(file)
		if err != nil {
			return nil, cli.WithHints(cli.Exitf(cli.ExitUsage, "%s: %w", name, err),
				"a journal of rdmactl cluster verify and a file of --save can be read")
		}
		return run, nil
	}
	if err != nil {
		return nil, cli.Exitf(cli.ExitUsage, "%s: %w", name, err)
	}
	return run, nil
}

// show prints a verification and writes its files.
func (f *reportFlags) show(app *cli.App, run *result.Run) error {
	var baseline *result.Run
	options := report.Options{Verbose: app.Verbose(), Version: version.Info().Version}
	if f.baseline != "" {
		var err error
		if baseline, err = readRun(f.baseline); err != nil {
			return err
		}
		if options.Comparison, err = report.Compare(baseline, run); err != nil {
			return cli.Exitf(cli.ExitUsage, "compare with %s: %w", f.baseline, err)
		}
	}
	found := verdict.Find(run, verdict.Options{Baseline: baseline})
	if err := f.write(app, run, found, options); err != nil {
		return err
	}
	if err := printRun(app, run, found, options); err != nil {
		return err
	}
	return outcome(run, found)
}

// printRun prints a verification in the chosen format.
func printRun(app *cli.App, run *result.Run, found verdict.Report, options report.Options) error {
	if app.Out.Format() == formatJUnit {
		var b bytes.Buffer
		if err := report.JUnit(&b, run, found, options); err != nil {
			return err
		}
		return app.Out.Raw(b.Bytes())
	}
	return app.Out.Print(report.Summarize(run, found, options), report.Blocks(run, found, options)...)
}

// write writes the files that the flags ask for.
func (f *reportFlags) write(app *cli.App, run *result.Run, found verdict.Report, options report.Options) error {
	if f.save != "" {
		if err := wholefile.Write(f.save, wholefile.Options{Mode: filePermissions}, run.Write); err != nil {
			return fmt.Errorf("save result: %w", err)
		}
		app.Out.Note("result: %s", f.save)
	}
	if f.html != "" {
		if err := writePage(f.html, run, found, options); err != nil {
			return err
		}
		app.Out.Note("page: %s", f.html)
	}
	return nil
}

const filePermissions = 0o644

// writePage writes the page to a new file.
func writePage(name string, run *result.Run, found verdict.Report, options report.Options) error {
	err := wholefile.Write(name, wholefile.Options{Mode: filePermissions}, func(w io.Writer) error {
		return report.HTML(w, run, found, options)
	})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// newFiles returns an error if a file that is to be written exists already or can't be created. It
// runs before anything is measured. Empty names are skipped.
func newFiles(names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		switch _, err := os.Lstat(name); {
		case err == nil:
			return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("write %s: %w", name, fs.ErrExist)}
		case !errors.Is(err, fs.ErrNotExist):
			return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("write %s: %w", name, err)}
		}
		if _, err := os.Stat(filepath.Dir(name)); err != nil {
			return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("write %s: %w", name, err)}
		}
	}
	return nil
}

// outcome returns the error with the exit code of the result.
func outcome(run *result.Run, found verdict.Report) error {
	switch {
	case len(found.Verdicts) > 0:
		return cli.Exitf(cli.ExitFault, "%s", english.Count(len(found.Verdicts), "fault"))
	case !run.Complete(), !run.Measured():
		return cli.Exitf(cli.ExitPartial, "not everything was measured")
	}
	return nil
}
