package sa_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/rmpp"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// whole delivers messages as the kernel does to an agent with RMPP (drivers/infiniband/core/mad.c,
// ib_mad_complete_recv, and mad_rmpp.c): whole, if their request hasn't timed out meanwhile. A STOP
// or ABORT is not delivered. The kernel of Linux 6.1 was seen to do so over rxe: see
// integration/kernel.
type whole struct {
	fabric.Transport
	window    int
	requests  map[uint64]time.Time // when they time out
	transfers map[uint64]*rmpp.Receiver
}

func (k *whole) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var p mad.SA
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		k.requests[p.TransactionID] = time.Now().Add(batch[i].Timeout)
	}
	return k.Transport.Send(batch)
}

func (k *whole) Reassembles(class mad.Class) bool { return class == mad.ClassSA }

func (k *whole) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	for {
		until, first := deadline, uint64(0)
		for tid, at := range k.requests {
			if at.Before(until) {
				until, first = at, tid
			}
		}
		n, err := k.Transport.Receive(ctx, batch[:1], until)
		switch {
		case err != nil:
			return 0, err
		case n == 1 && k.complete(&batch[0]):
			return 1, nil
		case n == 1 || time.Now().Before(until):
		case first == 0:
			return 0, nil
		default:
			delete(k.requests, first)
			q := mad.NewSA(mad.MethodGetTable, mad.AttributeNodeRecord, 0, first)
			batch[0] = fabric.Datagram{Lost: true}
			q.Append(batch[0].MAD[:0])
			return 1, nil
		}
	}
}

// complete takes a datagram, and reports whether it is now a message to deliver.
func (k *whole) complete(d *fabric.Datagram) bool {
	var p mad.SA
	p.Decode(d.MAD[:]) //nolint:errcheck // long enough
	tid := p.TransactionID
	if _, waits := k.requests[tid]; !waits {
		return false
	}
	if p.RMPP.Flags&mad.RMPPActive != 0 {
		if p.RMPP.Type != mad.RMPPData {
			return false
		}
		r := k.transfers[tid]
		if r == nil {
			r = &rmpp.Receiver{Window: k.window}
			k.transfers[tid] = r
		}
		ack, send, err := r.Receive(&p)
		if send {
			reply := fabric.Datagram{Address: d.Address}
			reply.Address.QKey = fabric.QKeyGSI
			ack.Append(reply.MAD[:0])
			k.Transport.Send([]fabric.Datagram{reply}) //nolint:errcheck // the simulation takes everything
		}
		if err != nil || !r.Done() {
			return false
		}
		m := r.Message()
		first := mad.SA{SAHeader: m.Header}
		n := copy(first.Data[:], m.Data)
		first.Append(d.MAD[:0])
		d.Length, d.Rest = mad.SAHeaderLen+len(m.Data), m.Data[n:]
	}
	delete(k.requests, tid)
	return true
}

// cut lets a number of datagrams of subnet administration arrive at a client, and none after them;
// except, if alive, those of one segment. The last one may be changed.
func cut(r *recorder, after int, alive bool, last func(p *mad.SA)) {
	count := 0
	r.change = func(d *fabric.Datagram) {
		var p mad.SA
		p.Decode(d.MAD[:]) //nolint:errcheck // long enough
		switch segment := p.RMPP.Flags&mad.RMPPActive != 0; {
		case alive && !segment:
		case count >= after:
			p.MgmtClass = mad.ClassPerformance // a stranger
			p.TransactionID = 0
		default:
			if count++; count == after && last != nil {
				last(&p)
			}
		}
		p.Append(d.MAD[:0])
	}
}

