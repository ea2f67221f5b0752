package roce

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// TestTimersOrder checks that alarms go off at their times, in order, with one timer of the clock:
// set, moved in both directions and removed.
func TestTimersOrder(t *testing.T) {
	c := &clock.Manual{}
	begin := c.Now()
	var s timers
	s.init(c)
	type call struct {
		After time.Duration
		QP    int
	}
	var got, want []call
	rng := rand.New(rand.NewPCG(1, 2))
	qps := make([]*queuePair, 50)
	for i := range qps {
		// expired of a queue pair that is closed does nothing, so fired is observed from outside.
		qps[i] = &queuePair{e: &Engine{}, closed: true}
	}
	at := map[int]time.Duration{}
	for range 300 {
		i := rng.IntN(len(qps))
		if rng.IntN(4) == 0 {
			s.remove(qps[i])
			delete(at, i)
			continue
		}
		at[i] = time.Duration(rng.IntN(1000)) * time.Millisecond
		s.set(qps[i], begin.Add(at[i]))
	}
	for i, d := range at {
		want = append(want, call{d, i})
	}
	for len(s.list) > 0 {
		pending := map[int]bool{}
		for i, qp := range qps {
			pending[i] = qp.alarm.index != 0
		}
		step, ok := c.Next()
		if !ok {
			t.Fatalf("%d alarms are set, but not the clock's timer", len(s.list))
		}
		c.Advance(step)
		for i, qp := range qps {
			if pending[i] && qp.alarm.index == 0 {
				got = append(got, call{c.Now().Sub(begin), i})
			}
		}
	}
	order := func(a, b call) int {
		if a.After != b.After {
			return int(a.After - b.After)
		}
		return a.QP - b.QP
	}
	slices.SortFunc(want, order)
	slices.SortStableFunc(got, order)
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 20 {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
}

// TestManyTimeouts checks that queue pairs of one engine whose peers are silent fail each at its
// own time, with one timer for all.
func TestManyTimeouts(t *testing.T) {
	v := newVictim(t)
	cq, err := v.e.CreateCQ(provider.CQConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cq.Close() })
	var want []uint64
	for i := range 20 {
		qp, err := v.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = qp.Close() })
		code := uint8(10 + i%4) // 4.2 ms to 33.6 ms
		attr := inner(t, v.qp).attr
		attr.Timeout, attr.RetryCount = code, 0
		walk(t, qp, attr, provider.QPStateRTS)
		if _, err := qp.PostSend([]provider.SendRequest{{ID: uint64(code)}}); err != nil {
			t.Fatal(err)
		}
		want = append(want, uint64(code))
	}
	slices.Sort(want)
	v.clock.Advance(time.Second)
	var got []uint64
	wcs := make([]provider.WorkCompletion, 32)
	n, _ := cq.Poll(wcs)
	for _, wc := range wcs[:n] {
		if wc.Status != provider.WCRetryExceeded {
			t.Errorf("status %v", wc.Status)
		}
		got = append(got, wc.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failures in order of time (-want +got):\n%s", diff)
	}
}
