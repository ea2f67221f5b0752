package sff

import "errors"

// Bits and places of SFF-8636; the numbers are those of the specification's tables.
const (
	qsfpFlatMemory = 1 << 2 // byte 2: there are no pages other than 0
	qsfpLanes      = 4

	copperUnequalized = 0xa // byte 147, high half
	copperEqualized   = 0xb
)

// decode8636 decodes QSFP, QSFP+, QSFP28 and QSFP56 (SFF-8636).
func decode8636(read Reader, head []byte) (Module, error) {
	id, err := get(read, Page{Address: Address, Offset: upper, Length: 128})
	if err != nil {
		return Module{}, err
	}
	at := func(from, n int) []byte { return id[from-upper : from-upper+n] }
	m := Module{
		Vendor: text(at(148, 16)), PartNumber: text(at(168, 16)), Serial: text(at(196, 16)),
		Revision: text(at(184, 2)),
	}
	tech := at(147, 1)[0] >> 4
	m.Passive = tech == copperUnequalized || tech == copperEqualized
	if m.Passive {
		return m, nil
	}
	var page3 []byte
	var errs error
	if head[2]&qsfpFlatMemory == 0 {
		page3, errs = get(read, Page{Address: Address, Page: 3, Offset: upper, Length: 128})
	}
	threshold := func(from int, unit func([]byte) float64) *Limits {
		if page3 == nil {
			return nil
		}
		return limits(page3[from-upper:], unit)
	}
	m.RXLimits, m.TXLimits = threshold(176, milliwatt), threshold(192, milliwatt)
	now, err := get(read, Page{Address: Address, Offset: 22, Length: 36}) // after the latched flags
	if err != nil {
		return m, errors.Join(errs, err)
	}
	m.Temperature = reading(now, celsius, threshold(128, celsius))
	m.Voltage = reading(now[26-22:], volts, threshold(144, volts))
	m.RX = lanes(now[34-22:], qsfpLanes, m.RXLimits)
	m.TX = lanes(now[50-22:], qsfpLanes, m.TXLimits)
	return m, errs
}
