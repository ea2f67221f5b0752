package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// errorsOf are sums of a sample's counters.
type errorsOf struct {
	again, missed   float64    // packets sent again, and missed by the receiver
	lost            float64    // the larger one of both
	icrc            float64    // packets that the receiver found damaged
	link            [2]float64 // symbol errors and uncorrected code words, by side
	downed          [2]float64
	discards, pause float64
	congestion      float64 // discards, pause frames, marks and notifications
}

func errorsIn(d *result.Detail) (e errorsOf) {
	if d == nil {
		return e
	}
	for _, c := range d.Counters {
		side := tx
		if c.At == result.AtTo {
			side = rx
		}
		x := float64(c.Delta)
		switch c.Name {
		case result.CounterRetransmits, result.CounterTimeouts:
			if side == tx {
				e.again += x
			}
		case result.CounterOutOfSeq:
			if side == rx {
				e.missed += x
			}
		case result.CounterICRC:
			if side == rx {
				e.icrc += x
			}
		case result.CounterSymbol, result.CounterFEC:
			e.link[side] += x
		case result.CounterDowned:
			e.downed[side] += x
		case result.CounterDiscards:
			e.discards += x
			e.congestion += x
		case result.CounterPauseRcvd, result.CounterPauseSent:
			e.pause += x
			e.congestion += x
		case result.CounterCNPSent, result.CounterCNPReceived, result.CounterECN:
			e.congestion += x
		}
	}
	e.lost = max(e.again, e.missed)
	return e
}

// lostEither returns the packets that were lost of a round trip, in which both ends send.
func lostEither(d *result.Detail) (lost float64) {
	if d == nil {
		return 0
	}
	for _, c := range d.Counters {
		switch c.Name {
		case result.CounterRetransmits, result.CounterTimeouts, result.CounterOutOfSeq:
			lost += float64(c.Delta)
		}
	}
	return lost
}

// packets returns about how many packets a sample sent.
func (v *view) packets(s *result.Sample, from int32) float64 {
	mtu := v.cards[from].mtu
	if mtu == 0 {
		mtu = 4096
	}
	seconds := 1.0
	if int(s.Stage) < len(v.run.Stages) && v.run.Stages[s.Stage].Length > 0 {
		seconds = v.run.Stages[s.Stage].Length.Seconds()
	}
	g := float64(s.Gbps)
	if !(g > 0) {
		return 0
	}
	return g * 1e9 / 8 / mtu * seconds
}

// residual is the share of its packets that a healthy link loses at most: those of 4 KiB at a bit
// error rate of 1e-12, the limit of IBTA.
const residual = 3.3e-8

// manyLost is the mean from which a normal distribution is as good as Poisson's.
const manyLost = 100

// isLoss reports whether a sample lost more than [Options.LossRate] of its packets, and one of a
// healthy link loses as many with a probability below [rareLoss]: by default 13 of the 12 million
// in a second of 400 Gb/s, or a single one of up to 30,000.
func (v *view) isLoss(lost, packets float64) bool {
	if lost < 1 || lost <= v.o.LossRate*packets {
		return false
	}
	mean := residual * packets
	if mean > manyLost {
		return tail((lost-mean)/math.Sqrt(mean)) < rareLoss
	}
	term := math.Exp(-mean) // Poisson: the probability of 0, then of 1 …
	below := 0.0
	for k := 0.0; k < lost && 1-below >= rareLoss; k++ {
		below += term
		term *= mean / (k + 1)
	}
	return 1-below < rareLoss
}

// rareLoss bounds the probability that a step of a healthy link loses what [view.isLoss] calls a
// loss: at a bit error rate of 1e-12, a step of 1 s at 400 Gb/s loses 0.4 packets.
const rareLoss = 1e-3

// loss finds links that lose or damage packets, or that go down.
func (v *view) loss() {
	n := len(v.cards)
	lost, icrc := newEvents(n, rareLoss), newEvents(n, rareLoss)
	link := make([]linkErrors, n)
	v.single = make([]pathLoss, n)
	downs := map[downKey]bool{}
	seen := false
	for i := range v.run.Samples {
		s := &v.run.Samples[i]
		f, t := v.find(s.From), v.find(s.To)
		if f < 0 || t < 0 || s.From.Node == s.To.Node || v.cards[f].known[tx] || v.cards[t].known[rx] {
			continue
		}
		e := errorsIn(s.Detail)
		for side, c := range [2]int32{f, t} { // a sample has what the port counted in the whole round
			if e.downed[side] == 0 {
				continue
			}
			if k := (downKey{s.Stage, s.Attempt, s.Round, c}); downs[k] {
				e.downed[side] = 0
			} else {
				downs[k] = true
			}
		}
		if v.stage(s) != plan.StagePairs { // whether a link goes down doesn't depend on the traffic
			link[f].add(i, 0, e.downed[tx], 0)
			link[t].add(i, 0, e.downed[rx], 0)
			continue
		}
		seen = seen || s.Detail != nil && len(s.Detail.Counters) > 0
		for side, c := range [2]int32{f, t} {
			link[c].add(i, e.link[side], e.downed[side], float64(s.Gbps)*1e9)
		}
		if s.Gbps > 0 {
			v.countSample(lost, f, t, s.Attempt > 0)
			v.countSample(icrc, f, t, s.Attempt > 0)
			packets := v.packets(s, f)
			lossy := v.isLoss(e.lost, packets)
			v.single[t].add(v, s, lossy)
			if lossy {
				lost.list = append(lost.list, event{int32(i), f, t, e.lost / max(packets, 1), s.Attempt > 0})
			}
			if e.icrc >= 2 {
				icrc.list = append(icrc.list, event{int32(i), f, t, e.icrc / max(packets, 1), s.Attempt > 0})
			}
		}
	}
	if !seen {
		v.gap("loss", "no sample of the stage pairs has a counter that moved: either nothing was lost, or the "+
			"drivers count nothing")
	}
	v.links(link)
	v.uplinkLoss(lost)
	v.damaged(icrc)
	v.lossy(lost)
}

