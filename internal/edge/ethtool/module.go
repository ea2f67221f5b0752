package ethtool

import (
	"context"
	"errors"

	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
	"github.com/rdmakit/rdmakit/internal/edge/nl"
	"github.com/rdmakit/rdmakit/internal/edge/sff"
)

// pages returns a reader of a module's memory by page (ETHTOOL_MSG_MODULE_EEPROM_GET).
func (s *Socket) pages(ctx context.Context, netdev string) sff.Reader {
	return func(p sff.Page) ([]byte, error) {
		body, err := request(ETHTOOL_A_MODULE_EEPROM_HEADER, netdev, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(ETHTOOL_A_MODULE_EEPROM_OFFSET, uint32(p.Offset))
			ae.Uint32(ETHTOOL_A_MODULE_EEPROM_LENGTH, uint32(p.Length))
			ae.Uint8(ETHTOOL_A_MODULE_EEPROM_PAGE, p.Page)
			ae.Uint8(ETHTOOL_A_MODULE_EEPROM_BANK, p.Bank)
			ae.Uint8(ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, p.Address)
		})
		if err != nil {
			return nil, err
		}
		msgs, err := s.execute(ctx, "module EEPROM get", netdev, ETHTOOL_MSG_MODULE_EEPROM_GET, body)
		if err != nil {
			return nil, err
		}
		return decodeEEPROM(msgs)
	}
}

// decodeEEPROM returns the bytes of the answer.
func decodeEEPROM(msgs [][]byte) (data []byte, err error) {
	err = decode(msgs, nl.Fields{
		ETHTOOL_A_MODULE_EEPROM_DATA: func(v []byte) error { data = v; return nil },
	})
	return data, err
}

// lanes returns the number of lanes that a link uses, 0 if the driver doesn't tell.
func (s *Socket) lanes(ctx context.Context, netdev string) (uint32, error) {
	body, err := request(ETHTOOL_A_LINKMODES_HEADER, netdev, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return 0, err
	}
	msgs, err := s.execute(ctx, "link modes get", netdev, ETHTOOL_MSG_LINKMODES_GET, body)
	if err != nil {
		return 0, err
	}
	return decodeLanes(msgs)
}

func decodeLanes(msgs [][]byte) (n uint32, err error) {
	err = decode(msgs, nl.Fields{ETHTOOL_A_LINKMODES_LANES: nl.Number(&n)})
	return n, err
}

// decode stores the fields of all messages of an answer. One that can't be decoded is an error, and
// the others are decoded nevertheless.
func decode(msgs [][]byte, fields nl.Fields) error {
	var errs []error
	for _, m := range msgs {
		errs = append(errs, fields.Decode(m))
	}
	return errors.Join(errs...)
}

func (s *Socket) execute(ctx context.Context, op, netdev string, command uint8, body []byte) ([][]byte, error) {
	return s.kernel.Execute(ctx, genl.Request{
		Op: op, Object: netdev, Family: "ethtool", Version: ETHTOOL_GENL_VERSION, Command: command, Body: body,
	})
}

// request encodes the header of a request, which names the device, and further attributes.
func request(header uint16, netdev string, more func(*netlink.AttributeEncoder)) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	ae.Nested(header, func(nae *netlink.AttributeEncoder) error {
		nae.String(ETHTOOL_A_HEADER_DEV_NAME, netdev)
		nae.Uint32(ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_COMPACT_BITSETS)
		return nil
	})
	more(ae)
	return ae.Encode()
}
