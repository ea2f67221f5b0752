package phy

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/internal/edge/sff"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// Module is the module or cable in a port. A part that it doesn't have is "", 0 or nil.
type Module struct {
	Type       string // form factor: OSFP, QSFP28 …
	Cable      string // active cable, optical module, passive copper …
	Vendor     string
	PartNumber string
	Serial     string
	Revision   string
	Metres     float64 // length of the cable; 0 of separable transceivers
	Speeds     string  // of InfiniBand: "EDR,HDR"
	Unplugged  bool    // the port has no module; nothing else is set
	// Temperature is in °C, Voltage in V.
	Temperature, Voltage *Reading
	// RX and TX are the optical power of each lane of the module in dBm, the thresholds those of
	// lane 0.
	RX, TX *Power
}

// Limits are the alarm thresholds that a module names.
type Limits struct{ Low, High float64 }

// Reading is a value that a module measures, with its thresholds, nil for none.
type Reading struct {
	Value  float64
	Limits *Limits
}

// Alarm reports whether the value is beyond a threshold.
func (r *Reading) Alarm() bool { return r != nil && r.Limits.beyond(r.Value) }

func (l *Limits) beyond(v float64) bool { return l != nil && (v < l.Low || v > l.High) }

// Power is the optical power of the lanes in dBm, with its thresholds, nil for none.
type Power struct {
	Lanes  []float64
	Limits *Limits
}

// Within returns how many lanes have a power within the thresholds; without thresholds, how many
// have light.
func (p *Power) Within() (n int) {
	const dark = -40
	for _, v := range p.Lanes {
		if v > dark && !p.Limits.beyond(v) {
			n++
		}
	}
	return n
}

