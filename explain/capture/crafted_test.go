package capture

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// script writes a capture packet by packet, 10 µs apart.
type script struct {
	tapped
	at time.Time
}

func (s *script) add(list ...gopacket.SerializableLayer) {
	s.tick()
	s.write(list...)
}

func (s *script) tick() {
	if s.at.IsZero() {
		s.at = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	}
	s.now = s.at
	s.at = s.at.Add(10 * time.Microsecond)
}

// send adds a transport packet.
func (s *script) send(from, to netip.Addr, p *ib.Packet) {
	flow := rocev2.Flow{
		Source: ib.GIDFromAddr(from), Destination: ib.GIDFromAddr(to), SourcePort: 0xc001,
		DestinationPort: rocev2.Port, DontFragment: true, ID: s.id,
	}
	p.BTH.PKey = ib.PKeyDefault
	p.BTH.PadCount = ib.PadFor(len(p.Payload))
	s.tick()
	s.writeIPv4(from, to, 0, 64, 0xc001, flow.AppendICRC(p.Append(nil)))
}

// request and response add packets of a connection from A, QP 0x11, to B, QP 0x22.
func (s *script) request(o ib.Opcode, psn ib.PSN, payload int) {
	s.send(addrA, addrB, &ib.Packet{BTH: ib.BTH{Opcode: o, DestQP: 0x22, PSN: psn}, Payload: make([]byte, payload)})
}

func (s *script) response(o ib.Opcode, psn ib.PSN, syndrome ib.Syndrome, payload int) {
	s.send(addrB, addrA, &ib.Packet{
		BTH: ib.BTH{Opcode: o, DestQP: 0x11, PSN: psn}, AETH: ib.AETH{Syndrome: syndrome},
		Payload: make([]byte, payload),
	})
}

func (s *script) arp(operation uint16, sender, target netip.Addr) {
	s.add(ethernet(layers.EthernetTypeARP), &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: operation, SourceHwAddress: make([]byte, 6), SourceProtAddress: sender.AsSlice(),
		DstHwAddress: make([]byte, 6), DstProtAddress: target.AsSlice(),
	})
}

// icmp adds an ICMP error about a packet from A to B.
func (s *script) icmp(kind, code uint8, mtu uint16) {
	about := make([]byte, ipv4Len+udpLen)
	about[0], about[9] = 0x45, 17
	copy(about[12:], addrA.AsSlice())
	copy(about[16:], addrB.AsSlice())
	binary.BigEndian.PutUint16(about[ipv4Len+2:], rocev2.Port)
	s.add(ethernet(layers.EthernetTypeIPv4), &layers.IPv4{
		Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: []byte{10, 0, 0, 254}, DstIP: addrA.AsSlice(),
	}, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(kind, code), Seq: mtu}, gopacket.Payload(about))
}

// icmp6 adds an ICMPv6 message with a body behind its first four bytes.
func (s *script) icmp6(source, dest string, kind uint8, body []byte) {
	ip := &layers.IPv6{
		Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: netip.MustParseAddr(source).AsSlice(),
		DstIP: netip.MustParseAddr(dest).AsSlice(),
	}
	s.add(ethernet(layers.EthernetTypeIPv6), ip, gopacket.Payload(append([]byte{kind, 0, 0, 0}, body...)))
}

// solicit returns the body of a neighbor solicitation or advertisement of fe80::2.
func solicit() []byte {
	return append(make([]byte, 4, 20), netip.MustParseAddr("fe80::2").AsSlice()...)
}

// about6 returns the body of an ICMPv6 error about a RoCE packet, with the MTU of the next hop.
func about6(mtu uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, mtu)
	h := ib.GRH{
		Version: 6, PayloadLen: 8, NextHeader: 17, SGID: ib.GIDFromAddr(netip.MustParseAddr("2001:db8::1")),
		DGID: ib.GIDFromAddr(netip.MustParseAddr("2001:db8::2")),
	}
	return append(h.Append(b), 0xc0, 0, 0x12, 0xb7, 0, 8, 0, 0)
}

const (
	first, middle, last = ib.OpcodeRCWriteFirst, ib.OpcodeRCWriteMiddle, ib.OpcodeRCWriteLast
	ack                 = ib.OpcodeRCAcknowledge
)

