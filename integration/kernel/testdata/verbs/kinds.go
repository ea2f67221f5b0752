package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

const qkey = 0x11111111

// ud sends datagrams, which arrive behind 40 bytes for the Global Route Header.
func ud(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeUD, messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	for _, e := range []*end{a, b} {
		if err := start(e.qp); err != nil {
			return err
		}
	}
	ah, err := a.pd.CreateAddressHandle(1, verbs.Path{DGID: b.gid.GID, SGIDIndex: a.gid.Index, HopLimit: 64})
	if err != nil {
		return err
	}
	const n, grh = 1000, 40
	pattern(a.mr.Bytes()[:n], 6)
	if err := post(a, b, receive(b, 40, 2, grh+n), verbs.SendRequest{
		ID: 1, Op: verbs.SendOpSendImmediate, Immediate: [4]byte{9, 9, 9, 9}, Flags: verbs.SendSignaled,
		Segments: []verbs.Segment{a.mr.Segment(0, n)}, To: ah.To(b.qp.QPN(), qkey),
	}, verbs.SendRequest{
		ID: 2, Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Data: []byte("short"), To: ah.To(b.qp.QPN(), qkey),
	}); err != nil {
		return err
	}
	got, err := b.wait(ctx, 2)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 40 || wc.Bytes != grh+n || wc.SourceQPN != a.qp.QPN() || wc.Flags&verbs.WCGRH == 0 ||
		wc.Immediate != [4]byte{9, 9, 9, 9} {
		return fmt.Errorf("datagram completed as %+v", wc)
	}
	if text := b.mr.Bytes()[2*grh+n : 2*grh+n+5]; string(text) != "short" {
		return fmt.Errorf("second datagram %q", text)
	}
	if _, err := a.wait(ctx, 2); err != nil {
		return err
	}
	if err := expect("datagram", b.mr.Bytes()[grh:grh+n], 6); err != nil {
		return err
	}
	if err := ah.Close(); err != nil {
		return err
	}
	if _, err := a.qp.PostSend(verbs.SendRequest{
		Op: verbs.SendOpSend, To: ah.To(b.qp.QPN(), qkey), Data: []byte("x"),
	}); !errors.Is(err, verbs.ErrClosed) {
		return fmt.Errorf("send with a closed address handle = %w, want ErrClosed", err)
	}
	return closeAll(a, b)
}

// srq lets two queue pairs take from one shared receive queue, and waits for its limit.
func srq(ctx context.Context) error {
	device, err := verbs.Open(ctx, "rxe0", ibverbs.Provider{})
	if err != nil {
		return err
	}
	senders := [2]*end{}
	for i := range senders {
		if senders[i], err = newEnd(ctx, device, messageSize, verbs.QPConfig{}, verbs.CQConfig{}); err != nil {
			return err
		}
	}
	pd, err := device.AllocatePD()
	if err != nil {
		return err
	}
	queue, err := pd.CreateSRQ(verbs.SRQConfig{MaxWR: 32, ID: 77})
	if err != nil {
		return err
	}
	cq, err := device.CreateCQ(verbs.CQConfig{})
	if err != nil {
		return err
	}
	mr, err := pd.RegisterMemory(make([]byte, messageSize), verbs.MemoryOptions{Access: allAccess})
	if err != nil {
		return err
	}
	receivers := [2]*end{}
	for i := range receivers {
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, SRQ: queue})
		if err != nil {
			return err
		}
		receivers[i] = &end{device: device, pd: pd, cq: cq, qp: qp, mr: mr, gid: senders[i].gid}
		if err := connect(senders[i], receivers[i]); err != nil {
			return err
		}
	}
	if n, err := queue.PostReceive(receive(receivers[0], 100, 10, 100)...); n != 10 || err != nil {
		return fmt.Errorf("PostReceive = %d, %w", n, err)
	}
	if err := queue.SetLimit(5); err != nil {
		return err
	}
	if cfg, err := queue.Query(); err != nil || cfg.Limit != 5 || cfg.MaxWR < 32 || cfg.ID != 77 {
		return fmt.Errorf("Query = %+v, %w", cfg, err)
	}
	for i := range 8 {
		s := senders[i%2]
		pattern(s.mr.Bytes()[:100], i)
		if err := post(s, s, nil, verbs.SendRequest{
			Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Segments: []verbs.Segment{s.mr.Segment(0, 100)},
		}); err != nil {
			return err
		}
		got, err := receivers[0].wait(ctx, 1)
		if err != nil {
			return err
		}
		if got[0].ID != uint64(100+i) || got[0].QPN != receivers[i%2].qp.QPN() {
			return fmt.Errorf("receive %d completed as %+v", i, got[0])
		}
		if err := expect("SEND", mr.Bytes()[100*i:100*i+100], i); err != nil {
			return err
		}
		if _, err := s.wait(ctx, 1); err != nil {
			return err
		}
	}
	if err := srqEvent(ctx, device); err != nil {
		return err
	}
	if err := queue.Close(); !errors.Is(err, verbs.ErrBusy) {
		return fmt.Errorf("Close of a shared receive queue in use = %w, want ErrBusy", err)
	}
	return errors.Join(receivers[0].qp.Close(), receivers[1].qp.Close(), queue.Close(), queue.Close(), mr.Close(),
		cq.Close(), pd.Close(), senders[0].close(), senders[1].close(), device.Close())
}

