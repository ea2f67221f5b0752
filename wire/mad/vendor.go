package mad

// VendorDataLen is the length of the data in a [VendorMAD], in bytes.
const VendorDataLen = 216

// OUI identifies the vendor that defines the protocol of a [VendorMAD].
type OUI [3]byte

// OUIPing is the OUI that ibping sends with [ClassPing] (C twin: IB_OPENIB_OUI of
// infiniband/mad.h).
func OUIPing() OUI { return OUI{0x00, 0x14, 0x05} }

// VendorMAD is a packet of a vendor class of the second range, 0x30 to 0x4f
// (specification section 13.4.4; C twin: ib_vendor_call_t). ibping sends it to QP 1 of
// the peer with [MethodGet], and the server responds with [MethodGetResp] and its host
// name in Data.
type VendorMAD struct {
	Header
	RMPP       RMPP                // valid if the vendor's protocol uses it; zeros in pings
	Reserved36 uint8               // kept as received
	OUI        OUI                 // vendor that defines the protocol
	Data       [VendorDataLen]byte // vendor-specific
}

// NewPing returns a request of ibping.
func NewPing(tid uint64) VendorMAD {
	return VendorMAD{Header: newHeader(ClassPing, 1, MethodGet, 0, 0, tid), OUI: OUIPing()}
}

// Decode reads a packet from the first [Len] bytes of b.
func (p *VendorMAD) Decode(b []byte) (n int, err error) {
	if len(b) < Len {
		return 0, ErrShort
	}
	n, _ = p.Header.Decode(b) // the length has been checked
	_, _ = p.RMPP.Decode(b[n:])
	p.Reserved36 = b[36]
	p.OUI = OUI(b[37:])
	p.Data = [VendorDataLen]byte(b[40:])
	return Len, nil
}

// Append appends the packet to b.
func (p *VendorMAD) Append(b []byte) []byte {
	b = p.RMPP.Append(p.Header.Append(b))
	b = append(b, p.Reserved36)
	b = append(b, p.OUI[:]...)
	return append(b, p.Data[:]...)
}
