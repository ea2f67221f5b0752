package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

const ethernetLen, ipv4Len, udpLen = 14, 20, 8

// relink is another way to write a frame of Ethernet and IPv4.
type relink struct {
	name  string
	link  layers.LinkType
	frame func(ip []byte) []byte // of an IP packet
	// unread: tshark doesn't read this link type from pcap files.
	unread bool
	// transport is what the packets are then; 0 is RoCE v2.
	transport Transport
}

func tagged(etherTypes ...uint16) func([]byte) []byte {
	return func(ip []byte) []byte {
		b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
		for i, t := range etherTypes {
			b = binary.BigEndian.AppendUint16(b, t)
			if i < len(etherTypes)-1 && t != uint16(layers.EthernetTypeMPLSUnicast) {
				b = append(b, byte(3+i)<<5, 7) // PCP 3 in the outer tag
			}
		}
		return append(b, ip...)
	}
}

// datagramOf returns the transport packet in an IPv4 packet, with its ICRC.
func datagramOf(ip []byte) []byte { return ip[ipv4Len+udpLen:] }

func grh(ip []byte, next byte, length int) []byte {
	g := ib.GRH{
		Version: 6, TrafficClass: ip[1], PayloadLen: uint16(length), NextHeader: next, HopLimit: ip[8],
		SGID: mapped(ip[12:16]).GID, DGID: mapped(ip[16:20]).GID,
	}
	return g.Append(nil)
}

// infiniBand returns a packet with a local route header: the last bytes of addresses are LIDs.
func infiniBand(ip []byte, global bool) []byte {
	body, bth := slices.Clone(datagramOf(ip)), lrhLen
	next := byte(nextBTH)
	if global {
		body, next, bth = append(grh(ip, nextHeaderIBA, len(body)), body...), nextGRH, lrhLen+ib.GRHLen
	}
	b := []byte{0x30, next, 0, ip[19], 0, 0, 0, ip[15]} // virtual lane 3
	binary.BigEndian.PutUint16(b[4:], uint16(lrhLen+len(body))/4)
	b = append(b, body...)
	setCRC(b, bth, global)
	return append(b, 0, 0) // VCRC
}

// setCRC computes the ICRC of a packet with an LRH by the rules of section 7.8.1, byte by byte.
func setCRC(b []byte, bth int, global bool) {
	c := slices.Clone(b)
	ones := func(places ...int) {
		for _, i := range places {
			c[i] = 0xff
		}
	}
	c[0] |= 0xf0
	if global {
		ones(0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15)
		c[8] |= 0x0f
	}
	ones(bth + 4)
	end := len(b) - rocev2.ICRCLen
	binary.LittleEndian.PutUint32(b[end:], crc32.ChecksumIEEE(c[:end]))
}

// roceV1 returns a frame of RoCE v1.
func roceV1(ip []byte) []byte {
	b := append(make([]byte, lrhLen), grh(ip, nextHeaderIBA, len(datagramOf(ip)))...)
	b = append(b, datagramOf(ip)...)
	setCRC(b, lrhLen+ib.GRHLen, true)
	return append(tagged(etherRoCEv1)(nil), b[lrhLen:]...)
}

func erf(frame []byte) []byte {
	b := make([]byte, erfHeaderLen+erfExtensionLen)
	b[8] = erfInfiniBand | erfMoreHeaders
	binary.BigEndian.PutUint16(b[10:], uint16(len(b)+len(frame)))
	binary.BigEndian.PutUint16(b[14:], uint16(len(frame)))
	b[erfHeaderLen] = 0x03 // an extension header, the last one
	return slices.Concat(b, frame)
}

// ipv6 returns the packet over IPv6, with its ICRC.
func ipv6(ip []byte) []byte {
	body := datagramOf(ip)
	body = body[:len(body)-rocev2.ICRCLen]
	prefix := [16]byte{0x20, 1, 0xd, 0xb8}
	source, dest := prefix, prefix
	source[15], dest[15] = ip[15], ip[19]
	flow := rocev2.Flow{
		Source: source, Destination: dest, SourcePort: 0xc000, DestinationPort: rocev2.Port,
	}
	body = flow.AppendICRC(slices.Clone(body))
	h := ib.GRH{
		Version: 6, TrafficClass: ip[1], FlowLabel: 0x12345, PayloadLen: uint16(udpLen + len(body)), NextHeader: 17,
		HopLimit: ip[8], SGID: source, DGID: dest,
	}
	udp := []byte{0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0}
	binary.BigEndian.PutUint16(udp[4:], uint16(udpLen+len(body)))
	return append(append(h.Append(nil), udp...), body...)
}

func vxlan(ip []byte) []byte {
	b := gopacket.NewSerializeBuffer()
	inner := append(tagged(0x0800)(nil), ip...)
	must(gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true},
		ethernet(layers.EthernetTypeIPv4),
		&layers.IPv4{
			Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP,
			SrcIP: []byte{172, 16, 0, 1}, DstIP: []byte{172, 16, 0, 2},
		},
		&layers.UDP{SrcPort: 5555, DstPort: portVXLAN},
		gopacket.Payload(append([]byte{8, 0, 0, 0, 0, 0, 9, 0}, inner...))))
	return b.Bytes()
}

