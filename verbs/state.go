package verbs

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ErrTransition is matched by the error of [QueuePair.Modify] if the state can't follow the
// current one, or if attributes are missing or not allowed.
var ErrTransition = provider.ErrTransition

// The states.
const (
	QPStateReset = provider.QPStateReset // as created
	QPStateInit  = provider.QPStateInit  // receive requests may be posted
	QPStateRTR   = provider.QPStateRTR   // ready to receive
	QPStateRTS   = provider.QPStateRTS   // ready to send
	QPStateSQD   = provider.QPStateSQD   // send queue drained
	QPStateSQE   = provider.QPStateSQE   // send queue error: UC and UD
	QPStateError = provider.QPStateError // requests are flushed
)

// Modify moves the queue pair to attr.State with the attributes that attr.Mask ([provider.QPMask])
// names (C twin: ibv_modify_qp). The error names both states and what is missing:
//
//	modify qp 0x0001a2 INIT→RTR: missing path MTU: invalid argument
func (qp *QueuePair) Modify(attr QPAttributes) error {
	return qp.impl.Modify(attr)
}

// Remote is what one end of a connection must know about the other. The two ends exchange it before
// [QueuePair.Connect] by any means: a TCP connection, a file, a job launcher.
type Remote struct {
	QPN ib.QPN // of the queue pair
	PSN ib.PSN // of the first packet that it sends
	GID ib.GID // of its port
	LID ib.LID // InfiniBand only
}

// RandomPSN returns an unpredictable PSN for [ConnectConfig.PSN]: packets with unexpected PSNs are
// dropped.
func RandomPSN() ib.PSN {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: it would end the process
	return ib.PSN(0).Add(int(binary.BigEndian.Uint32(b[:])))
}

// TimeoutInfinite as [ConnectConfig.Timeout] waits for acknowledgements without limit. The
// specification's code for that is 0, which stands for the default there.
const TimeoutInfinite uint8 = 0xff

// RetryNone as [ConnectConfig.RetryCount] or [ConnectConfig.RNRRetry] repeats nothing.
const RetryNone uint8 = 0xff

// The defaults of retry counts and timeouts: those of perftest.
const (
	defaultTimeout = 14
	defaultRetries = 7
	defaultReads   = 16 // outstanding READs and atomics, of each end
)

// orDefault returns value, byDefault for 0, and 0 for TimeoutInfinite and RetryNone, which are
// equal.
func orDefault(value, byDefault uint8) uint8 {
	if value == RetryNone {
		return 0
	}
	return cmp.Or(value, byDefault)
}

// ConnectConfig configures [QueuePair.Connect]. Zero values stand for the defaults of perftest.
type ConnectConfig struct {
	Remote Remote // the other end
	// PSN is the PSN of the first packet that this end sends: a random number, as RandomPSN
	// returns, which the peer needs as Remote.PSN.
	PSN       ib.PSN
	Access    Access // what the peer may do
	MTU       ib.MTU // 0 is 1024
	Port      int    // 0 is 1
	SGIDIndex int
	Timeout   uint8 // code of ib.AckTimeout, 1 to 31, or TimeoutInfinite; 0 is 14, 67 ms
	// RetryCount and RNRRetry, 1 to 7, limit repetitions after a timeout or a missing packet, and
	// after the peer had no receive request, where 7 is unlimited; 0 is 7, RetryNone none.
	RetryCount, RNRRetry uint8
	// MinRNRTimer is the code of ib.RNRDelay that the peer waits for a receive request here; 0 is
	// 12, 640 µs.
	MinRNRTimer uint8
	ReadAtomic  int // outstanding READs and atomics; 0 is 16
	// DestReadAtomic is how many READs and atomics the peer may have outstanding; 0 is
	// ReadAtomic.
	DestReadAtomic int
	TrafficClass   uint8
	HopLimit       uint8 // 0 is 64
	FlowLabel      uint32
	ServiceLevel   uint8 // InfiniBand only
	Global         bool  // InfiniBand only: route by GID, through routers; RoCE always does
	PKeyIndex      int
}

// Connect moves a queue pair from state RESET or INIT to RTS, with one [QueuePair.Modify] for each
// step. If the queue pair is in INIT, Port and Access are set again. A queue pair of type UC
// ignores what is about acknowledgements; for UD there is no peer to connect to: use Modify.
func (qp *QueuePair) Connect(cfg ConnectConfig) error {
	if qp.Type() == QPTypeUD {
		return fmt.Errorf("connect qp %v: type UD has no connection: %w", qp.QPN(), ErrNotSupported)
	}
	reads := cmp.Or(cfg.ReadAtomic, defaultReads)
	attr := QPAttributes{
		PKeyIndex: cfg.PKeyIndex, Port: cmp.Or(cfg.Port, 1), Access: cfg.Access,
		Path: Path{
			SGIDIndex: cfg.SGIDIndex, DGID: cfg.Remote.GID, DLID: cfg.Remote.LID,
			HopLimit: cmp.Or(cfg.HopLimit, 64), TrafficClass: cfg.TrafficClass,
			FlowLabel: cfg.FlowLabel, ServiceLevel: cfg.ServiceLevel, Global: cfg.Global,
		},
		PathMTU: cmp.Or(cfg.MTU, ib.MTU1024), DestQPN: cfg.Remote.QPN, ReceivePSN: cfg.Remote.PSN, SendPSN: cfg.PSN,
		MaxDestReadAtomic: cmp.Or(cfg.DestReadAtomic, reads), MaxReadAtomic: reads,
		MinRNRTimer: cmp.Or(cfg.MinRNRTimer, 12),
		Timeout:     orDefault(cfg.Timeout, defaultTimeout),
		RetryCount:  orDefault(cfg.RetryCount, defaultRetries),
		RNRRetry:    orDefault(cfg.RNRRetry, defaultRetries),
	}
	return provider.Establish(qp.impl, attr)
}
