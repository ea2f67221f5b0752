package connect

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The sizes of the messages in bytes.
const (
	PingSize  = 64      // of a ping, and of the messages about writes
	WriteSize = 8 << 20 // of an RDMA WRITE
)

// The layout of a region: what is sent by a write, what the peer writes, the message to send, and
// the messages that are received.
const (
	sourceAt   = 0
	targetAt   = WriteSize
	sendAt     = 2 * WriteSize
	receiveAt  = sendAt + PingSize
	receives   = 16 // requests that are always posted
	regionSize = receiveAt + receives*PingSize
)

// rig holds the verbs objects of one end of an attempt.
type rig struct {
	pd           *verbs.ProtectionDomain
	sends, recvs *verbs.CompletionQueue
	memory       []byte // of mr
	mr           *verbs.MemoryRegion
	qp           *verbs.QueuePair
	link         *verbs.Connection // of qp, if the communication manager has connected it
	psn          ib.PSN
	port         int

	wcs      [1]verbs.WorkCompletion
	received int           // messages of PingSize
	moved    atomic.Uint64 // completions, for the watchdog
}

// newRig creates everything up to a queue pair in state INIT with its receive requests.
func newRig(d *verbs.Device, port int, cfg Config) (*rig, *Failure) {
	r := &rig{psn: verbs.RandomPSN(), port: port}
	if f := r.create(d, cfg); f != nil {
		_ = r.close() // the failure is more useful
		return nil, f
	}
	return r, nil
}

func (r *rig) create(d *verbs.Device, cfg Config) *Failure {
	var err error
	if r.memory, err = anonmem.Alloc(regionSize); err != nil {
		return failed(CodeMemory, "allocate", "16 MiB", err)
	}
	if r.pd, err = d.AllocatePD(); err != nil {
		return failed(CodeCreate, "allocate", "protection domain", err)
	}
	options := verbs.MemoryOptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}
	if r.mr, err = r.pd.RegisterMemory(r.memory, options); err != nil {
		code := CodeCreate
		if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EPERM) {
			code = CodeMemlock
		}
		return failed(code, "register", "16 MiB of memory", err)
	}
	for _, cq := range []**verbs.CompletionQueue{&r.sends, &r.recvs} {
		if *cq, err = d.CreateCQ(verbs.CQConfig{Depth: 2 * receives, Wait: cfg.Wait}); err != nil {
			return failed(createCode(err), "create", "completion queue", err)
		}
	}
	if r.qp, err = r.pd.CreateQP(verbs.QPConfig{
		SendCQ: r.sends, RecvCQ: r.recvs,
		Capacity: verbs.QPCapacity{MaxSendWR: receives, MaxRecvWR: receives},
	}); err != nil {
		return failed(createCode(err), "create", "queue pair", err)
	}
	if err = r.qp.Modify(verbs.QPAttributes{
		Mask:  provider.QPAttrPKeyIndex | provider.QPAttrPort | provider.QPAttrAccess,
		State: verbs.QPStateInit, Port: r.port, Access: verbs.AccessRemoteWrite,
	}); err != nil {
		return failed(CodeCreate, "initialize", "queue pair", err)
	}
	for i := range receives {
		if cfg.plant.noReceives {
			break
		}
		if err := r.post(i); err != nil {
			return failed(CodeCreate, "post", "receive request", err)
		}
	}
	return nil
}

// createCode is the code for an error of creating a queue: queues are pinned memory, too.
func createCode(err error) Code {
	if errors.Is(err, syscall.ENOMEM) {
		return CodeMemlock
	}
	return CodeCreate
}

// post posts receive request i.
func (r *rig) post(i int) error {
	_, err := r.qp.PostReceive(verbs.ReceiveRequest{
		ID: uint64(i), Segments: []verbs.Segment{r.mr.Segment(receiveAt+i*PingSize, PingSize)},
	})
	return err
}

// Limits of a connection. RNRRetry 7 would repeat forever.
const (
	defaultTimeout = 14 // code: 67 ms
	retryCount     = 7
	rnrRetry       = 6
	rnrTimer       = 26 // code: 82 ms
)

// connect moves the queue pair to RTS. The stage is the one that failed.
func (r *rig) connect(peer *Endpoint, own, remote GIDChoice, mtu ib.MTU, timeout uint8) (Stage, error) {
	err := r.qp.Connect(verbs.ConnectConfig{
		Remote: verbs.Remote{QPN: ib.QPN(peer.QPN), PSN: ib.PSN(peer.PSN), GID: remote.GID, LID: peer.LID}, PSN: r.psn,
		Access: verbs.AccessRemoteWrite, MTU: mtu, Port: r.port, SGIDIndex: own.Index, Timeout: timeout,
		RetryCount: retryCount, RNRRetry: rnrRetry, MinRNRTimer: rnrTimer, ReadAtomic: 1,
	})
	if err != nil && r.qp.State() == verbs.QPStateRTR {
		return StageRTS, err
	}
	return StageRTR, err
}

// patience returns how long no completion may come before an attempt counts as stalled: longer than
// all repetitions of one request, at both ends. Without a timeout a request is never repeated.
func patience(timeout uint8, step time.Duration) time.Duration {
	if timeout == 0 || timeout > maxTimeout { // verbs.TimeoutInfinite

		return step
	}
	const ends = 2
	return step + ends*(retryCount+1)*ib.AckTimeout(timeout)
}

// complete waits for the completion of the only outstanding request of a queue.
func (r *rig) complete(ctx context.Context, cq *verbs.CompletionQueue) (*verbs.WorkCompletion, error) {
	if _, err := cq.Wait(ctx, r.wcs[:]); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	r.moved.Add(1)
	return &r.wcs[0], r.wcs[0].Err()
}

// send sends the message at sendAt.
func (r *rig) send(ctx context.Context) error {
	if _, err := r.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Segments: []verbs.Segment{r.mr.Segment(sendAt, PingSize)},
	}); err != nil {
		return err
	}
	_, err := r.complete(ctx, r.sends)
	return err
}

// receive waits for a message, copies it to m and posts its request again.
func (r *rig) receive(ctx context.Context, m *message) error {
	wc, err := r.complete(ctx, r.recvs)
	if err != nil {
		return err
	}
	i := int(wc.ID)
	if wc.Bytes != PingSize || i >= receives {
		return fmt.Errorf("a message of %d bytes arrived instead of %d", wc.Bytes, PingSize)
	}
	copy(m[:], r.memory[receiveAt+i*PingSize:])
	r.received++
	return r.post(i)
}

// write writes the memory at sourceAt to the peer.
func (r *rig) write(ctx context.Context, peer *Endpoint) error {
	if _, err := r.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, Segments: []verbs.Segment{r.mr.Segment(sourceAt, WriteSize)},
		RemoteAddr: peer.Addr, RKey: peer.RKey,
	}); err != nil {
		return err
	}
	_, err := r.complete(ctx, r.sends)
	return err
}

// close frees everything, the queue pair first. If the region can't be closed, its memory is
// leaked, because the device may still write to it.
func (r *rig) close() error {
	var errs []error
	r.disconnect()
	if r.qp != nil {
		errs = append(errs, r.qp.Close())
	}
	var open error
	if r.mr != nil {
		open = r.mr.Close()
		errs = append(errs, open)
	}
	if r.memory != nil && open == nil {
		errs = append(errs, anonmem.Free(r.memory))
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
