package prm

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// MCIALen is the length of MCIA in bytes.
const MCIALen = 148

// MCIADataLen is the length of MCIA.Data. Devices without bit 34 of MCAM read 48 bytes at most.
const MCIADataLen = 128

// MCIA reads the memory of a module (adb, mcia_ext).
type MCIA struct {
	Status        ModuleStatus // 0x0.0, of an answer
	Slot          uint8        // 0x0.12, 4 bits: 0 is the main board
	Module        uint8        // 0x0.16: number of the module in the device, from 0
	Offset        uint16       // 0x4.0: device_address, the first byte
	Page          uint8        // 0x4.16
	DeviceAddress uint8        // 0x4.24: on the I²C bus, without the direction bit
	Size          uint16       // 0x8.0: number of bytes
	Bank          uint8        // 0x8.16
	Data          [MCIADataLen]byte
	Rest          [MCIALen]byte // all bytes as read
}

// Decode reads the register from the start of b.
func (r *MCIA) Decode(b []byte) (n int, err error) {
	if len(b) < MCIALen {
		return 0, mad.ErrShort
	}
	r.Rest = [MCIALen]byte(b)
	r.fields(fields{b: r.Rest[:]})
	return MCIALen, nil
}

// Append appends the register to b.
func (r *MCIA) Append(b []byte) []byte {
	n := len(b)
	b = append(b, r.Rest[:]...)
	r.fields(fields{b: b[n:], writing: true})
	return b
}

func (r *MCIA) fields(f fields) {
	bits(f, 0x0, 0, 8, &r.Status)
	bits(f, 0x0, 12, 4, &r.Slot)
	bits(f, 0x0, 16, 8, &r.Module)
	bits(f, 0x4, 0, 16, &r.Offset)
	bits(f, 0x4, 16, 8, &r.Page)
	bits(f, 0x4, 24, 8, &r.DeviceAddress)
	bits(f, 0x8, 0, 16, &r.Size)
	bits(f, 0x8, 16, 8, &r.Bank)
	f.bytes(0x10, r.Data[:])
}

// ModuleStatus is the result of a read of a module's memory.
type ModuleStatus uint8

// Values of ModuleStatus (adb, mcia_ext.status).
const (
	ModuleOK           ModuleStatus = 0
	ModuleNoEEPROM     ModuleStatus = 1
	ModuleUnsupported  ModuleStatus = 2
	ModuleNotConnected ModuleStatus = 3
	ModuleInvalidType  ModuleStatus = 4
	ModuleI2CError     ModuleStatus = 9
	ModuleDisabled     ModuleStatus = 16
)

// String describes the status.
func (s ModuleStatus) String() string {
	switch s {
	case ModuleOK:
		return "read"
	case ModuleNoEEPROM:
		return "the module's memory doesn't answer"
	case ModuleUnsupported:
		return "the device doesn't support this module"
	case ModuleNotConnected:
		return "no module"
	case ModuleInvalidType:
		return "module not allowed by the device's configuration"
	case ModuleI2CError:
		return "error on the I²C bus"
	case ModuleDisabled:
		return "module is disabled"
	}
	return fmt.Sprintf("module status %d", uint8(s))
}
