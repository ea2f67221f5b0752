package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Errors of a card.
var (
	errNoGID    = errors.New("the port has no usable GID")
	errPortDown = errors.New("the port is not active")
)

// edge is this node's end of a connection, with a queue pair for each flow.
type edge struct {
	spec protocol.Edge
	w    *Worker

	pd     *verbs.ProtectionDomain
	sends  *verbs.CompletionQueue
	recvs  *verbs.CompletionQueue
	memory []byte
	mr     *verbs.MemoryRegion
	qps    []*verbs.QueuePair
	own    []protocol.Endpoint
	peers  []protocol.Endpoint
	wcs    [16]verbs.WorkCompletion
	// Room for one completion of each queue: an all-reduce waits for both at the same time.
	sent, received [1]verbs.WorkCompletion

	failure   *result.Failure
	connected bool
}

// pingSize is the size of the messages of round trips, in bytes.
const pingSize = 64

// maxBuffer limits the memory of an edge in bytes, of all its slots.
const maxBuffer = 64 << 20

// layout returns the size of a slot in bytes and the number of slots of an edge's memory: source
// and target of WRITEs, or a message to send and one for each posted receive request.
func (e *edge) layout() (slot, slots int) {
	switch e.spec.Role {
	case protocol.RoleAsk, protocol.RoleAnswer:
		slot = pingSize
	case protocol.RoleCollective:
		slot = int(e.spec.Bytes)
	default:
		return e.w.room, 2
	}
	return slot, 1 + e.receives()
}

// mostReceives is the number of receive requests that an edge with messages keeps posted, if they
// are small.
const mostReceives = 8

// receives returns the number of receive requests that an edge keeps posted, with the messages of a
// collective as many as [maxBuffer] has room for. One is enough for any collective: an edge of a
// tree carries one message each way, and a step of a ring whose peer isn't ready is repeated. More
// keep a ring from waiting for these repetitions.
func (e *edge) receives() int {
	switch e.spec.Role {
	case protocol.RoleAsk, protocol.RoleAnswer:
		return mostReceives
	case protocol.RoleCollective:
		return max(1, min(mostReceives, maxBuffer/max(1, int(e.spec.Bytes))-1))
	}
	return 0
}

// cappedDepth is the number of outstanding WRITEs of a pair of cards whose rate is limited: what
// they send at once is the burst that others feel.
const cappedDepth = 8

// perFlow is the number of outstanding WRITEs of a flow.
func (e *edge) perFlow() int {
	depth := e.w.cfg.Depth
	if e.spec.Cap > 0 {
		depth = min(depth, cappedDepth)
	}
	return max(1, depth/e.spec.Flows)
}

// open creates everything up to queue pairs in state INIT.
func (e *edge) open(ctx context.Context) error {
	card, d := e.w.cards[e.spec.Rail], e.w.devices[e.spec.Rail]
	switch {
	case card == nil:
		return fmt.Errorf("this node has no card of rail %d", e.spec.Rail)
	case d == nil:
		return fmt.Errorf("%s is not open", card.Name)
	case e.spec.Flows < 1 || e.spec.Flows > protocol.MaxFlows:
		return fmt.Errorf("%d flows: not 1 to %d", e.spec.Flows, protocol.MaxFlows)
	}
	slot, slots := e.layout()
	if slot < 4 || slot > maxBuffer/slots {
		return fmt.Errorf("messages of %d bytes: not 4 to %d", slot, maxBuffer/slots)
	}
	at, err := e.address(ctx, d, card)
	if err != nil {
		return err
	}
	if err := e.create(d, slot*slots); err != nil {
		return err
	}
	for range e.spec.Flows {
		qp, err := e.pd.CreateQP(verbs.QPConfig{
			SendCQ: e.sends, RecvCQ: e.recvs,
			Capacity: verbs.QPCapacity{MaxSendWR: e.perFlow(), MaxRecvWR: max(1, e.receives())},
		})
		if err != nil {
			return err
		}
		e.qps = append(e.qps, qp)
		if err := qp.Modify(verbs.QPAttributes{
			Mask:  provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
			State: verbs.QPStateInit, Port: card.Port, Access: verbs.AccessRemoteWrite,
		}); err != nil {
			return err
		}
		at.QPN, at.PSN = uint32(qp.QPN()), uint32(verbs.RandomPSN())
		at.RKey, at.Addr = e.mr.RKey(), e.mr.Addr()+uint64(slot) // the second slot
		e.own = append(e.own, at)
	}
	return e.postReceives()
}

