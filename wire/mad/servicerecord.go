package mad

import (
	"bytes"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// ServiceRecordLen is the length of the record in bytes.
const ServiceRecordLen = 176

// Bits of [SAHeader.ComponentMask] for a [ServiceRecord].
const (
	ServiceRecordMaskServiceID   uint64 = 1 << 0
	ServiceRecordMaskServiceGID  uint64 = 1 << 1
	ServiceRecordMaskServicePKey uint64 = 1 << 2
	ServiceRecordMaskServiceName uint64 = 1 << 6
)

// ServiceRecord is a service that a port has registered with the SA (specification
// section 15.2.5; C twin: ib_service_record_t).
type ServiceRecord struct {
	ServiceID    uint64  // under which the service is reached
	ServiceGID   ib.GID  // of the port
	ServicePKey  ib.PKey // partition of the service
	Reserved26   uint16  // from byte 26 on, kept as received
	ServiceLease uint32  // seconds left; 0xffffffff: forever
	// required to change the record; 0 in answers to programs that aren't trusted
	ServiceKey    [16]byte
	ServiceName   [64]byte  // text, padded with zeros
	ServiceData8  [16]uint8 // contents are defined by the service
	ServiceData16 [8]uint16 // also
	ServiceData32 [4]uint32 // also
	ServiceData64 [2]uint64 // also
}

// Name returns ServiceName up to the first zero byte, as received: it may have
// control characters.
func (r *ServiceRecord) Name() string {
	name, _, _ := bytes.Cut(r.ServiceName[:], []byte{0})
	return string(name)
}

func (r *ServiceRecord) fields(c *cursor) {
	number(c, 64, &r.ServiceID)
	c.bytes(r.ServiceGID[:])
	number(c, 16, &r.ServicePKey)
	number(c, 16, &r.Reserved26)
	number(c, 32, &r.ServiceLease)
	c.bytes(r.ServiceKey[:])
	c.bytes(r.ServiceName[:])
	c.bytes(r.ServiceData8[:])
	for i := range r.ServiceData16 {
		number(c, 16, &r.ServiceData16[i])
	}
	for i := range r.ServiceData32 {
		number(c, 32, &r.ServiceData32[i])
	}
	for i := range r.ServiceData64 {
		number(c, 64, &r.ServiceData64[i])
	}
}

// Decode reads the record from the start of b.
func (r *ServiceRecord) Decode(b []byte) (n int, err error) {
	if len(b) < ServiceRecordLen {
		return 0, ErrShort
	}
	r.fields(&cursor{in: b})
	return ServiceRecordLen, nil
}

// Append appends the record to b.
func (r *ServiceRecord) Append(b []byte) []byte {
	c := cursor{out: b, writing: true}
	r.fields(&c)
	return c.out
}
