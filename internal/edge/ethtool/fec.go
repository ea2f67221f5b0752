package ethtool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// FEC returns the forward error correction of a device.
func (s *Socket) FEC(ctx context.Context, netdev string) (FEC, error) {
	body, err := request(ETHTOOL_A_FEC_HEADER, netdev, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return FEC{}, fail("FEC", netdev, err)
	}
	msgs, err := s.execute(ctx, "FEC get", netdev, ETHTOOL_MSG_FEC_GET, body)
	if err != nil {
		if oe, ok := errors.AsType[*genl.OpError](err); ok {
			err = oe.Err
		}
		return FEC{}, fail("FEC", netdev, err)
	}
	f, err := decodeFEC(msgs)
	return f, fail("FEC", netdev, err)
}

// fecModes are the link modes of forward error correction with the names of ethtool.
var fecModes = []struct {
	bit  int
	name string
}{
	{ETHTOOL_LINK_MODE_FEC_NONE_BIT, "Off"},
	{ETHTOOL_LINK_MODE_FEC_BASER_BIT, "BaseR"},
	{ETHTOOL_LINK_MODE_FEC_RS_BIT, "RS"},
	{ETHTOOL_LINK_MODE_FEC_LLRS_BIT, "LLRS"},
}

// decodeFEC decodes the answer. The kernel leaves out the active mode if there is none.
func decodeFEC(msgs [][]byte) (f FEC, err error) {
	var auto uint8
	var active uint32
	var modes []byte
	err = decode(msgs, nl.Fields{
		ETHTOOL_A_FEC_MODES: nl.Fields{
			ETHTOOL_A_BITSET_VALUE: func(v []byte) error { modes = v; return nil },
		}.Decode,
		ETHTOOL_A_FEC_AUTO:   nl.Number(&auto),
		ETHTOOL_A_FEC_ACTIVE: nl.Number(&active),
	})
	if f.Auto = auto != 0; f.Auto {
		f.Configured = []string{"Auto"}
	}
	if active != 0 {
		f.Active = fmt.Sprintf("link mode %d", active)
	}
	for _, m := range fecModes {
		if active == uint32(m.bit) {
			f.Active = m.name
		}
		word := m.bit / 32 * 4
		if word+4 <= len(modes) && binary.NativeEndian.Uint32(modes[word:])>>(m.bit%32)&1 != 0 {
			f.Configured = append(f.Configured, m.name)
		}
	}
	return f, err
}
