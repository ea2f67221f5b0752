package ib

import (
	"bytes"
	"errors"
	"testing"
)

// header is implemented by all headers.
type header interface {
	Decode(b []byte) (n int, err error)
	Append(b []byte) []byte
}

// headers returns one header of each type with its length in bytes.
func headers() map[string]struct {
	h   header
	len int
} {
	return map[string]struct {
		h   header
		len int
	}{
		"BTH":          {new(BTH), 12},
		"GRH":          {new(GRH), 40},
		"DETH":         {new(DETH), 8},
		"RETH":         {new(RETH), 16},
		"AtomicETH":    {new(AtomicETH), 28},
		"AETH":         {new(AETH), 4},
		"AtomicAckETH": {new(AtomicAckETH), 8},
		"ImmDt":        {new(ImmDt), 4},
		"IETH":         {new(IETH), 4},
	}
}

// No bit of a header is lost: Append writes the bytes that Decode has read.
func TestHeadersKeepEveryBit(t *testing.T) {
	for name, tt := range headers() {
		for bit := range 8 * tt.len {
			in := make([]byte, tt.len)
			in[bit/8] = 0x80 >> (bit % 8)
			n, err := tt.h.Decode(append(bytes.Clone(in), 0xee)) // with a byte after the header
			if out := tt.h.Append([]byte("before")); n != tt.len || err != nil ||
				!bytes.Equal(out, append([]byte("before"), in...)) {
				t.Errorf("%s: bit %d of %x: Decode = %d, %v; written again %x", name, bit, in, n, err, out)
			}
		}
		for n := range tt.len {
			if got, err := tt.h.Decode(make([]byte, n)); got != 0 || !errors.Is(err, ErrShort) {
				t.Errorf("%s: Decode of %d bytes = %d, %v, want ErrShort", name, n, got, err)
			}
		}
	}
}

// A value too large for its field must not change adjacent fields.
func TestHeadersCutValues(t *testing.T) {
	tests := []struct {
		name string
		h    header
		zero []int // bytes that stay zero
	}{
		{"PadCount", &BTH{PadCount: 0xfc}, []int{1}},
		{"TVer", &BTH{TVer: 0xf0}, []int{1}},
		{"BTH.Reserved", &BTH{Reserved: 0xc0}, []int{4}},
		{"DestQP", &BTH{DestQP: 0xff000000}, []int{4, 5}},
		{"BTH.Reserved7", &BTH{Reserved7: 0x80}, []int{8}},
		{"PSN", &BTH{PSN: 0xff000000}, []int{8, 9}},
		{"SrcQP", &DETH{SrcQP: 0xff000000}, []int{4, 5}},
		{"MSN", &AETH{MSN: 0xff000000}, []int{0, 1}},
		{"FlowLabel", &GRH{FlowLabel: 0xfff00000}, []int{0, 1}},
	}
	for _, tt := range tests {
		b := tt.h.Append(nil)
		for _, i := range tt.zero {
			if b[i] != 0 {
				t.Errorf("%s too large is written as %x: byte %d is not 0", tt.name, b, i)
			}
		}
	}
}

func TestHeadersAllocateNothing(t *testing.T) {
	wire, buf := make([]byte, 64), make([]byte, 0, 64)
	for name, tt := range headers() {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := tt.h.Decode(wire); err != nil {
				t.Fatal(err)
			}
			tt.h.Append(buf)
		})
		if allocs != 0 {
			t.Errorf("%s: Decode and Append allocate %v times, want 0", name, allocs)
		}
	}
}

func TestOpcodesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 8192)
	for i := range 256 {
		o := Opcode(i)
		if !o.Known() {
			continue
		}
		var payload []byte
		if o.Layout().has(LayoutPayload) {
			payload = make([]byte, 4095)
		}
		in, out := sample(o, payload), Packet{}
		allocs := testing.AllocsPerRun(20, func() {
			if _, err := out.Decode(in.Append(buf)); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v: Append and Decode allocate %v times, want 0", o, allocs)
		}
	}
}

// FuzzHeaders decodes every header from the same bytes.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Add([]byte("\x06\x00\xff\xff\x00\x12\x34\x56\x80\xff\xff\xfe, a write of which more follows"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, tt := range headers() {
			n, err := tt.h.Decode(b)
			switch {
			case len(b) < tt.len:
				if n != 0 || !errors.Is(err, ErrShort) {
					t.Errorf("%s: Decode of %d bytes = %d, %v, want ErrShort", name, len(b), n, err)
				}
			case n != tt.len || err != nil:
				t.Errorf("%s: Decode(%x) = %d, %v, want %d", name, b, n, err, tt.len)
			default:
				if again := tt.h.Append(nil); !bytes.Equal(again, b[:n]) {
					t.Errorf("%s: Decode(%x) written again = %x", name, b[:n], again)
				}
			}
		}
	})
}

// BenchmarkPacket encodes and decodes the packets of a transfer. The throughput is that of the
// payload, which Append copies and Decode doesn't.
func BenchmarkPacket(b *testing.B) {
	for _, tt := range []struct {
		name    string
		opcode  Opcode
		payload int
	}{
		{"Acknowledge", OpcodeRCAcknowledge, 0},
		{"WriteMiddle/1024", OpcodeRCWriteMiddle, 1024},
		{"WriteMiddle/4096", OpcodeRCWriteMiddle, 4096},
		{"WriteOnlyImmediate/64", OpcodeRCWriteOnlyImmediate, 64},
	} {
		p := sample(tt.opcode, make([]byte, tt.payload))
		buf := make([]byte, 0, 8192)
		wire := p.Append(nil)
		b.Run("Append/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				p.Append(buf)
			}
		})
		b.Run("Decode/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			var out Packet
			for b.Loop() {
				if _, err := out.Decode(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
