package capture

import (
	"bytes"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// numbered is a packet with an IPv4 identification: a WRITE, or a response if nak or ack is set.
type numbered struct {
	psn      ib.PSN
	id       uint16
	nak, ack bool
}

// writeNumbered writes WRITEs 1 to 6 with identifications from base+1 on, each step apart, and then
// the given packets, whose identifications are relative to base as well.
func writeNumbered(s *script, base, step uint16, packets []numbered) {
	for psn := range ib.PSN(6) {
		s.id = base + uint16(psn+1)*step
		s.request(middle, psn+1, 100)
	}
	for _, p := range packets {
		s.id = base + p.id
		switch {
		case p.nak:
			s.response(ack, p.psn, ib.SyndromeNAKSequence, 0)
		case p.ack:
			s.response(ack, p.psn, ib.SyndromeACK, 0)
		default:
			s.request(middle, p.psn, 100)
		}
	}
}

// What the identifications of IPv4 say about the order of sending decides between packets that were
// sent again, that came late, and copies.
func TestSendOrder(t *testing.T) {
	type figures struct{ missing, lost, late, again, copies, answered int }
	nak, acked := numbered{psn: 7, nak: true}, numbered{psn: 8, ack: true}
	late := []numbered{{psn: 8, id: 8}, nak, {psn: 7, id: 9}, {psn: 8, id: 10}, acked, {psn: 7, id: 7}}
	for _, tt := range []struct {
		name       string
		base, step uint16
		packets    []numbered
		want       []Name
		figures    figures
	}{
		{
			"late behind its repetition", 0x1000, 1, late,
			[]Name{NameReordering, NameRetransmission},
			figures{missing: 1, late: 1, again: 2},
		},
		{
			"across the end of the numbers", 0xfffc, 1, late,
			[]Name{NameReordering, NameRetransmission},
			figures{missing: 1, late: 1, again: 2},
		},
		{
			"late before its repetition", 0x1000, 1,
			[]numbered{{psn: 8, id: 8}, nak, {psn: 7, id: 7}, {psn: 7, id: 9}, {psn: 8, id: 10}, acked},
			[]Name{NameReordering, NameRetransmission},
			figures{missing: 1, late: 1, again: 2},
		},
		{
			"repetition late", 0x1000, 1,
			[]numbered{
				{psn: 8, id: 8}, nak, {psn: 7, id: 10}, {psn: 8, id: 11}, acked, {psn: 7, id: 9},
			},
			[]Name{NameLoss, NameRetransmission},
			figures{missing: 1, lost: 1, again: 3},
		},
		{
			"copy late", 0x1000, 1,
			[]numbered{{psn: 7, id: 7}, {psn: 8, id: 8}, acked, {psn: 5, id: 5}},
			[]Name{NameDuplicates},
			figures{copies: 1},
		},
		{
			"sent again at once", 0x1000, 1,
			[]numbered{{psn: 7, id: 7}, {psn: 8, id: 8}, {psn: 8, id: 9}},
			[]Name{NameOneWay, NameRetransmission},
			figures{again: 1},
		},
		{
			"numbers of no order", 0x1000, 5000,
			[]numbered{{psn: 8, id: 40000}, nak, {psn: 7, id: 39990}, {psn: 8, id: 100}, acked},
			[]Name{NameLoss, NameRetransmission},
			figures{missing: 1, lost: 1, again: 2},
		},
		{
			"numbers are all the same", 0, 0,
			[]numbered{{psn: 8}, nak, {psn: 7}, {psn: 8}, acked},
			[]Name{NameLoss, NameRetransmission},
			figures{missing: 1, lost: 1, again: 2},
		},
		{
			// 8 passed the capture while the responder waited for 7, and 9 while it waited for 8.
			"discarded behind a late one", 0x1000, 1,
			[]numbered{
				{psn: 8, id: 8},
				{psn: 9, id: 9},
				nak,
				{psn: 7, id: 7},
				{psn: 10, id: 10},
				{psn: 8, nak: true},
				{psn: 8, id: 11},
				{psn: 9, id: 12},
				{psn: 10, id: 13},
				{psn: 10, ack: true},
			},
			[]Name{NameReordering, NameRetransmission},
			figures{missing: 1, late: 1, again: 3},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s script
			writeNumbered(&s, tt.base, tt.step, tt.packets)
			r, err := Read(bytes.NewReader(s.out.Bytes()), Options{})
			check(t, err)
			q := &r.Flows[0].Requests
			got := figures{
				q.Missing.Count, q.Lost, q.Reordered.Count, q.Repeated.Count, q.Duplicates.Count,
				q.AnsweredRepeats.Count,
			}
			if found := names(r); !slices.Equal(found, tt.want) || got != tt.figures {
				t.Errorf("findings %v, want %v; figures %+v, want %+v\n%s", found, tt.want, got, tt.figures, dump(r))
			}
			if r.Flows[0].ICRCWrong.Count > 0 {
				t.Error("wrong ICRC")
			}
		})
	}
}
