package sff

import (
	"encoding/hex"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// place is a half page: address, page, and whether it is the upper half.
type place struct {
	address, page uint8
	high          bool
}

// memory is the memory of a module. It records which bytes were read.
type memory struct {
	halves map[place]*[upper]byte
	reads  []Page
}

func (m *memory) read(p Page) ([]byte, error) {
	m.reads = append(m.reads, p)
	half, ok := m.halves[place{p.Address, p.Page, p.Offset >= upper}]
	from := int(p.Offset) % upper
	if !ok || p.Bank != 0 || from+int(p.Length) > upper {
		return nil, io.ErrUnexpectedEOF
	}
	return half[from : from+int(p.Length)], nil
}

// modules reads testdata/modules.txt.
func modules(t testing.TB) map[string]*memory {
	t.Helper()
	data, err := os.ReadFile("testdata/modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*memory{}
	var m *memory
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "= "); ok {
			m = &memory{halves: map[place]*[upper]byte{
				{Address, 0, false}: {}, {AddressDOM, 0, false}: {}, {Address, 0, true}: {},
			}}
			all[name] = m
		}
		where, bytes, ok := strings.Cut(line, ":")
		at := strings.Fields(where)
		if !ok || len(at) != 3 || strings.HasPrefix(line, "#") {
			continue
		}
		var n [3]int
		for i, s := range at {
			v, err := strconv.ParseUint(s, 16, 8)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			n[i] = int(v)
		}
		b, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err != nil || n[2]%upper+len(b) > upper {
			t.Fatalf("%s: %v", line, err)
		}
		key := place{uint8(n[0]), uint8(n[1]), n[2] >= upper}
		if m.halves[key] == nil {
			m.halves[key] = &[upper]byte{}
		}
		copy(m.halves[key][n[2]%upper:], b)
	}
	return all
}

