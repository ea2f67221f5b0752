package ib

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPSN(t *testing.T) {
	tests := []struct {
		p    PSN
		n    int
		want PSN
	}{
		{0, 1, 1},
		{0xffffff, 1, 0},
		{0, -1, 0xffffff},
		{0xfffff0, 0x20, 0x10},
		{0x10, -0x20, 0xfffff0},
	}
	for _, tt := range tests {
		if got := tt.p.Add(tt.n); got != tt.want {
			t.Errorf("%v.Add(%d) = %v, want %v", tt.p, tt.n, got, tt.want)
		}
		if got := tt.want.Sub(tt.p); got != tt.n {
			t.Errorf("%v.Sub(%v) = %d, want %d", tt.want, tt.p, got, tt.n)
		}
		if got := tt.p.Before(tt.want); got != (tt.n > 0) {
			t.Errorf("%v.Before(%v) = %t, want %t", tt.p, tt.want, got, tt.n > 0)
		}
	}
	if got := PSN(0x800000).Sub(0); got != -0x800000 {
		t.Errorf("PSN(0x800000).Sub(0) = %d, want the most negative distance", got)
	}
}

// The headers of each opcode are those of the specification, section 9.2.1 and table 38.
func TestOpcodeHeaderLen(t *testing.T) {
	want := map[Opcode]int{
		OpcodeRCSendFirst: 12, OpcodeRCSendMiddle: 12, OpcodeRCSendLast: 12, OpcodeRCSendLastImmediate: 16,
		OpcodeRCSendOnly: 12, OpcodeRCSendOnlyImmediate: 16,
		OpcodeRCWriteFirst: 28, OpcodeRCWriteMiddle: 12, OpcodeRCWriteLast: 12, OpcodeRCWriteLastImmediate: 16,
		OpcodeRCWriteOnly: 28, OpcodeRCWriteOnlyImmediate: 32,
		OpcodeRCReadRequest: 28, OpcodeRCReadResponseFirst: 16, OpcodeRCReadResponseMiddle: 12,
		OpcodeRCReadResponseLast: 16, OpcodeRCReadResponseOnly: 16,
		OpcodeRCAcknowledge: 16, OpcodeRCAtomicAcknowledge: 24, OpcodeRCCompareSwap: 40, OpcodeRCFetchAdd: 40,
		OpcodeRCSendLastInvalidate: 16, OpcodeRCSendOnlyInvalidate: 16,
		OpcodeUCSendFirst: 12, OpcodeUCSendMiddle: 12, OpcodeUCSendLast: 12, OpcodeUCSendLastImmediate: 16,
		OpcodeUCSendOnly: 12, OpcodeUCSendOnlyImmediate: 16,
		OpcodeUCWriteFirst: 28, OpcodeUCWriteMiddle: 12, OpcodeUCWriteLast: 12, OpcodeUCWriteLastImmediate: 16,
		OpcodeUCWriteOnly: 28, OpcodeUCWriteOnlyImmediate: 32,
		OpcodeUDSendOnly: 20, OpcodeUDSendOnlyImmediate: 24,
		OpcodeCongestionNotification: 12,
	}
	for i := range 256 {
		o := Opcode(i)
		if got := o.HeaderLen(); got != want[o] || o.Known() != (want[o] != 0) {
			t.Errorf("%v.HeaderLen() = %d, known %t, want %d", o, got, o.Known(), want[o])
		}
	}
}

func sample(o Opcode, payload []byte) Packet {
	return Packet{
		BTH: BTH{
			Opcode: o, Solicited: true, MigReq: true, PKey: PKeyDefault, BECN: true, DestQP: 0x123456, AckReq: true,
			PSN:      0xfedcba,
			PadCount: PadFor(len(payload)),
		},
		DETH:         DETH{QKey: 0x11111111, SrcQP: 0xabcdef},
		RETH:         RETH{VirtualAddress: 0x0123456789abcdef, RKey: 0xdeadbeef, DMALength: 77},
		AtomicETH:    AtomicETH{VirtualAddress: 8, RKey: 9, SwapAdd: 10, Compare: 11},
		AETH:         AETH{Syndrome: SyndromeNAKSequence, MSN: 0x010203},
		AtomicAckETH: AtomicAckETH{Original: 1 << 60},
		ImmDt:        ImmDt{1, 2, 3, 4},
		IETH:         IETH{RKey: 0xcafe},
		Payload:      payload,
	}
}

