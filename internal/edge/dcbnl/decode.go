package dcbnl

import (
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// Sizes of the kernel's structures.
const (
	dcbmsgLen = 4
	etsLen    = 3 + 7*8
	pfcLen    = 8 + 2*8*8
	appLen    = 4
	bufferLen = 8 + 8*4 + 4
)

// decode decodes the body of a message into s. A part that is not valid is left out; the error
// joins what is wrong with the parts.
func (s *State) decode(b []byte) error {
	if len(b) < dcbmsgLen {
		return fmt.Errorf("a message of %d bytes", len(b))
	}
	return nl.Fields{
		DCB_ATTR_IFNAME: nl.Text(&s.Netdev),
		DCB_ATTR_DCBX: func(v []byte) error {
			if err := atLeast(v, 1); err != nil {
				return err
			}
			mode := v[0]
			s.DCBX = &mode
			return nil
		},
		DCB_ATTR_IEEE: s.decodeIEEE,
	}.Decode(b[dcbmsgLen:])
}

func (s *State) decodeIEEE(b []byte) error {
	return nl.Fields{
		DCB_ATTR_IEEE_ETS:       func(v []byte) error { return decodeETS(v, &s.ETS) },
		DCB_ATTR_IEEE_PFC:       func(v []byte) error { return decodePFC(v, &s.PFC) },
		DCB_ATTR_IEEE_APP_TABLE: func(v []byte) error { return decodeApps(v, &s.Apps) },
		DCB_ATTR_IEEE_PEER_ETS:  func(v []byte) error { return decodeETS(v, &s.PeerETS) },
		DCB_ATTR_IEEE_PEER_PFC:  func(v []byte) error { return decodePFC(v, &s.PeerPFC) },
		DCB_ATTR_IEEE_PEER_APP:  func(v []byte) error { return decodeApps(v, &s.PeerApps) },
		DCB_ATTR_DCB_BUFFER:     func(v []byte) error { return decodeBuffer(v, &s.Buffer) },
	}.Decode(b)
}

// atLeast checks the length of a structure; a newer kernel may append fields.
func atLeast(v []byte, n int) error {
	if len(v) < n {
		return fmt.Errorf("%d bytes instead of %d", len(v), n)
	}
	return nil
}

func decodePFC(v []byte, field **PFC) error {
	if err := atLeast(v, pfcLen); err != nil {
		return err
	}
	p := PFC{Capacity: v[0], Enabled: v[1], MBC: v[2], Delay: binary.NativeEndian.Uint16(v[4:])}
	for i := range 8 {
		p.Requests[i] = binary.NativeEndian.Uint64(v[8+8*i:])
		p.Indications[i] = binary.NativeEndian.Uint64(v[72+8*i:])
	}
	*field = &p
	return nil
}

func decodeETS(v []byte, field **ETS) error {
	if err := atLeast(v, etsLen); err != nil {
		return err
	}
	e := ETS{Willing: v[0], Classes: v[1], CBS: v[2]}
	for i, list := range []*[8]uint8{
		&e.TxBandwidth, &e.RxBandwidth, &e.Algorithm, &e.PriorityClass, &e.RecommendedTx, &e.RecommendedAlgo,
		&e.RecommendedPriority,
	} {
		copy(list[:], v[3+8*i:])
	}
	*field = &e
	return nil
}

func decodeApps(b []byte, field *[]App) error {
	return nl.Fields{DCB_ATTR_IEEE_APP: func(v []byte) error {
		if err := atLeast(v, appLen); err != nil {
			return err
		}
		*field = append(*field, App{Selector: v[0], Priority: v[1], Protocol: binary.NativeEndian.Uint16(v[2:])})
		return nil
	}}.Decode(b)
}

func decodeBuffer(v []byte, field **Buffer) error {
	if err := atLeast(v, bufferLen); err != nil {
		return err
	}
	d := Buffer{Total: binary.NativeEndian.Uint32(v[40:])}
	copy(d.Priority[:], v)
	for i := range 8 {
		d.Bytes[i] = binary.NativeEndian.Uint32(v[8+4*i:])
	}
	*field = &d
	return nil
}
