package ibverbs

import (
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// standardAttributes are the bits of attributes that ibv_modify_qp knows: rdma_init_qp_attr also
// returns bits of the kernel (IB_QP_SMAC, IB_QP_VID).
const standardAttributes = 1<<21 - 1

// minRNRTimer is the code of ib.RNRDelay that connections have, as perftest's: 0.64 ms. The
// kernel's own is 0, which is the longest one, 655 ms.
const minRNRTimer = 12

// prepare takes a queue pair to a state, through those before it; one of type UD always to RTS.
func (a *attempt) prepare(to provider.QPState) error {
	if a.x.datagrams() {
		return a.prepareDatagrams()
	}
	if err := a.advance(provider.QPStateInit); err != nil || to == provider.QPStateInit {
		return err
	}
	return a.advance(to)
}

// attributes asks the communication manager for what a change to a state sets.
func (a *attempt) attributes(state provider.QPState) (*cQPAttr, uintptr, error) {
	c := &cQPAttr{QPState: uint32(state)}
	mask, errno := callInitQPAttr(a.x.d.cm.initQPAttr, a.x.addr, c)
	if errno != 0 {
		return nil, 0, a.x.d.failedCM(fmt.Sprintf("%s: attributes of %s for %v", a.op, a.qp.what, state), errno)
	}
	c.QPState = uint32(state)
	return c, uintptr(mask) & standardAttributes, nil
}

// advance changes the state of a connected queue pair. The communication manager knows nearly
// everything that this sets; what it doesn't is taken from the options. It leaves a state to the
// device by returning no attributes, as for RTS on iWARP.
func (a *attempt) advance(state provider.QPState) error {
	c, mask, err := a.attributes(state)
	if err != nil || mask == 0 {
		return err
	}
	o := a.options
	c.QPAccessFlags = uint32(o.Access.Required())
	if mask&maskAV != 0 && o.TrafficClass != 0 {
		c.AHAttr.TrafficClass = o.TrafficClass
	}
	if mask&maskMaxDestRDAtomic != 0 {
		c.MaxDestRDAtomic = uint8(min(int(c.MaxDestRDAtomic), o.DestReadAtomic))
	}
	if mask&maskMaxQPRDAtomic != 0 {
		c.MaxRDAtomic = uint8(min(int(c.MaxRDAtomic), o.ReadAtomic))
	}
	if mask&maskTimeout != 0 {
		c.Timeout = o.Timeout
	}
	if mask&maskMinRNRTimer != 0 {
		c.MinRNRTimer = minRNRTimer
	}
	return a.qp.set(c, mask)
}

// prepareDatagrams takes a queue pair of type UD to RTS, from whatever state.
func (a *attempt) prepareDatagrams() error {
	qp := a.qp
	if s := qp.State(); s == provider.QPStateReset || s == provider.QPStateInit {
		c, mask, err := a.attributes(provider.QPStateInit)
		if err != nil {
			return err
		}
		c.QKey, mask = provider.QKeyDatagrams, mask|maskQKey
		if err := qp.set(c, mask); err != nil {
			return err
		}
		if err := qp.Modify(provider.QPAttributes{State: provider.QPStateRTR}); err != nil {
			return err
		}
	}
	switch qp.State() {
	case provider.QPStateRTR:
		return qp.Modify(provider.QPAttributes{State: provider.QPStateRTS, Mask: provider.QPAttrSendPSN})
	case provider.QPStateSQD, provider.QPStateSQE:
		return qp.Modify(provider.QPAttributes{State: provider.QPStateRTS})
	}
	return nil
}

// attributeBits pairs the bits of provider.QPMask with those of C.
var attributeBits = [...]struct {
	bit provider.QPMask
	c   uintptr
}{
	{provider.QPAttrPKeyIndex, maskPKeyIndex},
	{provider.QPAttrPort, maskPort},
	{provider.QPAttrAccess, maskAccess},
	{provider.QPAttrPath, maskAV},
	{provider.QPAttrPathMTU, maskPathMTU},
	{provider.QPAttrDestQPN, maskDestQPN},
	{provider.QPAttrReceivePSN, maskRQPSN},
	{provider.QPAttrMaxDestReadAtomic, maskMaxDestRDAtomic},
	{provider.QPAttrMinRNRTimer, maskMinRNRTimer},
	{provider.QPAttrSendPSN, maskSQPSN},
	{provider.QPAttrTimeout, maskTimeout},
	{provider.QPAttrRetryCount, maskRetryCnt},
	{provider.QPAttrRNRRetry, maskRNRRetry},
	{provider.QPAttrMaxReadAtomic, maskMaxQPRDAtomic},
	{provider.QPAttrQKey, maskQKey},
}

// set modifies a queue pair with attributes of the communication manager.
func (qp *queuePair) set(c *cQPAttr, mask uintptr) error {
	qp.mu.Lock()
	defer qp.mu.Unlock()
	from, to := qp.State(), provider.QPState(c.QPState)
	if qp.closed.Load() {
		return fmt.Errorf("modify %s: %w", qp.what, provider.ErrClosed)
	}
	ret, errno := callWith(qp.d.calls.modifyQP, qp.addr, c, mask)
	if errno = errnoOf(ret, errno); errno != 0 {
		return fmt.Errorf("modify %s %v→%v: %w", qp.what, from, to, qp.d.failed("modify qp", errno, 0))
	}
	var set provider.QPMask
	for _, b := range attributeBits {
		if mask&b.c != 0 {
			set |= b.bit
		}
	}
	qp.state.Store(uint32(to))
	qp.attr.Merge(queried(c, set))
	return nil
}

// become notes a state to which the device has moved the queue pair by itself.
func (qp *queuePair) become(state provider.QPState) { qp.state.Store(uint32(state)) }

// fail moves the queue pair to ERR, if it isn't there.
func (qp *queuePair) fail() {
	// The connection has ended, whatever the device says: it may already be gone.
	_ = qp.Modify(provider.QPAttributes{State: provider.QPStateError})
}
