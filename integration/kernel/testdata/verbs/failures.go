package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// channel waits for the completions of two queues with one channel.
func channel(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	ch, err := a.device.CreateChannel()
	if err != nil {
		return err
	}
	var ends [2]*end
	for i := range ends {
		if ends[i], err = newEnd(ctx, a.device, 100, verbs.QPConfig{}, verbs.CQConfig{Channel: ch}); err != nil {
			return err
		}
	}
	if err := connect(ends[0], ends[1]); err != nil {
		return err
	}
	for _, e := range ends {
		if err := e.cq.Arm(e == ends[1]); err != nil { // the receiver's for solicited completions
			return err
		}
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := ch.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("Wait without events = %w, want the deadline", err)
	}
	if err := post(ends[0], ends[1], receive(ends[1], 1, 2, 50),
		verbs.SendRequest{Op: verbs.SendOpSend, Data: []byte("quiet")},
		verbs.SendRequest{Op: verbs.SendOpSend, Data: []byte("loud"), Flags: verbs.SendSolicited | verbs.SendSignaled},
	); err != nil {
		return err
	}
	seen := map[*verbs.CompletionQueue]bool{}
	for range ends {
		cq, err := ch.Wait(ctx)
		if err != nil {
			return err
		}
		seen[cq] = true
	}
	if !seen[ends[0].cq] || !seen[ends[1].cq] {
		return fmt.Errorf("events of %v, want one of each queue", seen)
	}
	if _, err := ends[1].wait2(2); err != nil {
		return err
	}
	if err := ch.Close(); !errors.Is(err, verbs.ErrBusy) {
		return fmt.Errorf("Close of a channel in use = %w, want ErrBusy", err)
	}
	return errors.Join(ends[0].close(), ends[1].close(), ch.Close(), ch.Close(), closeAll(a, b))
}

// wait2 polls until there are n successful completions.
func (e *end) wait2(n int) (wcs []verbs.WorkCompletion, err error) {
	for deadline := time.Now().Add(10 * time.Second); len(wcs) < n; {
		some := make([]verbs.WorkCompletion, 4)
		got, err := e.cq.Poll(some)
		switch {
		case err != nil:
			return wcs, err
		case time.Now().After(deadline):
			return wcs, fmt.Errorf("%d completions, want %d", len(wcs), n)
		}
		for i := range got {
			if err := some[i].Err(); err != nil {
				return wcs, err
			}
		}
		wcs = append(wcs, some[:got]...)
	}
	return wcs, nil
}

