// Command mutants measures what the tests of the RoCE engine and of the communication manager
// notice: it changes one place of the code at a time (a mutant) and runs the tests, which should
// fail.
//
//	go run ./integration/mutants -v           60 generated mutants, and those of named.yaml
//	go run ./integration/mutants -n 20 -seed 7
//	go run ./integration/mutants -only 'acks.go:1[0-9][0-9]'
//	go run ./integration/mutants -tests conformance -n 0    what the suite of providers alone notices
//
// It prints the mutants that survive, and a table by package. The exit code is 1 if fewer than 95 %
// are killed, without those that explained.yaml proves equivalent, or if such a proof is stale.
// Mutants that don't compile don't count. The same seed selects the same mutants of the same code.
//
// The code is changed through an overlay of the build, so the repository stays as it is. Tests run
// in their own network namespace, since two engines can't use the same address.
package main

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// enough is the percentage of mutants that the tests must kill.
const enough = 95

// limit is how long a run may take.
const limit = 30 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, module(), os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// module returns what is tested in this module: the tests of a package, then those of the engine.
func module() project {
	const roce, wire, udpio, cm = "verbs/provider/roce", "wire/rocev2", "internal/edge/udpio", "cm"
	return project{
		root:    ".",
		isolate: runtime.GOOS == "linux",
		tables:  "integration/mutants",
		packages: []testedPackage{
			{dir: roce, tests: []string{roce}},
			{dir: wire, tests: []string{wire, roce}},
			{dir: udpio, tests: []string{udpio, roce}},
			{dir: cm, tests: []string{cm}},
		},
		// With -test.short these take less than a second instead of 68 and 9.
		slow: map[string]string{
			roce: "^(TestRandomSequences|TestManyQueuePairs)$", cm: "^(TestRandom|TestFlood)$",
		},
	}
}

func run(ctx context.Context, p project, args []string, stdout io.Writer) error {
	out := bufio.NewWriter(stdout)
	defer func() { _ = out.Flush() }()
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stdout)
	n := flags.Int("n", 60, "number of generated mutants")
	seed := flags.Uint64("seed", 1, "seed of their selection")
	jobs := flags.Int("j", 2, "mutants at a time")
	verbose := flags.Bool("v", false, "print each mutant when it has been tried")
	tests := flags.String("tests", "all", "tests to run: all, or conformance, whose percentage has no minimum")
	only := flags.String("only", "", "try all mutants whose FILE:LINE: OPERATOR matches `pattern` instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := p.withTests(*tests)
	if err != nil {
		return err
	}
	filter, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	all, err := p.candidates()
	if err != nil {
		return err
	}
	named, explained, err := p.readTables(all)
	if err != nil {
		return err
	}
	list := append(sample(all, *n, *seed), named...)
	if *only != "" {
		list = slices.DeleteFunc(append(all, named...), func(m mutant) bool { return !filter.MatchString(m.place()) })
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished after %v", limit))
	defer cancel()
	begin := time.Now()
	if err := p.tryAll(ctx, list, explained, *jobs, func(m *mutant) {
		if *verbose {
			fmt.Fprintf(out, "%-9s %s (%s)\n", m.outcome, m, m.by)
			_ = out.Flush() // to watch the run
		}
	}); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants of %d candidates, seed %d, in %v\n\n",
		len(list), len(all), *seed, time.Since(begin).Round(time.Second))
	return report(out, p, list, explained)
}

// tryAll tries the mutants, several at a time, after it has checked that the tests pass without
// them. It tries an explained mutant again if it was killed, since a test may fail for another
// reason.
func (p project) tryAll(
	ctx context.Context, list []mutant, explained []explanation, jobs int, tried func(*mutant),
) error {
	without := p.packages
	if p.pattern != "" {
		without = without[:1] // the tests of all packages are the same
	}
	for _, pkg := range without {
		if p.pattern == "" && !slices.ContainsFunc(list, func(m mutant) bool { return m.pkg.dir == pkg.dir }) {
			continue
		}
		pkg.tests = []string{pkg.dir}
		if m := (mutant{pkg: pkg}); p.try(ctx, &m) != nil || m.outcome != survived {
			return fmt.Errorf("tests of %s fail without a mutant: %s %s", pkg.dir, m.outcome, m.by)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := make(chan *mutant)
	for range jobs {
		wg.Go(func() {
			for m := range next {
				err := p.try(ctx, m)
				matches := func(e explanation) bool { return e.matches(m) }
				if m.outcome == killed && slices.ContainsFunc(explained, matches) {
					err = p.try(ctx, m)
				}
				mu.Lock()
				failed = cmp.Or(failed, err)
				tried(m)
				mu.Unlock()
			}
		})
	}
	for i := range list {
		next <- &list[i]
	}
	close(next)
	wg.Wait()
	return failed
}

// report prints the survivors and the table, and returns an error if the tests are not good enough.
func report(out *bufio.Writer, p project, list []mutant, explained []explanation) error {
	counts := map[string]map[outcome]int{}
	total := map[outcome]int{}
	stale := 0
	for i := range list {
		m := &list[i]
		k := slices.IndexFunc(explained, func(e explanation) bool { return e.matches(m) })
		switch {
		case k >= 0 && m.outcome == survived:
			m.outcome = equivalent
			fmt.Fprintf(out, "explained %s: %s\n", m, explained[k].Reason)
		case k >= 0 && m.outcome == killed:
			stale++
			fmt.Fprintf(out, "stale     %s: killed by %s, but explained.yaml calls it equivalent\n", m, m.by)
		case m.outcome == survived:
			fmt.Fprintf(out, "survived  %s\n", m)
		}
		if counts[m.pkg.dir] == nil {
			counts[m.pkg.dir] = map[outcome]int{}
		}
		counts[m.pkg.dir][m.outcome]++
		total[m.outcome]++
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\npackage\tmutants\tkilled\tsurvived\texplained\tnot built\tpercent killed")
	row := func(name string, c map[outcome]int) {
		all := c[killed] + c[survived] + c[equivalent] + c[notBuilt]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f\n",
			name, all, c[killed], c[survived], c[equivalent], c[notBuilt], percent(c))
	}
	for _, pkg := range p.packages {
		row(pkg.dir, counts[pkg.dir])
	}
	row("total", total)
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case stale > 0:
		return fmt.Errorf("%d explanations of explained.yaml are stale", stale)
	case p.pattern == "" && percent(total) < enough:
		return fmt.Errorf("%.1f %% of the mutants were killed, want %d %%", percent(total), enough)
	}
	return nil
}

func percent(c map[outcome]int) float64 {
	return 100 * float64(c[killed]) / float64(max(1, c[killed]+c[survived]))
}
