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

// QPState is the state of a queue pair (C twin: enum ibv_qp_state).
type QPState uint8

// The states.
const (
	QPStateReset QPState = iota
	QPStateInit
	QPStateRTR // ready to receive
	QPStateRTS // ready to send
	QPStateError
)

var qpStateNames = [...]string{"RESET", "INIT", "RTR", "RTS", "ERR"}

// String returns the name of the specification.
func (s QPState) String() string { return nameOf(qpStateNames[:], int(s), "state") }

// QPMask says which attributes are set.
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

// QPAttributes are what Modify sets. Mask says which count; State always does
// (C twin: struct ibv_qp_attr).
type QPAttributes struct {
	Mask  QPMask  // which of the other fields are set
	State QPState // to move to, or that it is in

	PKeyIndex int    // into the port's table
	Port      int    // of the device, from 1
	Access    Access // what the peer may do
	Path      Path   // RC and UC only
	PathMTU   ib.MTU // bytes of payload in a packet
	DestQPN   ib.QPN // the peer's
	// ReceivePSN is the first PSN of the peer, SendPSN the first of our own.
	ReceivePSN, SendPSN ib.PSN
	// MaxDestReadAtomic bounds what the peer may have outstanding, MaxReadAtomic
	// what we may.
	MaxDestReadAtomic, MaxReadAtomic int
	MinRNRTimer                      uint8 // code of ib.RNRDelay
	Timeout                          uint8 // code of ib.AckTimeout
	RetryCount                       uint8 // 0 to 7
	RNRRetry                         uint8 // 0 to 7; 7 is for ever
	QKey                             uint32
}

// Path is the way to the peer (C twin: struct ibv_ah_attr).
type Path struct {
	SGIDIndex    int    // of the own port's table
	DGID         ib.GID // of the peer
	DLID         ib.LID // of the peer, on InfiniBand
	FlowLabel    uint32 // 20 bits
	HopLimit     uint8  // routers that a packet may pass
	TrafficClass uint8  // DSCP and ECN, on RoCE v2
	ServiceLevel uint8  // 0 to 15
}

// Merge takes over the attributes that b sets.
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
