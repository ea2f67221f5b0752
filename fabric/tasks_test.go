package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestTasks runs tasks of three requests each: those of a task follow each other, the tasks run
// side by side, and a silent destination costs only its task.
func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tasks, silent, refusing = 100, 17, 23
		var s *scripted
		s = newScripted(func(lid ib.LID, _ int, d fabric.Datagram) {
			if lid == refusing {
				d.MAD[5] = 0x1c
			}
			if lid != silent {
				s.answer(d, time.Since(s.start)+10*time.Millisecond)
			}
		})
		got := map[ib.LID][]error{}
		running, most := 0, 0
		lid := ib.LID(0)
		run := fabric.Tasks{Timeout: time.Second, Retries: -1}
		run.Next = func() func(*fabric.Caller) {
			if lid == tasks {
				return nil
			}
			lid++
			at := lid
			return func(c *fabric.Caller) {
				running++
				most = max(most, running)
				for i := range 3 {
					r := portCounters(at, mad.MethodGet)
					d := fabric.Datagram{Address: r.Address, MAD: r.MAD}
					d.MAD[100] = uint8(i)
					err := c.Call(t.Context(), &d)
					if refused, ok := errors.AsType[*fabric.StatusError](err); err == nil || ok && refused.Status != 0 {
						if !mad.Method(d.MAD[3]).IsResponse() || d.MAD[100] != uint8(i) || d.Address.LID != at {
							t.Errorf("LID %d, request %d: another answer", at, i)
						}
					}
					got[at] = append(got[at], err)
				}
				running--
			}
		}
		if err := run.Run(t.Context(), fabric.NewEngine(s, 16)); err != nil {
			t.Fatal(err)
		}
		for at := ib.LID(1); at <= tasks; at++ {
			want := "[<nil> <nil> <nil>]"
			switch at {
			case silent:
				want = "[no answer to 1 try in 1s no answer to 1 try in 1s no answer to 1 try in 1s]"
			case refusing:
				status := (&fabric.StatusError{Status: 0x1c}).Error()
				want = fmt.Sprintf("[%s %s %s]", status, status, status)
			}
			if diff := cmp.Diff(want, fmt.Sprint(got[at])); diff != "" {
				t.Errorf("LID %d (-want +got):\n%s", at, diff)
			}
		}
		if took := time.Since(s.start); took < 3*time.Second ||
			took > 3500*time.Millisecond || most < 8 {
			t.Errorf("took %v with up to %d tasks at once, want 3 s for the silent one", took, most)
		}
	})
}

// TestTasksEnd: if the context ends, all tasks end with its cause, and no more are started.
func TestTasksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(func(ib.LID, int, fabric.Datagram) {})
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
		started, ended, calls := 0, 0, 0
		run := fabric.Tasks{Next: func() func(*fabric.Caller) {
			started++
			return func(c *fabric.Caller) {
				for range 3 {
					d := fabric.Datagram{Address: fabric.Address{LID: 1}}
					if err := c.Call(context.Background(), &d); !errors.Is(err, why) {
						t.Errorf("Call = %v", err)
					}
					calls++
				}
				ended++
			}
		}}
		e := fabric.NewEngine(s, 4)
		if err := run.Run(ctx, e); !errors.Is(err, why) || started != 4 || ended != 4 || calls != 12 {
			t.Errorf("Run = %v, %d started, %d ended, %d calls, want 4, 4, 12", err, started, ended, calls)
		}
		if e.Outstanding() != 0 {
			t.Errorf("%d requests are outstanding", e.Outstanding())
		}
		// Places are used again, and a second run isn't affected by the failure of the first.
		s.on = func(_ ib.LID, _ int, d fabric.Datagram) { s.answer(d, time.Since(s.start)) }
		left := 50
		run.Next = func() func(*fabric.Caller) {
			if left == 0 {
				return nil
			}
			left--
			return func(c *fabric.Caller) {
				r := portCounters(1, mad.MethodGet)
				if err := c.Call(t.Context(), &fabric.Datagram{Address: r.Address, MAD: r.MAD}); err != nil {
					t.Errorf("Call = %v", err)
				}
			}
		}
		if err := run.Run(t.Context(), e); err != nil || left != 0 {
			t.Errorf("second Run = %v with %d tasks left", err, left)
		}
	})
}

// TestTasksPartition: a task whose request isn't answered reads the partition table of the
// destination, once, and sends the request again in the partition that both ports are in.
func TestTasksPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		net.Node("host0").PKeys = []ib.PKey{ib.PKeyDefault, 0x8005}
		net.Node("host1").PKeys = []ib.PKey{0x8005}
		net.Node("host2").PKeys = []ib.PKey{0x8006}
		tr := net.Transport("host0")
		tr.Address = &fabric.Addressing{PKeys: net.Node("host0").PKeys}
		lids := []ib.LID{net.Node("host1").LIDs[1], net.Node("host2").LIDs[1]}
		errs := map[ib.LID]error{}
		start := time.Now()
		run := fabric.Tasks{Timeout: time.Second, Retries: -1, ReadPKeys: true}
		run.Next = func() func(*fabric.Caller) {
			if len(lids) == 0 {
				return nil
			}
			lid := lids[0]
			lids = lids[1:]
			return func(c *fabric.Caller) {
				r := portCounters(lid, mad.MethodGet)
				errs[lid] = c.Call(t.Context(), &fabric.Datagram{Address: r.Address, MAD: r.MAD})
			}
		}
		if err := run.Run(t.Context(), fabric.NewEngine(tr, 8)); err != nil {
			t.Fatal(err)
		}
		same, other := errs[net.Node("host1").LIDs[1]], errs[net.Node("host2").LIDs[1]]
		sent, ok := fabric.SentOf(other)
		if same != nil || !ok || !sent.Disjoint || time.Since(start) > 1500*time.Millisecond {
			t.Errorf("host in the other partition: %v; in a third one: %v, after %v", same, other, time.Since(start))
		}
	})
}
