// Command verbs exchanges data through the kernel's devices and libibverbs, one case for each
// argument, and prints "ok CASE" or the error.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

func main() {
	cases := map[string]func(context.Context) error{
		"rc": rc, "rc-busy": rcBusy, "uc": uc, "ud": ud, "srq": srq, "atomics": atomics, "window": window,
		"channel": channel, "errors": failures, "close": closing, "memlock": memlock, "siw": siw,
		"events": events, "drain": drain,
	}
	names := os.Args[1:]
	if len(names) == 3 {
		device, address := names[1], names[2]
		cases["peer"] = func(ctx context.Context) error { return peer(ctx, device, address) }
		cases["peer-kinds"] = func(ctx context.Context) error { return peerKinds(ctx, device, address) }
		for _, program := range []string{"rc", "uc", "ud", "srq"} {
			cases["pingpong-"+program] = func(ctx context.Context) error { return pingpong(ctx, program, device, address) }
		}
		for name := range managed {
			cases[name] = func(ctx context.Context) error { return manage(ctx, name, device, address) }
		}
		for name, p := range plantedCases {
			cases[name] = func(ctx context.Context) error { return plant(ctx, p, device, address) }
		}
		names = names[:1]
	}
	failed := false
	for _, name := range names {
		if err := run(name, cases[name]); err != nil {
			fmt.Printf("failed %s: %v\n", name, err)
			failed = true
			continue
		}
		fmt.Println("ok", name)
	}
	if failed {
		os.Exit(1)
	}
}

func run(name string, f func(context.Context) error) error {
	if f == nil {
		return fmt.Errorf("no case %q", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return f(ctx)
}

// allAccess is what the cases' peers may do.
const allAccess = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead | verbs.AccessRemoteAtomic

// end is one end of a connection.
type end struct {
	device *verbs.Device
	pd     *verbs.ProtectionDomain
	cq     *verbs.CompletionQueue
	qp     *verbs.QueuePair
	mr     *verbs.MemoryRegion
	gid    verbs.GIDEntry
}

// newEnd creates objects on a device. The region has the given size.
func newEnd(
	ctx context.Context, device *verbs.Device, size int, qp verbs.QPConfig, cq verbs.CQConfig,
) (e *end, err error) {
	e = &end{device: device}
	gids, err := device.GIDs(ctx, 1)
	if err != nil {
		return nil, err
	}
	for _, g := range gids {
		if g.GID.Addr().Is4() && g.Type == verbs.GIDTypeRoCEv2 || len(gids) == 1 {
			e.gid = g
		}
	}
	if e.pd, err = device.AllocatePD(); err != nil {
		return nil, err
	}
	cq.Depth = 256
	if e.cq, err = device.CreateCQ(cq); err != nil {
		return nil, err
	}
	qp.SendCQ, qp.RecvCQ = e.cq, e.cq
	qp.Capacity = verbs.QPCapacity{MaxSendWR: 64, MaxRecvWR: 64, MaxSendSegments: 4, MaxRecvSegments: 4, MaxInline: 64}
	if e.qp, err = e.pd.CreateQP(qp); err != nil {
		return nil, err
	}
	e.mr, err = e.pd.RegisterMemory(make([]byte, size), verbs.MemoryOptions{Access: allAccess})
	return e, err
}

// close closes everything in the right order.
func (e *end) close() error {
	return errors.Join(e.qp.Close(), e.mr.Close(), e.cq.Close(), e.pd.Close())
}

// pair opens rxe0 and creates two ends on it, connected unless they are of type UD.
func pair(ctx context.Context, kind verbs.QPType, size int, cq verbs.CQConfig) (a, b *end, err error) {
	device, err := verbs.Open(ctx, "rxe0", ibverbs.Provider{})
	if err != nil {
		return nil, nil, err
	}
	if a, err = newEnd(ctx, device, size, verbs.QPConfig{Type: kind, ID: 1}, cq); err != nil {
		return nil, nil, err
	}
	if b, err = newEnd(ctx, device, size, verbs.QPConfig{Type: kind, ID: 2}, cq); err != nil {
		return nil, nil, err
	}
	if kind != verbs.QPTypeUD {
		err = connect(a, b)
	}
	return a, b, err
}

// closeAll closes two ends and their device.
func closeAll(a, b *end) error { return errors.Join(a.close(), b.close(), a.device.Close()) }

// connect connects two ends with each other.
func connect(a, b *end) error {
	for _, p := range [][2]*end{{a, b}, {b, a}} {
		err := p[0].qp.Connect(verbs.ConnectConfig{
			Remote: verbs.Remote{QPN: p[1].qp.QPN(), PSN: 7, GID: p[1].gid.GID}, PSN: 7, Access: allAccess,
			SGIDIndex: p[0].gid.Index,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wait waits for n successful completions.
func (e *end) wait(ctx context.Context, n int) ([]verbs.WorkCompletion, error) {
	var all []verbs.WorkCompletion
	wcs := make([]verbs.WorkCompletion, 16)
	for len(all) < n {
		got, err := e.cq.Wait(ctx, wcs)
		if err != nil {
			return all, err
		}
		for i := range got {
			if err := wcs[i].Err(); err != nil {
				return all, err
			}
		}
		all = append(all, wcs[:got]...)
	}
	return all, nil
}

// pattern fills b with bytes that depend on seed.
func pattern(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
}

// expect returns an error if got isn't the pattern of seed.
func expect(what string, got []byte, seed int) error {
	want := make([]byte, len(got))
	pattern(want, seed)
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: the data differs from what was sent", what)
	}
	return nil
}

// post posts receive requests to b and then send requests to a.
func post(a, b *end, receives []verbs.ReceiveRequest, sends ...verbs.SendRequest) error {
	if n, err := b.qp.PostReceive(receives...); n != len(receives) || err != nil {
		return fmt.Errorf("%d of %d receives: %w", n, len(receives), err)
	}
	if n, err := a.qp.PostSend(sends...); n != len(sends) || err != nil {
		return fmt.Errorf("%d of %d sends: %w", n, len(sends), err)
	}
	return nil
}

// receive returns receive requests with consecutive IDs for equal parts of a region.
func receive(e *end, id uint64, n, size int) (out []verbs.ReceiveRequest) {
	for i := range n {
		out = append(out, verbs.ReceiveRequest{
			ID: id + uint64(i), Segments: []verbs.Segment{e.mr.Segment(i*size, size)},
		})
	}
	return out
}
