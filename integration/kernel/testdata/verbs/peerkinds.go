package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// exchange is what one end does with the other: active requests, passive is requested.
type exchange struct {
	name            string
	kind            verbs.QPType
	access          verbs.Access // to the passive end's region
	active, passive func(context.Context, *end, introduction, talk) error
}

var exchanges = []exchange{
	{"atomics", verbs.QPTypeRC, allAccess, driveAtomics, serveAtomics},
	{"misaligned", verbs.QPTypeRC, allAccess, driveMisaligned, serveDenied},
	{"denied", verbs.QPTypeRC, allAccess &^ verbs.AccessRemoteAtomic, driveDenied, serveDenied},
	{"uc", verbs.QPTypeUC, allAccess, driveUC, serveUC},
	{"ud", verbs.QPTypeUD, allAccess, driveUD, serveUD},
}

// peerKinds does what peer does, with atomics and the unreliable types: each exchange in both
// directions.
func peerKinds(ctx context.Context, name, address string) error {
	device, err := verbs.Open(ctx, name, ibverbs.Provider{}, roce.Provider{})
	if err != nil {
		return err
	}
	conn, err := meet(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	t := newTalk(conn)
	first := strings.HasPrefix(address, ":")
	for _, x := range exchanges {
		for _, active := range []bool{first, !first} {
			if err := x.run(ctx, device, t, active); err != nil {
				return fmt.Errorf("%s, active %t: %w", x.name, active, err)
			}
		}
	}
	return device.Close()
}

func (x *exchange) run(ctx context.Context, device *verbs.Device, t talk, active bool) error {
	e, err := newEnd(ctx, device, 4*messageSize, verbs.QPConfig{Type: x.kind}, verbs.CQConfig{})
	if err != nil {
		return err
	}
	if err := e.mr.Close(); err != nil {
		return err
	}
	options := verbs.MemoryOptions{Access: x.access}
	if e.mr, err = e.pd.RegisterMemory(make([]byte, 4*messageSize), options); err != nil {
		return err
	}
	other, err := t.swap(e, e.mr)
	if err != nil {
		return err
	}
	if x.kind == verbs.QPTypeUD {
		err = start(e.qp)
	} else {
		err = e.qp.Connect(verbs.ConnectConfig{
			Remote: other.Remote, PSN: 7, Access: allAccess, SGIDIndex: e.gid.Index,
		})
	}
	if err != nil {
		return err
	}
	do := x.passive
	if active {
		do = x.active
	}
	if err := do(ctx, e, other, t); err != nil {
		return err
	}
	return errors.Join(t.step(), e.close())
}

// start moves a queue pair of type UD to RTS.
func start(qp *verbs.QueuePair) error {
	attr := verbs.QPAttributes{Port: 1, QKey: qkey, SendPSN: 9}
	for _, to := range []verbs.QPState{verbs.QPStateInit, verbs.QPStateRTR, verbs.QPStateRTS} {
		attr.State = to
		attr.Mask, _, _ = provider.TransitionAttributes(verbs.QPTypeUD, to-1, to)
		if err := qp.Modify(attr); err != nil {
			return err
		}
	}
	return nil
}

const initial = 1000 // of the value that atomics change

// atomic posts an atomic on the peer's memory and returns its completion and the value before.
func atomic(
	ctx context.Context, e *end, wr verbs.SendRequest, other introduction,
) (wc verbs.WorkCompletion, before uint64, err error) {
	wr.RKey, wr.Flags, wr.Segments = other.RKey, verbs.SendSignaled, []verbs.Segment{e.mr.Segment(8, 8)}
	wr.RemoteAddr += other.Addr
	if _, err := e.qp.PostSend(wr); err != nil {
		return wc, 0, err
	}
	wcs := make([]verbs.WorkCompletion, 1)
	if _, err := e.cq.Wait(ctx, wcs); err != nil {
		return wc, 0, err
	}
	return wcs[0], binary.NativeEndian.Uint64(e.mr.Bytes()[8:]), nil
}

func driveAtomics(ctx context.Context, e *end, other introduction, t talk) error {
	if err := t.step(); err != nil {
		return err
	}
	for i, tt := range []struct {
		wr     verbs.SendRequest
		before uint64
	}{
		{verbs.SendRequest{Op: verbs.SendOpFetchAdd, Operand: 5}, initial},
		{verbs.SendRequest{Op: verbs.SendOpCompareSwap, Compare: initial + 5, Operand: 1 << 40}, initial + 5},
		{verbs.SendRequest{Op: verbs.SendOpCompareSwap, Compare: initial, Operand: 3}, 1 << 40},
		{verbs.SendRequest{Op: verbs.SendOpFetchAdd, Operand: ^uint64(0)}, 1 << 40},
	} {
		wc, before, err := atomic(ctx, e, tt.wr, other)
		if err = errors.Join(err, wc.Err()); err != nil || before != tt.before {
			return fmt.Errorf("atomic %d returns %#x, %w, want %#x", i, before, err, tt.before)
		}
	}
	return t.step()
}

func serveAtomics(_ context.Context, e *end, _ introduction, t talk) error {
	binary.NativeEndian.PutUint64(e.mr.Bytes(), initial)
	if err := errors.Join(t.step(), t.step()); err != nil {
		return err
	}
	if got := binary.NativeEndian.Uint64(e.mr.Bytes()); got != 1<<40-1 {
		return fmt.Errorf("value after the atomics %#x, want %#x", got, 1<<40-1)
	}
	return nil
}

// driveMisaligned requests an atomic at an address that is no multiple of 8, which rxe's own
// library doesn't post at all.
func driveMisaligned(ctx context.Context, e *end, other introduction, t talk) error {
	if err := t.step(); err != nil {
		return err
	}
	wc, _, err := atomic(ctx, e, verbs.SendRequest{Op: verbs.SendOpFetchAdd, RemoteAddr: 4, Operand: 1}, other)
	if isKernel := e.device.Name() == "rxe0"; isKernel != (err != nil) || !isKernel && wc.Status != verbs.WCRemoteInvalid {
		return fmt.Errorf("misaligned atomic: %v, %w, want remote invalid request", wc.Status, err)
	}
	return t.step()
}

func driveDenied(ctx context.Context, e *end, other introduction, t talk) error {
	if err := t.step(); err != nil {
		return err
	}
	wc, _, err := atomic(ctx, e, verbs.SendRequest{Op: verbs.SendOpFetchAdd, Operand: 1}, other)
	if err != nil || wc.Status != verbs.WCRemoteAccess {
		return fmt.Errorf("atomic without permission: %v, %w, want remote access error", wc.Status, err)
	}
	return t.step()
}

// serveDenied checks that the peer's request changes nothing.
func serveDenied(_ context.Context, e *end, _ introduction, t talk) error {
	binary.NativeEndian.PutUint64(e.mr.Bytes(), initial)
	if err := errors.Join(t.step(), t.step()); err != nil {
		return err
	}
	if got := binary.NativeEndian.Uint64(e.mr.Bytes()); got != initial {
		return fmt.Errorf("value after an atomic that isn't permitted %#x, want %#x", got, initial)
	}
	return nil
}

const unreliableSize = 3000 // of messages of UC: three packets

func driveUC(ctx context.Context, e *end, other introduction, t talk) error {
	const n = unreliableSize
	if err := t.step(); err != nil {
		return err
	}
	pattern(e.mr.Bytes()[:n], 21)
	part := []verbs.Segment{e.mr.Segment(0, n)}
	if err := post(e, e, nil, verbs.SendRequest{
		Op: verbs.SendOpWrite, Segments: part, RemoteAddr: other.Addr + 2*n, RKey: other.RKey,
	}, verbs.SendRequest{
		Op: verbs.SendOpSendImmediate, Immediate: [4]byte{1, 2, 3, 4}, Flags: verbs.SendSignaled, Segments: part,
	}); err != nil {
		return err
	}
	if _, err := e.wait(ctx, 1); err != nil {
		return err
	}
	return t.step()
}

func serveUC(ctx context.Context, e *end, _ introduction, t talk) error {
	const n = unreliableSize
	if err := errors.Join(post(e, e, receive(e, 50, 1, n)), t.step()); err != nil {
		return err
	}
	got, err := e.wait(ctx, 1)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 50 || wc.Bytes != n || wc.Immediate != [4]byte{1, 2, 3, 4} {
		return fmt.Errorf("SEND completed as %+v", wc)
	}
	b := e.mr.Bytes()
	return errors.Join(expect("SEND", b[:n], 21), expect("WRITE", b[2*n:3*n], 21), t.step())
}

const datagramSize = 1000

// driveUD sends a datagram with a wrong Q_Key and then one that is right.
func driveUD(ctx context.Context, e *end, other introduction, t talk) error {
	if err := t.step(); err != nil {
		return err
	}
	path := verbs.Path{DGID: other.Remote.GID, SGIDIndex: e.gid.Index, HopLimit: 64}
	ah, err := e.pd.CreateAddressHandle(1, path)
	if err != nil {
		return err
	}
	pattern(e.mr.Bytes()[:datagramSize], 22)
	for _, key := range []uint32{qkey + 1, qkey} {
		if err := post(e, e, nil, verbs.SendRequest{
			Op: verbs.SendOpSendImmediate, Immediate: [4]byte{5, 6, 7, 8}, Flags: verbs.SendSignaled,
			Segments: []verbs.Segment{e.mr.Segment(0, datagramSize)}, To: ah.To(other.Remote.QPN, key),
		}); err != nil {
			return err
		}
	}
	if _, err := e.wait(ctx, 2); err != nil {
		return err
	}
	return errors.Join(ah.Close(), t.step())
}

// serveUD checks the datagram and the header before it: an IPv4 header in its last 20 bytes
// (annex A17.4.5.2).
func serveUD(ctx context.Context, e *end, other introduction, t talk) error {
	const n, grh = datagramSize, 40
	if err := errors.Join(post(e, e, receive(e, 60, 2, grh+n)), t.step()); err != nil {
		return err
	}
	got, err := e.wait(ctx, 1)
	if err != nil {
		return err
	}
	if wc := got[0]; wc.ID != 60 || wc.Bytes != grh+n || wc.SourceQPN != other.Remote.QPN ||
		wc.Flags&verbs.WCGRH == 0 || wc.Immediate != [4]byte{5, 6, 7, 8} {
		return fmt.Errorf("datagram completed as %+v", wc)
	}
	if err := t.step(); err != nil { // after both of the peer's datagrams
		return err
	}
	if more, err := e.cq.Poll(make([]verbs.WorkCompletion, 1)); more != 0 || err != nil {
		return fmt.Errorf("%d datagrams more, %w: the one with a wrong Q_Key must be dropped", more, err)
	}
	b := e.mr.Bytes()
	if !bytes.Equal(b[32:36], other.Remote.GID[12:]) || !bytes.Equal(b[36:40], e.gid.GID[12:]) {
		return fmt.Errorf("header % x, want addresses of %v and %v", b[20:40], other.Remote.GID, e.gid.GID)
	}
	return expect("datagram", b[grh:grh+n], 22)
}