// Decode reads the packets that Append writes.
func TestPacketRoundTrip(t *testing.T) {
	for i := range 256 {
		o := Opcode(i)
		if !o.Known() {
			continue
		}
		payload := []byte("payload")
		if !o.Layout().has(LayoutPayload) {
			payload = nil
		}
		in := sample(o, payload)
		wire := in.Append(nil)
		if len(wire) != o.HeaderLen()+len(payload)+int(PadFor(len(payload))) {
			t.Errorf("%v: Append wrote %d bytes", o, len(wire))
		}
		var out Packet
		if n, err := out.Decode(wire); n != len(wire) || err != nil {
			t.Fatalf("%v: Decode = %d, %v, want %d", o, n, err, len(wire))
		}
		if again := out.Append(nil); !bytes.Equal(again, wire) {
			t.Errorf("%v: decoded and written again differs (-want +got):\n%s",
				o, cmp.Diff(hex.Dump(wire), hex.Dump(again)))
		}
	}
}

func TestPacketDecodeErrors(t *testing.T) {
	write := sample(OpcodeRCWriteOnly, nil)
	ack := sample(OpcodeRCAcknowledge, nil)
	padded := sample(OpcodeRCWriteOnly, []byte{1, 2, 3, 4})
	padded.BTH.PadCount = 3
	unknown := sample(Opcode(0xff), nil)
	tests := []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrShort},
		{"half a BTH", write.Append(nil)[:11], ErrShort},
		{"half a RETH", write.Append(nil)[:27], ErrShort},
		{"payload after an ACK", append(ack.Append(nil), 1, 2, 3, 4), ErrPayload},
		{"padding and no payload", func() []byte { b := write.Append(nil); b[1] |= 0x30; return b }(), ErrPadding},
		{"unknown opcode", unknown.Append(nil), ErrUnknownOpcode},
	}
	for _, tt := range tests {
		var p Packet
		if n, err := p.Decode(tt.b); !errors.Is(err, tt.want) || n != 0 {
			t.Errorf("Decode(%s) = %d, %v, want %v", tt.name, n, err, tt.want)
		}
	}
}

func TestGRHRoundTrip(t *testing.T) {
	in := GRH{
		Version: 6, TrafficClass: 0xa5, FlowLabel: 0xfffff, PayloadLen: 1234, NextHeader: 0x1b, HopLimit: 64,
		SGID: GID{1}, DGID: GID{15: 2},
	}
	var out GRH
	if n, err := out.Decode(in.Append(nil)); n != GRHLen || err != nil || out != in {
		t.Errorf("Decode(Append(%+v)) = %+v, %d, %v", in, out, n, err)
	}
	if _, err := out.Decode(make([]byte, GRHLen-1)); !errors.Is(err, ErrShort) {
		t.Errorf("Decode of 39 bytes = %v, want ErrShort", err)
	}
}

func TestSyndrome(t *testing.T) {
	tests := []struct {
		s             Syndrome
		ack, rnr, nak bool
		text          string
	}{
		{SyndromeACK, true, false, false, "ACK"},
		{SyndromeRNR + 1, false, true, false, "RNR NAK, wait 10µs"},
		{SyndromeRNR, false, true, false, "RNR NAK, wait 655.36ms"},
		{SyndromeNAKSequence, false, false, true, "NAK: PSN sequence error"},
		{0x5f, false, false, false, "reserved syndrome 0x5f"},
	}
	for _, tt := range tests {
		if tt.s.IsACK() != tt.ack || tt.s.IsRNR() != tt.rnr || tt.s.IsNAK() != tt.nak || tt.s.String() != tt.text {
			t.Errorf("%#x = %t, %t, %t, %q, want %t, %t, %t, %q",
				uint8(tt.s), tt.s.IsACK(), tt.s.IsRNR(), tt.s.IsNAK(), tt.s.String(), tt.ack, tt.rnr, tt.nak, tt.text)
		}
	}
}

func TestPacketAllocatesNothing(t *testing.T) {
	in := sample(OpcodeRCWriteOnlyImmediate, make([]byte, 4096))
	buf := make([]byte, 0, 8192)
	var out Packet
	allocs := testing.AllocsPerRun(100, func() {
		wire := in.Append(buf)
		if _, err := out.Decode(wire); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("Append and Decode allocate %v times, want 0", allocs)
	}
}

// Append writes the bytes that Decode has read, except the content of the padding.
func FuzzPacketDecode(f *testing.F) {
	for i := range 256 {
		if p := sample(Opcode(i), []byte("abc")); Opcode(i).Known() {
			f.Add(p.Append(nil))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Packet
		n, err := p.Decode(b)
		if err != nil {
			return
		}
		pad := int(p.BTH.PadCount)
		again := p.Append(nil)
		if n != len(b) || !bytes.Equal(again[:len(again)-pad], b[:len(b)-pad]) {
			t.Errorf("Decode(%x) written again = %x", b, again)
		}
	})
}