func relinks() []relink {
	const ip = 0x0800
	return []relink{
		{name: "VLAN", link: layers.LinkTypeEthernet, frame: tagged(0x8100, ip)},
		{name: "QinQ", link: layers.LinkTypeEthernet, frame: tagged(0x88a8, 0x8100, ip)},
		{name: "MPLS", link: layers.LinkTypeEthernet, frame: func(b []byte) []byte {
			return append(tagged(0x8847)([]byte{0, 1, 0, 64, 0, 2, 1, 64}), b...)
		}},
		{name: "VXLAN", link: layers.LinkTypeEthernet, frame: vxlan},
		{name: "padded", link: layers.LinkTypeEthernet, frame: func(b []byte) []byte {
			return append(tagged(ip)(b), make([]byte, 6)...)
		}},
		{name: "SLL", link: layers.LinkTypeLinuxSLL, frame: func(b []byte) []byte {
			return append([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0}, b...)
		}},
		{name: "SLL2", link: layers.LinkTypeLinuxSLL2, frame: func(b []byte) []byte {
			return append([]byte{8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, b...)
		}},
		{name: "raw", link: layers.LinkTypeRaw, frame: slices.Clone[[]byte]},
		{name: "IPv4", link: layers.LinkTypeIPv4, frame: slices.Clone[[]byte]},
		{name: "IPv6", link: layers.LinkTypeIPv6, frame: ipv6},
		{name: "RoCE v1", link: layers.LinkTypeEthernet, transport: TransportRoCEv1, frame: roceV1},
		{name: "ERF", link: linkERF, transport: TransportInfiniBand, frame: func(b []byte) []byte {
			return erf(infiniBand(b, false))
		}},
		{name: "ERF with GRH", link: linkERF, transport: TransportInfiniBand, frame: func(b []byte) []byte {
			return erf(infiniBand(b, true))
		}},
		{
			name: "InfiniBand", link: linkInfiniBand, transport: TransportInfiniBand, unread: true,
			frame: func(b []byte) []byte { return infiniBand(b, true) },
		},
	}
}

// framesOf returns the IP packets of a capture of Ethernet.
func framesOf(t *testing.T, capture []byte) (ip [][]byte, info []gopacket.CaptureInfo) {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(capture))
	check(t, err)
	for {
		data, ci, err := r.ReadPacketData()
		if err != nil {
			return ip, info
		}
		ip, info = append(ip, data[ethernetLen:]), append(info, ci)
	}
}

// again returns a capture with other frames, in pcap, or in pcapng.
func (l *relink) again(t *testing.T, capture []byte, ng bool) []byte {
	t.Helper()
	ips, info := framesOf(t, capture)
	var out bytes.Buffer
	var write func(gopacket.CaptureInfo, []byte) error
	if ng {
		w, err := pcapgo.NewNgWriter(&out, l.link)
		check(t, err)
		defer func() { check(t, w.Flush()) }()
		write = func(ci gopacket.CaptureInfo, b []byte) error {
			err := w.WritePacket(ci, b)
			return errors.Join(err, w.Flush())
		}
	} else {
		w := pcapgo.NewWriter(&out)
		check(t, w.WriteFileHeader(1<<16, l.link))
		write = w.WritePacket
	}
	for i, ip := range ips {
		b := l.frame(ip)
		ci := info[i]
		ci.Length, ci.CaptureLength = len(b), len(b)
		check(t, write(ci, b))
	}
	return out.Bytes()
}

// Packets mean the same in all link layers and formats, and tshark decodes the same fields.
func TestLinks(t *testing.T) {
	s := scene{run: everything}
	plain := s.record(t)
	lossy := scenes()[2]
	lost := lossy.record(t)
	for _, l := range relinks() {
		for _, ng := range []bool{false, true} {
			name := l.name
			if ng {
				name += " in pcapng"
			}
			t.Run(name, func(t *testing.T) {
				expect(t, l.again(t, plain, ng), nil)
				b := l.again(t, lost, ng)
				r := expect(t, b, lossy.want)
				want := TransportRoCEv2
				if l.transport != 0 {
					want = l.transport
				}
				if r.Transports[want] != r.Packets || r.Packets < 40 {
					t.Errorf("transports %v of %d packets", r.Transports, r.Packets)
				}
				tagged := l.name == "VLAN" || l.name == "QinQ"
				if tagged != slices.Equal(r.Flows[0].Priorities, []uint8{3}) {
					t.Errorf("priorities %v", r.Flows[0].Priorities)
				}
				wrong, unknown := 0, 0
				for _, f := range r.Flows {
					wrong += f.ICRCWrong.Count
					unknown += f.ICRCUnknown
				}
				if wrong+unknown > 0 {
					t.Errorf("ICRC: %d wrong, %d not judged", wrong, unknown)
				}
				if ng || l.unread {
					return
				}
				file := filepath.Join(t.TempDir(), "again.pcap")
				check(t, os.WriteFile(file, b, 0o600))
				if n := agree(t, file); n != r.Packets {
					t.Errorf("tshark decodes %d of %d packets", n, r.Packets)
				}
			})
		}
	}
}
