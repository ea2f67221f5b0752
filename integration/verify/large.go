package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// size is a large cluster. Flows are fewer than usual where the model would otherwise take most of
// the memory.
type size struct {
	nodes, rails, flows int
}

func sizes() []size { return []size{{1000, 8, 16}, {10_000, 1, 4}} }

// badShare is the share of nodes of a large cluster that have a fault.
const badShare = 0.01

// large measures what verdicts about large clusters cost, and how right they are.
func large(ctx context.Context, w *bytes.Buffer, seed uint64) error {
	fmt.Fprintf(w, "| nodes | rails | samples | the run, MiB | verdicts take | MiB on top | precision | recall |\n"+
		"|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, size := range sizes() {
		s, err := cluster.RandomBad(seed, size.nodes, size.rails, badShare)
		if err != nil {
			return err
		}
		before := heap()
		run, err := flows(ctx, &s, plan.Options{Flows: size.flows})
		if err != nil {
			return err
		}
		kept := heap()
		peak := watch()
		began := time.Now()
		report := verdict.Find(run, verdict.Options{})
		took := time.Since(began)
		most := peak()
		sc := newScore()
		sc.add(&s, &run.Cluster, &report)
		const mega = 1 << 20
		fmt.Fprintf(w, "| %d | %d | %d | %d | %.1f s | %d | %.3f | %.3f |\n", size.nodes, size.rails, len(run.Samples),
			(kept-before)/mega, took.Seconds(), (max(most, kept)-kept)/mega, sc.precision(), sc.recall())
		runtime.KeepAlive(run)
	}
	return nil
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// watch looks at the heap until the function that it returns is called, which returns the most that
// was in use, with what had not been collected yet.
func watch() func() uint64 {
	const interval = 20 * time.Millisecond
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-done:
				most <- peak
				return
			case <-time.After(interval):
			}
		}
	}()
	return func() uint64 { close(done); return <-most }
}

// arithmetic prints what the plan of a cluster costs, and what measuring its pairs one by one
// would.
func arithmetic(w *bytes.Buffer) error {
	const nodes, rails, byHand = 64, 8, 10 * time.Second
	s, err := cluster.Scenario{Nodes: nodes, Rails: rails}.Complete()
	if err != nil {
		return err
	}
	p, err := plan.New(s.Cluster(), plan.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| stage | rounds | each | together |\n|---|--:|--:|--:|\n")
	total := p.Cost()
	for st := range p.Stages {
		one, err := plan.New(s.Cluster(), plan.Options{Stages: []plan.Name{st.Name}})
		if err != nil {
			return err
		}
		c := one.Cost()
		fmt.Fprintf(w, "| %s | %d | %v | %.0f s |\n",
			st.Name, c.Rounds, c.Time/time.Duration(c.Rounds), c.Time.Seconds())
	}
	fmt.Fprintf(w, "| **all** | %d | | %.0f s |\n\n", total.Rounds, total.Time.Seconds())
	pairs := nodes * (nodes - 1) / 2 * rails
	hours := (time.Duration(pairs) * byHand).Hours()
	fmt.Fprintf(w, "By hand, with `ib_write_bw` for each of %d pairs of cards, at %.0f s each: %.0f h.\n",
		pairs, byHand.Seconds(), hours)
	return nil
}
