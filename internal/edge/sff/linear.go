package sff

import "io"

// Linear returns a Reader of a dump as SIOCETHTOOL's ETHTOOL_GMODULEEEPROM returns it: for an SFP
// 256 bytes of A0h and 256 of A2h, otherwise the lower page and the upper halves of pages 0, 1, 2 …
// Pages beyond its end, and other banks, fail with [io.ErrUnexpectedEOF].
func Linear(dump []byte) Reader {
	return func(p Page) ([]byte, error) {
		at := int(p.Offset) + upper*int(p.Page)
		if p.Address == AddressDOM {
			at += 2 * upper
		}
		if p.Bank != 0 || at+int(p.Length) > len(dump) {
			return nil, io.ErrUnexpectedEOF
		}
		return dump[at : at+int(p.Length)], nil
	}
}
