// Command verify scores the verdicts of a verification on emulated clusters with planted faults,
// and writes the tables of docs/verdicts.md.
//
//	go run ./integration/verify -doc docs/verdicts.md       # everything, several minutes
//	go run ./integration/verify -seed 1000 -scenarios 50 -v     # other scenarios, with all mistakes
//	go run ./integration/verify -only 17                        # one scenario and its verdicts
//
// Scenarios are those of [cluster.Random], which their seed determines. A verdict is true if its
// place is that of a planted fault and its cause is that of the fault's kind; package truth has the
// few kinds that have two. A second verdict about a fault is wrong, as is one about anything else.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// options are the flags.
type options struct {
	seed                      uint64
	scenarios, others         int
	healthy, packets          int
	large, verbose, emulation bool
	onPackets                 bool
	only                      int64
	doc                       string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 0, "first seed")
	flag.IntVar(&o.scenarios, "scenarios", 200, "number of random scenarios on the model of flows")
	flag.IntVar(&o.others, "others", 200, "number of those that no rule was chosen with")
	flag.IntVar(&o.healthy, "healthy", 100, "number of healthy ones")
	flag.IntVar(&o.packets, "packets", 12, "number of random scenarios on the network of packets")
	flag.BoolVar(&o.large, "large", true, "measure clusters of 1,000 and 10,000 nodes")
	flag.BoolVar(&o.emulation, "emulation", true, "measure the emulation: packets, and the noise of rates")
	flag.BoolVar(&o.verbose, "v", false, "print every mistake")
	flag.Int64Var(&o.only, "only", -1, "run the scenario of this seed and print its faults and verdicts")
	flag.BoolVar(&o.onPackets, "only-packets", false, "with -only: on the network of packets")
	flag.StringVar(&o.doc, "doc", "", "page whose tables are written")
	flag.Parse()
	if err := run(context.Background(), &o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

// section is a part of the page.
type section struct {
	name string
	skip bool
	make func(context.Context, *bytes.Buffer) error
}

func run(ctx context.Context, o *options, w io.Writer) error {
	var text bytes.Buffer
	if o.only >= 0 {
		if err := one(ctx, &text, o.job(uint64(o.only))); err != nil {
			return err
		}
		_, err := text.WriteTo(w)
		return err
	}
	for _, s := range o.sections() {
		if s.skip {
			continue
		}
		text.Reset()
		if err := s.make(ctx, &text); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "\n# %s\n\n%s\n", s.name, text.Bytes()); err != nil {
			return err
		}
		if o.doc != "" {
			if err := replace(o.doc, s.name, text.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// othersFrom is the first seed of scenarios that nobody looks at: the rules of verdicts must not be
// chosen by what these show.
const othersFrom = 20_000

func ofFlows(seed uint64) job { return flowJob(cluster.Random(seed)) }

func (o *options) sections() []section {
	return []section{
		{"flows", o.scenarios == 0, func(ctx context.Context, w *bytes.Buffer) error {
			const atOnce = 2
			return o.scored(ctx, w, o.seed, o.scenarios, ofFlows, atOnce)
		}},
		{"others", o.others == 0, func(ctx context.Context, w *bytes.Buffer) error {
			const atOnce = 2
			return o.scored(ctx, w, othersFrom+o.seed, o.others, ofFlows, atOnce)
		}},
		{"healthy", o.healthy == 0, o.unfaulty},
		{"packets", o.packets == 0, func(ctx context.Context, w *bytes.Buffer) error {
			of := func(seed uint64) job { return packetJob(cluster.RandomPackets(seed)) }
			return o.scored(ctx, w, o.seed, o.packets, of, 1)
		}},
		{"large", !o.large, func(ctx context.Context, w *bytes.Buffer) error { return large(ctx, w, o.seed) }},
		{"emulation", !o.emulation, emulation},
		{"arithmetic", !o.large, func(_ context.Context, w *bytes.Buffer) error { return arithmetic(w) }},
	}
}

// jobs makes n of them with seeds from the first.
func jobs(first uint64, n int, of func(seed uint64) job) []job {
	out := make([]job, n)
	for i := range out {
		out[i] = of(first + uint64(i))
	}
	return out
}

// progress prints how far a section is.
func progress(name string, n int) func(int) {
	began := time.Now()
	return func(done int) {
		if done%10 == 0 || done == n {
			fmt.Fprintf(os.Stderr, "%s: %d of %d, %.0f s\n", name, done, n, time.Since(began).Seconds())
		}
	}
}

// scored prints the tables of random scenarios.
func (o *options) scored(
	ctx context.Context, w *bytes.Buffer, first uint64, n int, of func(uint64) job, atOnce int,
) error {
	s, err := scoreAll(ctx, jobs(first, n, of), atOnce, progress("scenarios", n))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d scenarios, seeds %d to %d: %d faults, %d verdicts; precision %.3f, recall %.3f.\n\n",
		s.scenarios, first, first+uint64(n)-1, s.faults, s.claims, s.precision(), s.recall())
	s.table(w)
	fmt.Fprintln(w)
	s.confusion(w)
	fmt.Fprintln(w)
	s.calibration(w)
	if first < othersFrom {
		o.mistakes(s)
	}
	return nil
}

func (o *options) mistakes(s *score) {
	if o.verbose {
		fmt.Fprintln(os.Stderr, strings.Join(s.mistakes, "\n"))
	}
}

// unfaulty prints what is said about healthy clusters.
func (o *options) unfaulty(ctx context.Context, w *bytes.Buffer) error {
	list := jobs(o.seed, o.healthy, func(seed uint64) job { return flowJob(cluster.Healthy(seed)) })
	s, err := scoreAll(ctx, list, 2, progress("healthy", len(list)))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d healthy clusters: %d verdicts.\n", s.scenarios, s.claims)
	if s.claims > 0 {
		fmt.Fprintln(w)
		s.confusion(w)
	}
	o.mistakes(s)
	return nil
}

// job returns the scenario of a seed.
func (o *options) job(seed uint64) job {
	if o.onPackets {
		return packetJob(cluster.RandomPackets(seed))
	}
	return flowJob(cluster.Random(seed))
}

// one prints the faults and the verdicts of a scenario.
func one(ctx context.Context, w *bytes.Buffer, j job) error {
	s := j.scenario
	run, err := j.run(ctx, &s)
	if err != nil {
		return err
	}
	report := verdict.Find(run, verdict.Options{})
	fmt.Fprintf(w, "%s, %.0f Gb/s\n", shape(&s), s.Rate)
	for i := range s.Faults {
		fmt.Fprintf(w, "planted: %s\n", describe(&s, &s.Faults[i]))
	}
	for i := range report.Verdicts {
		v := &report.Verdicts[i]
		fmt.Fprintf(w, "verdict: %s at %s, confidence %.3f: %s\n", v.Cause, v.Where, v.Confidence, v.Words)
		for _, e := range v.Evidence {
			fmt.Fprintf(w, "    %s\n", e.Text)
		}
	}
	for _, g := range report.NotJudged {
		fmt.Fprintf(w, "not judged: %s: %s\n", g.What, g.Why)
	}
	sc := newScore()
	sc.add(&s, &run.Cluster, &report)
	fmt.Fprintln(w, strings.Join(sc.mistakes, "\n"))
	return nil
}
