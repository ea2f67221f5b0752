package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// end is one end of the connection with all its objects.
type end struct {
	device *verbs.Device
	pd     *verbs.ProtectionDomain
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion // set by register: outgoing message, then incoming message
	hello  hello

	completed [2]bool        // by the ID of the request
	closers   []func() error // in the order of creation
}

// open creates everything but the memory region, whose size the client chooses.
func open(ctx context.Context, name string, wait verbs.WaitMode) (*end, error) {
	e := &end{}
	if err := e.open(ctx, name, wait); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *end) open(ctx context.Context, name string, wait verbs.WaitMode) (err error) {
	if e.device, err = verbs.Open(ctx, name, builtin.All()...); err != nil {
		return err
	}
	e.closers = append(e.closers, e.device.Close)
	if e.pd, err = e.device.AllocatePD(); err != nil {
		return err
	}
	e.closers = append(e.closers, e.pd.Close)
	if e.cq, err = e.device.CreateCQ(verbs.CQConfig{Depth: 16, Wait: wait}); err != nil {
		return err
	}
	e.closers = append(e.closers, e.cq.Close)
	if e.qp, err = e.pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq}); err != nil {
		return err
	}
	e.closers = append(e.closers, e.qp.Close)
	port, err := e.device.Port(ctx, 1)
	if err != nil {
		return err
	}
	gid, err := e.device.GID(ctx, 1, 0)
	if err != nil {
		return err
	}
	e.hello = hello{
		Remote: verbs.Remote{QPN: e.qp.QPN(), PSN: verbs.RandomPSN(), GID: gid, LID: port.LID},
		MTU:    port.ActiveMTU,
	}
	return nil
}

// register registers memory for one outgoing and one incoming message.
func (e *end) register(size int) (err error) {
	local := verbs.MemoryOptions{Access: verbs.AccessLocalWrite}
	if e.mr, err = e.pd.RegisterMemory(make([]byte, 2*size), local); err != nil {
		return err
	}
	e.closers = append(e.closers, e.mr.Close)
	return nil
}

// connect moves the queue pair to RTS. The path MTU is the smaller one of the two ports.
func (e *end) connect(peer hello) error {
	return e.qp.Connect(verbs.ConnectConfig{
		Remote: peer.Remote, PSN: e.hello.Remote.PSN, MTU: min(e.hello.MTU, peer.MTU),
	})
}

// close closes all objects in the reverse order of creation: objects in use can't be closed.
func (e *end) close() error {
	var errs []error
	for _, c := range slices.Backward(e.closers) {
		errs = append(errs, c())
	}
	e.closers = nil
	return errors.Join(errs...)
}

// await waits until all requests with the given IDs have completed. It returns an error if any
// request fails, because that ends the connection.
func (e *end) await(ctx context.Context, size int, ids ...uint64) error {
	var wcs [4]verbs.WorkCompletion
	for _, id := range ids {
		for !e.completed[id] {
			n, err := e.cq.Wait(ctx, wcs[:])
			if err != nil {
				return cause(ctx, err)
			}
			for _, wc := range wcs[:n] {
				if err := wc.Err(); err != nil {
					return err
				}
				if wc.ID == idReceive && int(wc.Bytes) != size {
					return fmt.Errorf("message of %d bytes, not %d", wc.Bytes, size)
				}
				e.completed[wc.ID] = true // possibly for a later call
			}
		}
		e.completed[id] = false
	}
	return nil
}
