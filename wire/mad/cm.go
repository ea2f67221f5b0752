package mad

import "github.com/rdmakit/rdmakit/wire/ib"

// CMClassVersion is the version of the class of the communication manager.
const CMClassVersion = 2

// QKeyGSI is the Q_Key of QP 1, to which the messages of the communication manager are sent
// (specification section 10.2.5; C twin: IB_QP1_QKEY).
const QKeyGSI = 0x80010000

// Messages of the communication manager, all sent with [MethodSend] (specification sections 12.6
// to 12.11; C twins: CM_REQ_ATTR_ID and so on).
const (
	AttributeREQ     Attribute = 0x0010 // a connection is requested
	AttributeMRA     Attribute = 0x0011 // a message has come, and its answer takes time
	AttributeREJ     Attribute = 0x0012 // a connection is rejected
	AttributeREP     Attribute = 0x0013 // a connection is accepted
	AttributeRTU     Attribute = 0x0014 // ready to use
	AttributeDREQ    Attribute = 0x0015 // a connection is to be ended
	AttributeDREP    Attribute = 0x0016 // it has been ended
	AttributeSIDRREQ Attribute = 0x0017 // which queue pair serves an ID?
	AttributeSIDRREP Attribute = 0x0018 // its answer
	AttributeLAP     Attribute = 0x0019 // load an alternate path
	AttributeAPR     Attribute = 0x001a // its answer
)

// Lengths of the private data of each message, and of additional information, in bytes (C twins:
// IB_CM_REQ_PRIVATE_DATA_SIZE and so on).
const (
	REQPrivateLen     = 92  // of a [REQ]
	MRAPrivateLen     = 222 // of an [MRA]
	REJPrivateLen     = 148 // of a [REJ]
	REPPrivateLen     = 196 // of a [REP]
	RTUPrivateLen     = 224 // of an [RTU]
	DREQPrivateLen    = 220 // of a [DREQ]
	DREPPrivateLen    = 224 // of a [DREP]
	LAPPrivateLen     = 168 // of a [LAP]
	APRPrivateLen     = 148 // of an [APR]
	SIDRREQPrivateLen = 216 // of a [SIDRREQ]
	SIDRREPPrivateLen = 136 // of a [SIDRREP]
	ARILen            = 72  // additional information of REJ, APR and SIDR_REP
)

// TransportService is the transport service type of a REQ: RC, UC, RD.
type TransportService uint8

// The transport services.
const (
	TransportServiceRC TransportService = 0
	TransportServiceUC TransportService = 1
	TransportServiceRD TransportService = 2
)

// MRAMessage names the message that an MRA or a REJ is about (C twin: enum cm_msg_response).
type MRAMessage uint8

// The messages.
const (
	MRAMessageREQ   MRAMessage = 0
	MRAMessageREP   MRAMessage = 1
	MRAMessageOther MRAMessage = 2 // LAP of an MRA; in a REJ no message
)

// ConnectPath is a path of a REQ or LAP, as the sender of the message sees it. The path of a LAP
// has other reserved bits: see [LAP].
type ConnectPath struct {
	LocalPortLID    ib.LID // 0xffff across subnets, and 0 on Ethernet
	RemotePortLID   ib.LID
	LocalPortGID    ib.GID
	RemotePortGID   ib.GID
	FlowLabel       uint32 // 20 bits
	Reserved36      uint8  // 6 bits
	PacketRate      uint8  // 6 bits, code of enum ibv_rate
	TrafficClass    uint8
	HopLimit        uint8
	SL              uint8 // 4 bits
	SubnetLocal     bool  // both ports are in one subnet
	Reserved42      uint8 // 3 bits
	LocalACKTimeout uint8 // 5 bits: 4.096 µs << LocalACKTimeout
	// 3 bits; the first one of the alternate path of a REQ says whether the sender supports
	// suggested alternate paths (SAP).
	Reserved43 uint8
}

func (p *ConnectPath) ports(c *cursor) {
	number(c, 16, &p.LocalPortLID)
	number(c, 16, &p.RemotePortLID)
	c.bytes(p.LocalPortGID[:])
	c.bytes(p.RemotePortGID[:])
	number(c, 20, &p.FlowLabel)
}

