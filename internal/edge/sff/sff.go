package sff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Addresses of a module on its I²C bus, without the direction bit.
const (
	Address    = 0x50 // A0h: identification; all pages of QSFP and CMIS
	AddressDOM = 0x51 // A2h: what an SFP measures
)

// upper is the first byte of the upper half of a page.
const upper = 128

// Page is a read of one half of a page.
type Page struct {
	Address uint8 // Address or AddressDOM
	Bank    uint8 // 0 for lanes 1 to 8
	Page    uint8
	Offset  uint8 // from 0; of pages other than 0 at least 128
	Length  uint8 // at most 128; a read does not cross byte 128
}

// Reader reads a part of a module's memory. It returns exactly Length bytes, or an error.
type Reader func(Page) ([]byte, error)

// ErrUnknownModule is matched by the error about an identifier that no decoder knows.
var ErrUnknownModule = errors.New("unknown kind of module")

// Module is what a module or cable reports about itself. A part that it doesn't have is "" or nil.
type Module struct {
	Type       string // QSFP28, QSFP-DD, OSFP … (SFF-8024, table 4-1)
	Vendor     string
	PartNumber string
	Serial     string
	Revision   string
	// Passive means copper without electronics, which measures nothing.
	Passive     bool
	Temperature *Reading // °C
	Voltage     *Reading // V
	// RX and TX are the optical power of each lane in mW; nil if the module doesn't measure it.
	RX, TX []float64
	// RXLimits and TXLimits apply to each lane; nil if the module names none.
	RXLimits, TXLimits *Limits
}

// Reading is a value with the limits that the module names for it, nil for none.
type Reading struct {
	Value  float64
	Limits *Limits
}

// Limits are the four thresholds that all specifications have, in the unit of the value.
type Limits struct {
	HighAlarm, LowAlarm, HighWarning, LowWarning float64
}

// Decode identifies a module and reads what it measures. If a page can't be read, the error names
// it, and the module holds the data of the other pages.
func Decode(read Reader) (Module, error) {
	head, err := identify(read)
	if err != nil {
		return Module{}, err
	}
	kind, ok := kinds()[head[0]]
	if !ok {
		return Module{}, fmt.Errorf("identifier 0x%02x: %w", head[0], ErrUnknownModule)
	}
	m, err := kind.decode(read, head)
	m.Type = kind.name
	return m, err
}

// identify returns the first three bytes: identifier, revision, status. Some modules return zeros
// for reads of up to eight bytes, so zeros are read again with more; that clears latched flags.
func identify(read Reader) ([]byte, error) {
	head, err := get(read, Page{Address: Address, Length: 3})
	if err != nil || head[0] != 0 {
		return head, err
	}
	return get(read, Page{Address: Address, Length: 16})
}

// kind is an identifier of SFF-8024 with the specification that modules of it follow.
type kind struct {
	name   string
	decode func(Reader, []byte) (Module, error)
}

// kinds returns the identifiers of SFF-8024, table 4-1, that network cards take.
func kinds() map[byte]kind {
	return map[byte]kind{
		0x03: {"SFP", decode8472}, // up to SFP56
		0x0c: {"QSFP", decode8636},
		0x0d: {"QSFP+", decode8636},
		0x11: {"QSFP28", decode8636}, // and QSFP56
		0x18: {"QSFP-DD", decodeCMIS},
		0x19: {"OSFP", decodeCMIS},
		0x1b: {"DSFP", decodeCMIS},
		0x1e: {"QSFP with CMIS", decodeCMIS}, // QSFP56, QSFP112
		0x1f: {"SFP-DD", decodeCMIS},
		0x20: {"SFP with CMIS", decodeCMIS}, // SFP112
		0x21: {"OSFP-XD", decodeCMIS},
	}
}

// get reads a part of the memory and checks its length.
func get(read Reader, p Page) ([]byte, error) {
	b, err := read(p)
	where := fmt.Sprintf("page %02xh bytes %d to %d", p.Page, p.Offset, int(p.Offset)+int(p.Length)-1)
	if p.Address == AddressDOM {
		where = "A2h " + where
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", where, err)
	}
	if len(b) != int(p.Length) {
		return nil, fmt.Errorf("read %s: got %d bytes", where, len(b))
	}
	return b, nil
}

// text returns an ASCII field without its padding.
func text(b []byte) string {
	s := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, string(b))
	return strings.TrimSpace(s)
}

func u16(b []byte) float64 { return float64(binary.BigEndian.Uint16(b)) }
func s16(b []byte) float64 { return float64(int16(binary.BigEndian.Uint16(b))) }

// Units of all three specifications: 1/256 °C, 0.1 mV, 0.1 µW.
func celsius(b []byte) float64   { return s16(b) / 256 }
func volts(b []byte) float64     { return u16(b) / 10000 }
func milliwatt(b []byte) float64 { return u16(b) / 10000 }

// limits decodes high alarm, low alarm, high warning and low warning. All zeros mean that the
// module names none.
func limits(b []byte, unit func([]byte) float64) *Limits {
	if len(b) < 8 || binary.BigEndian.Uint64(b) == 0 {
		return nil
	}
	return &Limits{unit(b), unit(b[2:]), unit(b[4:]), unit(b[6:])}
}

// reading returns a measured value, nil for the raw value 0, which modules return for what they
// don't measure.
func reading(b []byte, unit func([]byte) float64, l *Limits) *Reading {
	if binary.BigEndian.Uint16(b) == 0 {
		return nil
	}
	return &Reading{unit(b), l}
}

// lanes decodes the power of n lanes; nil if all are zero and the module names no limits, so that
// it doesn't seem to measure it.
func lanes(b []byte, n int, l *Limits) []float64 {
	out := make([]float64, 0, n)
	dark := true
	for i := range min(n, len(b)/2) {
		out = append(out, milliwatt(b[2*i:]))
		dark = dark && out[i] == 0
	}
	if dark && l == nil {
		return nil
	}
	return out
}