// TestHidden: if the transport hides segments, a table may take longer than a try if the SA answers
// another query meanwhile, and the errors say what isn't known.
func TestHidden(t *testing.T) {
	abort := func(p *mad.SA) {
		p.RMPP = mad.RMPP{Version: 1, Type: mad.RMPPAbort, Flags: mad.RMPPActive, Status: mad.RMPPStatusUnspecified}
	}
	const hidden = "subnet administration answers another query, but no whole answer to this one arrived in "
	for name, test := range map[string]struct {
		plant           func(s *subnet.Subnet, r *recorder, k *whole, c *sa.Client)
		tables, probes  int // queries
		problem         string
		least, most     time.Duration
		stalled, absent bool // kinds of errors
	}{
		"fast": {
			plant:  func(*subnet.Subnet, *recorder, *whole, *sa.Client) {},
			tables: 1, most: 100 * time.Millisecond,
		},
		"a lost segment": {
			plant: func(s *subnet.Subnet, _ *recorder, _ *whole, _ *sa.Client) {
				count := 0
				s.Node("host0").Lie = func(*fabric.Datagram) int {
					if count++; count == 20 {
						return 0
					}
					return 1
				}
			},
			tables: 1, probes: 1, least: 2 * time.Second, most: 2100 * time.Millisecond,
		},
		"slow": {
			plant:  func(s *subnet.Subnet, _ *recorder, _ *whole, _ *sa.Client) { s.Delay = 450 * time.Millisecond },
			tables: 1, probes: 1, least: 4 * time.Second, most: 6 * time.Second,
		},
		"slower than the patience of a sender": {
			plant: func(s *subnet.Subnet, _ *recorder, k *whole, _ *sa.Client) {
				s.Delay, k.window = 450*time.Millisecond, 2
			},
			tables: 2, probes: 2, least: 15 * time.Second, most: 18 * time.Second,
		},
		"a lost query": {
			plant: func(_ *subnet.Subnet, r *recorder, _ *whole, _ *sa.Client) {
				count := 0
				r.drop = func(*mad.SA) bool { count++; return count == 1 }
			},
			tables: 2, probes: 1, least: 9 * time.Second, most: 9100 * time.Millisecond,
		},
		"aborted": {
			plant:  func(_ *subnet.Subnet, r *recorder, _ *whole, _ *sa.Client) { cut(r, 20, true, abort) },
			tables: 3, probes: 3, problem: hidden + "40s: the transfer has stopped, was ended, or never began",
			least: 40 * time.Second, most: 40 * time.Second, stalled: true, absent: true,
		},
		"silent, with limits": {
			plant: func(_ *subnet.Subnet, r *recorder, _ *whole, c *sa.Client) {
				c.Retries, c.Timeout, c.TotalTime = -1, 200*time.Millisecond, 5*time.Second
				cut(r, 20, true, nil)
			},
			tables: 1, probes: 1, problem: hidden + "5s", least: 5 * time.Second, most: 5 * time.Second,
			stalled: true, absent: true,
		},
		"dies": {
			plant:  func(_ *subnet.Subnet, r *recorder, _ *whole, _ *sa.Client) { cut(r, 20, false, nil) },
			tables: 3, probes: 3, problem: "no answer to 3 tries in 3s (the transport delivers only whole answers)",
			least: 3 * time.Second, most: 3 * time.Second, absent: true,
		},
		"dies after the first try": {
			plant: func(_ *subnet.Subnet, r *recorder, _ *whole, _ *sa.Client) {
				cut(r, 20, true, nil)
				death, alive := time.Now().Add(5*time.Second), r.change
				cut(r, 0, false, nil)
				dead := r.change
				r.change = func(d *fabric.Datagram) {
					if time.Now().Before(death) {
						alive(d)
						return
					}
					dead(d)
				}
			},
			tables: 3, probes: 3, problem: "no answer to 3 tries in 11s (the transport delivers only whole answers)",
			least: 11 * time.Second, most: 11 * time.Second, absent: true,
		},
		"busy": {
			plant:  func(s *subnet.Subnet, _ *recorder, _ *whole, _ *sa.Client) { s.SAStatus = mad.StatusBusy },
			tables: 3, probes: 3, problem: "subnet administration is busy after 3 tries in 3s",
			least: 3 * time.Second, most: 3 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
				k := &whole{Transport: r, requests: map[uint64]time.Time{}, transfers: map[uint64]*rmpp.Receiver{}}
				c.Transport, c.LID, c.SMKey = k, s.MasterLID, 7
				test.plant(s, r, k, c)
				start := time.Now()
				table, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
				took := time.Since(start)
				var e *sa.StalledError
				switch {
				case test.problem == "" && (err != nil || table.Len() != 129):
					t.Errorf("%v, want 129 records", err)
				case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
					t.Errorf("%v, want %q", err, test.problem)
				}
				if errors.As(err, &e) != test.stalled || errors.Is(err, fabric.ErrNoAnswer) != test.absent {
					t.Errorf("%v: kinds differ", err)
				}
				if took < test.least || took > test.most {
					t.Errorf("took %v, want from %v to %v", took, test.least, test.most)
				}
				for _, p := range packets(r.sent) {
					if p.RMPP.Flags == 0 && p.SMKey != 7 {
						t.Errorf("%s with SM_Key %d, want 7", p.AttributeID.Name(mad.ClassSA), p.SMKey)
					}
				}
				tables, probes := queries(r)
				if tables != test.tables || probes != test.probes {
					t.Errorf("%d queries and %d others, want %d and %d", tables, probes, test.tables, test.probes)
				}
			})
		})
	}
}