// downKey is a card in a round.
type downKey struct {
	stage, attempt uint8
	round          uint16
	card           int32
}

// linkErrors are the errors of a card's own link.
type linkErrors struct {
	all             int // samples of any stage
	n, bad          int // samples of pairs, and those with errors
	errors, bits    float64
	downed, downsIn float64
	refs, downRefs  []int
}

func (l *linkErrors) add(sample int, errors, downed, bits float64) {
	l.all++
	if bits > 0 || errors > 0 {
		l.n++
	}
	l.bits += bits
	if errors > 0 {
		l.bad++
		l.errors += errors
		l.refs = cite(l.refs, sample)
	}
	if downed > 0 {
		l.downed += downed
		l.downsIn++
		l.downRefs = cite(l.downRefs, sample)
	}
}

// links accuses links by the counters of their own ports.
func (v *view) links(all []linkErrors) {
	v.tests += len(all)
	for c := range all {
		l := &all[c]
		if l.downed > 0 {
			v.accuse(int32(c), Verdict{
				Cause: CauseFlapping, Severity: max(min(float64(l.downsIn)/float64(l.all), 1), v.lostShare(int32(c))),
				Confidence: flapConfidence(l.downed),
				Words:      fmt.Sprintf("its link went down %s", times(l.downed)),
				Evidence: []Evidence{{fmt.Sprintf("the port counted %s of its link in %d of %d steps",
					plural(l.downed, "failure"), int(l.downsIn), l.all), l.downRefs}},
			})
		}
		// At a bit error rate of 1e-12 (IBTA, limit of a link) a port counts l.bits·1e-12 errors;
		// ten times as many, in several steps, are no chance.
		if l.bad >= min(2, l.n) && l.errors >= 10 && l.errors > 1e-11*l.bits && 3*l.bad > l.n {
			v.accuse(int32(c), Verdict{
				Cause: CauseBitErrors, Severity: v.lostShare(int32(c)), Confidence: 0.95,
				Words: fmt.Sprintf("%.3g errors of its link", l.errors),
				Evidence: []Evidence{{fmt.Sprintf("the port counted %.0f symbol errors or uncorrectable code "+
					"words in %d of %d steps",
					l.errors, l.bad, l.n), l.refs}},
			})
		}
	}
}

func flapConfidence(downs float64) float64 {
	if downs > 1 {
		return 0.97
	}
	return 0.9
}

// damaged accuses cards by the ICRC errors of those that they have exchanged packets with.
func (v *view) damaged(e *events) {
	v.tests += 2 * len(v.cards)
	for _, b := range v.blamed(e, 0.4, "it damaged packets") {
		if v.cards[b.card].known[b.dir] {
			continue
		}
		v.accuse(b.card, v.fromBlame(b, Verdict{
			Cause: CauseBitErrors, Severity: v.lostShare(b.card),
			Words: fmt.Sprintf("%.2g of the packets are damaged", b.weight),
			Evidence: []Evidence{{fmt.Sprintf("receivers counted ICRC errors in %d of %d steps in which it %ss, "+
				"with %s",
				b.k, b.n, directions()[b.dir], plural(float64(b.partners), "partner")), b.refs}},
		}))
	}
}

// lossy accuses cards of loss; both directions make one verdict.
func (v *view) lossy(e *events) {
	v.tests += 2 * len(v.cards)
	list := slices.DeleteFunc(v.blamed(e, 0.4, "it lost packets"), func(b blame) bool { return v.onlyBetween(e, b) })
	list = v.withoutEchoes(list)
	byCard := map[int32][2]*blame{}
	var order []int32
	for i := range list {
		b := &list[i]
		pair, ok := byCard[b.card]
		if !ok {
			order = append(order, b.card)
		}
		pair[b.dir] = b
		byCard[b.card] = pair
	}
	done := map[int32]bool{}
	for _, c := range order {
		if pair := byCard[c]; !done[c] {
			// One way if the other way loses a tenth at most: acknowledgements share the other way.
			send, receive := pair[tx], pair[rx]
			if send != nil && receive != nil {
				switch {
				case send.weight > 10*receive.weight:
					receive = nil
				case receive.weight > 10*send.weight:
					send = nil
				}
			}
			v.lossVerdict(c, send, receive, done)
		}
	}
}

