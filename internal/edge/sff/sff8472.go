package sff

import (
	"encoding/binary"
	"math"
)

// Bits and places of SFF-8472; the numbers are those of the specification's tables.
const (
	sfpPassive = 1 << 2 // byte 8: passive copper cable

	sfpMonitors   = 1 << 6 // byte 92: there is an address A2h with what the module measures
	sfpCalibrated = 1 << 5 // the values are calibrated
	sfpExternal   = 1 << 4 // they must be calibrated with the constants at A2h
	sfpAddress    = 1 << 2 // A2h needs a change of the address first, which nobody does
)

// decode8472 decodes SFPs up to SFP56 (SFF-8472).
func decode8472(read Reader, _ []byte) (Module, error) {
	id, err := get(read, Page{Address: Address, Length: 96})
	if err != nil {
		return Module{}, err
	}
	m := Module{
		Vendor: text(id[20:36]), PartNumber: text(id[40:56]), Revision: text(id[56:60]), Serial: text(id[68:84]),
		Passive: id[8]&sfpPassive != 0,
	}
	kind := id[92]
	if m.Passive || kind&sfpMonitors == 0 || kind&sfpAddress != 0 || kind&(sfpCalibrated|sfpExternal) == 0 {
		return m, nil
	}
	dom, err := get(read, Page{Address: AddressDOM, Length: 106})
	if err != nil {
		return m, err
	}
	c := calibration{rx: milliwatt, tx: milliwatt, temperature: celsius, voltage: volts}
	if kind&sfpExternal != 0 {
		c = externalCalibration(dom[56:92])
	}
	m.Temperature = reading(dom[96:], c.temperature, limits(dom, c.temperature))
	m.Voltage = reading(dom[98:], c.voltage, limits(dom[8:], c.voltage))
	m.TXLimits, m.RXLimits = limits(dom[24:], c.tx), limits(dom[32:], c.rx)
	m.TX = sfpPower(dom[102:], c.tx, m.TXLimits)
	m.RX = sfpPower(dom[104:], c.rx, m.RXLimits)
	return m, nil
}

func sfpPower(b []byte, unit func([]byte) float64, l *Limits) []float64 {
	if binary.BigEndian.Uint16(b) == 0 && l == nil {
		return nil
	}
	return []float64{unit(b)}
}

// calibration converts raw values.
type calibration struct {
	rx, tx, temperature, voltage func([]byte) float64
}

// externalCalibration returns the conversions of SFF-8472, section 9.3, with the constants of a
// module, which begin at byte 56 of A2h. Slopes are in 1/256, offsets in the unit of the value.
func externalCalibration(b []byte) calibration {
	at := func(n int) []byte { return b[n-56:] }
	linear := func(raw func([]byte) float64, slope, offset int, scale float64) func([]byte) float64 {
		return func(v []byte) float64 { return finite((raw(v)*u16(at(slope))/256 + s16(at(offset))) / scale) }
	}
	return calibration{
		temperature: linear(s16, 84, 86, 256),
		voltage:     linear(u16, 88, 90, 10000),
		tx:          linear(u16, 80, 82, 10000),
		rx: func(v []byte) float64 {
			raw, sum := u16(v), 0.0
			for i := range 5 { // from the coefficient of the fourth power down
				sum = sum*raw + float64(math.Float32frombits(binary.BigEndian.Uint32(at(56+4*i))))
			}
			return finite(sum / 10000)
		},
	}
}

// finite returns 0 for what no module measures, so that a value survives JSON.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
