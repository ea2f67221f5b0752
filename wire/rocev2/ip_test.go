package rocev2_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// edited returns a copy of b, changed by edit.
func edited(b []byte, edit func(b []byte) []byte) []byte { return edit(bytes.Clone(b)) }

// with returns a function that overwrites bytes at an offset.
func with(offset int, values ...byte) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[offset:], values); return b }
}

func TestParseIPErrors(t *testing.T) {
	var v4, v6 []byte
	for _, v := range vectors(t) {
		if ip := v.frame[ethernetLen:]; ip[0]>>4 == 4 {
			v4 = ip
		} else {
			v6 = ip
		}
	}
	tests := []struct {
		name  string
		b     []byte
		short bool
	}{
		{"nothing", nil, true},
		{"neither version", edited(v4, with(0, 0x55)), false},
		{"half an IPv4 header", v4[:19], true},
		{"half an IPv6 header", v6[:39], true},
		{"IPv4 cut off", v4[:len(v4)-1], true},
		{"IPv6 cut off", v6[:len(v6)-1], true},
		{"IPv4 options", edited(v4, with(0, 0x46)), false},
		{"first fragment", edited(v4, with(6, 0x20)), false},
		{"last fragment", edited(v4, with(7, 0x01)), false},
		{"IPv4 and TCP", edited(v4, with(9, 6)), false},
		{"IPv6 and an extension header", edited(v6, with(6, 0)), false},
		{"IPv4 total length below its header", edited(v4, with(2, 0, 19)), true},
		{"no BTH", edited(v4, with(2, 0, 20+8+12+3)), true},
		{"another port", edited(v6, with(42, 0, 53)), false},
		{"UDP longer than IP", edited(v6, with(44, 0xff)), false},
		{"UDP shorter than IP", edited(v4, with(24, 0, 24)), false},
		{"IPv4-mapped in IPv6", edited(v6, func(b []byte) []byte {
			mapped := gid(t, "::ffff:192.0.2.1")
			return with(8, mapped[:]...)(b)
		}), false},
	}
	for _, tt := range tests {
		flow, datagram, err := rocev2.ParseIP(tt.b)
		if !errors.Is(err, rocev2.ErrNotRoCE) || errors.Is(err, ib.ErrShort) != tt.short || datagram != nil ||
			flow != (rocev2.Flow{}) {
			t.Errorf("ParseIP(%s) = %+v, %x, %v, want ErrNotRoCE and short %t", tt.name, flow, datagram, err, tt.short)
		}
	}
}

// A short Ethernet frame has padding after the IP packet.
func TestParseIPTrailer(t *testing.T) {
	for _, v := range vectors(t) {
		_, want := v.split(t)
		_, got, err := rocev2.ParseIP(append(bytes.Clone(v.frame[ethernetLen:]), 1, 2, 3))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s and a trailer: %d bytes, %v, want %d", v.name, len(got), err, len(want))
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	for _, v := range vectors(t) {
		flow, datagram := v.split(t)
		buf := make([]byte, 0, len(datagram))
		allocs := testing.AllocsPerRun(20, func() {
			if _, _, err := rocev2.ParseIP(v.frame[ethernetLen:]); err != nil {
				t.Fatal(err)
			}
			f := flow
			f.ID++
			f.Recover(len(datagram), f.Check(datagram))
			flow.AppendICRC(append(buf, datagram[:len(datagram)-rocev2.ICRCLen]...))
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations, want 0", v.name, allocs)
		}
	}
}

// ParseIP doesn't change the packet, and a changed bit of the payload is detected.
func FuzzParseIP(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.frame[ethernetLen:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		flow, datagram, err := rocev2.ParseIP(b)
		if err != nil {
			if !errors.Is(err, rocev2.ErrNotRoCE) {
				t.Errorf("ParseIP(%x) = %v, want ErrNotRoCE", b, err)
			}
			return
		}
		if !bytes.Contains(b, datagram) || len(datagram) < ib.BTHLen+rocev2.ICRCLen {
			t.Fatalf("ParseIP(%x) = %x", b, datagram)
		}
		end := len(datagram) - rocev2.ICRCLen
		sound := flow.AppendICRC(bytes.Clone(datagram[:end]))
		if diff := flow.Check(sound); diff != 0 {
			t.Errorf("Check of what AppendICRC wrote = %#x", diff)
		}
		sound[0] ^= 1
		if flow.Check(sound) == 0 {
			t.Error("Check of a changed opcode = 0")
		}
		if diff := flow.Check(datagram); diff != flow.ICRC(datagram[:end])^binary.LittleEndian.Uint32(datagram[end:]) {
			t.Errorf("Check = %#x", diff)
		}
		flow.Recover(len(datagram), flow.Check(datagram))
	})
}
