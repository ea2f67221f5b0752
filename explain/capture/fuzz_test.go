package capture

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// FuzzRead reads anything as a capture file: it ends with a report, with an error, or with both,
// and counts each packet once.
func FuzzRead(f *testing.F) {
	cm, err := os.ReadFile("../../wire/mad/testdata/cm/messages.pcap")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cm)
	var s script
	for psn := range ib.PSN(3) {
		s.request(ib.OpcodeRCReadRequest, psn*2, 0)
		s.response(ib.OpcodeRCReadResponseOnly, psn, ib.SyndromeACK, 8)
	}
	s.arp(1, addrA, addrB)
	s.icmp(3, 4, 1400)
	f.Add(s.out.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(bytes.NewReader(b), Options{MaxFlows: 8})
		if r == nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("no report, and %v", err)
			}
			return
		}
		transport, flows := 0, r.DroppedPackets
		for _, n := range r.Transports {
			transport += n
		}
		for _, f := range r.Flows {
			flows += f.Packets
			if q := f.Requests; q.Holes < 0 || q.Lost < 0 || q.Repeated.Count < 0 || q.Missing.Count < 0 ||
				q.Packets+f.Responses.Packets+f.CNPs.Count+f.Unknown.Count != f.Packets {
				t.Errorf("counts of %+v", f)
			}
		}
		if transport != flows || transport+r.Other+r.Malformed.Count+r.Cut.Count+r.Fragments.Count > r.Packets {
			t.Errorf("%d transport packets, %d of flows, of %d", transport, flows, r.Packets)
		}
	})
}

// FuzzDecode decodes anything as a packet of each link type. What a kind of packet promises is
// there.
func FuzzDecode(f *testing.F) {
	links := []layers.LinkType{
		layers.LinkTypeEthernet, layers.LinkTypeLinuxSLL, layers.LinkTypeLinuxSLL2, layers.LinkTypeRaw, linkERF,
		linkInfiniBand, 999,
	}
	for i, l := range relinks() {
		p := ib.Packet{BTH: ib.BTH{Opcode: ib.OpcodeRCSendOnly, DestQP: 2}, Payload: make([]byte, 8)}
		var s script
		s.send(addrA, addrB, &p)
		f.Add(uint8(i), l.frame(s.out.Bytes()[fileHeaderLen+16+ethernetLen:]))
	}
	f.Fuzz(func(t *testing.T, link uint8, b []byte) {
		var d decoder
		d.packet = packet{captured: len(b), length: len(b)}
		d.decode(links[int(link)%len(links)], b)
		p := &d.packet
		switch p.kind {
		case kindTransport:
			if p.payloadLen < 0 || len(p.datagram) > len(b) || p.transport == 0 || len(p.Payload) > p.payloadLen+3 {
				t.Errorf("%+v", p)
			}
		case kindNeighbor:
			if !p.neighbor.target.IsValid() {
				t.Errorf("%+v", p)
			}
		case kindMalformed, kindLink:
			if p.why == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
