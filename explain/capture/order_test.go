package capture

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// numbered is a packet with an IPv4 identification: a WRITE, or a response if nak or ack is set.
type numbered struct {
	psn      ib.PSN
	id       uint16
	nak, ack bool
	wait     time.Duration // before it
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
		s.at = s.at.Add(p.wait)
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
			"NAK behind the late packet", 0x1000, 1,
			[]numbered{{psn: 8, id: 8}, {psn: 7, id: 7}, nak, {psn: 7, id: 9}, {psn: 8, id: 10}, acked},
			[]Name{NameReordering, NameRetransmission},
			figures{missing: 1, late: 1, again: 2},
		},
		{
			"copy of the last one after a while", 0x1000, 1,
			[]numbered{{psn: 7, id: 7}, acked, {psn: 7, id: 7, wait: 2 * time.Millisecond}},
			[]Name{NameDuplicates},
			figures{copies: 1},
		},
		{
			// A few of them count up by chance.
			"numbers that count up too rarely", 0x1000, 5000,
			[]numbered{
				{psn: 7, id: 1},
				{psn: 8, id: 2},
				{psn: 9, id: 20000},
				{psn: 10, id: 20001},
				{psn: 11, id: 40000},
				{psn: 12, id: 40001},
				{psn: 13, id: 60000},
				{psn: 14, id: 60001},
				{psn: 15, id: 30000},
				{psn: 17, id: 50000},
				{psn: 16, nak: true},
				{psn: 16, id: 49990},
				{psn: 17, id: 100},
				{psn: 17, ack: true},
			},
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

// Three packets are too few to trust their identifications.
func TestSendOrderBegins(t *testing.T) {
	var s script
	for i, psn := range []ib.PSN{1, 2, 4} {
		s.id = 100 + uint16(i)
		s.request(middle, psn, 100)
	}
	s.response(ack, 3, ib.SyndromeNAKSequence, 0)
	s.id = 95
	s.request(middle, 3, 100)
	s.id = 300
	s.request(middle, 4, 100)
	s.response(ack, 4, ib.SyndromeACK, 0)
	expect(t, s.out.Bytes(), []Name{NameLoss, NameRetransmission})
}

// A NAK brings the responder's expectation back, an acknowledgement only forward.
func TestExpectation(t *testing.T) {
	var e expectation
	e.add(3, 2) // a READ of two packets
	for _, psn := range []ib.PSN{5, 6, 8} {
		e.add(psn, 1)
	}
	for _, tt := range []struct {
		psn     ib.PSN
		refused bool
		want    ib.PSN
	}{{6, false, 7}, {6, true, 6}, {9, false, 9}, {7, false, 9}} {
		if e.answered(tt.psn, tt.refused); e.psn != tt.want {
			t.Errorf("after answer %v, refused %v: expects %v, want %v", tt.psn, tt.refused, e.psn, tt.want)
		}
	}
}

// What is missing of a READ's response counts from its request, also when WRITEs were before it and
// when the READ was sent again from a later number.
func TestMissingResponses(t *testing.T) {
	const readMiddle, readLast = ib.OpcodeRCReadResponseMiddle, ib.OpcodeRCReadResponseLast
	var s script
	read := func(psn ib.PSN, packets int) {
		s.send(addrA, addrB, &ib.Packet{
			BTH:  ib.BTH{Opcode: ib.OpcodeRCReadRequest, DestQP: 0x22, PSN: psn},
			RETH: ib.RETH{DMALength: uint32(256 * packets)},
		})
	}
	read(10, 3)
	s.response(ib.OpcodeRCReadResponseFirst, 10, ib.SyndromeACK, 256)
	s.response(readMiddle, 11, 0, 256)
	s.response(readLast, 12, ib.SyndromeACK, 256)
	for psn := range ib.PSN(3) {
		s.request(middle, 13+psn, 256)
	}
	s.response(ack, 15, ib.SyndromeACK, 0)
	read(16, 4)
	s.response(readMiddle, 17, 0, 256) // without 16
	s.response(readMiddle, 18, 0, 256)
	s.response(readLast, 19, ib.SyndromeACK, 256)
	s.at = s.at.Add(100 * time.Millisecond)
	read(16, 4)
	s.response(readMiddle, 18, 0, 256) // without 16 and 17
	s.response(readLast, 19, ib.SyndromeACK, 256)
	r := expect(t, s.out.Bytes(), []Name{NameLoss, NameRetransmission})
	if got := r.Flows[1].Responses.Missing.Count; got != 3 {
		t.Errorf("%d missing, want 3\n%s", got, dump(r))
	}
}

// A READ sent again asks for the rest: its number doesn't tell how many the first one has taken.
func TestReadRest(t *testing.T) {
	const readFirst, readLast = ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseLast
	for _, tt := range []struct {
		name     string
		mtu      int
		length   int
		arrived  int  // packets, before the READ is sent again
		captured bool // the responses are
		want     []Name
	}{
		{"512 would fit too", 256, 1000, 2, true, []Name{NameAnswersLost, NameRetransmission}},
		{"no responses, 512 would fit too", 256, 1000, 2, false, []Name{NameOneWay, NameRetransmission}},
		{"no responses, 1024 would fit too", 512, 2000, 2, false, []Name{NameOneWay, NameRetransmission}},
		{"no responses, one packet", 1024, 4000, 1, false, []Name{NameOneWay, NameRetransmission}},
		{"no responses, nothing again", 1024, 4000, 0, false, []Name{NameOneDirection}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s script
			read := func(psn ib.PSN, from int) {
				s.send(addrA, addrB, &ib.Packet{
					BTH:  ib.BTH{Opcode: ib.OpcodeRCReadRequest, DestQP: 0x22, PSN: psn},
					RETH: ib.RETH{VirtualAddress: uint64(0x1000 + from), RKey: 7, DMALength: uint32(tt.length - from)},
				})
			}
			respond := func(psn ib.PSN, skip int) {
				if !tt.captured {
					return
				}
				for i := skip; i < packets(tt.length, tt.mtu); i++ {
					o, size := ib.OpcodeRCReadResponseMiddle, tt.mtu
					switch i {
					case skip:
						o = readFirst
					case packets(tt.length, tt.mtu) - 1:
						o, size = readLast, tt.length%tt.mtu
					}
					s.response(o, psn.Add(i), ib.SyndromeACK, size)
				}
			}
			psn := ib.PSN(10)
			for i := range 3 {
				read(psn, 0)
				respond(psn, 0)
				if i == 0 && tt.arrived > 0 {
					s.at = s.at.Add(100 * time.Millisecond)
					read(psn.Add(tt.arrived), tt.arrived*tt.mtu)
					respond(psn, tt.arrived)
				}
				psn = psn.Add(packets(tt.length, tt.mtu))
			}
			expect(t, s.out.Bytes(), tt.want)
		})
	}
}

// A response shows the path MTU, so the READ before a gap has as many numbers as its response.
func TestReadBeforeGap(t *testing.T) {
	const readFirst, readLast = ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseLast
	var s script
	for _, psn := range []ib.PSN{10, 14} { // 12 is missing
		s.send(addrA, addrB, &ib.Packet{
			BTH: ib.BTH{Opcode: ib.OpcodeRCReadRequest, DestQP: 0x22, PSN: psn}, RETH: ib.RETH{DMALength: 300},
		})
		s.response(readFirst, psn, ib.SyndromeACK, 256)
		s.response(readLast, psn+1, ib.SyndromeACK, 44)
	}
	r := expect(t, s.out.Bytes(), []Name{NameLoss})
	if got := r.Flows[0].Requests.Missing.Count; got != 2 {
		t.Errorf("%d numbers missing, want 2\n%s", got, dump(r))
	}
}
