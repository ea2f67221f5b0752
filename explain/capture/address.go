package capture

import (
	"fmt"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// Address is a port: a GID, which of RoCE v2 is an IP address, and on InfiniBand a LID, there
// often without a GID. It is comparable.
type Address struct {
	GID ib.GID
	LID ib.LID
}

// String returns the IP address, or the LID.
func (a Address) String() string {
	switch {
	case a.GID.IsZero():
		return fmt.Sprintf("LID %d", a.LID)
	case a.LID != 0:
		return fmt.Sprintf("LID %d (%s)", a.LID, a.GID.Addr())
	}
	return a.GID.Addr().String()
}

// MarshalText implements [encoding.TextMarshaler] with the form of [Address.String].
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Transport is what carries transport packets.
type Transport uint8

// The transports.
const (
	TransportRoCEv2 Transport = iota + 1
	TransportRoCEv1
	TransportInfiniBand
)

// String returns the name.
func (t Transport) String() string {
	switch t {
	case TransportRoCEv2:
		return "RoCE v2"
	case TransportRoCEv1:
		return "RoCE v1"
	case TransportInfiniBand:
		return "InfiniBand"
	}
	return "none"
}

// MarshalText implements [encoding.TextMarshaler] with the form of [Transport.String].
func (t Transport) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
