package worker

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs"
)

// tally counts the WRITEs of a run.
type tally struct {
	start       time.Time
	warmUp      int       // completions that are still not counted: those of the requests posted at first
	first       time.Time // when the last of these completed
	latest      time.Time // when the last before the end completed
	counts      []int     // by flow, of those between
	total       int
	polls       int // that returned completions which count
	early       int // completions before the end, also those that don't count
	outstanding int
	posted      int
}

// took returns the time that the counts belong to: from the end of the warm-up to the last
// completion before the end. Completions come in groups, since one acknowledgement is for several
// requests; a time that ended within a group would be off by a part of it. After a silence that is
// longer than several groups it is the time to the end: then the silence is part of what was
// measured.
func (t *tally) took(end time.Time) time.Duration {
	const groups = 4
	if t.polls == 0 {
		return end.Sub(t.first)
	}
	took := t.latest.Sub(t.first)
	if silence := end.Sub(t.latest); silence > groups*took/time.Duration(t.polls) {
		return end.Sub(t.first)
	}
	return took
}

// rates returns the messages per second of all flows together and of each. A run so slow that the
// warm-up took all of its time has one rate, from its beginning, and none by flow.
func (t *tally) rates(end time.Time) (all float64, flows []float64) {
	if took := t.took(end).Seconds(); !t.first.IsZero() && t.total > 0 && took > 0 {
		for _, n := range t.counts {
			flows = append(flows, float64(n)/took)
		}
		return float64(t.total) / took, flows
	}
	return float64(t.early) / end.Sub(t.start).Seconds(), nil
}

// write keeps all flows busy with WRITEs for a time, and then waits for those that are outstanding.
func (e *edge) write(ctx context.Context, length time.Duration, r *protocol.EdgeReply) error {
	t := tally{counts: make([]int, len(e.qps)), start: e.w.now(), warmUp: e.perFlow() * len(e.qps)}
	end := t.start.Add(length)
	err := e.fill(&t)
	for err == nil && t.outstanding > 0 {
		err = e.reap(ctx, &t, end)
	}
	all, flows := t.rates(end)
	r.Gbps = e.gbps(all)
	if len(flows) > 1 {
		for _, f := range flows {
			r.Flows = append(r.Flows, float32(e.gbps(f)))
		}
	}
	return err
}

// gbps returns a rate of messages in 10^9 bits per second.
func (e *edge) gbps(messages float64) float64 {
	const bits = 8
	return messages * float64(e.w.cfg.Message) * bits / 1e9
}

// fill posts as many requests as each flow may have outstanding, one flow after the other in turn.
func (e *edge) fill(t *tally) error {
	for range e.perFlow() {
		for flow := range e.qps {
			if err := e.post(flow); err != nil {
				return err
			}
			t.outstanding++
			t.posted++
		}
	}
	return nil
}

// pause waits until the next message may be sent, and reports whether that is before the end: after
// n messages, the time of n at the rate that is the limit must be over.
func (e *edge) pause(ctx context.Context, t *tally, end time.Time) (bool, error) {
	if !(e.spec.Cap > 0) {
		return true, nil
	}
	due := t.start.Add(time.Duration(float64(t.posted) / e.spec.Cap * e.gbps(1) * float64(time.Second)))
	wait := due.Sub(e.w.now())
	switch {
	case due.After(end):
		return false, nil
	case wait <= 0:
		return true, nil
	}
	return true, clock.Sleep(ctx, e.w.cfg.Clock, wait)
}

func (e *edge) post(flow int) error {
	peer := &e.peers[flow]
	_, err := e.qps[flow].PostSend(verbs.SendRequest{
		ID: uint64(flow), Op: verbs.SendOpWrite, Flags: verbs.SendSignaled,
		Segments:   []verbs.Segment{e.mr.Segment(0, e.w.cfg.Message)},
		RemoteAddr: peer.Addr, RKey: peer.RKey,
	})
	return err
}

// reap waits for completions, counts them, and posts as many again until the end.
func (e *edge) reap(ctx context.Context, t *tally, end time.Time) error {
	n, err := e.sends.Wait(ctx, e.wcs[:])
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return err
	}
	now := e.w.now()
	over, counts := now.After(end), t.warmUp == 0 && now.After(t.first)
	if counts && !over {
		t.latest = now
		t.polls++
	}
	for i := range e.wcs[:n] {
		wc := &e.wcs[i]
		t.outstanding--
		if err := wc.Err(); err != nil {
			return err
		}
		if over {
			continue
		}
		t.early++
		switch {
		case counts:
			t.counts[wc.ID]++
			t.total++
		case t.warmUp > 0:
			t.warmUp--
			t.first = now
		}
		again, err := e.pause(ctx, t, end)
		if again && err == nil {
			err = e.post(int(wc.ID))
			t.outstanding++
			t.posted++
		}
		if err != nil {
			return err
		}
	}
	return nil
}
