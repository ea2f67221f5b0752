package udpio

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// controlMessage returns a control message as the kernel lays it out.
func controlMessage(level, kind int32, data ...byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	binary.NativeEndian.PutUint64(b, uint64(unix.CmsgLen(len(data))))
	binary.NativeEndian.PutUint32(b[8:], uint32(level))
	binary.NativeEndian.PutUint32(b[12:], uint32(kind))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

// FuzzControl compares what is taken from control messages with another parser's result.
func FuzzControl(f *testing.F) {
	gro := controlMessage(unix.IPPROTO_UDP, unix.UDP_GRO, 0, 4, 0, 0)
	f.Add(controlMessage(unix.IPPROTO_IP, unix.IP_TOS, 0x6a))
	f.Add(append(controlMessage(unix.IPPROTO_IPV6, unix.IPV6_TCLASS, 0x6a, 0, 0, 0), gro...))
	f.Add(append(gro, 1, 2, 3))
	f.Add(controlMessage(unix.IPPROTO_UDP, unix.UDP_GRO, 0xff, 0xff, 0xff, 0xff))
	f.Add(gro[:18])
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x80000000000")) // a length of half the address space
	f.Fuzz(func(t *testing.T, data []byte) {
		b := make([]byte, len(data), len(data)+8) // aligned, as the buffers of a socket are
		copy(b, data)
		const none = 77
		got := Inbound{Segment: none}
		got.readControl(b)
		list, err := unix.ParseSocketControlMessage(b)
		if err != nil {
			return // what comes before the broken one may have been taken
		}
		want := Inbound{Segment: none}
		for _, m := range list {
			switch level, kind, size := m.Header.Level, m.Header.Type, len(m.Data); {
			case size == 0:
				return // ends the list here, as the kernel writes none
			case level == unix.IPPROTO_IP && kind == unix.IP_TOS:
				want.TrafficClass = m.Data[0]
			case size < 4:
			case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_TCLASS:
				want.TrafficClass = uint8(binary.NativeEndian.Uint32(m.Data))
			case level == unix.IPPROTO_UDP && kind == unix.UDP_GRO:
				if n := int32(binary.NativeEndian.Uint32(m.Data)); n > 0 {
					want.Segment = int(n)
				}
			}
		}
		if got.TrafficClass != want.TrafficClass || got.Segment != want.Segment {
			t.Errorf("class %#x and segment %d, want %#x and %d", got.TrafficClass, got.Segment,
				want.TrafficClass, want.Segment)
		}
	})
}
