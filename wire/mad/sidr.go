package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// SIDRREQ asks which queue pair of type UD serves an ID (section 12.11.1).
type SIDRREQ struct {
	Header
	RequestID    uint32
	PartitionKey ib.PKey
	Reserved6    uint16
	ServiceID    ServiceID
	PrivateData  [SIDRREQPrivateLen]byte // of an IP service with a CMAHeader first
}

func (m *SIDRREQ) walk(c *cursor) {
	number(c, 32, &m.RequestID)
	number(c, 16, &m.PartitionKey)
	number(c, 16, &m.Reserved6)
	number(c, 64, &m.ServiceID)
	c.bytes(m.PrivateData[:])
}

// SIDRStatus is the status of a [SIDRREP] (C twin: enum ib_cm_sidr_status).
type SIDRStatus uint8

// The statuses.
const (
	SIDRStatusSuccess            SIDRStatus = 0
	SIDRStatusUnsupported        SIDRStatus = 1 // nobody listens for the service ID
	SIDRStatusReject             SIDRStatus = 2
	SIDRStatusNoQP               SIDRStatus = 3
	SIDRStatusRedirect           SIDRStatus = 4
	SIDRStatusUnsupportedVersion SIDRStatus = 5
)

var sidrStatusNames = [...]string{
	"success", "service ID not supported", "rejected by the service provider", "no queue pair available",
	"redirected", "version not supported",
}

// String returns a description, such as "service ID not supported".
func (s SIDRStatus) String() string { return nameOf(sidrStatusNames[:], uint8(s)) }

// SIDRREP answers a [SIDRREQ] (section 12.11.2).
type SIDRREP struct {
	Header
	RequestID                   uint32
	Status                      SIDRStatus
	AdditionalInformationLength uint8 // bytes of AdditionalInformation
	Reserved6                   uint16
	QPN                         ib.QPN
	Reserved11                  uint8
	ServiceID                   ServiceID
	QKey                        uint32
	AdditionalInformation       [ARILen]byte
	PrivateData                 [SIDRREPPrivateLen]byte
}

func (m *SIDRREP) walk(c *cursor) {
	number(c, 32, &m.RequestID)
	number(c, 8, &m.Status)
	number(c, 8, &m.AdditionalInformationLength)
	number(c, 16, &m.Reserved6)
	number(c, 24, &m.QPN)
	number(c, 8, &m.Reserved11)
	number(c, 64, &m.ServiceID)
	number(c, 32, &m.QKey)
	c.bytes(m.AdditionalInformation[:])
	c.bytes(m.PrivateData[:])
}
