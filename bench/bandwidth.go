package bench

import (
	"context"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// flow sends messages of one size over all queue pairs.
type flow struct {
	r     *rig
	size  int
	limit uint64 // messages per queue pair; 0: no limit
	sent  []uint64
	done  []uint64 // messages known to be complete
	clock *clock
	wrs   []verbs.SendRequest
	segs  []verbs.Segment

	// With a limit and if the peak is computed: when each message was posted and completed, in
	// nanoseconds; each slice has the messages of all queue pairs in time order.
	posted, completed []int64
	totalSent, total  uint64
	counted           uint64 // completions within the measured time, with a duration
}

func (r *rig) newFlow(size int, limit uint64) *flow {
	f := &flow{
		r: r, size: size, limit: limit, sent: make([]uint64, r.cfg.QueuePairs), done: make([]uint64, r.cfg.QueuePairs),
		clock: r.clock(), wrs: make([]verbs.SendRequest, r.cfg.PostList),
		segs: make([]verbs.Segment, r.cfg.PostList),
	}
	if n := limit * uint64(r.cfg.QueuePairs); !r.cfg.NoPeak && n <= maxPeakPoints {
		f.posted, f.completed = make([]int64, n), make([]int64, n)
	}
	return f
}

// send measures the bandwidth of one size at the sending end.
func (r *rig) send(ctx context.Context, size int) (BandwidthPoint, error) {
	if r.cfg.WarmUp && r.cfg.Test != SendBW {
		if err := r.newFlow(size, uint64(r.cfg.TxDepth)).run(ctx); err != nil {
			return BandwidthPoint{}, err
		}
	}
	limit := uint64(r.cfg.Iterations)
	if r.cfg.Duration > 0 {
		limit = 0
	}
	f := r.newFlow(size, limit)
	if err := f.run(ctx); err != nil {
		return BandwidthPoint{}, err
	}
	if limit == 0 {
		return f.clock.bandwidth(size, f.counted)
	}
	took := f.clock.now().Seconds()
	return bandwidthPoint(size, f.total, took, shortestInterval(f.posted, f.completed)/1e9), nil
}

// run posts and polls until everything is complete, or until the duration is over. It doesn't wait
// for requests that are outstanding at the end of the duration, because the peer may have ended.
func (f *flow) run(ctx context.Context) error {
	for f.limit == 0 || f.total < f.limit*uint64(len(f.sent)) {
		for i := range f.r.qps {
			if err := f.fill(i); err != nil {
				return err
			}
		}
		wcs, err := f.wait(ctx)
		if err != nil {
			return err
		}
		f.complete(wcs)
		if f.limit == 0 && f.clock.now() >= f.clock.last {
			return nil
		}
	}
	return nil
}

// canPost reports whether queue pair i has requests left, room for them, and the receiver's
// permission.
func (f *flow) canPost(i int) bool {
	list, depth := uint64(f.r.cfg.PostList), uint64(f.r.cfg.TxDepth)
	return (f.limit == 0 || f.sent[i] < f.limit) && f.sent[i]-f.done[i]+list <= depth && f.permitted(i)
}

// fill posts as many requests to queue pair i as its depth allows.
func (f *flow) fill(i int) error {
	list := uint64(f.r.cfg.PostList)
	for f.canPost(i) {
		n := int(list)
		if f.limit > 0 {
			n = int(min(list, f.limit-f.sent[i]))
		}
		if f.posted != nil {
			now := f.clock.now().Nanoseconds()
			for k := range n {
				f.posted[f.totalSent+uint64(k)] = now
			}
		}
		for k := range n {
			f.request(i, k)
		}
		if _, err := f.r.qps[i].PostSend(f.wrs[:n]...); err != nil {
			return err
		}
		f.sent[i] += uint64(n)
		f.totalSent += uint64(n)
		if f.limit == 0 && f.clock.now() >= f.clock.last {
			return nil
		}
	}
	return nil
}

// idShift separates the number of a message from its queue pair in a work request ID.
const idShift = 48

// request returns the request for the k-th message after those already sent.
func (f *flow) request(i, k int) {
	r := f.r
	n := f.sent[i] + uint64(k)
	at := r.walk(n, f.size)
	f.segs[k] = r.region(i).Segment(r.source(i)+at, f.size)
	wr := verbs.SendRequest{ID: uint64(i)<<idShift | (n + 1), Op: r.cfg.Test.Op(), Segments: f.segs[k : k+1]}
	r.direct(i, at, &wr)
	if (n+1)%uint64(r.cfg.CQModeration) == 0 || n+1 == f.limit {
		wr.Flags |= verbs.SendSignaled
	}
	f.wrs[k] = wr
}

func (f *flow) complete(wcs []verbs.WorkCompletion) {
	now := f.clock.now()
	f.clock.saw(now, len(wcs))
	for _, wc := range wcs {
		i, n := wc.ID>>idShift, wc.ID&(1<<idShift-1)
		news := n - f.done[i]
		f.done[i] = n
		f.total += news
		if f.completed != nil {
			f.completed[f.total-1] = now.Nanoseconds()
		}
		if f.clock.counts(now) {
			f.counted += news
		}
	}
}

// take measures the bandwidth of SENDs of one size at the receiving end. The time of a number of
// messages begins with the step of the exchange that lets the client send: on a busy machine all of
// them may be there when this end polls for the first time, which is where perftest begins. With a
// duration it begins with the first message, and a margin follows.
func (r *run) take(ctx context.Context, size int) (BandwidthPoint, error) {
	limit := r.cfg.Iterations
	var clock *clock
	if r.cfg.Duration == 0 {
		clock = r.clock()
		clock.begin = r.session.Heard()
	}
	var got, counted uint64
	for r.cfg.Duration > 0 || got < uint64(limit*r.cfg.QueuePairs) {
		wcs, err := r.pollUntil(ctx, r.recvs, clock)
		if err != nil {
			return BandwidthPoint{}, err
		}
		if clock == nil {
			clock = r.clock()
		}
		now := clock.now()
		if r.cfg.Duration > 0 && now >= clock.last {
			break
		}
		for _, wc := range wcs {
			i := int(wc.ID)
			if r.cfg.Duration > 0 || r.posted[i] < limit {
				if err := r.receive(i, 1, size); err != nil {
					return BandwidthPoint{}, err
				}
				r.posted[i]++
			}
			if r.credits != nil {
				if err := r.grant(ctx, i); err != nil {
					return BandwidthPoint{}, err
				}
			}
		}
		got += uint64(len(wcs))
		clock.saw(now, len(wcs))
		if clock.counts(now) {
			counted += uint64(len(wcs))
		}
	}
	took := clock.now().Seconds()
	if err := r.settleAll(ctx); err != nil {
		return BandwidthPoint{}, err
	}
	if r.cfg.Duration > 0 {
		return clock.bandwidth(size, counted)
	}
	return bandwidthPoint(size, got, took, 0), nil
}

// pollUntil is poll, but returns when the duration of the test is over. A nil clock has not begun.
func (r *rig) pollUntil(ctx context.Context, cq *verbs.CompletionQueue, c *clock) ([]verbs.WorkCompletion, error) {
	if r.cfg.Duration == 0 || c == nil {
		return r.poll(ctx, cq)
	}
	if wcs, err := r.pollOnce(cq); len(wcs) > 0 || err != nil {
		return wcs, err
	}
	limited, cancel := context.WithDeadline(ctx, c.begin.Add(c.last))
	defer cancel()
	wcs, err := r.poll(limited, cq)
	if err != nil && ctx.Err() == nil && time.Since(c.begin) >= c.last {
		return nil, nil
	}
	return wcs, err
}