// The values are those that the sources of testdata/modules.txt give.
func TestDecode(t *testing.T) {
	all := modules(t)
	want := map[string]Module{
		"fboss-cwdm4": {
			Type: "QSFP+", Vendor: "FACETEST", PartNumber: "FTL410QE2C", Serial: "MRE01B0", Revision: "A",
			Temperature: &Reading{31.015625, &Limits{75, -5, 70, 0}},
			Voltage:     &Reading{3.2989, &Limits{3.80, 2.84, 3.45, 3.15}},
			RX:          []float64{0.4643, 0.9012, 0.4913, 0.4626},
			TX:          []float64{1.6705, 1.6962, 1.7219, 1.7476},
			RXLimits:    &Limits{0.6683, 0.7197, 0.7711, 0.437},
			TXLimits:    &Limits{0.4386, 1.3124, 2.1862, 3.06},
		},
		"fboss-dac": {
			Type: "QSFP28", Vendor: "FACETEST", PartNumber: "NDAQGF-F302", Serial: "2023J", Revision: "A",
			Passive: true,
		},
		"fboss-200g-cr4": {
			Type: "QSFP28", Vendor: "FACETEST", PartNumber: "2058986017", Serial: "2111122874", Revision: "1",
			Passive: true,
		},
		"fboss-200g-fr4": {
			Type: "QSFP with CMIS", Vendor: "FACETEST",
			Temperature: &Reading{40.26953125, &Limits{70, 10, 70, 10}},
			Voltage:     &Reading{3.3020, &Limits{3.565, 3.035, 3.565, 3.035}},
			RX:          []float64{0.4032, 0.3969, 0.5812, 0.5176},
			TX:          []float64{2.13, 2.0748, 2.0512, 2.1027},
			RXLimits:    &Limits{4.6774, 0.0001, 4.6774, 0.0001},
			TXLimits:    &Limits{4.6774, 0.1905, 4.6774, 0.1905},
		},
		"fboss-400g-lr4": {
			Type: "QSFP-DD", Vendor: "FACETEST",
			Temperature: &Reading{45.078125, &Limits{75, 10, 75, 10}},
			Voltage:     &Reading{3.2578, &Limits{3.565, 3.035, 3.565, 3.035}},
			RX:          []float64{1.7125, 1.7199, 1.8158, 2.1298},
			TX:          []float64{1.9253, 2.0082, 2.0773, 1.9805},
			RXLimits:    &Limits{4.4668, 0.0001, 4.4668, 0.0001},
			TXLimits:    &Limits{4.4668, 0.3631, 4.4668, 0.3631},
		},
		"fboss-cmis-flat": {Type: "QSFP-DD", Vendor: "FACETEST"},
		"fboss-sfp": {
			Type: "SFP", Vendor: "FACETEST", PartNumber: "FTLX8571D3BCL", Serial: "ARL0KX6", Revision: "A",
			Temperature: &Reading{18.203125, nil}, Voltage: &Reading{2.2136, nil},
			TX: []float64{5.6849}, RX: []float64{0.8755},
		},
		"sonic-mcp1660": {
			Type: "QSFP-DD", Vendor: "Mellanox", PartNumber: "MCP1660-W00AE30", Serial: "MT2120VS03875", Revision: "A3",
			Passive: true,
		},
		"ethtool-mma1b00": {
			Type: "QSFP28", Vendor: "Mellanox", PartNumber: "MMA1B00-SS1", Serial: "MT1834FT03846", Revision: "A2",
			Temperature: &Reading{39.47265625, &Limits{80, -10, 70, 0}},
			Voltage:     &Reading{3.3477, &Limits{3.5, 3.1, 3.465, 3.135}},
			RX:          []float64{0, 0, 0, 0}, TX: []float64{0, 0, 0, 0},
			RXLimits: &Limits{3.4673, 0.0467, 1.7378, 0.0933},
			TXLimits: &Limits{3.4673, 0.0724, 1.7378, 0.1445},
		},
	}
	if len(want) != len(all) {
		t.Errorf("%d modules, %d expectations", len(all), len(want))
	}
	for name, m := range all {
		got, err := Decode(m.read)
		if diff := cmp.Diff(want[name], got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
			t.Errorf("Decode(%s): %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// Reading a latched flag clears it.
func TestDecodeLeavesLatchedFlags(t *testing.T) {
	for name, m := range modules(t) {
		if _, err := Decode(m.read); err != nil {
			t.Fatalf("Decode(%s): %v", name, err)
		}
		first, last := 3, 21
		if m.halves[place{Address, 0, false}][0] >= 0x18 {
			first, last = 8, 13
		}
		for _, p := range m.reads {
			from, to := int(p.Offset), int(p.Offset)+int(p.Length)-1
			lower := p.Address == Address && p.Page == 0 && name != "fboss-sfp" && from <= last && to >= first
			if lower || p.Page == 0x11 && from <= 153 {
				t.Errorf("Decode(%s) reads page %02xh bytes %d to %d, which has latched flags", name, p.Page, from, to)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	all := modules(t)
	without := func(name string, p place) *memory {
		m := all[name]
		halves := map[place]*[upper]byte{}
		for k, v := range m.halves {
			if k != p {
				halves[k] = v
			}
		}
		return &memory{halves: halves}
	}
	for _, tt := range []struct {
		name   string
		m      *memory
		vendor string // what is known in spite of the error
		want   string
	}{
		{"nothing", &memory{}, "", "read page 00h bytes 0 to 2: unexpected EOF"},
		{
			"identification", without("fboss-cwdm4", place{Address, 0, true}), "",
			"read page 00h bytes 128 to 255: unexpected EOF",
		},
		{
			"thresholds of SFF-8636", without("fboss-cwdm4", place{Address, 3, true}), "FACETEST",
			"read page 03h bytes 128 to 255: unexpected EOF",
		},
		{
			"thresholds of CMIS", without("fboss-200g-fr4", place{Address, 2, true}), "FACETEST",
			"read page 02h bytes 128 to 199: unexpected EOF",
		},
		{
			"lanes of CMIS", without("fboss-200g-fr4", place{Address, 0x11, true}), "FACETEST",
			"read page 11h bytes 154 to 201: unexpected EOF",
		},
		{
			"A2h of an SFP", without("fboss-sfp", place{AddressDOM, 0, false}), "FACETEST",
			"read A2h page 00h bytes 0 to 105: unexpected EOF",
		},
	} {
		got, err := Decode(tt.m.read)
		if err == nil || err.Error() != tt.want || got.Vendor != tt.vendor {
			t.Errorf("%s: Decode() = %+v, %v, want vendor %q and %q", tt.name, got, err, tt.vendor, tt.want)
		}
	}
	cwdm4, err := Decode(without("fboss-cwdm4", place{Address, 3, true}).read)
	if err == nil || cwdm4.Temperature == nil || cwdm4.Temperature.Limits != nil || len(cwdm4.RX) != 4 {
		t.Errorf("without thresholds: %+v, want the values alone", cwdm4)
	}
	zeros := func(p Page) ([]byte, error) { return make([]byte, p.Length), nil }
	if _, err := Decode(zeros); !errors.Is(err, ErrUnknownModule) {
		t.Errorf("Decode(zeros) = %v, want ErrUnknownModule", err)
	}
	if _, err := Decode(func(Page) ([]byte, error) { return []byte{0x11}, nil }); err == nil {
		t.Error("Decode() of a short read = nil error")
	}
}

// TestDecodeRetriesShortReads has a module that answers zeros to reads of up to eight bytes.
func TestDecodeRetriesShortReads(t *testing.T) {
	m := modules(t)["fboss-dac"]
	got, err := Decode(func(p Page) ([]byte, error) {
		b, err := m.read(p)
		if len(b) <= 8 {
			return make([]byte, len(b)), err
		}
		return b, err
	})
	if err != nil || got.PartNumber != "NDAQGF-F302" {
		t.Errorf("Decode() = %+v, %v", got, err)
	}
}

// TestExternalCalibration has constants that double each raw value and add an offset.
func TestExternalCalibration(t *testing.T) {
	m := modules(t)["fboss-sfp"]
	m.halves[place{Address, 0, false}][92] = 0x58 // monitors, external calibration, average power
	dom := m.halves[place{AddressDOM, 0, false}]
	copy(dom[68:], []byte{0x40, 0x00, 0, 0, 0x42, 0xc8, 0, 0}) // RX: 2 × raw + 100
	for _, at := range []int{80, 84, 88} {
		copy(dom[at:], []byte{0x02, 0x00, 0xff, 0x00}) // 2 × raw - 256
	}
	copy(dom[0:], []byte{0x46, 0x00, 0x00, 0x80, 0x40, 0x00, 0x00, 0x80}) // 70 °C and 0.5 °C raw
	got, err := Decode(m.read)
	want := Module{
		Temperature: &Reading{2*18.203125 - 1, &Limits{139, 0, 127, 0}},
		Voltage:     &Reading{2*2.2136 - 0.0256, nil},
		TX:          []float64{2*5.6849 - 0.0256}, RX: []float64{2*0.8755 + 0.01},
	}
	ignore := cmpopts.IgnoreFields(Module{}, "Type", "Vendor", "PartNumber", "Serial", "Revision")
	if diff := cmp.Diff(want, got, ignore, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
		t.Errorf("Decode(): %v, -want +got:\n%s", err, diff)
	}
}

// TestLinear decodes the dumps that the ioctl would return.
func TestLinear(t *testing.T) {
	for name, places := range map[string][]place{
		"ethtool-mma1b00": {
			{Address, 0, false}, {Address, 0, true}, {Address, 1, true}, {Address, 2, true}, {Address, 3, true},
		},
		"fboss-sfp": {{Address, 0, false}, {Address, 0, true}, {AddressDOM, 0, false}, {AddressDOM, 0, true}},
	} {
		m := modules(t)[name]
		var dump []byte
		for _, p := range places {
			half := m.halves[p]
			if half == nil {
				half = &[upper]byte{}
			}
			dump = append(dump, half[:]...)
		}
		want, err := Decode(m.read)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(Linear(dump))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Decode(Linear(%s)): %v, -want +got:\n%s", name, err, diff)
		}
		lanes := Page{Address: Address, Page: 0x11, Offset: upper, Length: 1}
		if _, err := Linear(dump)(lanes); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Linear(%s) of page 11h = %v, want an unexpected EOF", name, err)
		}
	}
}

// FuzzDecode passes a dump to the decoders: none may panic, and all values are finite.
func FuzzDecode(f *testing.F) {
	for _, m := range modules(f) {
		var dump []byte
		for _, p := range []place{
			{Address, 0, false}, {Address, 0, true}, {Address, 1, true}, {Address, 2, true}, {Address, 3, true},
		} {
			half := m.halves[p]
			if half == nil {
				half = &[upper]byte{}
			}
			dump = append(dump, half[:]...)
		}
		f.Add(dump, false)
	}
	f.Fuzz(func(t *testing.T, dump []byte, fold bool) {
		read := Linear(dump)
		if fold { // page 11h at the place of page 3, for CMIS
			read = func(p Page) ([]byte, error) { p.Page %= 4; return Linear(dump)(p) }
		}
		m, err := Decode(read)
		if err == nil && m.Type == "" {
			t.Errorf("Decode(%x) = %+v without an error", dump, m)
		}
		values := append(append([]float64{}, m.RX...), m.TX...)
		for _, l := range []*Limits{m.RXLimits, m.TXLimits} {
			if l != nil {
				values = append(values, l.HighAlarm, l.LowAlarm, l.HighWarning, l.LowWarning)
			}
		}
		for _, r := range []*Reading{m.Temperature, m.Voltage} {
			if r != nil {
				values = append(values, r.Value)
			}
		}
		for _, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("Decode(%x) = %+v", dump, m)
			}
		}
	})
}