// srqEvent waits for the event of the limit, behind those of the connections.
func srqEvent(ctx context.Context, device *verbs.Device) error {
	for {
		event, err := device.NextEvent(ctx)
		if err != nil {
			return err
		}
		fmt.Println("event:", event.Type, event.ID)
		if event.Type == provider.EventSRQLimit {
			if event.ID != 77 {
				return fmt.Errorf("event %+v, want the ID of the queue", event)
			}
			return nil
		}
	}
}

// atomics changes a word of the peer.
func atomics(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, 64, verbs.CQConfig{})
	if err != nil {
		return err
	}
	word := func(e *end, at int) uint64 { return binary.NativeEndian.Uint64(e.mr.Bytes()[at:]) }
	binary.NativeEndian.PutUint64(b.mr.Bytes()[8:], 100)
	request := func(op verbs.SendOp, compare, operand uint64, at int) verbs.SendRequest {
		return verbs.SendRequest{
			Op: op, Flags: verbs.SendSignaled, Segments: []verbs.Segment{a.mr.Segment(at, 8)},
			RemoteAddr: b.mr.Addr() + 8, RKey: b.mr.RKey(), Compare: compare, Operand: operand,
		}
	}
	for i, step := range []struct {
		request verbs.SendRequest
		op      verbs.WCOp
		before  uint64
		after   uint64
	}{
		{request(verbs.SendOpFetchAdd, 0, 5, 0), verbs.WCFetchAdd, 100, 105},
		{request(verbs.SendOpCompareSwap, 105, 1<<40, 8), verbs.WCCompareSwap, 105, 1 << 40},
		{request(verbs.SendOpCompareSwap, 105, 7, 16), verbs.WCCompareSwap, 1 << 40, 1 << 40},
	} {
		if err := post(a, b, nil, step.request); err != nil {
			return err
		}
		got, err := a.wait(ctx, 1)
		if err != nil {
			return err
		}
		if before, after := word(a, 8*i), word(b, 8); got[0].Op != step.op || before != step.before || after != step.after {
			return fmt.Errorf("step %d: %+v, before %d, after %d, want %d and %d",
				i, got[0], before, after, step.before, step.after)
		}
	}
	return closeAll(a, b)
}

// window binds a window of type 2 to the peer's region, writes through it, and invalidates it.
func window(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	mr, err := b.pd.RegisterMemory(make([]byte, 1000), verbs.MemoryOptions{
		Access: verbs.AccessLocalWrite | verbs.AccessWindowBind,
	})
	if err != nil {
		return err
	}
	w, err := b.pd.AllocateWindow(verbs.WindowType2)
	if err != nil {
		return err
	}
	bind := w.Bind(mr, 100, 200, verbs.AccessRemoteWrite)
	bind.RKey = verbs.NextKey(w.RKey())
	if err := bindWindow(ctx, a, b, bind); err != nil {
		return err
	}
	pattern(a.mr.Bytes()[:200], 8)
	if err := post(a, b, nil, verbs.SendRequest{
		Op: verbs.SendOpWrite, Flags: verbs.SendSignaled, Segments: []verbs.Segment{a.mr.Segment(0, 200)},
		RemoteAddr: mr.Addr() + 100, RKey: bind.RKey,
	}); err != nil {
		return err
	}
	if _, err := a.wait(ctx, 1); err != nil {
		return err
	}
	if err := expect("WRITE through a window", mr.Bytes()[100:300], 8); err != nil {
		return err
	}
	if err := mr.Close(); !errors.Is(err, verbs.ErrBusy) {
		return fmt.Errorf("Close of a region with a window = %w, want ErrBusy", err)
	}
	if err := post(a, b, receive(b, 70, 1, 10), verbs.SendRequest{
		Op: verbs.SendOpSendInvalidate, Flags: verbs.SendSignaled, Invalidate: bind.RKey,
	}); err != nil {
		return err
	}
	got, err := b.wait(ctx, 1)
	if err != nil || got[0].ID != 70 {
		return fmt.Errorf("SEND with invalidate received as %+v, %w", got, err)
	}
	// rxe of Linux 6.1 doesn't report the key; the next binding shows that the window was invalidated.
	if _, err := a.wait(ctx, 1); err != nil {
		return err
	}
	bind.RKey = verbs.NextKey(bind.RKey)
	if err := bindWindow(ctx, a, b, bind); err != nil { // only an invalidated window can be bound
		return err
	}
	if err := post(b, a, nil, verbs.SendRequest{
		Op: verbs.SendOpLocalInvalidate, Flags: verbs.SendSignaled, Invalidate: bind.RKey,
	}); err != nil {
		return err
	}
	if got, err := b.wait(ctx, 1); err != nil || got[0].Op != verbs.WCLocalInvalidate {
		return fmt.Errorf("invalidation completed as %+v, %w", got, err)
	}
	bind.RKey = verbs.NextKey(bind.RKey)
	if err := bindWindow(ctx, a, b, bind); err != nil { // only an invalidated window can be bound
		return err
	}
	return errors.Join(w.Close(), mr.Close(), closeAll(a, b))
}

// bindWindow binds a window of b's.
func bindWindow(ctx context.Context, a, b *end, bind *verbs.WindowBind) error {
	if err := post(b, a, nil, verbs.SendRequest{
		Op: verbs.SendOpBindWindow, Flags: verbs.SendSignaled, Bind: bind,
	}); err != nil {
		return err
	}
	if got, err := b.wait(ctx, 1); err != nil || got[0].Op != verbs.WCBindWindow {
		return fmt.Errorf("bind completed as %+v, %w", got, err)
	}
	return nil
}