// Captures that are written packet by packet lead to exactly these findings.
func TestCrafted(t *testing.T) {
	quiet := func(s *script) {
		s.request(ib.OpcodeRCSendOnly, 1, 100)
		s.response(ack, 1, ib.SyndromeACK, 0)
	}
	for _, tt := range []struct {
		name    string
		write   func(s *script)
		want    []Name
		summary string // part of a summary
	}{
		{"ARP without an answer", func(s *script) {
			quiet(s)
			s.arp(1, addrA, addrB)
			s.arp(1, addrA, addrB)
			s.arp(1, addrA, addrB)
		}, []Name{NameARPUnanswered}, "10.0.0.1 asked 3 times for the link address of 10.0.0.2"},
		{"ARP with an answer", func(s *script) {
			quiet(s)
			for range 5 {
				s.arp(1, addrA, addrB)
			}
			s.arp(2, addrB, addrA)
		}, nil, ""},
		{"ARP, and packets of the target", func(s *script) {
			s.arp(1, addrA, addrB)
			s.arp(1, addrA, addrB)
			quiet(s)
		}, nil, ""},
		{"ARP of others", func(s *script) {
			quiet(s)
			s.arp(1, netip.MustParseAddr("10.0.0.77"), netip.MustParseAddr("10.0.0.78"))
			s.arp(1, netip.MustParseAddr("10.0.0.77"), netip.MustParseAddr("10.0.0.78"))
		}, nil, ""},
		{"ARP announcement", func(s *script) {
			quiet(s)
			s.arp(1, addrA, addrA)
			s.arp(1, addrA, addrA)
		}, nil, ""},
		{"ARP probe", func(s *script) {
			quiet(s)
			s.arp(1, netip.IPv4Unspecified(), addrB)
			s.arp(1, netip.IPv4Unspecified(), addrB)
		}, nil, ""},
		{"one repetition and no answer", func(s *script) {
			s.request(ib.OpcodeRCSendOnly, 1, 100)
			s.at = s.at.Add(67 * time.Millisecond)
			s.request(ib.OpcodeRCSendOnly, 1, 100)
		}, []Name{NameOneWay, NameRetransmission}, "1 of them sent again, and nothing from 10.0.0.2"},
		{"no answer to one of two connections", func(s *script) {
			quiet(s)
			for range 2 {
				s.send(addrA, addrB, &ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 0x33, PSN: 77}})
				s.at = s.at.Add(67 * time.Millisecond)
			}
		}, []Name{NameOneWay, NameRetransmission}, "no response from 10.0.0.2 to this queue pair"},
		{"a copy of a packet before a NAK", func(s *script) {
			for psn := ib.PSN(1); psn < 6; psn++ {
				s.request(ib.OpcodeRCSendOnly, psn, 100)
			}
			s.response(ack, 5, ib.SyndromeNAKSequence, 0)
			s.request(ib.OpcodeRCSendOnly, 3, 100)
			s.request(ib.OpcodeRCSendOnly, 6, 100)
		}, []Name{NameDuplicates, NameLoss}, "1 packet twice"},
		{"first packet of a READ response lost", func(s *script) {
			s.request(ib.OpcodeRCReadRequest, 1, 0)
			s.response(ib.OpcodeRCReadResponseOnly, 1, ib.SyndromeACK, 8)
			s.request(ib.OpcodeRCReadRequest, 2, 0)
			s.response(ib.OpcodeRCReadResponseLast, 3, ib.SyndromeACK, 8)
		}, []Name{NameLoss}, "1 packet of READ responses before the capture"},
		{"UDP length", func(s *script) {
			quiet(s)
			b := s.out.Bytes()[fileHeaderLen+16:]
			frame := slices.Clone(b[:ethernetLen+ipv4Len+udpLen+12+100+4])
			frame[ethernetLen+ipv4Len+5]-- // the low byte of the UDP length
			s.add(gopacket.Payload(frame))
		}, []Name{NameMalformed}, "UDP length 123 in an IP packet with 124 bytes"},
		{"neighbor solicitation without an answer", func(s *script) {
			s.icmp6("fe80::1", "ff02::1", 135, solicit())
			s.icmp6("fe80::1", "ff02::1", 135, solicit())
		}, []Name{NameARPUnanswered, NameNoRoCE}, "fe80::1 asked 2 times for the link address of fe80::2"},
		{"neighbor solicitation with an answer", func(s *script) {
			s.icmp6("fe80::1", "ff02::1", 135, solicit())
			s.icmp6("fe80::1", "ff02::1", 135, solicit())
			s.icmp6("fe80::2", "fe80::1", 136, solicit())
		}, []Name{NameNoRoCE}, ""},
		{"fragmentation needed", func(s *script) {
			quiet(s)
			s.icmp(3, 4, 1400)
		}, []Name{NameICMPFragNeeded}, "the next link takes 1400 bytes"},
		{"packet too big", func(s *script) {
			quiet(s)
			s.icmp6("fe80::1", "2001:db8::1", 2, about6(1280))
		}, []Name{NameICMPFragNeeded}, "the next link takes 1280 bytes"},
		{"port unreachable", func(s *script) {
			quiet(s)
			s.icmp(3, 3, 0)
			s.icmp(3, 3, 0)
		}, []Name{NameICMPUnreachable}, "2 ICMP errors from 10.0.0.254, code 3"},
		{"time exceeded", func(s *script) {
			quiet(s)
			s.icmp(11, 0, 0)
		}, []Name{NameICMPTimeExceeded}, ""},
		{"echo", func(s *script) {
			quiet(s)
			s.icmp(8, 0, 0)
		}, nil, ""},
		{"path MTUs differ", func(s *script) {
			s.request(first, 1, 4096)
			s.request(last, 2, 4)
			s.response(ack, 2, ib.SyndromeACK, 0)
			s.request(ib.OpcodeRCReadRequest, 3, 0)
			s.response(ib.OpcodeRCReadResponseFirst, 3, ib.SyndromeACK, 1024)
			s.response(ib.OpcodeRCReadResponseLast, 4, ib.SyndromeACK, 4)
		}, []Name{NameMTU}, "have 4096 bytes of payload, those of 10.0.0.2 1024"},
		{"reserved syndrome", func(s *script) {
			s.request(ib.OpcodeRCSendOnly, 1, 100)
			s.response(ack, 1, 0x66, 0)
		}, []Name{NameNAKOther}, "reserved syndrome 0x66"},
		{"remote error", func(s *script) {
			s.request(ib.OpcodeRCSendOnly, 1, 100)
			s.response(ack, 1, ib.SyndromeNAKRemoteError, 0)
		}, []Name{NameNAKOperation}, "remote operational error"},
		{"RNR timer 0", func(s *script) {
			s.request(ib.OpcodeRCSendOnly, 1, 100)
			s.response(ack, 1, ib.SyndromeRNR, 0)
		}, []Name{NameRNR}, "wait 655.36ms (timer 0)"},
		{"unknown opcode", func(s *script) {
			quiet(s)
			s.request(0xa4, 2, 100)
		}, []Name{NameUnknownOpcode}, "opcode 0xa4"},
		{"zero ICRC", func(s *script) {
			p := ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 0x22, PSN: 1}, Payload: make([]byte, 8)}
			s.writeIPv4(addrA, addrB, 0, 64, 0xc001, append(p.Append(nil), 0, 0, 0, 0))
			s.response(ack, 1, ib.SyndromeACK, 0)
		}, []Name{NameICRCUnfilled}, ""},
		{"malformed", func(s *script) {
			quiet(s)
			s.writeIPv4(addrA, addrB, 0, 64, 0xc001, make([]byte, 9))
		}, []Name{NameMalformed}, "less than a BTH"},
		{"ACK with payload", func(s *script) {
			quiet(s)
			s.response(ack, 1, ib.SyndromeACK, 4)
		}, []Name{NameMalformed}, "opcode without payload"},
		{"fragment", func(s *script) {
			quiet(s)
			s.add(ethernet(layers.EthernetTypeIPv4), &layers.IPv4{
				Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4MoreFragments,
				SrcIP: addrA.AsSlice(), DstIP: addrB.AsSlice(),
			}, &layers.UDP{SrcPort: 0xc001, DstPort: rocev2.Port}, gopacket.Payload(make([]byte, 32)))
		}, []Name{NameFragments}, ""},
		{"another connection with the same queue pair", func(s *script) {
			quiet(s)
			s.request(ib.OpcodeRCSendOnly, 0x500000, 100)
			s.response(ack, 0x500000, ib.SyndromeACK, 0)
		}, nil, ""},
		{"numbers wrap around", func(s *script) {
			s.request(first, 0xfffffe, 1024)
			s.request(middle, 0xffffff, 1024)
			s.request(middle, 0, 1024)
			s.request(last, 1, 1024)
			s.response(ack, 1, ib.SyndromeACK, 0)
		}, nil, ""},
		{"begun before the capture", func(s *script) {
			s.request(middle, 7, 1024)
			s.request(last, 8, 1024)
			s.response(ack, 8, ib.SyndromeACK, 0)
		}, nil, ""},
		{"one NAK without the other direction", func(s *script) {
			s.response(ack, 5, ib.SyndromeNAKSequence, 0)
		}, []Name{NameLoss}, "reports it"},
		{"UC loses a packet", func(s *script) {
			s.request(ib.OpcodeUCWriteFirst, 1, 1024)
			s.request(ib.OpcodeUCWriteLast, 3, 1024)
		}, []Name{NameLoss}, "1 request packet before the capture, 0 of them sent again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s script
			tt.write(&s)
			r := expect(t, s.out.Bytes(), tt.want)
			if tt.summary != "" && !slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return strings.Contains(f.Summary, tt.summary)
			}) {
				t.Errorf("no finding with %q:\n%s", tt.summary, dump(r))
			}
		})
	}
}