// address returns the LID, GID and MTU of the port, for peers.
func (e *edge) address(ctx context.Context, d *verbs.Device, card *Card) (protocol.Endpoint, error) {
	port, err := d.Port(ctx, card.Port)
	if err != nil {
		return protocol.Endpoint{}, err
	}
	if port.State != provider.PortStateActive {
		return protocol.Endpoint{}, fmt.Errorf("%s: %w: %v", card.Name, errPortDown, port.State)
	}
	at := protocol.Endpoint{LID: uint16(port.LID), MTU: int(port.ActiveMTU)}
	if card.GIDIndex == LocalOnly {
		return at, nil
	}
	gid, err := d.GID(ctx, card.Port, card.GIDIndex)
	if err != nil {
		return at, fmt.Errorf("%s: %w: %w", card.Name, errNoGID, err)
	}
	if gid.IsZero() {
		return at, fmt.Errorf("%s: %w at index %d", card.Name, errNoGID, card.GIDIndex)
	}
	at.GID = gid.String()
	return at, nil
}

// create creates the objects that the flows share.
func (e *edge) create(d *verbs.Device, size int) (err error) {
	if e.memory, err = anonmem.Alloc(size); err != nil {
		return fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	if e.pd, err = d.AllocatePD(); err != nil {
		return err
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}
	if e.mr, err = e.pd.RegisterMemory(e.memory, options); err != nil {
		return err
	}
	depth := e.spec.Flows * max(e.perFlow(), e.receives())
	for _, cq := range []**verbs.CompletionQueue{&e.sends, &e.recvs} {
		if *cq, err = d.CreateCQ(verbs.CQConfig{Depth: depth, Wait: e.w.cfg.Wait}); err != nil {
			return err
		}
	}
	return nil
}

// postReceives posts the receive requests of edges with messages.
func (e *edge) postReceives() error {
	for i := range e.receives() {
		if err := e.postReceive(i); err != nil {
			return err
		}
	}
	return nil
}

func (e *edge) postReceive(i int) error {
	slot, _ := e.layout()
	_, err := e.qps[0].PostReceive(verbs.ReceiveRequest{
		ID: uint64(i), Segments: []verbs.Segment{e.mr.Segment((1+i)*slot, slot)},
	})
	return err
}

// The retries of a connection: a lost packet is repeated, and a peer that isn't ready yet is asked
// again for a while.
const (
	retryCount = 7
	rnrRetry   = 7  // unlimited: the time of the run limits it
	rnrTimer   = 20 // code: 10 ms
)

// connect moves the queue pairs to RTS.
func (e *edge) connect(peers []protocol.Endpoint) error {
	if len(peers) != len(e.qps) {
		return fmt.Errorf("the peer has %d flows instead of %d", len(peers), len(e.qps))
	}
	card := e.w.cards[e.spec.Rail]
	e.peers = peers
	for i, p := range peers {
		var gid ib.GID
		if p.GID != "" {
			var err error
			if gid, err = ib.ParseGID(p.GID); err != nil {
				return fmt.Errorf("GID of the peer: %w", err)
			}
		}
		mtu := ib.MTUFit(min(p.MTU, e.own[i].MTU))
		if e.w.cfg.MTU != 0 {
			mtu = min(mtu, e.w.cfg.MTU)
		}
		err := e.qps[i].Connect(verbs.ConnectConfig{
			Remote: verbs.Remote{QPN: ib.QPN(p.QPN), PSN: ib.PSN(p.PSN), GID: gid, LID: ib.LID(p.LID)},
			PSN:    ib.PSN(e.own[i].PSN), Access: verbs.AccessRemoteWrite, MTU: mtu, Port: card.Port,
			SGIDIndex: max(0, card.GIDIndex), Global: card.GIDIndex != LocalOnly, Timeout: e.w.cfg.Timeout,
			RetryCount: retryCount, RNRRetry: rnrRetry, MinRNRTimer: rnrTimer, ReadAtomic: 1,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run measures according to the role of the edge.
func (e *edge) run(ctx context.Context, length time.Duration) protocol.EdgeReply {
	r := protocol.EdgeReply{ID: e.spec.ID}
	var err error
	switch e.spec.Role {
	case protocol.RoleSend, protocol.RoleBoth:
		err = e.write(ctx, length, &r)
	case protocol.RoleAsk:
		err = e.ask(ctx, length, &r)
	case protocol.RoleAnswer:
		err = e.answer(ctx)
	case protocol.RoleTarget:
	default:
		err = fmt.Errorf("unknown role %q", e.spec.Role)
	}
	if err != nil {
		r.Failure = failed(ctx, result.StepData, err)
	}
	return r
}

// close frees everything, queue pairs first, which ends outstanding requests.
func (e *edge) close() error {
	var errs []error
	for _, qp := range e.qps {
		errs = append(errs, qp.Close())
	}
	if e.mr != nil {
		errs = append(errs, e.mr.Close())
	}
	for _, cq := range []*verbs.CompletionQueue{e.sends, e.recvs} {
		if cq != nil {
			errs = append(errs, cq.Close())
		}
	}
	if e.pd != nil {
		errs = append(errs, e.pd.Close())
	}
	if e.memory != nil {
		errs = append(errs, anonmem.Free(e.memory))
	}
	return errors.Join(errs...)
}
