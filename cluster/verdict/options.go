package verdict

import "github.com/rdmakit/rdmakit/cluster/result"

// Options are the options of [Find]. Zero values mean the defaults.
type Options struct {
	// Baseline is an earlier run of the same cluster: cards are compared with themselves, too.
	Baseline *result.Run
	// Q is the false discovery rate over all that is tested; 0: 0.001. One false accusation in a
	// thousand costs a site less than a missed one, and more than that makes people ignore them
	// all.
	Q float64
	// Floor is the least relative standard deviation between healthy cards; 0: 0.015. Repeated runs
	// of ib_write_bw and nccl-tests between healthy nodes vary by one to three per cent.
	Floor float64
	// Deficit is the least share of a card's rate that counts as lost; 0: 0.05. NCCL's tuning and
	// acceptance tests of vendors take five per cent as noise of a fabric.
	Deficit float64
	// Z is how many standard deviations an outlier is away at least; 0: 4.
	Z float64
	// LossRate is the share of packets sent again that counts as loss; 0: 1e-6. A bit error rate of
	// 1e-12, the limit of IBTA for a link, is 3e-8 of packets with 4 KiB; go-back-N loses
	// throughput from about 1e-5 on (Mittal et al., SIGCOMM 2018).
	LossRate float64
	// Latency is by how much a tail of latency exceeds that of the peers at least; 0: 2.
	Latency float64

	loose bool // suspects: no correction for many tests, no repeats
}

// softwareLoss is the LossRate of runs with RDMA in software: an engine whose processor is busy
// drops packets that no cable has lost, up to 0.05 % on machines with many engines.
const softwareLoss = 1e-3

// forRun fills in the defaults for a run.
func (o Options) forRun(run *result.Run) Options {
	if run.Software() && !(o.LossRate > 0) {
		o.LossRate = softwareLoss
	}
	return o.complete()
}

func (o Options) complete() Options {
	set := func(x *float64, value float64) {
		if !(*x > 0) {
			*x = value
		}
	}
	set(&o.Q, 0.001)
	set(&o.Floor, 0.015)
	set(&o.Deficit, 0.05)
	set(&o.Z, 4)
	set(&o.LossRate, 1e-6)
	set(&o.Latency, 2)
	return o
}

// leastDeficit returns the share that a card must have lost to be accused: more with few peers, for
// their deviation is hardly known, and with few samples of the card itself.
func (o Options) leastDeficit(ref classRef, samples int) float64 {
	switch {
	case ref.byLine:
		return 4 * o.Deficit
	case ref.n < 16:
		return 2 * o.Deficit
	case samples < 3:
		return 1.6 * o.Deficit
	}
	return o.Deficit
}