func (p *ConnectPath) end(c *cursor) {
	number(c, 4, &p.SL)
	c.flag(&p.SubnetLocal)
	number(c, 3, &p.Reserved42)
	number(c, 5, &p.LocalACKTimeout)
	number(c, 3, &p.Reserved43)
}

func (p *ConnectPath) walk(c *cursor) {
	p.ports(c)
	number(c, 6, &p.Reserved36)
	number(c, 6, &p.PacketRate)
	number(c, 8, &p.TrafficClass)
	number(c, 8, &p.HopLimit)
	p.end(c)
}

// REQ requests a connection (specification section 12.6.5; kernel: ibta_vol1_c12.h, as for all
// messages here).
type REQ struct {
	Header
	LocalCommID             uint32    // of the connection at the sender
	Reserved4               uint32    // from byte 4 of the data on, kept as received
	ServiceID               ServiceID // what the receiver listens for
	LocalCAGUID             ib.GUID
	Reserved24              uint32
	LocalQKey               uint32 // of datagram services, which Linux doesn't use
	LocalQPN                ib.QPN
	ResponderResources      uint8 // READs and atomics that the sender can answer at a time
	LocalEECN               uint32
	InitiatorDepth          uint8 // READs and atomics that the sender wants outstanding
	RemoteEECN              uint32
	RemoteCMResponseTimeout uint8 // 5 bits: in which the receiver is to answer, 4.096 µs << it
	TransportService        TransportService
	EndToEndFlowControl     bool
	StartingPSN             ib.PSN // of the first packet to the sender
	LocalCMResponseTimeout  uint8  // 5 bits: in which the sender will answer
	RetryCount              uint8  // 3 bits
	PartitionKey            ib.PKey
	PathPacketPayloadMTU    uint8 // 4 bits, code of enum ibv_mtu
	RDCExists               bool
	RNRRetryCount           uint8 // 3 bits, for the receiver's requests
	MaxCMRetries            uint8 // 4 bits: how often the sender repeats a message
	SRQ                     bool
	ExtendedTransportType   uint8 // 3 bits
	Primary, Alternate      ConnectPath
	PrivateData             [REQPrivateLen]byte // of an IP service with a CMAHeader first
}

func (m *REQ) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.Reserved4)
	number(c, 64, &m.ServiceID)
	c.bytes(m.LocalCAGUID[:])
	number(c, 32, &m.Reserved24)
	number(c, 32, &m.LocalQKey)
	number(c, 24, &m.LocalQPN)
	number(c, 8, &m.ResponderResources)
	number(c, 24, &m.LocalEECN)
	number(c, 8, &m.InitiatorDepth)
	number(c, 24, &m.RemoteEECN)
	number(c, 5, &m.RemoteCMResponseTimeout)
	number(c, 2, &m.TransportService)
	c.flag(&m.EndToEndFlowControl)
	number(c, 24, &m.StartingPSN)
	number(c, 5, &m.LocalCMResponseTimeout)
	number(c, 3, &m.RetryCount)
	number(c, 16, &m.PartitionKey)
	number(c, 4, &m.PathPacketPayloadMTU)
	c.flag(&m.RDCExists)
	number(c, 3, &m.RNRRetryCount)
	number(c, 4, &m.MaxCMRetries)
	c.flag(&m.SRQ)
	number(c, 3, &m.ExtendedTransportType)
	m.Primary.walk(c)
	m.Alternate.walk(c)
	c.bytes(m.PrivateData[:])
}

// MRA says that a message has come and that its answer takes time (section 12.6.6).
type MRA struct {
	Header
	LocalCommID    uint32
	RemoteCommID   uint32
	Message        MRAMessage // 2 bits: which message has come
	Reserved8      uint8      // 6 bits
	ServiceTimeout uint8      // 5 bits: in which it is answered, 4.096 µs << ServiceTimeout
	Reserved9      uint8      // 3 bits
	PrivateData    [MRAPrivateLen]byte
}

