package inventory

import (
	"fmt"
	"strconv"
	"strings"
)

// PCIID is a PCI vendor or device id; hexadecimal in text, as in pci.ids.
type PCIID uint16

// String returns 0x and four hexadecimal digits.
func (i PCIID) String() string { return fmt.Sprintf("0x%04x", uint16(i)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PCIID.String].
func (i PCIID) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (i *PCIID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 16)
	if err != nil {
		return fmt.Errorf("parse pci id %q: not a 16-bit number", b)
	}
	*i = PCIID(v)
	return nil
}

// PCIClass is the 24-bit class code of a PCI function: base class, subclass and
// programming interface. 0x020700 is InfiniBand, 0x020000 Ethernet.
type PCIClass uint32

// String returns 0x and six hexadecimal digits.
func (c PCIClass) String() string { return fmt.Sprintf("0x%06x", uint32(c)) }

// MarshalText implements [encoding.TextMarshaler] with the form of [PCIClass.String].
func (c PCIClass) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *PCIClass) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 32)
	if err != nil {
		return fmt.Errorf("parse pci class %q: not a 32-bit number", b)
	}
	*c = PCIClass(v)
	return nil
}

// kind returns "sub-function" or "virtual function".
func (v *VFInfo) kind() string {
	if v.SubFunction {
		return "sub-function"
	}
	return "virtual function"
}

// Name returns vendor and model of a card, or the ids if the names are unknown. The
// product name in brackets of pci.ids (MT2910 Family [ConnectX-7]) is preferred.
func (p *PCI) Name() string {
	product := p.Product
	if _, inner, ok := strings.Cut(product, "["); ok {
		product = strings.TrimSuffix(inner, "]")
	}
	switch {
	case product == "" && p.Vendor == "":
		return fmt.Sprintf("%04x:%04x", uint16(p.VendorID), uint16(p.DeviceID))
	case product == "":
		return fmt.Sprintf("%s %04x", p.Vendor, uint16(p.DeviceID))
	}
	return strings.TrimSpace(p.Vendor + " " + product)
}