// What isn't a capture is an error that says so; what ends too early is reported up to there.
func TestBadInput(t *testing.T) {
	var s script
	for psn := range ib.PSN(4) {
		s.request(ib.OpcodeRCSendOnly, psn, 100)
		s.response(ack, psn, ib.SyndromeACK, 0)
	}
	good := s.out.Bytes()
	ng := (&relink{link: layers.LinkTypeEthernet, frame: tagged(0x0800)}).again(t, good, true)
	for name, tt := range map[string]struct {
		in   string
		want string
	}{
		"empty":     {"", "empty"},
		"short":     {"abc", "3 bytes"},
		"text":      {"NCCL INFO Bootstrap", "begins with 4e43434c"},
		"gzip":      {"\x1f\x8b\x08\x00\x00", "gzip-compressed"},
		"snoop":     {"snoop\x00\x00\x00", "snoop"},
		"header":    {string(good[:20]), "unexpected EOF"},
		"ng header": {string(ng[:20]), "unexpected EOF"},
		"version":   {string(good[:4]) + "\x09\x00" + string(good[6:]), "version"},
	} {
		r, err := Read(strings.NewReader(tt.in), Options{})
		if !errors.Is(err, ErrFormat) || r != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Read = %v, %v, want ErrFormat with %q", name, r, err, tt.want)
		}
	}
	for name, b := range map[string][]byte{"pcap": good, "pcapng": ng} {
		whole, err := Read(bytes.NewReader(b), Options{})
		if err != nil || whole.Packets != 8 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, cut := range []int{1, 50, 120} {
			r, err := Read(bytes.NewReader(b[:len(b)-cut]), Options{})
			if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrFormat) || r == nil {
				t.Fatalf("%s without %d bytes: %v, %v", name, cut, r, err)
			}
			want := 7 - cut/100
			if r.Packets != want || !strings.Contains(err.Error(), "packet "+string(rune('1'+want))) {
				t.Errorf("%s without %d bytes: %d packets, want %d; %v", name, cut, r.Packets, want, err)
			}
		}
	}
	header := slices.Clone(good[:fileHeaderLen+16]) // a record whose data is missing
	if r, err := Read(bytes.NewReader(header), Options{}); !errors.Is(err, io.ErrUnexpectedEOF) || r.Packets != 0 {
		t.Errorf("record without data: %v, %v", r, err)
	}
	header = slices.Clone(good)
	binary.LittleEndian.PutUint32(header[20:], 105)
	r, err := Read(bytes.NewReader(header), Options{})
	if err != nil || len(r.NotJudged) != 1 || !strings.Contains(r.NotJudged[0], "link type 105") {
		t.Errorf("another link type: %v, %q", err, r.NotJudged)
	}
	if got := names(r); !slices.Equal(got, []Name{NameNoRoCE}) {
		t.Errorf("another link type: %v", got)
	}
}

