package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/cluster/verdict"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
	"github.com/rdmakit/rdmakit/internal/sim/virtualtime"
)

// leavesFrom is why a run knows its leaves.
const leavesFrom = "scenario"

// flows runs a whole verification of a scenario on the model of flows.
func flows(ctx context.Context, s *cluster.Scenario, o plan.Options) (*result.Run, error) {
	m, err := cluster.NewModel(*s)
	if err != nil {
		return nil, err
	}
	o.Seed = s.Seed
	p, err := plan.New(s.Cluster(), o)
	if err != nil {
		return nil, err
	}
	return leader.Verify(ctx, m, leader.Config{Plan: p, LeavesFrom: leavesFrom, Suspects: verdict.Retest})
}

// packets runs a whole verification of a scenario on the network of packets, in simulated time.
func packets(ctx context.Context, s *cluster.Scenario) (*result.Run, error) {
	c := new(clock.Manual)
	defer virtualtime.Drive(c)()
	n, err := cluster.NewNetwork(*s, cluster.NetworkOptions{Clock: c})
	if err != nil {
		return nil, err
	}
	return n.Verify(ctx, plan.Options{Seed: s.Seed, Flows: packetFlows, Step: packetStep}, verdict.Retest, nil)
}

// Options of a plan for packets: a card sends two hundred in a step.
const (
	packetFlows = 4
	packetStep  = time.Second
)

// job is a scenario and what runs it.
type job struct {
	scenario cluster.Scenario
	run      func(context.Context, *cluster.Scenario) (*result.Run, error)
}

func flowJob(s cluster.Scenario) job {
	return job{s, func(ctx context.Context, s *cluster.Scenario) (*result.Run, error) {
		return flows(ctx, s, plan.Options{})
	}}
}

func packetJob(s cluster.Scenario) job { return job{s, packets} }

// scoreAll runs jobs, several at once, and scores them in their order.
func scoreAll(ctx context.Context, jobs []job, atOnce int, progress func(done int)) (*score, error) {
	type answer struct {
		cluster plan.Cluster
		report  verdict.Report
		err     error
	}
	answers := make([]answer, len(jobs))
	next, done := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, min(atOnce, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(jobs) {
					return
				}
				a := &answers[i]
				run, err := jobs[i].run(ctx, &jobs[i].scenario)
				if err != nil {
					a.err = fmt.Errorf("scenario of seed %d: %w", jobs[i].scenario.Seed, err)
				} else {
					a.cluster, a.report = run.Cluster, verdict.Find(run, verdict.Options{})
				}
				mu.Lock()
				done++
				progress(done)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s := newScore()
	for i := range answers {
		a := &answers[i]
		if a.err != nil {
			return nil, a.err
		}
		s.add(&jobs[i].scenario, &a.cluster, &a.report)
	}
	return s, nil
}
