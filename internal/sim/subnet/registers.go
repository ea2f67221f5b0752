package subnet

import (
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

// Registers are the access registers of a device (package prm).
type Registers struct {
	VSKey uint64 // requests with another key get no answer
	// Without reports that the device answers the class, but has no access to registers.
	Without bool
	// WholeDecibels reports that the device doesn't know µW: ModuleDBm is returned for both units.
	WholeDecibels bool
	Ports         map[uint8]*PortRegisters // ports that aren't here are refused
}

// PortRegisters are the registers of a port.
type PortRegisters struct {
	Statistical     prm.StatisticalCounters
	Physical        prm.PhysicalCounters
	Operation       prm.OperationInfo
	Troubleshooting prm.Troubleshooting
	PhyInfo         prm.PhyInfo
	LinkDown        prm.LinkDownInfo
	Module          prm.ModuleInfo // with powers in µW
	ModuleDBm       prm.ModuleInfo // the same with powers in dBm
	// Memory is the memory of the module, which has the number of the port minus 1: the lower half
	// of page 0 at 0, the upper halves of the pages from 128 on; nil: there is no module.
	Memory []byte
}

// registers writes the response of a device to a read of a register to answer and returns the
// node, or nil if there is no response.
func (s *Subnet) registers(d, answer *fabric.Datagram) *Node {
	n := s.byLID[d.Address.LID]
	if n == nil || n.Dead || n.Registers == nil || d.Address.QPN != 1 || d.Address.QKey != fabric.QKeyGSI {
		return nil
	}
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	var p prm.AccessRegister
	p.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if p.VSKey != n.Registers.VSKey {
		return nil
	}
	n.Asked++
	p.Method |= mad.MethodResponse
	switch {
	case h.Method != mad.MethodGet:
		p.Status = prm.StatusMethodUnsupported
	case h.AttributeID == prm.AttributeGeneralInfo:
		var info prm.GeneralInfo
		info.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
		info.Header = p.Header
		info.SetAccessRegister(!n.Registers.Without)
		info.Append(answer.MAD[:0])
		return n
	case h.AttributeID != prm.AttributeAccessRegister || n.Registers.Without:
		p.Status = prm.StatusMethodUnsupported
	default:
		register, status := n.Registers.read(prm.Register(h.AttributeModifier), p.Data[:])
		p.Status = status
		if first := int(p.Block) * prm.BlockLen; first < len(register) {
			p.Data = [prm.BlockLen]byte{}
			copy(p.Data[:], register[first:])
		} else if status == 0 {
			p.Status = prm.StatusBadParameter
		}
	}
	p.Append(answer.MAD[:0])
	return n
}

// read returns a register, whose index fields are in request.
func (r *Registers) read(register prm.Register, request []byte) ([]byte, mad.Status) {
	const size = 256
	b := make([]byte, 0, size)
	switch register {
	case prm.RegisterPPCNT:
		var index prm.PPCNT
		index.Decode(request) //nolint:errcheck // longer than any index
		port := r.Ports[uint8(index.LocalPort)]
		if port == nil || index.PortAccess != prm.PortAccessIB {
			return nil, prm.StatusBadParameter
		}
		b = index.Append(b)
		switch index.Group {
		case prm.GroupStatistical:
			b = port.Statistical.Append(b)
		case prm.GroupPhysical:
			b = port.Physical.Append(b)
		default:
			return nil, prm.StatusBadParameter
		}
	case prm.RegisterPDDR:
		var index prm.PDDR
		index.Decode(request) //nolint:errcheck // longer than any index
		port := r.Ports[uint8(index.LocalPort)]
		if port == nil || index.PortAccess != prm.PortAccessIB {
			return nil, prm.StatusBadParameter
		}
		var known bool
		if b, known = port.page(index.Append(b), &index, r.WholeDecibels); !known {
			return nil, prm.StatusBadParameter
		}
	case prm.RegisterMCIA:
		var index prm.MCIA
		index.Decode(request) //nolint:errcheck // longer than any index
		return r.memory(&index).Append(b), 0
	default:
		return nil, prm.StatusRegisterUnsupported
	}
	return append(b, make([]byte, size-len(b))...), 0
}

// page appends a page of PDDR.
func (p *PortRegisters) page(b []byte, index *prm.PDDR, wholeDecibels bool) (out []byte, known bool) {
	switch index.Page {
	case prm.PageOperation:
		return p.Operation.Append(b), true
	case prm.PageTroubleshooting:
		return p.Troubleshooting.Append(b), true
	case prm.PagePhy:
		return p.PhyInfo.Append(b), true
	case prm.PageLinkDown:
		return p.LinkDown.Append(b), true
	case prm.PageModule:
		if index.PowerUnit == prm.PowerDBm || wholeDecibels {
			return p.ModuleDBm.Append(b), true
		}
		return p.Module.Append(b), true
	}
	return b, false
}

// memory reads a module.
func (r *Registers) memory(index *prm.MCIA) *prm.MCIA {
	port := r.Ports[index.Module+1]
	const half, most = 128, 48 // bytes of a page, and of a read with older firmware
	first := int(index.Offset)
	if first >= half {
		first += half * int(index.Page)
	}
	switch {
	case port == nil || port.Memory == nil:
		index.Status = prm.ModuleNotConnected
	case int(index.Size) > most || first+int(index.Size) > len(port.Memory):
		index.Status = prm.ModuleI2CError
	default:
		copy(index.Data[:index.Size], port.Memory[first:])
	}
	return index
}