// Range returns the lowest and the highest power.
func (p *Power) Range() (low, high float64) {
	for i, v := range p.Lanes {
		if i == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// Module reads the module of a port, from page 3 of PDDR. Of a module that measures optical power
// it reads the page twice, because only the comparison of the two shows whether the device knows
// µW; mlxlink does that too (mstflint, checkIfModuleExtSupported).
func (c *Client) Module(ctx context.Context, to Port) (Module, error) {
	var raw prm.ModuleInfo
	err := c.page(ctx, to, prm.PageModule, prm.PowerMicrowatt, &raw, prm.ModuleInfoLen)
	if err != nil {
		return Module{}, err
	}
	unit := prm.PowerMicrowatt
	if measuresPower(&raw) {
		var whole prm.ModuleInfo
		if err := c.page(ctx, to, prm.PageModule, prm.PowerDBm, &whole, prm.ModuleInfoLen); err != nil {
			return Module{}, err
		}
		if samePower(&raw, &whole) {
			unit = prm.PowerDBm
		}
	}
	return newModule(&raw, unit), nil
}

// samePower reports whether a device returns the same numbers for both units, so that it knows only
// one. Thresholds don't change between two reads, as the lanes do; the lanes are compared if the
// module names no threshold.
func samePower(a, b *prm.ModuleInfo) bool {
	limits := func(m *prm.ModuleInfo) [4]uint16 {
		return [...]uint16{m.RXPowerLo, m.RXPowerHi, m.TXPowerLo, m.TXPowerHi}
	}
	if limits(a) != [4]uint16{} || limits(b) != [4]uint16{} {
		return limits(a) == limits(b)
	}
	return a.RXPower == b.RXPower && a.TXPower == b.TXPower
}

// measures reports whether the module measures something: a bit says so, or, if the device reports
// no such bits, a value or threshold that isn't 0.
func measures(raw *prm.ModuleInfo, bit prm.Monitors, values ...uint16) bool {
	if raw.IsPassive() {
		return false
	}
	if raw.Monitors != 0 {
		return raw.Monitors.Has(bit)
	}
	for _, v := range values {
		if v != 0 {
			return true
		}
	}
	return false
}

func measuresPower(raw *prm.ModuleInfo) bool {
	return measures(raw, prm.MonitorRXPower, append(raw.RXPower[:], raw.RXPowerHi)...) ||
		measures(raw, prm.MonitorTXPower, append(raw.TXPower[:], raw.TXPowerHi)...)
}

func newModule(raw *prm.ModuleInfo, unit uint8) Module {
	if raw.CableType == prm.CableUnplugged {
		return Module{Unplugged: true}
	}
	m := Module{
		Type: raw.Identifier.String(), Cable: raw.CableType.String(), Metres: raw.LengthMetres(),
		Vendor: prm.Text(raw.VendorName[:]), PartNumber: prm.Text(raw.PartNumber[:]),
		Serial: prm.Text(raw.SerialNumber[:]), Revision: prm.Text(raw.Revision[:]), Speeds: raw.Speeds.String(),
	}
	if raw.CableType == prm.CableOptical {
		m.Metres = 0 // the field is the reach of the module, not a cable's length
	}
	if measures(raw, prm.MonitorTemperature, uint16(raw.Temperature), uint16(raw.TemperatureHi)) {
		m.Temperature = &Reading{
			prm.Celsius(raw.Temperature),
			limits(prm.Celsius(raw.TemperatureLo), prm.Celsius(raw.TemperatureHi)),
		}
	}
	if measures(raw, prm.MonitorVoltage, raw.Voltage, raw.VoltageHi) {
		m.Voltage = &Reading{prm.Volts(raw.Voltage), limits(prm.Volts(raw.VoltageLo), prm.Volts(raw.VoltageHi))}
	}
	if measures(raw, prm.MonitorRXPower, append(raw.RXPower[:], raw.RXPowerHi)...) {
		m.RX = power(raw, &raw.RXPower, raw.RXPowerLo, raw.RXPowerHi, unit)
	}
	if measures(raw, prm.MonitorTXPower, append(raw.TXPower[:], raw.TXPowerHi)...) {
		m.TX = power(raw, &raw.TXPower, raw.TXPowerLo, raw.TXPowerHi, unit)
	}
	return m
}

// limits returns thresholds; equal ones mean that the module names none.
func limits(low, high float64) *Limits {
	if low == high {
		return nil
	}
	return &Limits{low, high}
}

func power(raw *prm.ModuleInfo, lanes *[prm.Lanes]uint16, low, high uint16, unit uint8) *Power {
	p := &Power{Lanes: make([]float64, laneCount(raw.Identifier))}
	for i := range p.Lanes {
		p.Lanes[i] = prm.DBm(lanes[i], unit)
	}
	if low != high {
		p.Limits = &Limits{prm.DBm(low, unit), prm.DBm(high, unit)}
	}
	return p
}

// laneCount returns how many lanes a form factor has (SFF-8679: QSFP 4, CMIS: OSFP and QSFP-DD 8,
// SFP-DD and DSFP 2).
func laneCount(i prm.Identifier) int {
	switch i {
	case prm.IdentifierOSFP, prm.IdentifierQSFPDD:
		return 8
	case prm.IdentifierSFPDD, prm.IdentifierDSFP:
		return 2
	case prm.IdentifierSFP28, prm.IdentifierQSA:
		return 1
	case prm.IdentifierQSFP28, prm.IdentifierQSFPPlus, prm.IdentifierQSFPCMIS:
		return 4
	}
	return prm.Lanes
}

// Memory returns a reader of a module's memory, for [sff.Decode], through the register MCIA. module
// is its number in the device, from 0, which isn't the number of the port. A read is split into
// parts of 48 bytes, which all devices accept.
func (c *Client) Memory(ctx context.Context, to Port, module uint8) sff.Reader {
	const part = 48
	return func(p sff.Page) ([]byte, error) {
		var out []byte
		for done := 0; done < int(p.Length); done += part {
			size := min(part, int(p.Length)-done)
			b, err := c.memory(ctx, to, prm.MCIA{
				Module: module, DeviceAddress: p.Address, Bank: p.Bank, Page: p.Page,
				Offset: uint16(p.Offset) + uint16(done), Size: uint16(size),
			})
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
		}
		return out, nil
	}
}

func (c *Client) memory(ctx context.Context, to Port, index prm.MCIA) ([]byte, error) {
	b, err := c.register(ctx, to, prm.RegisterMCIA, index.Append(nil), prm.MCIALen)
	if err != nil {
		return nil, err
	}
	var r prm.MCIA
	r.Decode(b) //nolint:errcheck // register returned size bytes
	switch {
	case r.Status != prm.ModuleOK:
		return nil, fmt.Errorf("read MCIA of %s: module %d: %s", to, index.Module, r.Status)
	case r.Offset != index.Offset || r.Page != index.Page || r.Size != index.Size:
		return nil, fmt.Errorf("read MCIA of %s: module %d: page %d bytes %d+%d instead of page %d bytes %d+%d",
			to, index.Module, r.Page, r.Offset, r.Size, index.Page, index.Offset, index.Size)
	}
	return r.Data[:index.Size], nil
}
