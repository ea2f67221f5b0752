package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs"
)

// rc exchanges data between two reliable connections of rxe0, waiting for events.
func rc(ctx context.Context) error { return reliable(ctx, verbs.CQConfig{Wait: verbs.WaitEvent}) }

// rcBusy is rc with busy polling.
func rcBusy(ctx context.Context) error { return reliable(ctx, verbs.CQConfig{Wait: verbs.WaitBusy}) }

const messageSize = 10000

func reliable(ctx context.Context, cq verbs.CQConfig) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, 4*messageSize, cq)
	if err != nil {
		return err
	}
	fmt.Println("capabilities:", a.device.Capabilities())
	fmt.Printf("capacity: %+v, completion queue %d\n", a.qp.Capacity(), a.cq.Depth())
	if c := a.qp.Capacity(); c.MaxSendWR < 64 || c.MaxSendSegments < 4 || c.MaxInline < 64 || a.cq.Depth() < 256 {
		return fmt.Errorf("granted less than wanted: %+v, %d", c, a.cq.Depth())
	}
	for name, step := range map[string]func(context.Context, *end, *end) error{
		"SEND": sendSegments, "WRITE": write, "READ": read, "inline": inline, "batch": batch, "query": query,
	} {
		if err := step(ctx, a, b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return closeAll(a, b)
}

// sendSegments sends a message of three segments into two, with immediate data.
func sendSegments(ctx context.Context, a, b *end) error {
	const n = messageSize
	pattern(a.mr.Bytes()[:n], 1)
	clear(b.mr.Bytes())
	err := post(a, b, []verbs.ReceiveRequest{{
		ID: 11, Segments: []verbs.Segment{b.mr.Segment(0, 100), b.mr.Segment(0, 0), b.mr.Segment(100, 3*n)},
	}}, verbs.SendRequest{
		ID: 22, Op: verbs.SendOpSendImmediate, Flags: verbs.SendSignaled, Immediate: [4]byte{1, 2, 3, 4},
		Segments: []verbs.Segment{a.mr.Segment(0, 5000), a.mr.Segment(5000, 1), a.mr.Segment(5001, n-5001)},
	})
	if err != nil {
		return err
	}
	got, err := b.wait(ctx, 1)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 11 || wc.Bytes != n || wc.Op != verbs.WCReceive || wc.QPN != b.qp.QPN() ||
		wc.Flags&verbs.WCImmediate == 0 || wc.Immediate != [4]byte{1, 2, 3, 4} {
		return fmt.Errorf("receive completed as %+v", wc)
	}
	if got, err = a.wait(ctx, 1); err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 22 || wc.Op != verbs.WCSend {
		return fmt.Errorf("send completed as %+v", wc)
	}
	return expect("SEND", b.mr.Bytes()[:n], 1)
}

// write writes into the peer's region, then with immediate data.
func write(ctx context.Context, a, b *end) error {
	const n = messageSize
	pattern(a.mr.Bytes()[:n], 2)
	clear(b.mr.Bytes())
	err := post(a, b, []verbs.ReceiveRequest{{ID: 12}}, verbs.SendRequest{
		ID: 23, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, n)},
		RemoteAddr: b.mr.Addr() + 8, RKey: b.mr.RKey(),
	}, verbs.SendRequest{
		ID: 24, Op: verbs.SendOpWriteImmediate, Flags: verbs.SendSignaled, Immediate: [4]byte{5, 6, 7, 8},
		Segments: []verbs.Segment{a.mr.Segment(0, n)}, RemoteAddr: b.mr.Addr() + 8 + n, RKey: b.mr.RKey(),
	})
	if err != nil {
		return err
	}
	got, err := b.wait(ctx, 1)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 12 || wc.Bytes != n || wc.Op != verbs.WCReceiveWrite || wc.Immediate != [4]byte{5, 6, 7, 8} {
		return fmt.Errorf("receive completed as %+v", wc)
	}
	if got, err = a.wait(ctx, 1); err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 24 || wc.Op != verbs.WCWrite {
		return fmt.Errorf("write completed as %+v", wc)
	}
	return errors.Join(
		expect("first WRITE", b.mr.Bytes()[8:8+n], 2), expect("second WRITE", b.mr.Bytes()[8+n:8+2*n], 2))
}

