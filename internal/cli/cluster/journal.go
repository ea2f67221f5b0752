package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/inventory"
)

// journalPattern is the name of a journal, with the time at which the run began.
const journalPattern = "rdmakit-verify-20060102-150405.journal"

// noJournal is the value of --journal for none.
const noJournal = "none"

// startFlags are the flags that select the workers to start. A journal has their values, so that
// --resume alone starts the same ones. Those that name programs (--ssh, --remote-path) are not
// among them: a journal may come from another user, and must not choose a program to run.
var startFlags = []string{"local", "rails", "workers", "listen", "hosts"}

// startOf returns the start flags that were given.
func startOf(flags *pflag.FlagSet) map[string]string {
	start := map[string]string{}
	for _, name := range startFlags {
		if f := flags.Lookup(name); f.Changed {
			start[name] = f.Value.String()
		}
	}
	return start
}

// takeOver reads the journal of --resume, and takes the plan and the workers from it. Flags
// that describe the plan must agree with it; those that start workers may differ.
func (f *verifyFlags) takeOver(flags *pflag.FlagSet) error {
	if f.resume == "" {
		return nil
	}
	file, err := os.Open(f.resume)
	if err != nil {
		return cli.InputError(fmt.Errorf("open journal: %w", err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	run, size, err := leader.ReadJournal(file)
	if err != nil {
		return cli.Exitf(cli.ExitUsage, "resume %s: %w", f.resume, err)
	}
	o, stages := &run.Options, stageNames(run.Options.Stages)
	same := func(name string, equal bool, had any) {
		if flags.Changed(name) && !equal {
			err = errors.Join(err, fmt.Errorf("--%s differs from the journal's, %v", name, had))
		}
	}
	same("stages", slices.Equal(sortedStages(f.stages), stages), o.Stages)
	same("budget", f.budget == o.Budget, o.Budget)
	same("step", f.step == o.Step, o.Step)
	same("flows", f.flows == o.Flows, o.Flows)
	same("seed", f.seed == o.Seed, o.Seed)
	same("gentle", f.gentle == o.Gentle, o.Gentle)
	if err != nil {
		return cli.WithHints(cli.Exitf(cli.ExitUsage, "resume %s: %w", f.resume, err),
			"--resume takes the plan from the journal: leave these flags out")
	}
	f.stages, f.budget, f.step, f.flows, f.seed, f.gentle = stages, o.Budget, o.Step, o.Flows, o.Seed, o.Gentle
	f.old, f.oldSize = run, size
	return setStart(flags, run.Start)
}

// resumeCommand is the command that continues the verification of a journal.
func (f *verifyFlags) resumeCommand(journal string) string {
	command := "rdmactl cluster verify --resume " + doctor.Quote(journal)
	if f.hosts.list != "" && f.hosts.ssh != defaultSSH {
		command += " --ssh " + doctor.Quote(f.hosts.ssh)
	}
	if f.hosts.remotePath != "" {
		command += " --remote-path " + doctor.Quote(f.hosts.remotePath)
	}
	return command
}

// setStart sets the flags by which workers were started, if none was given.
func setStart(flags *pflag.FlagSet, start map[string]string) error {
	if len(startOf(flags)) > 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(start)) {
		if !slices.Contains(startFlags, name) {
			return cli.Exitf(cli.ExitUsage,
				"the journal's workers were started by --%s, which this version doesn't have", name)
		}
		if err := flags.Set(name, start[name]); err != nil {
			return cli.Exitf(cli.ExitUsage, "the journal's workers: --%s: %w", name, err)
		}
	}
	return nil
}

// sortedStages returns the names in the order of the stages, as a plan has them.
func sortedStages(names []string) (sorted []string) {
	for _, s := range plan.Names() {
		if slices.Contains(names, string(s)) {
			sorted = append(sorted, string(s))
		}
	}
	return sorted
}

// done returns how many rounds of each stage the journal has; nil for a new run.
func (f *verifyFlags) done() (rounds []int) {
	if f.old == nil {
		return nil
	}
	for _, s := range f.old.Stages {
		rounds = append(rounds, s.Done)
	}
	return rounds
}

// sampleBytes is the size of a measurement in a journal: with the rates of 16 flows and a few
// counters, 250 to 500 bytes.
const sampleBytes = 600

// hostRails is the number of rails that a node is assumed to have before it is asked.
const hostRails = 8

// checkJournal returns an error if the journal of a run can't be created, or if its file system has
// too little space. It runs before any worker is started. freeOf returns the bytes that are left in
// a folder.
func (f *verifyFlags) checkJournal(app *cli.App, freeOf func(folder string) (uint64, error)) error {
	name := f.resume
	if name == "" {
		if f.journal == noJournal {
			return nil
		}
		name = cmp.Or(f.journal, app.Now().Format(journalPattern))
		if err := newFiles(name); err != nil {
			return err
		}
	}
	rails := hostRails
	if f.local > 0 {
		rails = f.rails
	}
	p, err := f.assumed(rails)
	if err != nil {
		return err
	}
	folder := filepath.Dir(name)
	need := uint64(p.Samples()) * sampleBytes
	need -= min(need, uint64(max(0, f.oldSize)))
	free, err := freeOf(folder)
	if err != nil || free >= need { // errors appear when it is written
		return nil //nolint:nilerr // as the comment says
	}
	const text = "write the journal %s: it may grow by %s, and %s has only %s left"
	err = cli.WithHints(cli.Exitf(cli.ExitUsage, text, name,
		inventory.Limit{Bytes: need}, folder, inventory.Limit{Bytes: free}),
		"--journal FILE writes it elsewhere, and --journal none writes none")
	if f.local == 0 && free >= need/hostRails { // enough if the nodes have one rail
		app.Out.Note("warning: %v, with %d rails", err, hostRails)
		return nil
	}
	return err
}

// openJournal opens the journal for writing: a new one, or that of a run to be resumed, behind its
// last whole line. It is nil for none.
func (f *verifyFlags) openJournal(app *cli.App) (*os.File, error) {
	const mode = 0o644
	if f.resume == "" {
		if f.journal == noJournal {
			return nil, nil //nolint:nilnil // no journal is wanted
		}
		name := cmp.Or(f.journal, app.Now().Format(journalPattern))
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, cli.Exitf(cli.ExitUsage, "create journal: %w", err)
		}
		app.Out.Note("journal: %s", name)
		_ = wholefile.Lock(file) // without it, only --resume beside this run isn't refused
		return file, nil
	}
	file, err := os.OpenFile(f.resume, os.O_RDWR, mode)
	if err != nil {
		return nil, cli.InputError(fmt.Errorf("open journal: %w", err))
	}
	if err = wholefile.Lock(file); errors.Is(err, wholefile.ErrLocked) {
		err = cli.Exitf(cli.ExitUsage, "resume a verification: %w", err)
	} else if err = file.Truncate(f.oldSize); err == nil {
		_, err = file.Seek(f.oldSize, io.SeekStart)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("resume %s: %w", f.resume, err)
	}
	return file, nil
}
