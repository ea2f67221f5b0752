package facts

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/inventory"
)

// PCIFunction is what the configuration space of a PCI function says about its way to the memory of
// the host and of other devices.
type PCIFunction struct {
	Address string `json:"address"`          // 0000:3b:00.0
	Bridge  bool   `json:"bridge,omitempty"` // header type 1
	// Express is nil if the function has no PCI Express capability.
	Express *PCIExpress `json:"express,omitempty"`
	ACS     *ACS        `json:"acs,omitempty"` // nil without Access Control Services
	AER     *AER        `json:"aer,omitempty"` // nil without Advanced Error Reporting
	// Partial reports that only the first 256 bytes could be read, so that ACS and AER are unknown.
	Partial bool   `json:"partial,omitempty"`
	Error   string `json:"error,omitempty"` // why it could not be read; the rest is not valid then
}

// PCIExpress is the PCI Express capability (ID 0x10).
type PCIExpress struct {
	Type int `json:"type"` // device or port type, one of the constants
	// Sizes in bytes, 0 for a reserved value.
	MaxPayload          int `json:"maxPayload"`          // in force
	MaxPayloadSupported int `json:"maxPayloadSupported"` // the most that the function can
	MaxReadRequest      int `json:"maxReadRequest"`
	// RelaxedOrdering and NoSnoop report whether the function may set these attributes.
	RelaxedOrdering bool               `json:"relaxedOrdering"`
	NoSnoop         bool               `json:"noSnoop"`
	Link            *inventory.PCILink `json:"link,omitempty"`    // nil without a link
	LinkMax         *inventory.PCILink `json:"linkMax,omitempty"` // nil without a link
}

// Values of [PCIExpress.Type].
const (
	PCIEndpoint       = 0  // card, GPU, NVMe drive
	PCILegacyEndpoint = 1  // endpoint with I/O ports
	PCIRootPort       = 4  // port of the root complex
	PCIUpstreamPort   = 5  // port of a switch, towards the root complex
	PCIDownstreamPort = 6  // port of a switch, towards a device
	PCIIntegrated     = 9  // integrated endpoint of the root complex, without a link
	PCIEventCollector = 10 // of the root complex, without a link
)

// ACS is the extended capability Access Control Services (ID 0x000D): the registers capability and
// control, of the same bits.
type ACS struct {
	Capability uint16 `json:"capability"`
	Control    uint16 `json:"control"`
}

// Bits of the registers of [ACS].
const (
	ACSSourceValidation   = 1 << 0 // requests must come from a bus below the port
	ACSTranslationBlock   = 1 << 1 // requests with a translated address are blocked
	ACSRequestRedirect    = 1 << 2 // requests to a peer go to the root complex
	ACSCompletionRedirect = 1 << 3 // and so do completions
	ACSUpstreamForwarding = 1 << 4 // what the root complex sent back goes up again
	ACSEgressControl      = 1 << 5 // a vector says which ports may be reached
	ACSDirectTranslated   = 1 << 6 // requests with a translated address (ATS) are not redirected
)

// AER is the extended capability Advanced Error Reporting (ID 0x0001): its status registers, whose
// bits stay set until they are cleared.
type AER struct {
	Uncorrectable uint32 `json:"uncorrectable"`
	Correctable   uint32 `json:"correctable"`
}

// Offsets in configuration space, and IDs of capabilities (include/uapi/linux/pci_regs.h).
const (
	pciStatus        = 0x06
	pciStatusCaps    = 0x10 // bit: there is a list of capabilities
	pciHeaderType    = 0x0e
	pciCapList       = 0x34
	pciPublic        = 64 // what a process without CAP_SYS_ADMIN can read
	pciConventional  = 256
	pciWhole         = 4096
	pciCapExpress    = 0x10
	pciExtAER        = 0x0001
	pciExtACS        = 0x000d
	pciHeaderBridge  = 1
	pciExpressLength = 0x14 // up to the link status
)