// read reads from the peer's region.
func read(ctx context.Context, a, b *end) error {
	const n = messageSize
	pattern(b.mr.Bytes()[16:16+n], 3)
	clear(a.mr.Bytes())
	err := post(a, b, nil, verbs.SendRequest{
		ID: 25, Op: verbs.SendOpRead, Flags: verbs.SendSignaled, Segments: []verbs.Segment{a.mr.Segment(5, n)},
		RemoteAddr: b.mr.Addr() + 16, RKey: b.mr.RKey(),
	})
	if err != nil {
		return err
	}
	got, err := a.wait(ctx, 1)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 25 || wc.Op != verbs.WCRead {
		return fmt.Errorf("read completed as %+v", wc)
	}
	return expect("READ", a.mr.Bytes()[5:5+n], 3)
}

// inline sends memory that is reused at once, and plain bytes.
func inline(ctx context.Context, a, b *end) error {
	clear(b.mr.Bytes())
	pattern(a.mr.Bytes()[:60], 4)
	if err := post(a, b, receive(b, 30, 3, 64), verbs.SendRequest{
		Op: verbs.SendOpSend, Flags: verbs.SendInline,
		Segments: []verbs.Segment{a.mr.Segment(0, 30), a.mr.Segment(30, 30)},
	}); err != nil {
		return err
	}
	clear(a.mr.Bytes())
	plain := make([]byte, 64)
	pattern(plain, 5)
	if err := post(a, b, nil, verbs.SendRequest{Op: verbs.SendOpSend, Data: plain}); err != nil {
		return err
	}
	clear(plain)
	if err := post(a, b, nil, verbs.SendRequest{
		ID: 26, Op: verbs.SendOpSend, Data: []byte{}, Flags: verbs.SendSignaled,
	}); err != nil {
		return err
	}
	if _, err := a.qp.PostSend(verbs.SendRequest{Op: verbs.SendOpSend, Data: make([]byte, 1<<20)}); err == nil {
		return errors.New("a megabyte of inline data was accepted")
	}
	got, err := b.wait(ctx, 3)
	if err != nil {
		return err
	}
	for i, want := range []uint32{60, 64, 0} {
		if got[i].ID != uint64(30+i) || got[i].Bytes != want {
			return fmt.Errorf("receive %d completed as %+v", i, got[i])
		}
	}
	if _, err := a.wait(ctx, 1); err != nil {
		return err
	}
	return errors.Join(expect("inline", b.mr.Bytes()[:60], 4), expect("plain bytes", b.mr.Bytes()[64:128], 5))
}

// batch fills the send queue, in several rounds, with one completion a round. The queue is full until it
// is polled.
func batch(ctx context.Context, a, b *end) error {
	depth := a.qp.Capacity().MaxSendWR
	for round := range 5 {
		requests := make([]verbs.SendRequest, depth)
		for i := range requests {
			a.mr.Bytes()[i] = byte(round + i)
			requests[i] = verbs.SendRequest{
				ID: uint64(i), Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(i, 1)},
				RemoteAddr: b.mr.Addr() + uint64(i), RKey: b.mr.RKey(),
			}
		}
		requests[depth-1].Flags = verbs.SendSignaled
		if n, err := a.qp.PostSend(append(requests, requests[0])...); n != depth || !errors.Is(err, verbs.ErrQueueFull) {
			return fmt.Errorf("PostSend of %d requests = %d, %w, want ErrQueueFull for the last", depth+1, n, err)
		}
		got, err := a.wait(ctx, 1)
		if err != nil {
			return err
		}
		if len(got) != 1 || got[0].ID != uint64(depth-1) {
			return fmt.Errorf("completions %+v, want that of the last request", got)
		}
		for i := range depth {
			if b.mr.Bytes()[i] != byte(round+i) {
				return fmt.Errorf("round %d: byte %d differs", round, i)
			}
		}
	}
	return nil
}

// query compares the attributes with what Connect has set.
func query(_ context.Context, a, b *end) error {
	got, err := a.qp.Query()
	if err != nil {
		return err
	}
	if got.State != verbs.QPStateRTS || got.DestQPN != b.qp.QPN() || got.PathMTU != 1024 || got.Path.DGID != b.gid.GID ||
		!got.Path.Global || got.Port != 1 || got.Timeout != 14 || got.RetryCount != 7 || got.Path.HopLimit != 64 {
		return fmt.Errorf("attributes %+v", got)
	}
	return nil
}

// uc sends and writes over an unreliable connection.
func uc(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeUC, 4*messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	if err := errors.Join(sendSegments(ctx, a, b), write(ctx, a, b)); err != nil {
		return err
	}
	if _, err := a.qp.PostSend(verbs.SendRequest{Op: verbs.SendOpRead}); !errors.Is(err, verbs.ErrNotSupported) {
		return fmt.Errorf("READ on UC = %w, want ErrNotSupported", err)
	}
	return closeAll(a, b)
}
