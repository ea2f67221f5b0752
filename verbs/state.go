package verbs

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ErrTransition is matched by the error of [QueuePair.Modify] if the state can't follow the
// current one, or if attributes are missing or not allowed.
var ErrTransition = errors.New("invalid argument")

// transition lists the attributes that a state transition requires and allows.
type transition struct {
	from, to           QPState
	required, optional provider.QPMask
}

// rcTransitions are the transitions of a reliable connection (specification volume 1,
// table 91; kernel: qp_state_table in drivers/infiniband/core/verbs.c). The transitions to
// RESET and ERR are always allowed.
var rcTransitions = [...]transition{
	{QPStateReset, QPStateInit, provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess, 0},
	{QPStateInit, QPStateInit, 0, provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess},
	{
		QPStateInit, QPStateRTR,
		provider.QPAttrPath | provider.QPAttrPathMTU | provider.QPAttrDestQPN | provider.QPAttrReceivePSN |
			provider.QPAttrMaxDestReadAtomic | provider.QPAttrMinRNRTimer,
		provider.QPAttrAccess | provider.QPAttrPKeyIndex,
	},
	{
		QPStateRTR, QPStateRTS,
		provider.QPAttrSendPSN | provider.QPAttrTimeout | provider.QPAttrRetryCount | provider.QPAttrRNRRetry |
			provider.QPAttrMaxReadAtomic,
		provider.QPAttrAccess | provider.QPAttrMinRNRTimer,
	},
	{QPStateRTS, QPStateRTS, 0, provider.QPAttrAccess | provider.QPAttrMinRNRTimer},
}

// The states.
const (
	QPStateReset = provider.QPStateReset // as created
	QPStateInit  = provider.QPStateInit  // receive requests may be posted
	QPStateRTR   = provider.QPStateRTR   // ready to receive
	QPStateRTS   = provider.QPStateRTS   // ready to send
	QPStateError = provider.QPStateError // requests are flushed
)

// Modify moves the queue pair to attr.State with the attributes that attr.Mask ([provider.QPMask])
// names (C twin: ibv_modify_qp). The error names both states and what is missing:
//
//	modify qp 0x0001a2 INIT→RTR: missing path MTU: invalid argument
func (qp *QueuePair) Modify(attr QPAttributes) error {
	from := qp.State()
	if err := checkTransition(from, attr); err != nil {
		return fmt.Errorf("modify qp %v %v→%v: %w", qp.QPN(), from, attr.State, err)
	}
	return qp.impl.Modify(attr)
}

func checkTransition(from QPState, attr QPAttributes) error {
	if attr.State == QPStateReset || attr.State == QPStateError {
		return nil
	}
	for _, t := range rcTransitions {
		if t.from != from || t.to != attr.State {
			continue
		}
		if missing := t.required &^ attr.Mask; missing != 0 {
			return fmt.Errorf("missing %s: %w", maskNames(missing), ErrTransition)
		}
		if extra := attr.Mask &^ (t.required | t.optional); extra != 0 {
			return fmt.Errorf("%s can't be set here: %w", maskNames(extra), ErrTransition)
		}
		return nil
	}
	return fmt.Errorf("no such transition: %w", ErrTransition)
}

// attributeNames are the names of the attributes, in the order of the bits of QPMask.
var attributeNames = [...]string{
	"partition key index", "port", "access flags", "path", "path MTU", "destination QP number", "receive PSN",
	"destination read and atomic limit", "minimum RNR timer", "send PSN", "timeout", "retry count", "RNR retry count",
	"read and atomic limit", "Q_Key",
}

func maskNames(mask provider.QPMask) string {
	var names []string
	for i, name := range attributeNames {
		if mask&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
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

// ConnectConfig configures [QueuePair.Connect]. Zero values stand for the defaults of perftest and
// rdma_cm.
type ConnectConfig struct {
	Remote Remote // the other end
	// PSN is the PSN of the first packet that this end sends: a random number, as RandomPSN
	// returns, which the peer needs as Remote.PSN.
	PSN        ib.PSN
	Access     Access // what the peer may do
	MTU        ib.MTU // 0 is 1024
	Port       int    // 0 is 1
	SGIDIndex  int
	Timeout    uint8 // code of ib.AckTimeout, 1 to 31, or TimeoutInfinite; 0 is 14, 67 ms
	ReadAtomic int   // outstanding READs and atomics; 0 is 16
	// DestReadAtomic is how many READs and atomics the peer may have outstanding; 0 is
	// ReadAtomic.
	DestReadAtomic int
	TrafficClass   uint8
	HopLimit       uint8 // 0 is 64
}

// Connect moves a queue pair from state RESET or INIT to RTS, with one [QueuePair.Modify] for each
// step. If the queue pair is in INIT, Port and Access are set again.
func (qp *QueuePair) Connect(cfg ConnectConfig) error {
	reads := cmp.Or(cfg.ReadAtomic, 16)
	timeout := cmp.Or(cfg.Timeout, 14)
	if timeout == TimeoutInfinite {
		timeout = 0
	}
	attr := QPAttributes{
		PKeyIndex: 0, Port: cmp.Or(cfg.Port, 1), Access: cfg.Access,
		Path: Path{
			SGIDIndex: cfg.SGIDIndex, DGID: cfg.Remote.GID, DLID: cfg.Remote.LID,
			HopLimit: cmp.Or(cfg.HopLimit, 64), TrafficClass: cfg.TrafficClass,
		},
		PathMTU: cmp.Or(cfg.MTU, ib.MTU1024), DestQPN: cfg.Remote.QPN, ReceivePSN: cfg.Remote.PSN, SendPSN: cfg.PSN,
		MaxDestReadAtomic: cmp.Or(cfg.DestReadAtomic, reads), MaxReadAtomic: reads,
		MinRNRTimer: 12, Timeout: timeout, RetryCount: 7, RNRRetry: 7,
	}
	for _, t := range rcTransitions {
		if t.from == t.to {
			continue
		}
		attr.State, attr.Mask = t.to, t.required
		if err := qp.Modify(attr); err != nil {
			return err
		}
	}
	return nil
}