// withoutEchoes takes out the cards that lose packets with one partner only which itself loses them
// with others: if it loses acknowledgements, what it sends is repeated as well.
func (v *view) withoutEchoes(list []blame) []blame {
	lossy := map[int32]bool{}
	for i := range list {
		lossy[list[i].card] = lossy[list[i].card] || list[i].partners > 1
	}
	return slices.DeleteFunc(list, func(b blame) bool {
		if b.partners != 1 || b.or >= 0 || len(b.refs) == 0 || lossy[b.card] {
			return false
		}
		s := &v.run.Samples[b.refs[0]]
		partner := v.find(s.From)
		if partner == b.card {
			partner = v.find(s.To)
		}
		if !lossy[partner] {
			return false
		}
		v.gap(v.run.Name(v.cards[b.card].end), "packets were lost with %s only, which loses them with others, too",
			v.run.Name(v.cards[partner].end))
		return true
	})
}

// onlyBetween reports whether a card loses packets with other leaves, and none within its own: its
// cable doesn't know the way that they take behind the leaf. A fifth is how likely that may be of a
// bad cable.
func (v *view) onlyBetween(e *events, b blame) bool {
	n, k := [2]int{}, [2]int{} // within the leaf, between leaves
	n[0], n[1] = int(e.inside[b.dir][b.card]), int(e.cross[b.dir][b.card])
	for _, x := range e.list {
		if [...]int32{x.from, x.to}[b.dir] != b.card {
			continue
		}
		switch from, to := v.cards[x.from].end.Node, v.cards[x.to].end.Node; {
		case v.crosses(from, to):
			k[1]++
		case v.within(from, to):
			k[0]++
		}
	}
	if n[0] == 0 || n[1] == 0 || k[0] > 0 || math.Pow(1-float64(k[1])/float64(n[1]), float64(n[0])) >= 0.2 {
		return false
	}
	v.gap(v.run.Name(v.cards[b.card].end), "packets were lost in %d of %d steps with other leaves and in none of %d "+
		"within its leaf: that is no fault of its cable", k[1], n[1], n[0])
	return true
}

func (v *view) lossVerdict(c int32, send, receive *blame, done map[int32]bool) {
	b, cause := send, CauseLossSend
	if send == nil {
		b, cause = receive, CauseLossReceive
	}
	if v.cards[c].known[tx] && v.cards[c].known[rx] || b == nil {
		return
	}
	var evidence []Evidence
	for d, x := range []*blame{send, receive} {
		if x != nil {
			evidence = append(evidence, Evidence{fmt.Sprintf(
				"packets were lost in %d of %d steps in which it %ss, with %s: %s",
				x.k, x.n, directions()[d], plural(float64(x.partners), "partner"), retransmissions(x.weight)), x.refs})
		}
	}
	if send != nil && receive != nil {
		cause = CauseLoss
		if receive.p < send.p {
			b = receive
		}
	}
	if b.or >= 0 {
		cause = CauseLoss
		done[b.or] = true
	}
	verdict := v.fromBlame(*b, Verdict{
		Cause: cause, Severity: v.lostShare(c), Evidence: evidence,
		Words: retransmissions(b.weight),
	})
	if cause == CauseLoss {
		verdict.Where.Direction = ""
	}
	v.accuse(c, verdict)
}

// retransmissions describes the packets that counters call sent again or missed, as a share of
// those that arrive. It is larger than the share that the network loses: after one loss, a sender
// repeats all that it has sent since (go back N).
func retransmissions(share float64) string {
	format := "retransmissions: %.0f for each 100 packets"
	if share < 0.1 {
		format = "retransmissions: %.2g for each 100 packets"
	}
	return fmt.Sprintf(format, 100*share)
}

// fromBlame fills in what a blame says of a card.
func (v *view) fromBlame(b blame, x Verdict) Verdict {
	x.p = b.p
	x.Where = Where{Scope: ScopeCard, Ends: ends(v, b.card), Direction: directions()[b.dir]}
	x.Confidence = blameConfidence(b)
	if b.or >= 0 {
		x.Where.Or, x.p = ends(v, b.or), 0
		x.Where.Direction = ""
	}
	return x
}

// congested returns in how many samples counters speak of congestion.
func (v *view) congested(list []event) (n int) {
	for _, x := range list {
		if errorsIn(v.run.Samples[x.sample].Detail).congestion > 0 {
			n++
		}
	}
	return n
}

// uplinkLoss looks for leaves whose samples to other leaves lose packets while those within don't,
// and takes such samples off the list.
func (v *view) uplinkLoss(e *events) {
	if len(v.leaves) < 2 {
		return
	}
	if congested := v.congested(e.list); len(v.leaves) < fewLeaves && 2*congested > len(e.list) {
		v.gap("uplinks", "%d of %d steps with losses had congestion", congested, len(e.list))
		return
	}
	bad, rest := v.leafEvents(e, lossyFlows)
	for g := range bad {
		v.skipCross(g)
	}
	e.list = rest
}
