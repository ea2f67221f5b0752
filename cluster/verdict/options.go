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
	// By how much a tail is longer than those of the peers at least, and how long a host stands
	// still at least, in µs.
	margin, pause float64
	loaded        float64 // factor of margin under load, where messages wait for each other
	// The share of its rate that a slow card must lose at least, whatever Deficit is, and in
	// repeats.
	least, repeated float64
}

// The defaults of runs with RDMA in software, whose figures depend on what else the processors do.
const (
	// An engine whose processor is busy drops packets that no cable has lost, up to 0.05 % on
	// machines with many engines.
	softwareLoss = 1e-3
	// Of three to four nodes on two processors, healthy cards were up to 32 % slower than the
	// others when the machine was busy.
	softwareDeficit = 0.34
	// Half of that in repeats is noise, too.
	softwareRepeated = 0.25
	// A process waits some ms for its turn on a busy processor (sched(7), base_slice_ns).
	softwareMargin = 5000
	softwareLoaded = 4
	softwarePause  = 15_000
)

// forRun fills in the defaults for a run.
func (o Options) forRun(run *result.Run) Options {
	if run.Software() {
		orDefault(&o.LossRate, softwareLoss)
		orDefault(&o.least, softwareDeficit)
		orDefault(&o.margin, softwareMargin)
		orDefault(&o.loaded, softwareLoaded)
		orDefault(&o.pause, softwarePause)
		orDefault(&o.repeated, softwareRepeated)
	}
	return o.complete()
}

// orDefault gives an option that isn't set its default.
func orDefault(x *float64, value float64) {
	if !(*x > 0) {
		*x = value
	}
}

func (o Options) complete() Options {
	orDefault(&o.Q, 0.001)
	orDefault(&o.Floor, 0.015)
	orDefault(&o.Deficit, 0.05)
	orDefault(&o.Z, 4)
	orDefault(&o.LossRate, 1e-6)
	orDefault(&o.Latency, 2)
	orDefault(&o.margin, jitterMargin)
	orDefault(&o.loaded, 1)
	orDefault(&o.pause, pause)
	return o
}

// leastDeficit returns the share that a card must have lost to be accused: more with few peers, for
// their deviation is hardly known, and with few samples of the card itself.
func (o Options) leastDeficit(ref classRef, samples int) float64 {
	deficit := o.Deficit
	switch {
	case ref.byLine:
		deficit *= 4
	case ref.n < 16:
		deficit *= 2
	case samples < 3:
		deficit *= 1.6
	}
	return max(deficit, o.least)
}
