package prm_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/wire/prm"
)

// place is where a source has a field: a name and index in our structure, and a range of bits of
// the adb (a big-endian word at a byte, the lowest bit in it, the width) or of mlx5_ifc.h (the
// first bit of the structure, the width).
type place struct {
	field         string
	index         int // -1: not an array
	first, length int // bits from the start, the highest bit of each byte first
}

// adb returns the place of a field in the notation of the adb.
func adb(field string, index, word, bit, width int) place {
	return place{field, index, 8*word + 32 - bit - width, width}
}

// ifc returns the place of a field in the notation of mlx5_ifc.h.
func ifc(field string, index, first, width int) place { return place{field, index, first, width} }

// lanes returns the places of a field of 16 bits for each of eight lanes, as the adb lists them.
func lanes(field string, word int) (list []place) {
	for i := range 8 {
		list = append(list, adb(field, i, word+4*(i/2), []int{16, 0}[i%2], 16))
	}
	return list
}

func places() map[string][]place {
	physical := []place{
		ifc("SinceClear", -1, 0x0, 64), ifc("SymbolErrors", -1, 0x40, 64), ifc("SyncHeaderErrors", -1, 0x80, 64),
		ifc("RSCorrectedBlocks", -1, 0x3c0, 64), ifc("RSUncorrectableBlocks", -1, 0x400, 64),
		ifc("RSCleanBlocks", -1, 0x440, 64), ifc("RSCorrectedSymbols", -1, 0x4c0, 64),
		ifc("LinkDownEvents", -1, 0x600, 32), ifc("RecoveryEvents", -1, 0x620, 32),
		adb("UnintentionalLinkDowns", -1, 0xf0, 0, 32), adb("IntentionalLinkDowns", -1, 0xf4, 0, 32),
	}
	for i := range 4 {
		physical = append(physical,
			ifc("LaneErrors", i, 0xc0+64*i, 64), ifc("FirecodeCorrected", i, 0x1c0+64*i, 64),
			ifc("FirecodeUncorrectable", i, 0x2c0+64*i, 64), ifc("RSCorrectedLane", i, 0x500+64*i, 64),
			place{"RSCorrectedLane", 4 + i, 8 * (0xc8 + 8*i), 64})
	}
	statistical := []place{
		ifc("SinceClear", -1, 0x0, 64), ifc("ReceivedBits", -1, 0x40, 64), ifc("SymbolErrors", -1, 0x80, 64),
		ifc("CorrectedBits", -1, 0xc0, 64),
		{"EffectiveErrors", -1, 8 * 0x7c, 64},
		adb("Raw.Coefficient", -1, 0x60, 0, 4), adb("Raw.Magnitude", -1, 0x60, 8, 8),
		adb("Effective.Coefficient", -1, 0x64, 0, 4), adb("Effective.Magnitude", -1, 0x64, 8, 8),
		adb("Symbol.Coefficient", -1, 0x68, 0, 4), adb("Symbol.Magnitude", -1, 0x68, 8, 8),
		adb("RawLane.Coefficient", 1, 0x6c, 0, 4), adb("RawLane.Magnitude", 1, 0x6c, 8, 8),
		adb("RawLane.Coefficient", 0, 0x6c, 16, 4), adb("RawLane.Magnitude", 0, 0x6c, 24, 8),
		adb("RawLane.Coefficient", 7, 0x78, 0, 4), adb("RawLane.Magnitude", 6, 0x78, 24, 8),
		adb("SinceLinkUp", -1, 0x94, 0, 32),
	}
	for i := range 8 {
		statistical = append(statistical, place{"RawErrors", i, 8 * (0x20 + 8*i), 64})
	}
	module := []place{
		adb("Technology", -1, 0x0, 24, 8), adb("PowerClass", -1, 0x4, 0, 8), adb("Identifier", -1, 0x4, 8, 8),
		adb("Length", -1, 0x4, 16, 8), adb("CableVendor", -1, 0x4, 24, 4), adb("CableType", -1, 0x4, 28, 4),
		adb("MaxPower", -1, 0x8, 24, 8), adb("Firmware", -1, 0x38, 0, 32), adb("Voltage", -1, 0x4c, 0, 16),
		adb("Temperature", -1, 0x4c, 16, 16), adb("TemperatureLo", -1, 0x80, 0, 16),
		adb("TemperatureHi", -1, 0x80, 16, 16), adb("VoltageLo", -1, 0x84, 0, 16), adb("VoltageHi", -1, 0x84, 16, 16),
		adb("RXPowerLo", -1, 0x88, 0, 16), adb("RXPowerHi", -1, 0x88, 16, 16), adb("TXPowerLo", -1, 0x8c, 0, 16),
		adb("TXPowerHi", -1, 0x8c, 16, 16), adb("Wavelength", -1, 0x94, 0, 16), adb("Speeds", -1, 0x98, 0, 10),
		adb("BiasScale", -1, 0x98, 10, 2), adb("Monitors", -1, 0x9c, 8, 8),
		{"VendorName", 0, 8 * 0x14, 8},
		{"VendorName", 15, 8 * 0x23, 8},
		{"PartNumber", 0, 8 * 0x24, 8},
		{"PartNumber", 15, 8 * 0x33, 8},
		{"Revision", 0, 8 * 0x34, 8},
		{"SerialNumber", 0, 8 * 0x3c, 8},
		{"SerialNumber", 15, 8 * 0x4b, 8},
		{"DateCode", 0, 8 * 0xb0, 8},
		{"DateCode", 7, 8 * 0xb7, 8},
	}
	module = append(module, lanes("RXPower", 0x50)...)
	module = append(module, lanes("TXPower", 0x60)...)
	module = append(module, lanes("TXBias", 0x70)...)
	return map[string][]place{
		"AccessRegister": { // mstflint: words of 4 bytes after the header: key 2, configuration 1, data 55
			{"VSKey", -1, 8 * 24, 64}, adb("Block", -1, 32, 16, 16), {"Data", 0, 8 * 36, 8}, {"Data", 219, 8 * 255, 8},
		},
		"GeneralInfo": {{"VSKey", -1, 8 * 24, 64}, {"Data", 0, 8 * 32, 8}},
		"PPCNT": {
			ifc("LocalPort", -1, 8, 8), ifc("PortAccess", -1, 16, 2), ifc("Group", -1, 26, 6), ifc("Clear", -1, 32, 1),
			adb("SwitchID", -1, 0, 24, 8), adb("PortType", -1, 0, 8, 4), ifc("Plane", -1, 0x34, 4),
		},
		"PhysicalCounters": physical, "StatisticalCounters": statistical, "ModuleInfo": module,
		"PDDR": {
			ifc("LocalPort", -1, 8, 8), ifc("PortAccess", -1, 16, 2), ifc("Page", -1, 0x38, 8),
			adb("PortType", -1, 0, 4, 4), adb("Plane", -1, 0, 8, 4), adb("PowerUnit", -1, 4, 29, 2),
		},
		"OperationInfo": {
			adb("NegotiationMode", -1, 0, 16, 4), adb("Protocol", -1, 0, 20, 4), adb("IBState", -1, 4, 8, 8),
			adb("ManagerState", -1, 4, 24, 8), adb("CableSpeeds", -1, 0x10, 0, 16),
			adb("CableWidths", -1, 0x10, 16, 16),
			adb("ActiveSpeed", -1, 0x14, 0, 16), adb("ActiveWidth", -1, 0x14, 16, 16), adb("Loopback", -1, 0x18, 0, 12),
			adb("FECRequest", -1, 0x1c, 0, 16), adb("FEC", -1, 0x1c, 16, 16),
		},
		"Troubleshooting": {
			ifc("Group", -1, 0x10, 16), ifc("Opcode", -1, 0x30, 16), ifc("Message", 0, 0x60, 8),
			ifc("Message", 235, 0x60+59*0x20-8, 8),
		},
		"PhyInfo": {
			adb("Notifications", -1, 0, 0, 8), adb("RemoteDevice", -1, 0, 24, 8), adb("Negotiations", -1, 4, 16, 16),
			adb("LinkState", -1, 8, 24, 8), adb("PCSState", -1, 0xc, 0, 32), adb("LinkDownReason", -1, 0x18, 0, 32),
		},
		"LinkDownInfo": {
			adb("Blame", -1, 0, 0, 4), adb("Intent", -1, 0, 4, 4), adb("LocalReason", -1, 4, 0, 8),
			adb("RemoteReason", -1, 8, 0, 8), adb("LastRaw.Magnitude", -1, 0x10, 16, 8),
			adb("LastRaw.Coefficient", -1, 0x10, 24, 4), adb("LastSymbol.Magnitude", -1, 0x2c, 16, 8),
			adb("LastSymbol.Coefficient", -1, 0x2c, 24, 4),
		},
		"MCIA": {
			adb("Status", -1, 0, 0, 8), adb("Slot", -1, 0, 12, 4), adb("Module", -1, 0, 16, 8),
			adb("Offset", -1, 4, 0, 16), adb("Page", -1, 4, 16, 8), adb("DeviceAddress", -1, 4, 24, 8),
			adb("Size", -1, 8, 0, 16), adb("Bank", -1, 8, 16, 8),
			{"Data", 0, 8 * 0x10, 8},
			{"Data", 127, 8 * 0x8f, 8},
		},
	}
}

