package prm

import (
	"math"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// ModuleInfo is the page about the module or cable in a port (adb, pddr_module_info_ext).
type ModuleInfo struct {
	Technology    uint8               // 0x0.24: see Passive
	PowerClass    uint8               // 0x4.0
	Identifier    Identifier          // 0x4.8: form factor
	Length        uint8               // 0x4.16: see LengthMetres
	CableVendor   uint8               // 0x4.24, 4 bits: 1 Mellanox, 3 NVIDIA, others
	CableType     CableType           // 0x4.28, 4 bits
	MaxPower      uint8               // 0x8.24: of CMIS modules, units of 0.25 W (CMIS byte 201)
	VendorName    [16]byte            // 0x14: padded with spaces, like the next ones
	PartNumber    [16]byte            // 0x24
	Revision      [4]byte             // 0x34: padded with zeros on the left
	Firmware      uint32              // 0x38: 0 if unknown
	SerialNumber  [16]byte            // 0x3c
	Voltage       uint16              // 0x4c.0: 100 µV
	Temperature   int16               // 0x4c.16: 1/256 °C; 0 may mean that it isn't measured
	RXPower       [Lanes]uint16       // 0x50: dBm or µW, as PDDR.PowerUnit says
	TXPower       [Lanes]uint16       // 0x60
	TXBias        [Lanes]uint16       // 0x70: 2 µA × scaling factor
	TemperatureLo int16               // 0x80.0: alarm threshold
	TemperatureHi int16               // 0x80.16
	VoltageLo     uint16              // 0x84.0
	VoltageHi     uint16              // 0x84.16
	RXPowerLo     uint16              // 0x88.0: of lane 0
	RXPowerHi     uint16              // 0x88.16
	TXPowerLo     uint16              // 0x8c.0
	TXPowerHi     uint16              // 0x8c.16
	Wavelength    uint16              // 0x94.0: nm
	Speeds        Speeds              // 0x98.0, 10 bits: that the module is made for, InfiniBand
	BiasScale     uint8               // 0x98.10, 2 bits: the factor is 2 to this power
	Monitors      Monitors            // 0x9c.8
	DateCode      [8]byte             // 0xb0: YYMMDD and lot, ASCII
	Rest          [ModuleInfoLen]byte // all bytes as read
}

// Decode reads the page from the start of b, which is byte 8 of PDDR.
func (r *ModuleInfo) Decode(b []byte) (n int, err error) {
	if len(b) < ModuleInfoLen {
		return 0, mad.ErrShort
	}
	r.Rest = [ModuleInfoLen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return ModuleInfoLen, nil
}

// Append appends the page to b.
func (r *ModuleInfo) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *ModuleInfo) fields(f fields) {
	bits(f, 0x0, 24, 8, &r.Technology)
	bits(f, 0x4, 0, 8, &r.PowerClass)
	bits(f, 0x4, 8, 8, &r.Identifier)
	bits(f, 0x4, 16, 8, &r.Length)
	bits(f, 0x4, 24, 4, &r.CableVendor)
	bits(f, 0x4, 28, 4, &r.CableType)
	bits(f, 0x8, 24, 8, &r.MaxPower)
	f.bytes(0x14, r.VendorName[:])
	f.bytes(0x24, r.PartNumber[:])
	f.bytes(0x34, r.Revision[:])
	bits(f, 0x38, 0, 32, &r.Firmware)
	f.bytes(0x3c, r.SerialNumber[:])
	bits(f, 0x4c, 0, 16, &r.Voltage)
	f.signed(0x4c, 16, &r.Temperature)
	f.lanes(0x50, &r.RXPower)
	f.lanes(0x60, &r.TXPower)
	f.lanes(0x70, &r.TXBias)
	f.signed(0x80, 0, &r.TemperatureLo)
	f.signed(0x80, 16, &r.TemperatureHi)
	bits(f, 0x84, 0, 16, &r.VoltageLo)
	bits(f, 0x84, 16, 16, &r.VoltageHi)
	bits(f, 0x88, 0, 16, &r.RXPowerLo)
	bits(f, 0x88, 16, 16, &r.RXPowerHi)
	bits(f, 0x8c, 0, 16, &r.TXPowerLo)
	bits(f, 0x8c, 16, 16, &r.TXPowerHi)
	bits(f, 0x94, 0, 16, &r.Wavelength)
	bits(f, 0x98, 0, 10, &r.Speeds)
	bits(f, 0x98, 10, 2, &r.BiasScale)
	bits(f, 0x9c, 8, 8, &r.Monitors)
	f.bytes(0xb0, r.DateCode[:])
}

// signed reads or writes a signed field of 16 bits.
func (f fields) signed(offset, bit int, v *int16) {
	raw := uint16(*v)
	bits(f, offset, bit, 16, &raw)
	*v = int16(raw)
}

// Monitors are what a module measures (adb: monitor_cap_mask).
type Monitors uint8

// Bits of Monitors.
const (
	MonitorTemperature Monitors = 1 << iota
	MonitorVoltage
	MonitorTXPower
	MonitorRXPower
	MonitorTXBias
)

// Has reports whether the module measures this.
func (m Monitors) Has(bit Monitors) bool { return m&bit != 0 }

// Technologies of copper (adb: cable_technology, of QSFP as in SFF-8636 byte 147 and of CMIS as in
// byte 212).
const (
	technologyPassiveUnequalized = 0x0a
	technologyPassiveEqualized   = 0x0b
)

// IsPassive reports whether the cable is copper without electronics, which measures nothing.
func (r *ModuleInfo) IsPassive() bool {
	// byte 147 of SFF-8636 has the technology in its upper half
	technology := r.Technology
	if !r.Identifier.IsCMIS() {
		technology >>= 4
	}
	return r.CableType == CablePassive &&
		(technology == technologyPassiveUnequalized || technology == technologyPassiveEqualized ||
			r.Monitors == 0)
}

// LengthMetres returns the length of the cable; 0 if the module names none, as separable
// transceivers do. CMIS modules have a value in six bits and a factor of 0.1, 1, 10 or 100 in two
// (adb: cable_length).
func (r *ModuleInfo) LengthMetres() float64 {
	if !r.Identifier.IsCMIS() {
		return float64(r.Length)
	}
	value := float64(r.Length & 0x3f)
	switch r.Length >> 6 {
	case 0:
		return value / 10
	case 1:
		return value
	case 2:
		return value * 10
	}
	return value * 100
}

// Celsius converts a temperature of a ModuleInfo.
func Celsius(raw int16) float64 { return float64(raw) / 256 }

// Volts converts a voltage of a ModuleInfo.
func Volts(raw uint16) float64 { return float64(raw) / 10000 }

// DBm converts an optical power of a ModuleInfo to decibels above 1 mW. unit is PowerDBm or
// PowerMicrowatt. No light, 0 µW, is -40, as mlxlink prints it.
func DBm(raw uint16, unit uint8) float64 {
	const dark = -40
	switch {
	case unit != PowerMicrowatt:
		return float64(int16(raw))
	case raw == 0:
		return dark
	}
	return 10 * math.Log10(float64(raw)/1000)
}

// Text returns an ASCII field without its padding of spaces or zeros; other bytes are left out.
func Text(b []byte) string {
	text := make([]byte, 0, len(b))
	for _, c := range b {
		if c > ' ' && c < 0x7f || c == ' ' && len(text) > 0 {
			text = append(text, c)
		}
	}
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	return string(text)
}

// MessageText returns the text of a message up to its zero.
func (r *Troubleshooting) MessageText() string {
	for i, c := range r.Message {
		if c == 0 {
			return Text(r.Message[:i])
		}
	}
	return Text(r.Message[:])
}
