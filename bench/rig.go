package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// rig holds the verbs objects of a test.
type rig struct {
	cfg    Config
	device *verbs.Device
	iwarp  bool // isIWARP(device)
	port   local
	mtu    ib.MTU
	cycle  int // bytes that small messages cycle through
	line   int // stride of that cycle
	slot   int // bytes

	pd     *verbs.ProtectionDomain
	sends  *verbs.CompletionQueue
	recvs  *verbs.CompletionQueue
	memory memory // memory of mrs
	mrs    []*verbs.MemoryRegion
	qps    []*verbs.QueuePair
	paths  []*verbs.AddressHandle // UD only, per queue pair
	to     []*verbs.Datagram      // UD only, per queue pair
	inline int                    // messages up to this size are posted inline
	own    []perftest.Destination
	peers  []perftest.Destination
	posted []int // receive requests posted per queue pair
	wcs    []verbs.WorkCompletion
	meter  cpuMeter
	moved  atomic.Uint64       // polls that returned completions, for watchdog
	links  []*verbs.Connection // of qps that rdma_cm has connected
	// credits are those of a SEND bandwidth test on iWARP, otherwise nil.
	credits *credits
	// orderly is set before close if the test has succeeded.
	orderly bool
}

// cacheLine is the stride that this end proposes, in bytes.
const cacheLine = 64

func hello(mtu ib.MTU) perftest.Hello {
	return perftest.Hello{CycleBuffer: os.Getpagesize(), CacheLine: cacheLine, MTU: mtu}
}