// TestPlaces decodes ones at a field's place and expects the largest value there and zero in all
// other fields; Append without the bytes that were read must write the same.
func TestPlaces(t *testing.T) {
	all := places()
	for _, c := range codecs() {
		for _, p := range all[c.name] {
			b := make([]byte, c.len)
			for i := range p.length {
				b[(p.first+i)/8] |= 0x80 >> ((p.first + i) % 8)
			}
			if _, err := c.v.Decode(b); err != nil {
				t.Fatal(err)
			}
			v := reflect.ValueOf(c.v).Elem()
			got := pick(v, p)
			want := uint64(1)<<p.length - 1
			if p.length == 64 {
				want = 1<<64 - 1
			}
			if got != want {
				t.Errorf("%s.%s[%d] = %#x, want %#x", c.name, p.field, p.index, got, want)
			}
			if rest := v.FieldByName("Rest"); rest.IsValid() {
				rest.SetZero()
			}
			if again := c.v.Append(nil); !bytes.Equal(again, b) {
				t.Errorf("%s.%s[%d]: Append writes %x, want %x", c.name, p.field, p.index, again, b)
			}
		}
		if len(all[c.name]) == 0 {
			t.Errorf("no source has the places of %s", c.name)
		}
	}
}

// pick returns the value of a field as an unsigned number.
func pick(v reflect.Value, p place) uint64 {
	outer, inner, _ := strings.Cut(p.field, ".")
	f := v.FieldByName(outer)
	if p.index >= 0 {
		f = f.Index(p.index)
	}
	if inner != "" {
		f = f.FieldByName(inner)
	}
	switch {
	case f.CanUint():
		return f.Uint()
	case f.CanInt():
		return uint64(uint16(f.Int())) //nolint:gosec // all signed fields have 16 bits
	case f.Bool():
		return 1
	}
	return 0
}

