package rdmanl

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// decodeLink decodes the body of RTM_NEWLINK.
func decodeLink(b []byte) (Link, error) {
	if len(b) < ifinfomsgLen {
		return Link{}, missing(nil, "struct ifinfomsg")
	}
	l := Link{
		Type:  binary.NativeEndian.Uint16(b[2:]),
		Index: int(int32(binary.NativeEndian.Uint32(b[4:]))),
		Flags: binary.NativeEndian.Uint32(b[8:]),
	}
	err := fields{
		IFLA_IFNAME: nl.Text(&l.Name),
		IFLA_ADDRESS: func(v []byte) error {
			if len(v) > maxHardwareAddr {
				return fmt.Errorf("%w: a hardware address of %d bytes", errFraming, len(v))
			}
			l.Address = append(HardwareAddr(nil), v...) // nil if it has no bytes
			return nil
		},
		IFLA_MTU:          number(&l.MTU),
		IFLA_LINK:         ifindex(&l.LowerIndex),
		IFLA_LINK_NETNSID: number(&l.LowerNetnsID),
		IFLA_MASTER:       ifindex(&l.MasterIndex),
		IFLA_OPERSTATE:    name(&l.OperState, operStates),
		IFLA_LINKINFO:     l.decodeInfo,
		IFLA_NUM_VF:       number(&l.NumVFs),
		IFLA_VFINFO_LIST:  l.decodeVFs,

		IFLA_CARRIER_UP_COUNT:   number(&l.CarrierUps),
		IFLA_CARRIER_DOWN_COUNT: number(&l.CarrierDowns),
		IFLA_MAX_MTU:            number(&l.MaxMTU),
	}.decode(b[ifinfomsgLen:])
	if l.Index <= 0 || l.Name == "" {
		return Link{}, missing(err, "interface index or name")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", l.Name, err)
	}
	return l, err
}

// decodeInfo decodes IFLA_LINKINFO. The kind is decoded first, since the meaning of the
// data depends on it.
func (l *Link) decodeInfo(b []byte) error {
	return fields{
		IFLA_INFO_KIND: nl.Text(&l.Kind),
		IFLA_INFO_DATA: func(v []byte) error {
			if l.Kind != "vlan" {
				return nil
			}
			return fields{IFLA_VLAN_ID: number(&l.VLANID)}.decode(v)
		},
	}.decode(b)
}

// decodeVFs decodes IFLA_VFINFO_LIST. The length of a list of more than 64 KiB wraps around
// (nla_nest_end in the kernel): the list ends within a VF, or before an IFLA_VF_INFO,
// which then looks like an IFLA_ADDRESS that is too long. Both are treated as broken
// framing, so that VF data isn't mistaken for data of the link.
func (l *Link) decodeVFs(b []byte) error {
	return fields{IFLA_VF_INFO: func(v []byte) error {
		vf, err := decodeVF(v, len(l.Address))
		l.VFs = append(l.VFs, vf)
		return err
	}}.decode(b)
}

// decodeVF decodes IFLA_VF_INFO. The kernel sends hardware addresses in fields of the
// maximum length; addrLen bytes of them are valid. Every value is a structure that
// starts with the number of the VF.
func decodeVF(b []byte, addrLen int) (VF, error) {
	var vf VF
	var txRate, state *uint32
	// after passes the bytes after the VF number to set; there must be n bytes.
	after := func(n int, set func([]byte) error) func([]byte) error {
		return func(v []byte) error {
			if len(v) < 4+n {
				return fmt.Errorf("%d bytes instead of %d", len(v), 4+n)
			}
			vf.Index = binary.NativeEndian.Uint32(v)
			return set(v[4:])
		}
	}
	two := func(first, second **uint32) func([]byte) error {
		return after(8, func(v []byte) error {
			*first, *second = u32(v), u32(v[4:])
			return nil
		})
	}
	one := func(field **uint32) func([]byte) error {
		return after(4, func(v []byte) error {
			*field = u32(v)
			return nil
		})
	}
	// setting stores a bool, which is -1 if the driver doesn't report it.
	setting := func(field **bool) func([]byte) error {
		return after(4, func(v []byte) error {
			if n := *u32(v); n != math.MaxUint32 {
				on := n != 0
				*field = &on
			}
			return nil
		})
	}
	// last passes the last 8 bytes to set: 32-bit x86 kernels have no padding before a GUID.
	last := func(set func([]byte) error) func([]byte) error {
		return after(8, func(v []byte) error { return set(v[len(v)-8:]) })
	}
	err := fields{
		IFLA_VF_MAC: after(addrLen, func(v []byte) error {
			vf.MAC = append(HardwareAddr(nil), v[:addrLen]...)
			return nil
		}),
		IFLA_VF_VLAN:         two(&vf.VLAN, &vf.QoS),
		IFLA_VF_RATE:         two(&vf.MinTxRate, &vf.MaxTxRate),
		IFLA_VF_TX_RATE:      one(&txRate),
		IFLA_VF_LINK_STATE:   one(&state),
		IFLA_VF_SPOOFCHK:     setting(&vf.SpoofCheck),
		IFLA_VF_TRUST:        setting(&vf.Trust),
		IFLA_VF_IB_NODE_GUID: last(guid(&vf.NodeGUID)),
		IFLA_VF_IB_PORT_GUID: last(guid(&vf.PortGUID)),
		IFLA_VF_VLAN_LIST: fields{IFLA_VF_VLAN_INFO: after(10, func(v []byte) error {
			proto := binary.BigEndian.Uint16(v[8:])
			vf.VLANProto = &proto
			return nil
		})}.decode,
	}.decode(b)
	if vf.MaxTxRate == nil {
		vf.MaxTxRate = txRate // older kernels have no IFLA_VF_RATE
	}
	if state != nil {
		vf.LinkState = nameOf(vfLinkStates, uint64(*state))
	}
	return vf, err
}

func u32(v []byte) *uint32 {
	n := binary.NativeEndian.Uint32(v)
	return &n
}