// queries counts the queries that were sent for tables, and for ClassPortInfo.
func queries(r *recorder) (tables, probes int) {
	for _, p := range packets(r.sent) {
		switch {
		case p.RMPP.Flags&mad.RMPPActive != 0:
		case p.Method == mad.MethodGetTable:
			tables++
		case p.AttributeID == mad.AttributeClassPortInfo:
			probes++
		}
	}
	return tables, probes
}

// TestHiddenGet: an answer of one segment is not waited for any longer.
func TestHiddenGet(t *testing.T) {
	simulated(t, func(t *testing.T, s *subnet.Subnet, r *recorder, c *sa.Client) {
		k := &whole{Transport: r, requests: map[uint64]time.Time{}, transfers: map[uint64]*rmpp.Receiver{}}
		c.Transport, c.LID = k, s.MasterLID
		r.drop = func(p *mad.SA) bool { return p.AttributeID == mad.AttributeNodeRecord }
		start := time.Now()
		_, err := c.Get(t.Context(), sa.Query{Attribute: mad.AttributeNodeRecord})
		_, probes := queries(r)
		if took := time.Since(start); !errors.Is(err, fabric.ErrNoAnswer) || took != 3*time.Second || probes != 0 {
			t.Errorf("%v after %v, %d other queries", err, took, probes)
		}
	})
}

// singleWhole delivers one datagram at a time, and messages whole.
type singleWhole struct{ single }

func (singleWhole) Reassembles(class mad.Class) bool { return class == mad.ClassSA }

// TestHiddenLateLoss: the report that the first try is lost doesn't end the second one.
func TestHiddenLateLoss(t *testing.T) {
	k := &kernel{}
	var first *mad.SA
	k.answer = func(q mad.SA) (d fabric.Datagram) {
		d.MAD[1] = byte(mad.ClassPerformance) // a stranger
		switch {
		case q.AttributeID == mad.AttributeClassPortInfo:
			return d
		case first == nil:
			first = &q
			return d
		}
		d.Lost = true
		first.Append(d.MAD[:0])
		answer, _ := table(q, 2, mad.RMPP{})
		k.queue = append(k.queue, d)
		return answer
	}
	c := sa.Client{Transport: singleWhole{single{k}}, LID: 1, Timeout: 20 * time.Millisecond, Retries: 1}
	got, err := c.Table(t.Context(), sa.Query{Attribute: mad.AttributeLinkRecord})
	if err != nil || got.Len() != 2 {
		t.Errorf("answer after a report about an earlier try: %v", err)
	}
}