// The flow that was silent for the longest time makes room for a new one, and is counted.
func TestManyFlows(t *testing.T) {
	var s script
	for round := range ib.PSN(2) {
		for qp := range ib.QPN(50) {
			s.send(addrA, addrB, &ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 100 + qp, PSN: round}})
		}
	}
	r, err := Read(bytes.NewReader(s.out.Bytes()), Options{MaxFlows: 10})
	check(t, err)
	if len(r.Flows) != 10 || r.DroppedFlows != 90 || r.DroppedPackets != 90 || r.Flows[0].DestQP != 140 {
		t.Errorf("%d flows from %v, %d with %d packets dropped", len(r.Flows), r.Flows[0].DestQP, r.DroppedFlows,
			r.DroppedPackets)
	}
	if !slices.Contains(r.NotJudged, "90 flows with 90 packets beyond the limit of flows") {
		t.Errorf("NotJudged = %q", r.NotJudged)
	}
}

// Directions of several queue pairs between two addresses belong together by their numbers, and
// stay apart where those don't tell.
func TestPairing(t *testing.T) {
	write := func(psns [3]ib.PSN) *Report {
		var s script
		for i, psn := range psns {
			bth := ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 0x20 + ib.QPN(i), PSN: psn}
			s.send(addrA, addrB, &ib.Packet{BTH: bth})
		}
		for i, psn := range psns {
			s.send(addrB, addrA, &ib.Packet{
				BTH: ib.BTH{Opcode: ack, DestQP: 0x10 + ib.QPN(i), PSN: psn}, AETH: ib.AETH{Syndrome: ib.SyndromeACK},
			})
		}
		return expect(t, s.out.Bytes(), nil)
	}
	for i, f := range write([3]ib.PSN{100, 900000, 7}).Flows {
		if want := (i + 3) % 6; f.Partner != want || f.PairedBy != PairedByPSN {
			t.Errorf("flow %d: partner %d by %q, want %d", i, f.Partner, f.PairedBy, want)
		}
	}
	for i, f := range write([3]ib.PSN{100, 100, 100}).Flows {
		if f.Partner != -1 || f.PairedBy != PairAmbiguous {
			t.Errorf("flow %d: partner %d by %q, want none", i, f.Partner, f.PairedBy)
		}
	}
}

