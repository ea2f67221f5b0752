package prm_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

type codec interface {
	Decode(b []byte) (int, error)
	Append(b []byte) []byte
}

// codecs returns a zero value of each type with its length in bytes.
func codecs() []struct {
	name string
	len  int
	v    codec
} {
	return []struct {
		name string
		len  int
		v    codec
	}{
		{"AccessRegister", 256, &prm.AccessRegister{}},
		{"GeneralInfo", 256, &prm.GeneralInfo{}},
		{"PPCNT", 8, &prm.PPCNT{}},
		{"PhysicalCounters", 248, &prm.PhysicalCounters{}},
		{"StatisticalCounters", 156, &prm.StatisticalCounters{}},
		{"PDDR", 8, &prm.PDDR{}},
		{"OperationInfo", 64, &prm.OperationInfo{}},
		{"Troubleshooting", 248, &prm.Troubleshooting{}},
		{"PhyInfo", 48, &prm.PhyInfo{}},
		{"LinkDownInfo", 56, &prm.LinkDownInfo{}},
		{"ModuleInfo", 208, &prm.ModuleInfo{}},
		{"MCIA", 148, &prm.MCIA{}},
	}
}

// Append writes the bytes that Decode has read, those of fields without a name included.
func TestEveryBitSurvives(t *testing.T) {
	for _, c := range codecs() {
		for _, fill := range []byte{0, 0xff} {
			for bit := range 8 * c.len {
				b := bytes.Repeat([]byte{fill}, c.len)
				b[bit/8] ^= 0x80 >> (bit % 8)
				if n, err := c.v.Decode(b); n != c.len || err != nil {
					t.Fatalf("%s.Decode = %d, %v, want %d, nil", c.name, n, err, c.len)
				}
				if again := c.v.Append(nil); !bytes.Equal(again, b) {
					t.Fatalf("%s: Append(Decode(%x)) = %x, differs at bit %d of %02x", c.name, b, again, bit, fill)
				}
			}
		}
	}
}

// Decode of zeros after ones leaves nothing behind, and short input is refused.
func TestLengths(t *testing.T) {
	for _, c := range codecs() {
		for n := range c.len {
			if got, err := c.v.Decode(make([]byte, n)); got != 0 || !errors.Is(err, mad.ErrShort) {
				t.Errorf("%s.Decode of %d bytes = %d, %v, want 0, ErrShort", c.name, n, got, err)
			}
		}
		_, _ = c.v.Decode(bytes.Repeat([]byte{0xff}, c.len))
		if got, err := c.v.Decode(make([]byte, c.len+9)); got != c.len || err != nil {
			t.Errorf("%s.Decode of %d bytes = %d, %v, want %d, nil", c.name, c.len+9, got, err, c.len)
		}
		if zero := reflect.ValueOf(c.v).Elem(); !zero.IsZero() {
			t.Errorf("%s decoded from zeros after ones = %+v", c.name, zero)
		}
		if got := c.v.Append([]byte("head")); len(got) != 4+c.len || string(got[:4]) != "head" {
			t.Errorf("%s.Append returned %d bytes, want %d after the existing ones", c.name, len(got), c.len)
		}
	}
}

func TestCodecsAllocateNothing(t *testing.T) {
	in, out := make([]byte, mad.Len), make([]byte, 0, mad.Len)
	for _, c := range codecs() {
		if allocs := testing.AllocsPerRun(100, func() {
			if _, err := c.v.Decode(in); err != nil || len(c.v.Append(out)) != c.len {
				t.Fatal(c.name, err)
			}
		}); allocs != 0 {
			t.Errorf("%s.Decode and Append allocate %v times, want 0", c.name, allocs)
		}
	}
}

func fuzzCodec[C codec](f *testing.F, v C) {
	f.Helper()
	f.Add(bytes.Repeat([]byte{0x5a}, mad.Len))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := v.Decode(b)
		if err != nil {
			return
		}
		if again := v.Append(nil); !bytes.Equal(again, b[:n]) {
			t.Errorf("Append(Decode(%x)) = %x", b[:n], again)
		}
	})
}

func FuzzAccessRegister(f *testing.F)      { fuzzCodec(f, &prm.AccessRegister{}) }
func FuzzGeneralInfo(f *testing.F)         { fuzzCodec(f, &prm.GeneralInfo{}) }
func FuzzPPCNT(f *testing.F)               { fuzzCodec(f, &prm.PPCNT{}) }
func FuzzPhysicalCounters(f *testing.F)    { fuzzCodec(f, &prm.PhysicalCounters{}) }
func FuzzStatisticalCounters(f *testing.F) { fuzzCodec(f, &prm.StatisticalCounters{}) }
func FuzzPDDR(f *testing.F)                { fuzzCodec(f, &prm.PDDR{}) }
func FuzzOperationInfo(f *testing.F)       { fuzzCodec(f, &prm.OperationInfo{}) }
func FuzzTroubleshooting(f *testing.F)     { fuzzCodec(f, &prm.Troubleshooting{}) }
func FuzzPhyInfo(f *testing.F)             { fuzzCodec(f, &prm.PhyInfo{}) }
func FuzzLinkDownInfo(f *testing.F)        { fuzzCodec(f, &prm.LinkDownInfo{}) }
func FuzzMCIA(f *testing.F)                { fuzzCodec(f, &prm.MCIA{}) }

// FuzzModuleInfo also derives the values.
func FuzzModuleInfo(f *testing.F) {
	f.Add(bytes.Repeat([]byte{0x5a}, prm.ModuleInfoLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m prm.ModuleInfo
		n, err := m.Decode(b)
		if err != nil {
			return
		}
		if again := m.Append(nil); !bytes.Equal(again, b[:n]) {
			t.Errorf("Append(Decode(%x)) = %x", b[:n], again)
		}
		if l := m.LengthMetres(); l < 0 || l > 6300 {
			t.Errorf("length %v m", l)
		}
		for _, c := range prm.Text(m.PartNumber[:]) {
			if c < ' ' || c > '~' {
				t.Errorf("part number %q", prm.Text(m.PartNumber[:]))
			}
		}
	})
}
