package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/sim/cluster"
	"github.com/rdmakit/rdmakit/internal/sim/virtualtime"
)

// emulation measures the network of packets: how many packets a second of a processor carries, and
// how much the rates of a healthy cluster differ, in real and in simulated time.
func emulation(ctx context.Context, w *bytes.Buffer) error {
	fmt.Fprintf(w, "| time | seconds of the network | seconds of the clock | datagrams | a second of the clock | "+
		"median rate | standard deviation | lowest rate |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, simulated := range []bool{true, false} {
		if err := emulate(ctx, w, simulated); err != nil {
			return err
		}
	}
	return nil
}

func emulate(ctx context.Context, w *bytes.Buffer, simulated bool) error {
	o := cluster.NetworkOptions{Clock: clock.System}
	name := "real"
	if simulated {
		name = "simulated"
		c := new(clock.Manual)
		defer virtualtime.Drive(c)()
		o.Clock = c
	}
	const nodes = 8
	n, err := cluster.NewNetwork(cluster.Scenario{Nodes: nodes, Rails: 2}, o)
	if err != nil {
		return err
	}
	began, start := time.Now(), o.Clock.Now()
	run, err := n.Verify(ctx, plan.Options{Stages: []plan.Name{plan.StagePairs}, Step: packetStep}, nil, nil)
	if err != nil {
		return err
	}
	took, passed := time.Since(began).Seconds(), o.Clock.Now().Sub(start).Seconds()
	mean, deviation, least := spread(run)
	scale := run.Scaled().Rate
	sent := float64(n.Stats().Sent)
	fmt.Fprintf(w, "| %s | %.1f | %.1f | %.0f | %.0f | %.0f Gb/s | %.2f %% | %.1f %% |\n", name, passed, took, sent,
		sent/took, mean*scale, 100*deviation/mean, 100*least/mean)
	return nil
}

// spread returns mean, standard deviation and minimum of the rates of a run.
func spread(run *result.Run) (mean, deviation, least float64) {
	least = math.Inf(1)
	squares := 0.0
	for _, s := range run.Samples {
		g := float64(s.Gbps)
		mean += g
		squares += g * g
		least = min(least, g)
	}
	n := float64(len(run.Samples))
	mean /= n
	return mean, math.Sqrt(max(0, squares/n-mean*mean)), least
}
