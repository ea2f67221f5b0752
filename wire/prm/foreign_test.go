package prm_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/wire/prm"
)

// hdrPort is a port in the published output of "mlxlink --show_counters" of a host with eight
// ConnectX-6 (firmware 20.36.1010, mft 4.24.0-72): two lanes, IB-HDR, FEC "RS-FEC - (544,514) +
// PLR", symbol and effective errors 0, symbol and effective BER 15E-255.
type hdrPort struct {
	errors [2]uint64 // Raw Physical Errors Per Lane
	raw    string    // Raw Physical BER
}

func hdrPorts() []hdrPort {
	return []hdrPort{
		{[2]uint64{3183333, 242074}, "1E-8"},
		{[2]uint64{2361678, 219959}, "9E-9"},
		{[2]uint64{10214417, 628099}, "3E-8"},
		{[2]uint64{32379149, 224947}, "1E-7"},
		{[2]uint64{5811465, 2509001}, "2E-8"},
		{[2]uint64{4014318, 15682171}, "6E-8"},
		{[2]uint64{1068084, 136509}, "4E-9"},
		{[2]uint64{5015610, 1687775}, "2E-8"},
	}
}

// TestRatioOfRealPorts: the eight ports were reset together, so that each has received the same
// number of bits, which mlxlink doesn't print. There is a number with which all eight ratios follow
// from the errors, rounded down, and it is a time at the rate of the link: so the raw ratio is the
// sum of the lanes' errors by the bits received.
func TestRatioOfRealPorts(t *testing.T) {
	const rate = 2 * 53.125e9 // bits a second, of two lanes
	fit := 0
	for seconds := 60; seconds < 24*3600; seconds += 10 {
		received := uint64(rate * float64(seconds))
		equal := 0
		for _, p := range hdrPorts() {
			c := prm.StatisticalCounters{ReceivedBits: received}
			copy(c.RawErrors[:], p.errors[:])
			if prm.Ratio(c.RawErrorBits(), c.ReceivedBits).String() == p.raw {
				equal++
			}
		}
		if equal == len(hdrPorts()) {
			fit++
		}
	}
	// from 2,650 to 2,690 s; nothing fits if ratios are rounded
	if fit != 5 {
		t.Errorf("all ratios follow from the errors after %d times, want 5", fit)
	}
	if none := prm.Ratio(0, 1e15); none.String() != "15E-255" || !none.IsZero() || none.Value() != 0 {
		t.Errorf("no error = %v, zero %v, value %v; mlxlink prints 15E-255", none, none.IsZero(), none.Value())
	}
}

func TestRatio(t *testing.T) {
	for _, tt := range []struct {
		errors, received uint64
		want             string
	}{
		{3, 1e8, "3E-8"},
		{1, 1e12, "1E-12"},
		{999, 1e15, "9E-13"},
		{1, 9, "1E-1"},
		{5, 5, "1E-0"},
		{7, 5, "1E-0"},
		{1, 1<<64 - 1, "5E-20"},
	} {
		if got := prm.Ratio(tt.errors, tt.received); got.String() != tt.want {
			t.Errorf("Ratio(%d, %d) = %s, want %s", tt.errors, tt.received, got, tt.want)
		}
	}
	if r := prm.Ratio(1, 0); r.IsReported() || r.IsZero() {
		t.Errorf("ratio without bits = %v, want one that isn't reported", r)
	}
	if r := (prm.BER{Coefficient: 3, Magnitude: 8}); r.Value() < 2.99e-8 || r.Value() > 3.01e-8 {
		t.Errorf("3E-8 = %v", r.Value())
	}
}

// TestRealModules has the modules of published output of "mlxlink -m": a passive cable with CMIS in
// a ConnectX-7 (firmware 28.46.3048, IB-NDR) and a passive cable with SFF-8636 in a BlueField-3
// (firmware 32.43.2402). The bytes of text and length are those that the values need in the adb's
// places; the lengths are as the specifications of the modules encode them.
func TestRealModules(t *testing.T) {
	for _, tt := range []struct {
		name                          string
		identifier, length            byte // adb; CMIS byte 202, SFF-8636 byte 146
		technology                    byte
		vendor, part, serial          string
		identifierText, cableTypeText string
		metres                        float64
	}{
		{"NDR", 8, 1<<6 | 1, 0x0a, "FS", "OSFPFL-400G-PC01", "C2604279049-2", "OSFP", "passive copper", 1},
		{"100G", 0, 3, 0xa0, "FS", "Q28-PC03", "S2202655321-1", "QSFP28", "passive copper", 3},
	} {
		b := make([]byte, prm.ModuleInfoLen)
		b[0], b[5], b[6], b[4] = tt.technology, tt.length, tt.identifier, 3<<4 // CableType 3
		b[0x9e] = 0x1f                                                         // Monitors
		for at, text := range map[int]string{0x14: tt.vendor, 0x24: tt.part, 0x3c: tt.serial} {
			copy(b[at:at+16], text+"                ")
		}
		var m prm.ModuleInfo
		if _, err := m.Decode(b); err != nil {
			t.Fatal(err)
		}
		got := []any{
			prm.Text(m.VendorName[:]), prm.Text(m.PartNumber[:]), prm.Text(m.SerialNumber[:]), m.Identifier.String(),
			m.CableType.String(), m.LengthMetres(), m.IsPassive(),
		}
		want := []any{tt.vendor, tt.part, tt.serial, tt.identifierText, tt.cableTypeText, tt.metres, true}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: value %d = %v, want %v", tt.name, i, got[i], want[i])
			}
		}
	}
}