// CM messages say which directions belong together, whatever the numbers.
func TestPairedByCM(t *testing.T) {
	var s script
	message := func(from, to netip.Addr, b []byte) {
		s.send(from, to, &ib.Packet{
			BTH: ib.BTH{Opcode: ib.OpcodeUDSendOnly, DestQP: 1}, DETH: ib.DETH{QKey: mad.QKeyGSI, SrcQP: 1}, Payload: b,
		})
	}
	for i := range uint32(3) {
		req := mad.REQ{
			Header: mad.NewCM(mad.AttributeREQ, 1), LocalCommID: 7 + i, LocalQPN: 0x10 + ib.QPN(i),
			Primary: mad.ConnectPath{LocalPortGID: ib.GIDFromAddr(addrA), RemotePortGID: ib.GIDFromAddr(addrB)},
		}
		rep := mad.REP{
			Header: mad.NewCM(mad.AttributeREP, 1), LocalCommID: 70 + i, RemoteCommID: 7 + i,
			LocalQPN: 0x20 + ib.QPN(i),
		}
		message(addrA, addrB, req.Append(nil))
		message(addrB, addrA, rep.Append(nil))
	}
	for i := range ib.QPN(3) {
		s.send(addrA, addrB, &ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 0x20 + i, PSN: 5}})
	}
	for i := range ib.QPN(3) {
		s.send(addrB, addrA, &ib.Packet{BTH: ib.BTH{Opcode: ack, DestQP: 0x10 + i, PSN: 5}})
	}
	r := expect(t, s.out.Bytes(), nil)
	for _, f := range r.Flows {
		if f.DestQP == 1 {
			continue
		}
		if f.PairedBy != PairedByCM || r.Flows[f.Partner].DestQP != f.DestQP^0x30 {
			t.Errorf("%s: partner %d by %q", f.Label(), f.Partner, f.PairedBy)
		}
	}
	if len(r.Flows) != 8 || len(r.Connections) != 3 {
		t.Errorf("%d flows, %d connections", len(r.Flows), len(r.Connections))
	}
}

