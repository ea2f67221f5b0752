package mad_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rdmakit/rdmakit/wire/mad"
)

type codec interface {
	Decode(b []byte) (int, error)
	Append(b []byte) []byte
}

// codecs returns a zero value of each type that this package encodes and decodes, with its length
// in bytes in the specification.
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
		{"Header", 24, &mad.Header{}},
		{"SMP", 256, &mad.SMP{}},
		{"DirectedSMP", 256, &mad.DirectedSMP{}},
		{"NodeInfo", 40, &mad.NodeInfo{}},
		{"NodeDescription", 64, &mad.NodeDescription{}},
		{"PortInfo", 64, &mad.PortInfo{}},
		{"SwitchInfo", 20, &mad.SwitchInfo{}},
		{"LFTBlock", 64, &mad.LFTBlock{}},
		{"MFTBlock", 64, &mad.MFTBlock{}},
		{"PKeyTable", 64, &mad.PKeyTable{}},
		{"GUIDInfo", 64, &mad.GUIDInfo{}},
		{"SMInfo", 21, &mad.SMInfo{}},
		{"ExtendedPortInfo", 64, &mad.ExtendedPortInfo{}},
		{"PerformanceMAD", 256, &mad.PerformanceMAD{}},
		{"ClassPortInfo", 72, &mad.ClassPortInfo{}},
		{"PortCounters", 44, &mad.PortCounters{}},
		{"PortCountersExtended", 184, &mad.PortCountersExtended{}},
		{"RMPP", 12, &mad.RMPP{}},
		{"SAHeader", 56, &mad.SAHeader{}},
		{"SA", 256, &mad.SA{}},
		{"NodeRecord", 108, &mad.NodeRecord{}},
		{"PortInfoRecord", 68, &mad.PortInfoRecord{}},
		{"SMInfoRecord", 25, &mad.SMInfoRecord{}},
		{"LinkRecord", 6, &mad.LinkRecord{}},
		{"PathRecord", 64, &mad.PathRecord{}},
		{"MCMemberRecord", 52, &mad.MCMemberRecord{}},
		{"ServiceRecord", 176, &mad.ServiceRecord{}},
		{"InformInfoRecord", 60, &mad.InformInfoRecord{}},
		{"SLtoVLMappingTableRecord", 16, &mad.SLtoVLMappingTableRecord{}},
		{"VLArbitrationTableRecord", 72, &mad.VLArbitrationTableRecord{}},
		{"PKeyTableRecord", 72, &mad.PKeyTableRecord{}},
		{"LinearForwardingTableRecord", 72, &mad.LinearForwardingTableRecord{}},
		{"MulticastForwardingTableRecord", 72, &mad.MulticastForwardingTableRecord{}},
		{"GUIDInfoRecord", 72, &mad.GUIDInfoRecord{}},
		{"SwitchInfoRecord", 24, &mad.SwitchInfoRecord{}},
		{"VendorMAD", 256, &mad.VendorMAD{}},
		{"REQ", 256, &mad.REQ{}},
		{"MRA", 256, &mad.MRA{}},
		{"REJ", 256, &mad.REJ{}},
		{"REP", 256, &mad.REP{}},
		{"RTU", 256, &mad.RTU{}},
		{"DREQ", 256, &mad.DREQ{}},
		{"DREP", 256, &mad.DREP{}},
		{"LAP", 256, &mad.LAP{}},
		{"APR", 256, &mad.APR{}},
		{"SIDRREQ", 256, &mad.SIDRREQ{}},
		{"SIDRREP", 256, &mad.SIDRREP{}},
		{"CMAHeader", 36, &mad.CMAHeader{}},
	}
}

// Append writes the bytes that Decode has read: no bit is dropped, and no two fields share one.
func TestEveryBitSurvives(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			for _, fill := range []byte{0, 0xff} {
				for bit := range 8 * c.len {
					b := bytes.Repeat([]byte{fill}, c.len)
					b[bit/8] ^= 0x80 >> (bit % 8)
					n, err := c.v.Decode(b)
					if n != c.len || err != nil {
						t.Fatalf("Decode = %d, %v, want %d, nil", n, err, c.len)
					}
					if again := c.v.Append(nil); !bytes.Equal(again, b) {
						t.Fatalf("Append(Decode(%x)) = %x, differs at bit %d of %02x", b, again, bit, fill)
					}
				}
			}
		})
	}
}

func TestLengths(t *testing.T) {
	for _, c := range codecs() {
		for n := range c.len {
			if got, err := c.v.Decode(make([]byte, n)); got != 0 || !errors.Is(err, mad.ErrShort) {
				t.Errorf("%s.Decode of %d bytes = %d, %v, want 0, ErrShort", c.name, n, got, err)
			}
		}
		if got, err := c.v.Decode(make([]byte, c.len+9)); got != c.len || err != nil {
			t.Errorf("%s.Decode of %d bytes = %d, %v, want %d, nil", c.name, c.len+9, got, err, c.len)
		}
		if got := c.v.Append([]byte("head")); len(got) != 4+c.len || string(got[:4]) != "head" {
			t.Errorf("%s.Append returned %d bytes, want %d after the existing ones", c.name, len(got), c.len)
		}
	}
}

func TestDecodeForgets(t *testing.T) {
	for _, c := range codecs() {
		_, _ = c.v.Decode(bytes.Repeat([]byte{0xff}, c.len))
		zero := make([]byte, c.len)
		_, _ = c.v.Decode(zero)
		if again := c.v.Append(nil); !bytes.Equal(again, zero) {
			t.Errorf("%s decoded from zeros after ones = %x, want zeros", c.name, again)
		}
	}
}

func TestCodecsAllocateNothing(t *testing.T) {
	in, out := make([]byte, mad.Len), make([]byte, 0, mad.Len)
	for _, c := range codecs() {
		allocs := testing.AllocsPerRun(100, func() {
			_, err := c.v.Decode(in)
			if err != nil || len(c.v.Append(out)) != c.len {
				t.Fatal(c.name, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s.Decode and Append allocate %v times, want 0", c.name, allocs)
		}
	}
}

func TestRequestAllocatesNothing(t *testing.T) {
	path, err := mad.NewPath(1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	out, reply := make([]byte, 0, mad.Len), make([]byte, mad.Len)
	allocs := testing.AllocsPerRun(100, func() {
		next, err := path.Extend(4)
		smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributePortInfo, 1, 7, &next)
		if err != nil || len(smp.Append(out)) != mad.Len {
			t.Fatal(err)
		}
		var info mad.PortInfo
		_, err1 := smp.Decode(reply)
		_, err2 := info.Decode(smp.Data[:])
		if info.Append(smp.Data[:0]); err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
	})
	if allocs != 0 {
		t.Errorf("a request and its response allocate %v times, want 0", allocs)
	}
}

func TestAppendInPlace(t *testing.T) {
	var smp mad.DirectedSMP
	info := mad.NodeInfo{NumPorts: 36}
	info.Append(smp.Data[:0])
	if smp.Data[3] != 36 {
		t.Errorf("Data after Append = %x, want NumPorts 36 in byte 3", smp.Data)
	}
}