// failures uses a wrong key, after which both queue pairs fail and flush, and resets the sender.
func failures(ctx context.Context) error {
	if _, err := verbs.Open(ctx, "rxe9", ibverbs.Provider{}); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("Open(rxe9) = %w, want fs.ErrNotExist", err)
	}
	a, b, err := pair(ctx, verbs.QPTypeRC, messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	if err := post(a, b, receive(b, 50, 1, 10), verbs.SendRequest{
		ID: 60, Op: verbs.SendOpWrite, Segments: []verbs.Segment{a.mr.Segment(0, 8)},
		RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey() + 0x55,
	}, verbs.SendRequest{ID: 61, Op: verbs.SendOpSend, Data: []byte("flushed")}); err != nil {
		return err
	}
	wcs := make([]verbs.WorkCompletion, 1)
	for i, want := range []verbs.WCStatus{verbs.WCRemoteAccess, verbs.WCFlushed} {
		if _, err := a.cq.Wait(ctx, wcs); err != nil {
			return err
		}
		if wcs[0].ID != uint64(60+i) || wcs[0].Status != want || wcs[0].QPN != a.qp.QPN() {
			return fmt.Errorf("completion %+v, want request %d with %v", wcs[0], 60+i, want)
		}
	}
	if attr, err := a.qp.Query(); err != nil || attr.State != verbs.QPStateError || a.qp.State() != verbs.QPStateError {
		return fmt.Errorf("Query = %+v, %w, want state ERR", attr, err)
	}
	for _, e := range []*end{a, b} {
		if err := e.qp.Modify(verbs.QPAttributes{State: verbs.QPStateReset}); err != nil {
			return err
		}
	}
	if err := connect(a, b); err != nil {
		return err
	}
	for {
		n, err := b.cq.Poll(wcs) // the flushed receive request, unless the reset has removed it
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if err := write(ctx, a, b); err == nil { // the region is too small for this case's WRITE
		return errors.New("a WRITE beyond the region succeeded")
	}
	return closeAll(a, b)
}

// events waits for the event of a new address, which becomes a GID.
func events(ctx context.Context) error {
	device, err := verbs.Open(ctx, "rxe0", ibverbs.Provider{})
	if err != nil {
		return err
	}
	ip := func(verb string) error {
		return exec.CommandContext(ctx, "ip", "addr", verb, "192.0.2.79/25", "dev", "eth0").Run()
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := device.NextEvent(short); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("NextEvent without events = %w, want the deadline", err)
	}
	if err := ip("add"); err != nil {
		return err
	}
	event, err := device.NextEvent(ctx)
	if err := errors.Join(err, ip("del")); err != nil {
		return err
	}
	if event.Type != provider.EventGIDChange || event.Port != 1 {
		return fmt.Errorf("event %+v, want a GID change of port 1", event)
	}
	return device.Close()
}

// closing closes objects in the wrong order, twice, and while goroutines wait for them.
func closing(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	for name, f := range map[string]func() error{"device": a.device.Close, "pd": a.pd.Close, "cq": a.cq.Close} {
		if err := f(); !errors.Is(err, verbs.ErrBusy) {
			return fmt.Errorf("Close of %s in use = %w, want ErrBusy", name, err)
		}
	}
	errs := make(chan error, 3)
	ch, err := a.device.CreateChannel()
	if err != nil {
		return err
	}
	go func() { _, err := a.cq.Wait(ctx, make([]verbs.WorkCompletion, 1)); errs <- err }()
	go func() { _, err := ch.Wait(ctx); errs <- err }()
	go func() {
		for {
			if _, err := a.device.NextEvent(ctx); err != nil {
				errs <- err
				return
			}
		}
	}()
	time.Sleep(100 * time.Millisecond)
	segment := a.mr.Segment(0, 1)
	if err := errors.Join(ch.Close(), closeAll(a, b), closeAll(a, b)); err != nil {
		return err
	}
	for range 3 {
		if err := <-errs; !errors.Is(err, verbs.ErrClosed) {
			return fmt.Errorf("wait for a closed object = %w, want ErrClosed", err)
		}
	}
	_, postErr := a.qp.PostSend(verbs.SendRequest{Op: verbs.SendOpSend, Segments: []verbs.Segment{segment}})
	_, recvErr := a.qp.PostReceive(verbs.ReceiveRequest{})
	_, pollErr := a.cq.Poll(make([]verbs.WorkCompletion, 1))
	_, queryErr := a.qp.Query()
	_, pdErr := a.device.AllocatePD()
	_, mrErr := a.pd.RegisterMemory(make([]byte, 1), verbs.MemoryOptions{})
	_, portErr := a.device.Port(ctx, 1)
	for i, err := range []error{
		postErr, recvErr, pollErr, queryErr, pdErr, mrErr, portErr, a.qp.Modify(verbs.QPAttributes{}),
	} {
		if !errors.Is(err, verbs.ErrClosed) {
			return fmt.Errorf("call %d of a closed object = %w, want ErrClosed", i, err)
		}
	}
	return nil
}

// memlock registers more memory than the limit permits. It runs without CAP_IPC_LOCK.
func memlock(ctx context.Context) error {
	limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return err
	}
	device, err := verbs.Open(ctx, "rxe0", ibverbs.Provider{})
	if err != nil {
		return err
	}
	pd, err := device.AllocatePD()
	if err != nil {
		return err
	}
	_, err = pd.RegisterMemory(make([]byte, 8<<20), verbs.MemoryOptions{Access: verbs.AccessLocalWrite})
	e, ok := errors.AsType[*ibverbs.Error](err)
	if !ok || !errors.Is(err, syscall.ENOMEM) || !strings.Contains(e.Remedy, "RLIMIT_MEMLOCK") ||
		!strings.Contains(e.Remedy, "1048576") || !strings.Contains(e.Remedy, "8388608") {
		return fmt.Errorf("register memory = %#v, want ENOMEM with the limit", err)
	}
	fmt.Println(e, "-", e.Remedy)
	return errors.Join(pd.Close(), device.Close())
}

// siw opens an iWARP device and creates what needs no connection.
func siw(ctx context.Context) error {
	device, err := verbs.Open(ctx, "siw0", ibverbs.Provider{})
	if err != nil {
		return err
	}
	fmt.Println("capabilities:", device.Capabilities())
	port, err := device.Port(ctx, 1)
	if err != nil || port.LinkLayer != verbs.LinkLayerEthernet {
		return fmt.Errorf("Port = %+v, %w", port, err)
	}
	e, err := newEnd(ctx, device, messageSize, verbs.QPConfig{}, verbs.CQConfig{})
	if err != nil {
		return err
	}
	if n, err := e.cq.Poll(make([]verbs.WorkCompletion, 1)); n != 0 || err != nil {
		return fmt.Errorf("Poll = %d, %w", n, err)
	}
	if _, err := e.pd.CreateQP(verbs.QPConfig{
		Type: verbs.QPTypeUD, SendCQ: e.cq, RecvCQ: e.cq,
	}); !errors.Is(err, verbs.ErrNotSupported) {
		return fmt.Errorf("CreateQP of type UD = %w, want ErrNotSupported", err)
	}
	return errors.Join(e.close(), device.Close())
}

// drain stops the send queue, waits for the event, and resumes.
func drain(ctx context.Context) error {
	a, b, err := pair(ctx, verbs.QPTypeRC, 4*messageSize, verbs.CQConfig{})
	if err != nil {
		return err
	}
	if err := a.qp.Modify(verbs.QPAttributes{State: verbs.QPStateSQD}); err != nil {
		return err
	}
	event, err := a.device.NextEvent(ctx)
	if err != nil || event.Type != provider.EventSendQueueDrained || event.QPN != a.qp.QPN() || event.ID != 1 {
		return fmt.Errorf("event %+v, %w, want that the send queue is drained", event, err)
	}
	if err := a.qp.Modify(verbs.QPAttributes{State: verbs.QPStateRTS}); err != nil {
		return err
	}
	return errors.Join(write(ctx, a, b), closeAll(a, b))
}