// A flow has its longest silence, its source ports, its last packets, and who stopped first.
func TestFlowFields(t *testing.T) {
	var s script
	for i := range 20 {
		if i == 5 {
			s.at = s.at.Add(time.Second)
		}
		s.tick()
		s.writeIPv4(addrA, addrB, 0, uint8(60+i%2), 0xc000+uint16(i%3), whole(&rocev2.Flow{
			Source: ib.GIDFromAddr(addrA), Destination: ib.GIDFromAddr(addrB), SourcePort: 0xc000 + uint16(i%3),
			DestinationPort: rocev2.Port, DontFragment: true,
		}, &ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 0x22, PSN: ib.PSN(i)}}))
	}
	s.response(ack, 19, ib.SyndromeACK, 0)
	r := expect(t, s.out.Bytes(), nil)
	f := r.Flows[0]
	if f.SourcePorts != 3 || f.HopLimits != (Range{60, 61}) || f.MaxGapAt.Packet != 6 || f.MaxGap < time.Second ||
		len(f.Tail) != tailLen || f.Tail[0].PSN != 14 || f.Tail[5].PSN != 19 || f.Requests.NextPSN != 20 {
		t.Errorf("%+v", f)
	}
	if got := r.StoppedFirst(0); got != 0 {
		t.Errorf("StoppedFirst = %d, want 0", got)
	}
}

// whole returns a packet with its ICRC.
func whole(f *rocev2.Flow, p *ib.Packet) []byte { return f.AppendICRC(p.Append(nil)) }

// What the capturing system has dropped is in the statistics of pcapng.
func TestDroppedByCapture(t *testing.T) {
	var out bytes.Buffer
	w, err := pcapgo.NewNgWriter(&out, layers.LinkTypeEthernet)
	check(t, err)
	check(t, w.WriteInterfaceStats(0, pcapgo.NgInterfaceStatistics{PacketsReceived: 9, PacketsDropped: 4}))
	check(t, w.Flush())
	r, err := Read(&out, Options{})
	check(t, err)
	if r.CaptureDropped != 4 || len(r.NotJudged) != 1 || !strings.Contains(r.NotJudged[0], "lost 4 packets") {
		t.Errorf("%d dropped, %q", r.CaptureDropped, r.NotJudged)
	}
}

// The packets of the Linux kernel in package rocev2 have the right ICRC here, and those fields that
// tshark gave them.
func TestKernelPackets(t *testing.T) {
	text, err := os.ReadFile("../../wire/rocev2/testdata/packets.txt")
	check(t, err)
	var s script
	frame, packets := "", 0
	flush := func() {
		b, err := hex.DecodeString(frame)
		check(t, err)
		if frame != "" {
			s.add(gopacket.Payload(b))
			packets++
		}
		frame = ""
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "packet "):
			flush()
		case line != "" && line[0] != '#' && !strings.HasPrefix(line, "fields "):
			frame += line
		}
	}
	flush()
	file := filepath.Join(t.TempDir(), "kernel.pcap")
	check(t, os.WriteFile(file, s.out.Bytes(), 0o600))
	if n := agree(t, file); n != packets || n != 60 {
		t.Errorf("%d of %d packets decoded, want 60", n, packets)
	}
	r, err := Read(bytes.NewReader(s.out.Bytes()), Options{})
	check(t, err)
	right := 0
	for _, f := range r.Flows {
		right += f.ICRCRight
	}
	if right != 60 {
		t.Errorf("%d right ICRCs, want 60", right)
	}
	for _, want := range []Name{NameNAKAccess, NameNAKInvalid, NameNAKOperation, NameRNR, NameLoss} {
		if !slices.Contains(names(r), want) {
			t.Errorf("no %s in %v", want, names(r))
		}
	}
}
