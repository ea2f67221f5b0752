package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// counts are the figures of a flow that follow from the fields of tshark without any state.
type counts struct {
	Packets, Requests, ACKs, NAKs, RNRs int
	Again                               int // request packets whose number was seen before in the flow
	Never                               int // numbers between the lowest and the highest that never came
	Payload                             int64
}

// theirCounts counts with tshark's fields.
func theirCounts(t *testing.T, file string) map[string]counts {
	t.Helper()
	const src, dst, qp, op = "ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.opcode"
	const psn, syndrome, udp, pad = "infiniband.bth.psn", "infiniband.aeth.syndrome", "udp.length",
		"infiniband.bth.padcnt"
	frames, err := tshark.Values(t.Context(), file, src, dst, qp, op, psn, syndrome, udp, pad)
	check(t, err)
	out, seen := map[string]counts{}, map[string]map[int]bool{}
	number := func(s string) int {
		n, err := strconv.ParseInt(s, 0, 64)
		check(t, err)
		return int(n)
	}
	for _, f := range frames {
		key := fmt.Sprintf("%s → %s QP %s", f[src], f[dst], f[qp])
		c, o := out[key], ib.Opcode(number(f[op]))
		c.Packets++
		c.Payload += int64(number(f[udp]) - udpLen - o.HeaderLen() - number(f[pad]) - 4)
		if o >= ib.OpcodeRCReadResponseFirst && o <= ib.OpcodeRCAtomicAcknowledge {
			if o == ack {
				switch s := number(f[syndrome]); {
				case s < 0x20:
					c.ACKs++
				case s < 0x40:
					c.RNRs++
				default:
					c.NAKs++
				}
			}
		} else {
			c.Requests++
			if seen[key] == nil {
				seen[key] = map[int]bool{}
			}
			n := (number(f[psn]) + 1<<23) % (1 << 24) // the numbers of these tests wrap around
			if seen[key][n] {
				c.Again++
			}
			seen[key][n] = true
		}
		out[key] = c
	}
	for key, all := range seen {
		low, high := 1<<24, 0
		for n := range all {
			low, high = min(low, n), max(high, n)
		}
		c := out[key]
		c.Never = high - low + 1 - len(all)
		out[key] = c
	}
	return out
}

func ourCounts(r *Report) map[string]counts {
	out := map[string]counts{}
	for _, f := range r.Flows {
		c := counts{
			Packets: f.Packets, Requests: f.Requests.Packets, ACKs: f.Responses.ACKs, RNRs: f.Responses.RNRs.Count,
			Again: f.Requests.Repeated.Count + f.Requests.Duplicates.Count - f.Requests.Lost, Never: f.Requests.Holes,
			Payload: f.Payload,
		}
		for _, e := range f.Responses.NAKs {
			c.NAKs += e.Count
		}
		out[f.Label()] = c
	}
	return out
}

// planted counts the faults of requests.
type planted struct{ drops, copies, late int }

// fate chooses a fate at random and counts it.
func (n *planted) fate(random *rand.Rand, toB bool) fate {
	count := func(c *int) {
		if toB {
			*c++
		}
	}
	switch i := random.IntN(100); {
	case i < 3:
		count(&n.drops)
		return fate{drop: true}
	case i < 5:
		count(&n.copies)
		return fate{twice: true}
	case i < 6:
		count(&n.late)
		return fate{hold: true}
	}
	return fate{}
}

// compare compares what was planted with the requests of a flow. Not all losses and delays can be
// seen: some are of packets that are sent again anyway, or that the next packet doesn't overtake. A
// late packet next to the one that the sender sent again for it, as on a busy machine, looks like a
// copy.
func (n *planted) compare(q *Requests, near bool) error {
	switch {
	case q.Duplicates.Count < n.copies || q.Duplicates.Count+q.Reordered.Count > n.copies+n.late:
		return fmt.Errorf("%d duplicates and %d late, want %d and up to %d",
			q.Duplicates.Count, q.Reordered.Count, n.copies, n.late)
	case near && q.Missing.Count+q.Reordered.Count > 0:
		return fmt.Errorf("%d missing and %d late before all faults", q.Missing.Count, q.Reordered.Count)
	case !near && (q.Reordered.Count > n.late || q.Reordered.Count < n.late/2):
		return fmt.Errorf("%d late, want up to %d", q.Reordered.Count, n.late)
	case !near && (q.Lost > n.drops || q.Lost < n.drops/4):
		return fmt.Errorf("%d lost, want up to %d", q.Lost, n.drops)
	}
	return nil
}

// At random loss, copies and delays in both directions the counts are those of tshark's fields, and
// the causes are those that were planted.
func TestCounts(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // faults
			near := seed%2 == 0
			var faults planted
			s := scene{
				tap: &tapped{near: near, plan: func(toB bool, _ *ib.Packet) fate { return faults.fate(random, toB) }},
				run: func(t *testing.T, _ *tapped, a, b *end) {
					t.Helper()
					for range 30 {
						b.receive(8192)
						for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpSend} {
							if status := a.post(a.request(op, 8000, b)); status != provider.WCSuccess {
								t.Error(status)
							}
						}
						b.wait()
					}
				},
			}
			b := s.record(t)
			file := filepath.Join(t.TempDir(), "random.pcap")
			check(t, os.WriteFile(file, b, 0o600))
			r, err := Read(bytes.NewReader(b), Options{})
			check(t, err)
			theirs := theirCounts(t, file)
			if diff := cmp.Diff(theirs, ourCounts(r)); diff != "" {
				t.Errorf("counts (-tshark +ours):\n%s%s", diff, dump(r))
			}
			for _, f := range r.Flows {
				if f.Requests.Packets == 0 {
					continue
				}
				if err := faults.compare(&f.Requests, near); err != nil {
					t.Errorf("%v; planted %+v\n%s", err, faults, dump(r))
				}
			}
		})
	}
}