// TestLinearCopper: copper with a linear equalizer measures, although its type is that of passive
// copper (adb: cable_technology of linear copper).
func TestLinearCopper(t *testing.T) {
	for technology, want := range map[uint8]bool{
		0x0a: true, 0x0b: true, 0x0f: false, 0x12: false, 0x14: false, 0xa0: false,
	} {
		m := prm.ModuleInfo{
			CableType: prm.CablePassive, Identifier: prm.IdentifierOSFP, Technology: technology, Monitors: 1,
		}
		if got := m.IsPassive(); got != want {
			t.Errorf("technology 0x%02x: passive %v, want %v", technology, got, want)
		}
	}
	if m := (prm.ModuleInfo{CableType: prm.CableActive, Technology: 0xa0}); m.IsPassive() {
		t.Error("an active cable is passive")
	}
}

// TestRealFEC has modes of the same outputs, of mstflint's numbers, and their text in mlxlink.
func TestRealFEC(t *testing.T) {
	for mode, want := range map[prm.FEC]string{
		12: "RS(544,514) + PLR",    // ConnectX-6, IB-HDR: RS-FEC - (544,514) + PLR
		14: "LL-RS(272,258) + PLR", // ConnectX-7, IB-NDR: Ethernet_Consortium_LL_50G_RS_FEC_PLR -(272,257+1)
		2:  "RS(528,514)",          // BlueField-3, 100G: Standard RS-FEC - RS(528,514)
		0:  "none",                 // ConnectX-5, IB-EDR: No FEC
		99: "FEC mode 99",
	} {
		if got := mode.String(); got != want {
			t.Errorf("FEC mode %d = %q, want %q", uint16(mode), got, want)
		}
	}
}

// TestOpcodes compares the descriptions with the groups of the Linux kernel's table
// (mlxsw_sp_link_ext_state_opcode_map in spectrum_ethtool.c).
func TestOpcodes(t *testing.T) {
	kernel := map[string][]uint16{
		"negotiation":                 {2, 3, 4, 38, 39},
		"force mode":                  {36},
		"link training":               {5, 6, 7, 8},
		"remote fault":                {14},
		"partners don't match":        {9, 10, 11, 12, 13},
		"bad signal integrity":        {15, 17, 42},
		"unplugged":                   {1024},
		"cable doesn't fit":           {16, 20, 29},
		"long-range":                  {1025},
		"cable not supported":         {1029},
		"cable shorted":               {1031},
		"memory of the module":        {1027},
		"calibration":                 {23},
		"power budget":                {1032},
		"temperature":                 {1030},
		"state machine of the module": {1042},
	}
	compared := 0
	for words, list := range kernel {
		for _, n := range list {
			compared++
			if got := prm.Opcode(n).String(); !strings.Contains(got, words) {
				t.Errorf("opcode %d = %q, want %q in it", n, got, words)
			}
		}
	}
	if compared != 31 {
		t.Errorf("%d opcodes compared, the kernel has 31", compared)
	}
	for _, n := range []uint16{21, 1037, 1049, 1064, 2048, 65535} {
		if got := prm.Opcode(n).String(); !strings.Contains(got, "opcode ") {
			t.Errorf("opcode %d = %q, which no source has", n, got)
		}
	}
}

// TestUnits: examples of the unit conversions of the adb.
func TestUnits(t *testing.T) {
	b := make([]byte, prm.ModuleInfoLen)
	binary.BigEndian.PutUint16(b[0x4c:], 0xff80) // -0.5 °C
	binary.BigEndian.PutUint16(b[0x4e:], 33000)  // 3.3 V
	binary.BigEndian.PutUint16(b[0x50:], 1000)   // 1 mW in lane 0
	binary.BigEndian.PutUint16(b[0x52:], 500)    // 0.5 mW in lane 1
	var m prm.ModuleInfo
	if _, err := m.Decode(b); err != nil {
		t.Fatal(err)
	}
	if c, v := prm.Celsius(m.Temperature), prm.Volts(m.Voltage); c != -0.5 || v != 3.3 {
		t.Errorf("temperature %v °C, voltage %v V, want -0.5 and 3.3", c, v)
	}
	for _, tt := range []struct {
		raw  uint16
		unit uint8
		want float64
	}{
		{m.RXPower[0], prm.PowerMicrowatt, 0},
		{m.RXPower[1], prm.PowerMicrowatt, -3.0103},
		{0, prm.PowerMicrowatt, -40},
		{0xfffd, prm.PowerDBm, -3},
		{2, prm.PowerDBm, 2},
	} {
		if got := prm.DBm(tt.raw, tt.unit); got < tt.want-1e-3 || got > tt.want+1e-3 {
			t.Errorf("DBm(%d, %d) = %v, want %v", tt.raw, tt.unit, got, tt.want)
		}
	}
	for raw, want := range map[uint8]float64{0x05: 0.5, 0x45: 5, 0x85: 50, 0xc5: 500} {
		if got := (&prm.ModuleInfo{Identifier: prm.IdentifierOSFP, Length: raw}).LengthMetres(); got != want {
			t.Errorf("length 0x%02x with CMIS = %v m, want %v", raw, got, want)
		}
	}
}