func (m *MRA) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 2, &m.Message)
	number(c, 6, &m.Reserved8)
	number(c, 5, &m.ServiceTimeout)
	number(c, 3, &m.Reserved9)
	c.bytes(m.PrivateData[:])
}

// REJ rejects a connection (section 12.6.7).
type REJ struct {
	Header
	LocalCommID        uint32     // 0 if the sender has none
	RemoteCommID       uint32     // of the receiver
	Message            MRAMessage // 2 bits: which message is rejected
	Reserved8          uint8      // 6 bits
	RejectedInfoLength uint8      // 7 bits: bytes of ARI
	Reserved9          uint8      // 1 bit
	Reason             RejectReason
	ARI                [ARILen]byte // depends on Reason: the GID, LID or MTU that would be accepted
	PrivateData        [REJPrivateLen]byte
}

func (m *REJ) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 2, &m.Message)
	number(c, 6, &m.Reserved8)
	number(c, 7, &m.RejectedInfoLength)
	number(c, 1, &m.Reserved9)
	number(c, 16, &m.Reason)
	c.bytes(m.ARI[:])
	c.bytes(m.PrivateData[:])
}

// REP accepts a connection (section 12.6.8).
type REP struct {
	Header
	LocalCommID         uint32
	RemoteCommID        uint32
	LocalQKey           uint32
	LocalQPN            ib.QPN
	Reserved15          uint8
	LocalEECN           uint32
	Reserved19          uint8
	StartingPSN         ib.PSN // of the first packet to the sender
	Reserved23          uint8
	ResponderResources  uint8 // as in REQ
	InitiatorDepth      uint8
	TargetACKDelay      uint8 // 5 bits: 4.096 µs << TargetACKDelay
	FailoverAccepted    uint8 // 2 bits
	EndToEndFlowControl bool
	RNRRetryCount       uint8 // 3 bits, for the receiver's requests
	SRQ                 bool
	Reserved27          uint8 // 4 bits
	LocalCAGUID         ib.GUID
	PrivateData         [REPPrivateLen]byte
}

func (m *REP) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 32, &m.LocalQKey)
	number(c, 24, &m.LocalQPN)
	number(c, 8, &m.Reserved15)
	number(c, 24, &m.LocalEECN)
	number(c, 8, &m.Reserved19)
	number(c, 24, &m.StartingPSN)
	number(c, 8, &m.Reserved23)
	number(c, 8, &m.ResponderResources)
	number(c, 8, &m.InitiatorDepth)
	number(c, 5, &m.TargetACKDelay)
	number(c, 2, &m.FailoverAccepted)
	c.flag(&m.EndToEndFlowControl)
	number(c, 3, &m.RNRRetryCount)
	c.flag(&m.SRQ)
	number(c, 4, &m.Reserved27)
	c.bytes(m.LocalCAGUID[:])
	c.bytes(m.PrivateData[:])
}

// RTU says that the connection is ready to use (section 12.6.9).
type RTU struct {
	Header
	LocalCommID  uint32
	RemoteCommID uint32
	PrivateData  [RTUPrivateLen]byte
}

func (m *RTU) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	c.bytes(m.PrivateData[:])
}

// DREQ ends a connection (section 12.6.10).
type DREQ struct {
	Header
	LocalCommID  uint32
	RemoteCommID uint32
	RemoteQPN    ib.QPN // the receiver's
	Reserved11   uint8
	PrivateData  [DREQPrivateLen]byte
}

func (m *DREQ) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	number(c, 24, &m.RemoteQPN)
	number(c, 8, &m.Reserved11)
	c.bytes(m.PrivateData[:])
}

// DREP answers a [DREQ] (section 12.6.11).
type DREP struct {
	Header
	LocalCommID  uint32
	RemoteCommID uint32
	PrivateData  [DREPPrivateLen]byte
}

func (m *DREP) walk(c *cursor) {
	number(c, 32, &m.LocalCommID)
	number(c, 32, &m.RemoteCommID)
	c.bytes(m.PrivateData[:])
}