// newRig creates everything up to queue pairs in state INIT.
func newRig(device *verbs.Device, cfg Config, port local, agreed perftest.Agreed) (*rig, error) {
	r := &rig{
		cfg: cfg, device: device, iwarp: isIWARP(device), port: port, mtu: agreed.MTU,
		cycle: agreed.CycleBuffer, line: agreed.CacheLine,
		slot: max(cfg.Size, agreed.CycleBuffer), posted: make([]int, cfg.QueuePairs),
		wcs: make([]verbs.WorkCompletion, pollBatch),
	}
	if cfg.QPType == verbs.QPTypeUD {
		r.slot += headroom
	}
	if err := r.allocate(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// pollBatch is the largest number of completions of one poll.
const pollBatch = 16

func (r *rig) allocate() (err error) {
	cfg := &r.cfg
	if r.pd, err = r.device.AllocatePD(); err != nil {
		return err
	}
	sends := verbs.CQConfig{Depth: cfg.QueuePairs * cfg.TxDepth, Wait: cfg.Wait}
	if r.sends, err = r.device.CreateCQ(sends); err != nil {
		return err
	}
	wait := cfg.Wait
	if cfg.Test.Op() != verbs.SendOpSend {
		wait = verbs.WaitEvent // guard waits for a completion that should never come
	}
	if r.recvs, err = r.device.CreateCQ(verbs.CQConfig{Depth: cfg.QueuePairs * cfg.RxDepth, Wait: wait}); err != nil {
		return err
	}
	if err := r.register(); err != nil {
		return err
	}
	if r.iwarp && cfg.Test == SendBW {
		if err := r.createCredits(); err != nil {
			return err
		}
	}
	if r.inline, err = inlineSize(r.device, r.pd, cfg, r.sends, r.recvs); err != nil {
		return err
	}
	for i := range cfg.QueuePairs {
		if err := r.addQP(i); err != nil {
			return err
		}
		if cfg.Test.Op() != verbs.SendOpSend { // for guard
			if _, err := r.qps[i].PostReceive(verbs.ReceiveRequest{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addQP creates queue pair i.
func (r *rig) addQP(i int) error {
	qp, err := r.pd.CreateQP(
		verbs.QPConfig{
			Type: r.cfg.QPType, SendCQ: r.sends, RecvCQ: r.recvs,
			Capacity: r.cfg.capacity(r.inline),
		})
	if err != nil {
		return err
	}
	r.inline = min(r.inline, qp.Capacity().MaxInline)
	r.qps = append(r.qps, qp)
	mr, at := r.region(i), r.target(i)
	if r.credits != nil {
		mr, at = r.credits.mr, r.credits.target(i)
	}
	d := perftest.Destination{
		LID: r.port.LID, OutReads: r.outReads(), QPN: qp.QPN(), PSN: verbs.RandomPSN(),
		RKey: mr.RKey(), VAddr: mr.Addr() + uint64(at), GID: r.port.gid,
	}
	r.own = append(r.own, d)
	return qp.Modify(initAttributes(r.cfg.QPType, r.cfg.Port, r.access(), r.cfg.qKey()))
}

// initAttributes are those of a queue pair that goes from RESET to INIT.
func initAttributes(t verbs.QPType, port int, access verbs.Access, key uint32) verbs.QPAttributes {
	attr := verbs.QPAttributes{State: verbs.QPStateInit, Port: port, Access: access, QKey: key}
	attr.Mask, _, _ = provider.TransitionAttributes(t, verbs.QPStateReset, attr.State)
	return attr
}

// access returns exactly the access rights that the peer of a test needs, so that requests of a
// peer that runs another test fail.
func (r *rig) access() verbs.Access {
	switch op := r.cfg.Test.Op(); {
	case op == verbs.SendOpWrite, r.credits != nil:
		return verbs.AccessRemoteWrite
	case op == verbs.SendOpRead:
		return verbs.AccessRemoteRead
	}
	return 0
}

// memoryAccess returns the access rights to the slots. On iWARP, the data of a READ comes back as
// that of a WRITE does, and needs the right to it (RFC 5040, section 5.4).
func (r *rig) memoryAccess() verbs.Access {
	switch op := r.cfg.Test.Op(); {
	case op == verbs.SendOpWrite:
		return verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	case op == verbs.SendOpRead && r.iwarp && r.cfg.Role == perftest.RoleClient:
		return verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite
	case op == verbs.SendOpRead:
		return verbs.AccessLocalWrite | verbs.AccessRemoteRead
	}
	return verbs.AccessLocalWrite
}

// outReads is how many outstanding READs this end accepts; perftest announces 1 if the test has
// none.
func (r *rig) outReads() uint16 {
	if r.cfg.Test.Op() != verbs.SendOpRead {
		return 1
	}
	limit := int(r.device.Attributes().MaxQPReadAtomic)
	if n := r.cfg.OutstandingReads; n > 0 {
		limit = min(limit, n)
	}
	return uint16(max(1, min(limit, 1<<16-1)))
}

// walk returns the offset of message n in its slot: small messages cycle through the buffer in
// whole cache lines.
func (r *rig) walk(n uint64, size int) int {
	if size > r.cycle/2 {
		return 0
	}
	stride := (size + r.line - 1) / r.line * r.line
	if stride > r.cycle {
		return 0
	}
	return int(n%uint64(r.cycle/stride)) * stride
}

// connect moves the queue pairs from INIT to RTS.
func (r *rig) connect() error {
	for i, qp := range r.qps {
		own, peer := r.own[i], r.peers[i]
		if r.cfg.QPType == verbs.QPTypeUD {
			if err := r.address(qp, &own, &peer); err != nil {
				return err
			}
			continue
		}
		err := qp.Connect(verbs.ConnectConfig{
			Remote: verbs.Remote{QPN: peer.QPN, PSN: peer.PSN, GID: peer.GID, LID: peer.LID}, PSN: own.PSN,
			Access: r.access(), MTU: r.mtu, Port: r.cfg.Port, SGIDIndex: max(0, r.cfg.GIDIndex),
			Global: r.cfg.GIDIndex != NoGID, ServiceLevel: r.cfg.ServiceLevel, HopLimit: 255, Timeout: r.cfg.Timeout,
			ReadAtomic:     max(1, min(int(peer.OutReads), int(own.OutReads))),
			DestReadAtomic: int(own.OutReads),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// qKey is the Q_Key of perftest's queue pairs of type UD.
const qKey = 0x11111111

// address moves a queue pair of type UD from INIT to RTS, and prepares the path to the peer.
func (r *rig) address(qp *verbs.QueuePair, own, peer *perftest.Destination) error {
	for _, to := range []verbs.QPState{verbs.QPStateRTR, verbs.QPStateRTS} {
		attr := verbs.QPAttributes{State: to, SendPSN: own.PSN}
		attr.Mask, _, _ = provider.TransitionAttributes(verbs.QPTypeUD, to-1, to)
		if err := qp.Modify(attr); err != nil {
			return err
		}
	}
	path, err := r.pd.CreateAddressHandle(r.cfg.Port, verbs.Path{
		SGIDIndex: max(0, r.cfg.GIDIndex), DGID: peer.GID, DLID: peer.LID, Global: r.cfg.GIDIndex != NoGID,
		HopLimit: 255, ServiceLevel: r.cfg.ServiceLevel,
	})
	if err != nil {
		return err
	}
	r.paths, r.to = append(r.paths, path), append(r.to, path.To(peer.QPN, qKey))
	return nil
}

// poll waits for completions and returns them; they are valid until the next poll.
func (r *rig) poll(ctx context.Context, cq *verbs.CompletionQueue) ([]verbs.WorkCompletion, error) {
	n, err := cq.Wait(ctx, r.wcs)
	if err != nil {
		return nil, err
	}
	return r.succeeded(cq, n)
}

// pollOnce returns the available completions, or the error of the first that failed.
func (r *rig) pollOnce(cq *verbs.CompletionQueue) ([]verbs.WorkCompletion, error) {
	n, err := cq.Poll(r.wcs)
	if err != nil {
		return nil, err
	}
	return r.succeeded(cq, n)
}

// succeeded returns the first n completions of r.wcs, or the error of the first that failed.
func (r *rig) succeeded(cq *verbs.CompletionQueue, n int) ([]verbs.WorkCompletion, error) {
	if n > 0 {
		r.moved.Add(1)
	}
	for i := range n {
		if err := r.wcs[i].Err(); err != nil {
			// A request of the peer was rejected; on iWARP, the peer may also have disconnected.
			if cq == r.recvs && r.wcs[i].Status == verbs.WCFlushed && !r.iwarp {
				err = fmt.Errorf("%w: %w", err, ErrOtherTest)
			}
			return nil, err
		}
	}
	return r.wcs[:n], nil
}

// receive posts n receive requests for messages of size to queue pair i.
func (r *rig) receive(i, n, size int) error {
	wrs := make([]verbs.ReceiveRequest, n)
	for k := range wrs {
		wrs[k] = verbs.ReceiveRequest{ID: uint64(i), Segments: []verbs.Segment{r.received(i, size)}}
	}
	_, err := r.qps[i].PostReceive(wrs...)
	return err
}

// direct completes a request to the peer of queue pair i: where it goes, at an offset of the peer's
// slot, and whether its message is copied.
func (r *rig) direct(i, at int, wr *verbs.SendRequest) {
	switch {
	case wr.Op != verbs.SendOpSend:
		wr.RemoteAddr, wr.RKey = r.peers[i].VAddr+uint64(at), r.peers[i].RKey
	case r.to != nil:
		wr.To = r.to[i]
	}
	if wr.Op != verbs.SendOpRead && wr.Segments[0].Length <= r.inline {
		wr.Flags |= verbs.SendInline
	}
}

// close frees everything, queue pairs first, which ends outstanding requests.
func (r *rig) close() error {
	var errs []error
	r.disconnect()
	for _, qp := range r.qps {
		errs = append(errs, qp.Close())
	}
	for _, path := range r.paths {
		errs = append(errs, path.Close())
	}
	errs = append(errs, r.release())
	if r.credits != nil {
		errs = append(errs, r.credits.close())
	}
	for _, cq := range []*verbs.CompletionQueue{r.sends, r.recvs} {
		if cq != nil {
			errs = append(errs, cq.Close())
		}
	}
	if r.pd != nil {
		errs = append(errs, r.pd.Close())
	}
	return errors.Join(errs...)
}