// DecodePCI decodes the configuration space of a function: 256 bytes, or 4096 with the extended
// capabilities. The error matches [ErrDenied] if there are only the 64 bytes that a process without
// CAP_SYS_ADMIN can read.
func DecodePCI(address string, config []byte) (PCIFunction, error) {
	f := PCIFunction{Address: address}
	switch {
	case len(config) < pciPublic:
		return f, fmt.Errorf("decode configuration space of %s: %d bytes, want at least %d", address, len(config),
			pciPublic)
	case binary.LittleEndian.Uint16(config) == 0xffff:
		return f, fmt.Errorf("decode configuration space of %s: the function does not answer", address)
	case len(config) < pciConventional:
		return f, Denied("configuration space of %s: only %d bytes can be read without CAP_SYS_ADMIN",
			address, len(config))
	}
	f.Bridge = config[pciHeaderType]&0x7f == pciHeaderBridge
	f.Partial = len(config) < pciWhole
	var err error
	if off := findCapability(config, pciCapExpress); off > 0 {
		f.Express, err = decodeExpress(config[off:])
	}
	if err != nil {
		return f, fmt.Errorf("decode configuration space of %s: %w", address, err)
	}
	if off := findExtended(config, pciExtAER); off > 0 && off+20 <= len(config) {
		f.AER = &AER{
			Uncorrectable: binary.LittleEndian.Uint32(config[off+4:]),
			Correctable:   binary.LittleEndian.Uint32(config[off+16:]),
		}
	}
	if off := findExtended(config, pciExtACS); off > 0 && off+8 <= len(config) {
		f.ACS = &ACS{
			Capability: binary.LittleEndian.Uint16(config[off+4:]),
			Control:    binary.LittleEndian.Uint16(config[off+6:]),
		}
	}
	return f, nil
}

// findCapability returns the offset of the first capability with an ID, 0 for none. A list that
// loops or leaves its 192 bytes ends there.
func findCapability(config []byte, id byte) int {
	if binary.LittleEndian.Uint16(config[pciStatus:])&pciStatusCaps == 0 {
		return 0
	}
	off := int(config[pciCapList]) &^ 3
	for range (pciConventional - pciPublic) / 4 {
		if off < pciPublic || config[off] == 0xff {
			return 0
		}
		if config[off] == id {
			return off
		}
		off = int(config[off+1]) &^ 3
	}
	return 0
}

// findExtended returns the offset of the first extended capability with an ID, 0 for none.
func findExtended(config []byte, id uint16) int {
	off := pciConventional
	for range (pciWhole - pciConventional) / 4 {
		if off < pciConventional || off+4 > len(config) {
			return 0
		}
		header := binary.LittleEndian.Uint32(config[off:])
		if header == 0 || header == 0xffffffff {
			return 0
		}
		if header&0xffff == uint32(id) {
			return off
		}
		off = int(header>>20) &^ 3
	}
	return 0
}

// decodeExpress decodes the capability that b begins with.
func decodeExpress(b []byte) (*PCIExpress, error) {
	if len(b) < pciExpressLength {
		return nil, errors.New("the PCI Express capability is cut off")
	}
	capability, control := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint16(b[8:])
	e := &PCIExpress{
		Type:                int(b[2] >> 4),
		MaxPayloadSupported: pciSize(capability),
		MaxPayload:          pciSize(uint32(control >> 5)),
		MaxReadRequest:      pciSize(uint32(control >> 12)),
		RelaxedOrdering:     control>>4&1 == 1,
		NoSnoop:             control>>11&1 == 1,
	}
	if e.Type != PCIIntegrated && e.Type != PCIEventCollector {
		e.LinkMax = pciLink(binary.LittleEndian.Uint32(b[0x0c:]))
		e.Link = pciLink(uint32(binary.LittleEndian.Uint16(b[0x12:])))
	}
	return e, nil
}

// pciSize decodes the size of a payload or read request: 128 bytes shifted by three bits.
func pciSize(code uint32) int {
	if code &= 7; code <= 5 {
		return 128 << code
	}
	return 0
}

// pciLink decodes the speed and width of the link registers; nil if there is no link.
func pciLink(register uint32) *inventory.PCILink {
	speeds := [...]float64{0, 2.5, 5, 8, 16, 32, 64}
	speed, width := register&15, int(register>>4&63)
	if speed == 0 || int(speed) >= len(speeds) || width == 0 {
		return nil
	}
	return &inventory.PCILink{GTPerSecond: speeds[speed], Width: width}
}
