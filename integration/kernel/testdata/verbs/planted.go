package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// planted is a case with a fault, or with a network that has one: requests from one device to
// another one until one fails. It prints the status of the last one.
type planted struct {
	size   int // of the region
	config verbs.ConnectConfig
	change func(a, b *verbs.ConnectConfig) // nil: both ends alike
	run    func(ctx context.Context, a, b *end) (verbs.WCStatus, error)
}

// The cases with planted faults: name, device, device of the responder.
var plantedCases = map[string]planted{
	"planted-writes":  {size: 4096, config: verbs.ConnectConfig{Timeout: 16}, run: plantedWrites(20, 200)},
	"planted-reads":   {size: 4096, config: verbs.ConnectConfig{Timeout: 16, MTU: ib.MTU256}, run: plantedReads},
	"planted-first":   {size: 4096, config: twice(ib.MTU1024), run: plantedWrites(1, 200)},
	"planted-large":   {size: 1 << 14, config: twice(ib.MTU4096), run: plantedSizes(3000)},
	"planted-sizes":   {size: 1 << 14, config: twice(ib.MTU4096), run: plantedSizes(9000)},
	"planted-classes": {size: 4096, change: plantedClasses, run: plantedWrites(5, 200)},
	"planted-right":   {size: 4096, run: plantedRight},
	"planted-access": {
		size: 4096, change: func(_, b *verbs.ConnectConfig) { b.Access = verbs.AccessRemoteRead },
		run: plantedWrites(1, 200),
	},
	"planted-key":    {size: 4096, run: plantedKey(verbs.SendOpWrite)},
	"planted-range":  {size: 4096, run: plantedKey(verbs.SendOpRead)},
	"planted-ready":  {size: 4096, config: verbs.ConnectConfig{RNRRetry: 2, MinRNRTimer: 20}, run: plantedReady},
	"planted-late":   {size: 4096, config: verbs.ConnectConfig{MinRNRTimer: 24}, run: plantedLate},
	"planted-length": {size: 4096, run: plantedLength},
	"planted-gone":   {size: 4096, config: twice(ib.MTU1024), run: plantedGone},
}

// twice has two repetitions, after a quarter of a second each.
func twice(mtu ib.MTU) verbs.ConnectConfig {
	return verbs.ConnectConfig{Timeout: 16, RetryCount: 2, MTU: mtu}
}

// plant runs a case between two devices.
func plant(ctx context.Context, p planted, devices ...string) error {
	var ends [2]*end
	for i, name := range devices {
		device, err := verbs.Open(ctx, name, ibverbs.Provider{})
		if err != nil {
			return err
		}
		if ends[i], err = newEnd(ctx, device, p.size, verbs.QPConfig{ID: uint64(i)}, verbs.CQConfig{}); err != nil {
			return err
		}
	}
	a, b := ends[0], ends[1]
	forth, back := p.config, p.config
	for _, c := range []*verbs.ConnectConfig{&forth, &back} {
		if c.Timeout == 0 {
			c.Timeout = 18 // a second: the guest may be slow
		}
		c.Access = allAccess
	}
	if p.change != nil {
		p.change(&forth, &back)
	}
	forth.PSN, back.PSN = verbs.RandomPSN(), verbs.RandomPSN()
	forth.SGIDIndex, back.SGIDIndex = a.gid.Index, b.gid.Index
	forth.Remote = verbs.Remote{QPN: b.qp.QPN(), PSN: back.PSN, GID: b.gid.GID}
	back.Remote = verbs.Remote{QPN: a.qp.QPN(), PSN: forth.PSN, GID: a.gid.GID}
	if err := errors.Join(a.qp.Connect(forth), b.qp.Connect(back)); err != nil {
		return err
	}
	status, err := p.run(ctx, a, b)
	if err != nil {
		return err
	}
	fmt.Printf("status %d: %v\n", uint8(status), status)
	return errors.Join(a.close(), a.device.Close(), b.close(), b.device.Close())
}

// status posts a request and returns the status of its completion.
func (e *end) status(ctx context.Context, wr verbs.SendRequest) (verbs.WCStatus, error) {
	wr.Flags |= verbs.SendSignaled
	if _, err := e.qp.PostSend(wr); err != nil {
		return 0, err
	}
	wcs := make([]verbs.WorkCompletion, 1)
	_, err := e.cq.Wait(ctx, wcs)
	return wcs[0].Status, err
}

