package provider

import "github.com/rdmakit/rdmakit/wire/ib"

// QPType is the transport service (C twin: enum ibv_qp_type).
type QPType uint8

// The services.
const (
	QPTypeRC QPType = iota
	QPTypeUC
	QPTypeUD
)

var qpTypeNames = [...]string{"RC", "UC", "UD"}

// String returns RC, UC or UD.
func (t QPType) String() string { return nameOf(qpTypeNames[:], int(t), "type") }

// QPState is the state of a queue pair (C twin: enum ibv_qp_state, with the same numbers).
type QPState uint8

// The states.
const (
	QPStateReset QPState = iota
	QPStateInit
	QPStateRTR // ready to receive
	QPStateRTS // ready to send
	QPStateSQD // send queue drained: attributes of the path may be changed
	QPStateSQE // send queue error, after a failed request of UC or UD
	QPStateError
)

var qpStateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

// String returns the name in the specification.
func (s QPState) String() string { return nameOf(qpStateNames[:], int(s), "state") }

// QPMask is the set of attributes that are set.
type QPMask uint32

// The attributes, in the order of the specification's tables.
const (
	QPAttrPKeyIndex QPMask = 1 << iota
	QPAttrPort
	QPAttrAccess
	QPAttrPath
	QPAttrPathMTU
	QPAttrDestQPN
	QPAttrReceivePSN
	QPAttrMaxDestReadAtomic
	QPAttrMinRNRTimer
	QPAttrSendPSN
	QPAttrTimeout
	QPAttrRetryCount
	QPAttrRNRRetry
	QPAttrMaxReadAtomic
	QPAttrQKey
)

// QPAttributes are the attributes that Modify sets: State and the fields that Mask names (C twin:
// struct ibv_qp_attr).
type QPAttributes struct {
	Mask  QPMask  // which of the other fields are set
	State QPState // new state, or the current one

	PKeyIndex int    // into the port's table
	Port      int    // of the device, counted from 1
	Access    Access // what the peer may do
	Path      Path   // RC and UC only
	PathMTU   ib.MTU // bytes of payload in a packet
	DestQPN   ib.QPN // the peer's queue pair number
	// ReceivePSN is the PSN of the first packet from the peer, SendPSN of the first one to it.
	ReceivePSN, SendPSN ib.PSN
	// MaxDestReadAtomic is the maximum number of outstanding READs and atomics of the peer,
	// MaxReadAtomic of this queue pair.
	MaxDestReadAtomic, MaxReadAtomic int
	MinRNRTimer                      uint8 // code of ib.RNRDelay
	Timeout                          uint8 // code of ib.AckTimeout
	RetryCount                       uint8 // 0 to 7
	RNRRetry                         uint8 // 0 to 7; 7 means unlimited
	QKey                             uint32
}

// Path is the path to the peer (C twin: struct ibv_ah_attr).
type Path struct {
	SGIDIndex    int    // into the local port's GID table
	DGID         ib.GID // of the peer
	DLID         ib.LID // of the peer, on InfiniBand
	Global       bool   // packets have a Global Route Header; on Ethernet they always have one
	PathBits     uint8  // low bits of the source LID
	StaticRate   uint8  // limit, code of enum ibv_rate; 0 is none
	FlowLabel    uint32 // 20 bits
	HopLimit     uint8  // maximum number of routers on the path
	TrafficClass uint8  // DSCP and ECN, on RoCE v2
	ServiceLevel uint8  // 0 to 15
}

// Merge copies the attributes that are set in b into a.
func (a *QPAttributes) Merge(b QPAttributes) {
	set := func(bit QPMask, take func()) {
		if b.Mask&bit != 0 {
			take()
		}
	}
	set(QPAttrPKeyIndex, func() { a.PKeyIndex = b.PKeyIndex })
	set(QPAttrPort, func() { a.Port = b.Port })
	set(QPAttrAccess, func() { a.Access = b.Access })
	set(QPAttrPath, func() { a.Path = b.Path })
	set(QPAttrPathMTU, func() { a.PathMTU = b.PathMTU })
	set(QPAttrDestQPN, func() { a.DestQPN = b.DestQPN })
	set(QPAttrReceivePSN, func() { a.ReceivePSN = b.ReceivePSN })
	set(QPAttrMaxDestReadAtomic, func() { a.MaxDestReadAtomic = b.MaxDestReadAtomic })
	set(QPAttrMinRNRTimer, func() { a.MinRNRTimer = b.MinRNRTimer })
	set(QPAttrSendPSN, func() { a.SendPSN = b.SendPSN })
	set(QPAttrTimeout, func() { a.Timeout = b.Timeout })
	set(QPAttrRetryCount, func() { a.RetryCount = b.RetryCount })
	set(QPAttrRNRRetry, func() { a.RNRRetry = b.RNRRetry })
	set(QPAttrMaxReadAtomic, func() { a.MaxReadAtomic = b.MaxReadAtomic })
	set(QPAttrQKey, func() { a.QKey = b.QKey })
	a.Mask |= b.Mask
	a.State = b.State
}
