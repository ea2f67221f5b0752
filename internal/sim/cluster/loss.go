package cluster

import (
	"math"
	"math/rand/v2"
)

// Constants of the transport. The window is that of a worker: 64 WRITEs of 64 KiB of a pair.
const (
	ackTimeout  = 4.096e-6 * (1 << 14) // seconds, of the usual timeout code 14 (IBTA 9.7.6.1.3)
	retries     = 7
	windowBytes = 64 * 64 << 10
	queueing    = 4.0 // mean queueing under load in µs at 400 Gb/s, see loadLatency
)

// lossy is what loss makes of a flow.
type lossy struct {
	gbps                          float64 // goodput
	lost, retransmitted, timeouts float64 // packets, and expired timers, in a second
}

// goBackN returns what is left of a flow's share of the network when packets are lost with
// probability p.
//
// A lost packet makes the sender repeat everything that it sent after it: W packets of a round
// trip, so that a packet takes (1-p+pW)/(1-p) transmissions (Leon-Garcia and Widjaja, Communication
// Networks, section 5.2.6). The responder reports a gap once; if the repeated packet is lost as
// well, only the timer notices. That happens with p² of the packets, and costs ackTimeout each
// time, which is why RoCE's throughput is near zero from a loss of 1 % (Wang et al., Error Recovery
// of RDMA Packets in Data Center Networks, ICCCN 2019; Mittal et al., Revisiting Network Support
// for RDMA, SIGCOMM 2018, section 4.3).
func goBackN(share, p, mtu, rtt float64, flows int) lossy {
	if p <= 0 || share <= 0 {
		return lossy{gbps: share}
	}
	p = math.Min(p, 0.9)
	pps := share * 1e9 / 8 / mtu
	window := math.Max(1, math.Min(pps*rtt, windowBytes/float64(flows)/mtu))
	stalled := pps * p * p * ackTimeout // seconds without a packet, for each second with packets
	sending := 1 / (1 + stalled)
	efficiency := (1 - p) / (1 - p + p*window)
	return lossy{
		gbps: share * efficiency * sending, lost: pps * p * sending, timeouts: pps * p * p * sending,
		retransmitted: pps * sending * (1 - efficiency),
	}
}

// overload returns the probability that a hop without flow control drops a packet when more is
// offered than it carries. Congestion control reacts after a round trip or more, so bursts overflow
// the buffer: the loss grows with what exceeds the capacity. With the constant, two senders keep
// two thirds of the rate, and eight a sixth: go-back-N without PFC makes flows 1.35 to 3.5 times as
// slow on average, and more in an incast (Mittal et al., SIGCOMM 2018, sections 4.2 and 4.4.3).
func overload(offered, capacity float64) float64 {
	const perRatio = 0.001
	if capacity <= 0 || offered <= capacity*1.01 { //nolint:mnd // rounding
		return 0
	}
	return math.Min(0.2, perRatio*(offered/capacity-1))
}

// residualLoss is the frame loss ratio that a link may have: 6.2e-11 (IEEE 802.3bs, section 116.1
// and 802.3cd, for frames of 64 bytes with a minimum gap).
const residualLoss = 6.2e-11

// poisson returns a random count with a mean.
func poisson(rng *rand.Rand, mean float64) uint64 {
	switch {
	case mean <= 0:
		return 0
	case mean > 50: //nolint:mnd // where a normal distribution is close
		return uint64(math.Max(0, math.Round(mean+math.Sqrt(mean)*rng.NormFloat64())))
	}
	n, product := uint64(0), rng.Float64()
	for limit := math.Exp(-mean); product > limit; n++ {
		product *= rng.Float64()
	}
	return n
}