// request returns a request for the first bytes of the peer's region.
func request(op verbs.SendOp, a, b *end, size int) verbs.SendRequest {
	return verbs.SendRequest{
		Op: op, Segments: []verbs.Segment{a.mr.Segment(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	}
}

// plantedWrites writes n times, each after the completion of the one before.
func plantedWrites(n, size int) func(context.Context, *end, *end) (verbs.WCStatus, error) {
	return func(ctx context.Context, a, b *end) (s verbs.WCStatus, err error) {
		for i := 0; i < n && s == verbs.WCSuccess && err == nil; i++ {
			s, err = a.status(ctx, request(verbs.SendOpWrite, a, b, size))
		}
		return s, err
	}
}

// plantedReads reads messages of several packets.
func plantedReads(ctx context.Context, a, b *end) (s verbs.WCStatus, err error) {
	for i := 0; i < 15 && s == verbs.WCSuccess && err == nil; i++ {
		s, err = a.status(ctx, request(verbs.SendOpRead, a, b, 1000))
	}
	return s, err
}

// plantedSizes writes small messages, and then one of the given size, in packets of up to 4096
// bytes.
func plantedSizes(size int) func(context.Context, *end, *end) (verbs.WCStatus, error) {
	return func(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
		if s, err := plantedWrites(3, 200)(ctx, a, b); s != verbs.WCSuccess || err != nil {
			return s, err
		}
		return a.status(ctx, request(verbs.SendOpWrite, a, b, size))
	}
}

// plantedClasses gives each end another traffic class.
func plantedClasses(a, b *verbs.ConnectConfig) { a.TrafficClass, b.TrafficClass = 26<<2, 8<<2 }

// plantedRight writes into a region that may only be read.
func plantedRight(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
	if s, err := plantedWrites(2, 200)(ctx, a, b); s != verbs.WCSuccess || err != nil {
		return s, err
	}
	mr, err := b.pd.RegisterMemory(make([]byte, 4096), verbs.MemoryOptions{
		Access: verbs.AccessLocalWrite | verbs.AccessRemoteRead,
	})
	if err != nil {
		return 0, err
	}
	wr := request(verbs.SendOpWrite, a, b, 200)
	wr.RemoteAddr, wr.RKey = mr.Addr(), mr.RKey()
	s, err := a.status(ctx, wr)
	return s, errors.Join(err, mr.Close())
}

// plantedKey writes with a wrong key, or reads behind the end of the region.
func plantedKey(op verbs.SendOp) func(context.Context, *end, *end) (verbs.WCStatus, error) {
	return func(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
		if s, err := plantedWrites(2, 200)(ctx, a, b); s != verbs.WCSuccess || err != nil {
			return s, err
		}
		wr := request(op, a, b, 200)
		if op == verbs.SendOpRead {
			wr.RemoteAddr += 1 << 20
		} else {
			wr.RKey += 0x5500
		}
		return a.status(ctx, wr)
	}
}

// plantedReady sends a message for which there is no receive request.
func plantedReady(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
	return a.status(ctx, request(verbs.SendOpSend, a, b, 200))
}

// plantedLate posts the receive request after a while.
func plantedLate(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
	failed := make(chan error, 1)
	go func() {
		time.Sleep(300 * time.Millisecond)
		_, err := b.qp.PostReceive(receive(b, 1, 1, 1000)...)
		failed <- err
	}()
	s, err := a.status(ctx, request(verbs.SendOpSend, a, b, 200))
	return s, errors.Join(err, <-failed)
}

// plantedLength sends more than the receive request has room for.
func plantedLength(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
	if _, err := b.qp.PostReceive(receive(b, 1, 1, 100)...); err != nil {
		return 0, err
	}
	return a.status(ctx, request(verbs.SendOpSend, a, b, 200))
}

// plantedGone resets the responder's queue pair after some requests.
func plantedGone(ctx context.Context, a, b *end) (verbs.WCStatus, error) {
	if s, err := plantedWrites(3, 200)(ctx, a, b); s != verbs.WCSuccess || err != nil {
		return s, err
	}
	if err := b.qp.Modify(verbs.QPAttributes{State: verbs.QPStateReset}); err != nil {
		return 0, err
	}
	return a.status(ctx, request(verbs.SendOpWrite, a, b, 200))
}
