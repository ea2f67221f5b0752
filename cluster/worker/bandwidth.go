package worker

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/verbs"
)

// tally counts the WRITEs of a run.
type tally struct {
	first       time.Time // when the first completed, which is not counted
	counts      []int     // by flow, completed after it and before the end
	total       int
	outstanding int
}

// write keeps all flows busy with WRITEs for a time, and then waits for those that are outstanding.
// The rate counts from the first completion, so that the way there and back is not part of it, to
// the end of the time.
func (e *edge) write(ctx context.Context, length time.Duration, r *protocol.EdgeReply) error {
	t := tally{counts: make([]int, len(e.qps))}
	end := time.Now().Add(length)
	err := e.fill(&t)
	for err == nil && t.outstanding > 0 {
		err = e.reap(ctx, &t, end)
	}
	if took := end.Sub(t.first).Seconds(); !t.first.IsZero() && took > 0 {
		r.Gbps = e.gbps(t.total, took)
		if len(t.counts) > 1 {
			for _, n := range t.counts {
				r.Flows = append(r.Flows, float32(e.gbps(n, took)))
			}
		}
	}
	return err
}

// gbps returns the rate of n messages in 10^9 bits per second.
func (e *edge) gbps(n int, seconds float64) float64 {
	const bits = 8
	return float64(n) * float64(e.w.cfg.Message) * bits / 1e9 / seconds
}

// fill posts as many requests as each flow may have outstanding, one flow after the other in turn.
func (e *edge) fill(t *tally) error {
	for range e.perFlow() {
		for flow := range e.qps {
			if err := e.post(flow); err != nil {
				return err
			}
			t.outstanding++
		}
	}
	return nil
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
	now := time.Now()
	for i := range e.wcs[:n] {
		wc := &e.wcs[i]
		t.outstanding--
		if err := wc.Err(); err != nil {
			return err
		}
		switch {
		case now.After(end):
			continue
		case t.first.IsZero():
			t.first = now
		default:
			t.counts[wc.ID]++
			t.total++
		}
		if err := e.post(int(wc.ID)); err != nil {
			return err
		}
		t.outstanding++
	}
	return nil
}