// TestCapability: the bit is at byte 136 of the data after the header, which begins with the key
// (mstflint, mib_supports_reg_access_gmp), in a word of 32 bits the bit 20.
func TestCapability(t *testing.T) {
	b := make([]byte, 256)
	b[24+8+0x80+1] = 1 << 4
	var info prm.GeneralInfo
	if _, err := info.Decode(b); err != nil || !info.HasAccessRegister() {
		t.Errorf("HasAccessRegister = false, %v", err)
	}
	if info.SetAccessRegister(false); info.HasAccessRegister() || !bytes.Equal(info.Append(nil), make([]byte, 256)) {
		t.Errorf("after SetAccessRegister(false): %x", info.Append(nil))
	}
	if info.SetAccessRegister(true); !bytes.Equal(info.Append(nil), b) {
		t.Errorf("after SetAccessRegister(true): %x, want %x", info.Append(nil), b)
	}
}

// TestBlocks: registers have up to 16 blocks of 55 words (mstflint).
func TestBlocks(t *testing.T) {
	for size, want := range map[int]int{1: 1, 219: 1, 220: 1, 221: 2, 256: 2, 440: 2, 16 * 55 * 4: prm.MaxBlocks} {
		if got := prm.Blocks(size); got != want {
			t.Errorf("Blocks(%d) = %d, want %d", size, got, want)
		}
	}
}

// TestLocalPort: bits 8 and 9 of a port are in a place of their own.
func TestLocalPort(t *testing.T) {
	want := []byte{0, 0x34, 0x60, 0x16}
	r := prm.PPCNT{Group: prm.GroupStatistical, LocalPort: 0x234, PortAccess: prm.PortAccessIB}
	if got := r.Append(nil); !bytes.Equal(got[:4], want) {
		t.Errorf("PPCNT of port 0x234 = %x, want %x", got[:4], want)
	}
	var again prm.PPCNT
	if _, err := again.Decode(r.Append(nil)); err != nil || again.LocalPort != 0x234 || again.PortAccess != 1 {
		t.Errorf("decoded again: %+v, %v", again, err)
	}
}
