package sff

import "errors"

// Bits and places of CMIS 5; the numbers are those of the specification's tables.
const (
	cmisFlatMemory    = 1 << 7 // byte 2: there are no pages other than 0
	cmisPassiveCopper = 3      // byte 85: media type
	cmisLanes         = 8      // of a bank

	cmisTemperature = 1 << 0 // page 01h byte 159: monitors of the module
	cmisVoltage     = 1 << 1
	cmisTXPower     = 1 << 1 // page 01h byte 160: monitors of the lanes
	cmisRXPower     = 1 << 2
)

// decodeCMIS decodes modules that follow the Common Management Interface Specification.
func decodeCMIS(read Reader, head []byte) (Module, error) {
	id, err := get(read, Page{Address: Address, Offset: upper, Length: 128})
	if err != nil {
		return Module{}, err
	}
	at := func(from, n int) []byte { return id[from-upper : from-upper+n] }
	m := Module{
		Vendor: text(at(129, 16)), PartNumber: text(at(148, 16)), Serial: text(at(166, 16)),
		Revision: text(at(164, 2)),
	}
	low, err := get(read, Page{Address: Address, Offset: 14, Length: 75}) // after the latched flags
	if err != nil {
		return m, err
	}
	tech := at(212, 1)[0]
	m.Passive = low[85-14] == cmisPassiveCopper || tech == copperUnequalized || tech == copperEqualized
	if m.Passive || head[2]&cmisFlatMemory != 0 {
		return m, nil
	}
	err = m.measured(read, low)
	return m, err
}

// measured reads the monitors of a CMIS module; low begins at byte 14 of the lower page.
func (m *Module) measured(read Reader, low []byte) error {
	page := func(n, from, size uint8) ([]byte, error) {
		return get(read, Page{Address: Address, Page: n, Offset: from, Length: size})
	}
	monitors, err := page(1, 159, 2)
	if err != nil {
		return err
	}
	thresholds, errs := page(2, upper, 72)
	threshold := func(from int, unit func([]byte) float64) *Limits {
		if thresholds == nil {
			return nil
		}
		return limits(thresholds[from-upper:], unit)
	}
	if monitors[0]&cmisTemperature != 0 {
		m.Temperature = reading(low, celsius, threshold(128, celsius))
	}
	if monitors[0]&cmisVoltage != 0 {
		m.Voltage = reading(low[16-14:], volts, threshold(136, volts))
	}
	if monitors[1]&(cmisTXPower|cmisRXPower) == 0 {
		return errs
	}
	power, err := page(0x11, 154, 48) // TX power, bias, RX power of eight lanes
	if err != nil {
		return errors.Join(errs, err)
	}
	n := int(low[88-14] & 0xf) // media lanes of the first application
	if n == 0 || n > cmisLanes {
		n = cmisLanes
	}
	if monitors[1]&cmisTXPower != 0 {
		m.TXLimits = threshold(176, milliwatt)
		m.TX = lanes(power, n, m.TXLimits)
	}
	if monitors[1]&cmisRXPower != 0 {
		m.RXLimits = threshold(192, milliwatt)
		m.RX = lanes(power[186-154:], n, m.RXLimits)
	}
	return errs
}
