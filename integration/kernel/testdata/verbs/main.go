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
		"rc": rc,
	}
	failed := false
	for _, name := range os.Args[1:] {
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
const allAccess = verbs.AccessLocalWrite | verbs.AccessRemoteWrite | verbs.AccessRemoteRead

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
func newEnd(ctx context.Context, device *verbs.Device, kind verbs.QPType, size int) (e *end, err error) {
	e = &end{device: device}
	gids, err := device.GIDs(ctx, 1)
	if err != nil {
		return nil, err
	}
	for _, g := range gids {
		if g.GID.Addr().Is4() {
			e.gid = g
		}
	}
	if e.pd, err = device.AllocatePD(); err != nil {
		return nil, err
	}
	if e.cq, err = device.CreateCQ(verbs.CQConfig{Depth: 256}); err != nil {
		return nil, err
	}
	e.qp, err = e.pd.CreateQP(verbs.QPConfig{
		Type: kind, SendCQ: e.cq, RecvCQ: e.cq,
		Capacity: verbs.QPCapacity{MaxSendWR: 64, MaxRecvWR: 64, MaxSendSegments: 4, MaxInline: 64},
	})
	if err != nil {
		return nil, err
	}
	e.mr, err = e.pd.RegisterMemory(make([]byte, size), verbs.MemoryOptions{Access: allAccess})
	return e, err
}

// close closes everything in the right order, and the device.
func (e *end) close() error {
	return errors.Join(e.qp.Close(), e.mr.Close(), e.cq.Close(), e.pd.Close())
}

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

// rc sends messages between two queue pairs of rxe0.
func rc(ctx context.Context) error {
	device, err := verbs.Open(ctx, "rxe0", ibverbs.Provider{})
	if err != nil {
		return err
	}
	defer device.Close()
	fmt.Println("capabilities:", device.Capabilities())
	const size = 10000
	a, err := newEnd(ctx, device, verbs.QPTypeRC, size)
	if err != nil {
		return err
	}
	b, err := newEnd(ctx, device, verbs.QPTypeRC, size)
	if err != nil {
		return err
	}
	if err := connect(a, b); err != nil {
		return err
	}
	pattern(a.mr.Bytes(), 1)
	if _, err := b.qp.PostReceive(verbs.ReceiveRequest{
		ID: 11, Segments: []verbs.Segment{b.mr.Segment(0, size)},
	}); err != nil {
		return err
	}
	if _, err := a.qp.PostSend(verbs.SendRequest{
		ID: 22, Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Segments: []verbs.Segment{a.mr.Segment(0, size)},
	}); err != nil {
		return err
	}
	got, err := b.wait(ctx, 1)
	if err != nil {
		return err
	}
	if got[0].ID != 11 || got[0].Bytes != size || got[0].Op != verbs.WCReceive {
		return fmt.Errorf("receive completed as %+v", got[0])
	}
	if _, err := a.wait(ctx, 1); err != nil {
		return err
	}
	if err := expect("SEND", b.mr.Bytes(), 1); err != nil {
		return err
	}
	return errors.Join(a.close(), b.close(), device.Close())
}
