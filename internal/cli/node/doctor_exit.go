package node

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

const exitNever = "never"

// exitLevels are the values of --exit-on.
func exitLevels() []string {
	return []string{
		string(doctor.OutcomeFail), string(doctor.OutcomeUnknown), string(doctor.OutcomeWarn), exitNever,
	}
}

// level returns the least outcome that the exit code reports, false if it reports none.
func (f doctorFlags) level() (doctor.Outcome, bool) {
	switch {
	case f.exitOn == exitNever:
		return "", false
	case f.exitOn != "":
		return doctor.Outcome(f.exitOn), true
	case f.strict:
		return doctor.OutcomeWarn, true
	}
	return doctor.OutcomeUnknown, true
}

// result returns the error that carries the exit code of a run, nil for 0.
func (f doctorFlags) result(snap *inventory.Snapshot, r doctor.Report) error {
	level, some := f.level()
	if !some {
		return nil
	}
	counts := reported(r)
	reports := func(o doctor.Outcome, n int) bool { return n > 0 && o.Compare(level) >= 0 }
	switch {
	case reports(doctor.OutcomeFail, counts.Fail), reports(doctor.OutcomeWarn, counts.Warn):
		return cli.ExitSilently(cli.ExitFault)
	case reports(doctor.OutcomeUnknown, counts.Unknown):
		return cli.ExitSilently(cli.ExitPartial)
	case r.Verdict == doctor.OutcomeNotApplicable, len(snap.Devices) == 0:
		return noCheckApplies(snap, r)
	case r.Verdict == doctor.OutcomePrivilege:
		return cli.WithHints(cli.Exitf(cli.ExitPermission, "every check that applies to this node needs root"),
			"sudo runs rdmactl as root")
	}
	return nil
}

// reported counts the findings that decide on the exit code: with an earlier report only those that
// are new or worse.
func reported(r doctor.Report) doctor.Counts {
	if r.Since == nil {
		return r.Counts
	}
	var counts doctor.Counts
	for _, finding := range r.Since.Worse() {
		switch finding.Outcome {
		case doctor.OutcomeFail:
			counts.Fail++
		case doctor.OutcomeUnknown:
			counts.Unknown++
		case doctor.OutcomeWarn:
			counts.Warn++
		}
	}
	counts.Unknown += len(r.Since.Vanished)
	return counts
}

// noteWarnings prints a note on warnings that don't count in the exit code 0 of a run.
func (f doctorFlags) noteWarnings(app *cli.App, r doctor.Report) {
	if r.Counts.Warn > 0 && r.Since == nil && f.exitOn == "" {
		app.Out.Note("note: %s; with --strict the exit code is 1", english.Count(r.CheckCounts.Warn, "warning"))
	}
}

// noCheckApplies returns an error that says why no check applies, with hints.
func noCheckApplies(snap *inventory.Snapshot, r doctor.Report) error {
	switch {
	case len(snap.Devices) > 0 && r.CheckCounts.Shadow > 0:
		return cli.Exitf(cli.ExitNotFound, "no check counts: %d on trial", r.CheckCounts.Shadow)
	case len(snap.Devices) > 0:
		return cli.Exitf(cli.ExitNotFound, "none of these checks applies to this node")
	}
	var hints []string
	for _, o := range snap.Obstacles() {
		hints = append(hints, o.Remedy)
	}
	return cli.WithHints(cli.Exitf(cli.ExitNotFound, "%s", doctor.NoDeviceReason(snap)),
		append(hints, "rdmactl detect shows what this node has")...)
}

// printNagios prints the line of a monitoring plugin.
func printNagios(app *cli.App, r doctor.Report) error {
	line, code := r.Nagios()
	if err := app.Out.Raw([]byte(line + "\n")); err != nil {
		return err
	}
	if code == doctor.NagiosOK {
		return nil
	}
	return cli.ExitSilently(code)
}

// nagiosError turns an error of a run into the line and the exit code of a plugin without a result.
func nagiosError(app *cli.App, err error) error {
	if exit, ok := errors.AsType[*cli.ExitError](err); err == nil || ok && exit.Err == nil {
		return err // printNagios has printed the line
	}
	return nagiosUnknown(app.Out.Raw, err)
}

// nagiosUnknown writes the line of a plugin that has no result because of an error, and returns the
// exit code.
func nagiosUnknown(write func([]byte) error, err error) error {
	line := "RDMA UNKNOWN - " + doctor.NagiosText(err.Error()) + "\n"
	if err := write([]byte(line)); err != nil {
		return err
	}
	return cli.ExitSilently(doctor.NagiosUnknown)
}

// notWithNagios returns an error if flags are set that a plugin has no use for. It is no group of
// cobra's, whose error has exit code 2, which means CRITICAL to a monitoring system.
func notWithNagios(cmd *cobra.Command) error {
	for _, name := range []string{"list", "explain", "since", "exit-on", "strict"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s can't be combined with --nagios", name)
		}
	}
	return nil
}
