//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestCreateErrors checks the errors of a driver that rejects objects.
func TestCreateErrors(t *testing.T) {
	s := openStandIn(t, "good0")
	s.memlock = func() int64 { return 65536 }
	create := map[string]func() error{
		"pd": func() error { _, err := s.AllocatePD(); return err },
		"cq": func() error { _, err := s.CreateCQ(provider.CQConfig{}); return err },
		"mr": func() error {
			_, err := s.pd.RegisterMemory(make([]byte, 123456), provider.MemoryOptions{})
			return err
		},
		"qp":      func() error { _, err := s.pd.CreateQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq}); return err },
		"ah":      func() error { _, err := s.pd.CreateAddressHandle(1, provider.Path{DGID: ib.GID{1}}); return err },
		"srq":     func() error { _, err := s.pd.CreateSRQ(provider.SRQConfig{}); return err },
		"window":  func() error { _, err := s.pd.AllocateWindow(provider.WindowType2); return err },
		"channel": func() error { _, err := s.CreateChannel(); return err },
	}
	for _, tt := range []struct {
		errno  syscall.Errno
		target error
		remedy string
	}{
		{syscall.ENOMEM, syscall.ENOMEM, "RLIMIT_MEMLOCK"},
		{syscall.EPERM, fs.ErrPermission, "/dev/infiniband"},
		{syscall.EIO, syscall.EIO, "was removed"},
		{syscall.EOPNOTSUPP, provider.ErrNotSupported, ""},
		{syscall.EPROTONOSUPPORT, provider.ErrNotSupported, ""},
	} {
		s.fail(t, failCreate, tt.errno)
		for name, f := range create {
			err := f()
			e, ok := errors.AsType[*Error](err)
			if !ok || !errors.Is(err, tt.target) || !strings.Contains(e.Remedy, tt.remedy) || e.Device != "good0" {
				t.Errorf("%s: %#v, want %v with %q in the remedy", name, err, tt.target, tt.remedy)
				continue
			}
			if tt.errno == syscall.ENOMEM && (name == "mr") != strings.Contains(e.Remedy, "123456") {
				t.Errorf("%s: remedy %q, want the size of a region", name, e.Remedy)
			}
		}
	}
	s.fail(t, failCreate, 0)
	if got := memlockRemedy(1, -1); strings.Contains(got, "ulimit") {
		t.Errorf("remedy without a limit: %q", got)
	}
}

// TestOpenErrors checks names, and a library without a data path.
func TestOpenErrors(t *testing.T) {
	p := Provider{Library: fake(t, "-DDATAPATH"), chars: t.TempDir()}
	for _, name := range []string{"", "roce@192.0.2.1", "a/b", "nosuch0"} {
		if _, err := p.Open(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q) = %v, want fs.ErrNotExist", name, err)
		}
	}
	if _, err := p.Open(t.Context(), "denied0"); !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open(denied0) = %v, want fs.ErrPermission", err)
	}
	_, err := Provider{Library: fake(t), chars: t.TempDir()}.Open(t.Context(), "good0")
	if e, ok := errors.AsType[*dl.Error](err); !ok || e.Symbol != "ibv_alloc_pd" ||
		!strings.Contains(e.Remedy, "update") {
		t.Errorf("Open without a data path = %v, want the missing symbol", err)
	}
	_, err = Provider{Library: "libibverbs-nowhere.so.9"}.Open(t.Context(), "good0")
	if e, ok := errors.AsType[*dl.Error](err); !ok || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(e.Remedy, "libibverbs1") {
		t.Errorf("Open without the library = %v, want the package", err)
	}
	list, err := p.Devices(t.Context())
	if err != nil || len(list) != 10 || list[9].Name != "ib0" ||
		!list[9].Capabilities.Has(provider.CapRC|provider.CapUD) {
		t.Errorf("Devices = %+v, %v", list, err)
	}
}

// TestAllocations checks that posting and polling allocate nothing.
func TestAllocations(t *testing.T) {
	s := openStandIn(t, "good0")
	qp := s.newPair(t, provider.QPConfig{Capacity: provider.QPCapacity{MaxInline: 64}})
	ud := s.newPair(t, provider.QPConfig{Type: provider.QPTypeUD})
	ah, err := s.pd.CreateAddressHandle(1, provider.Path{DGID: ib.GID{1}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(qp.Close(), ud.Close(), ah.Close()) }()
	segments := []provider.Segment{{Region: s.mr, Length: 100}}
	sends := make([]provider.SendRequest, 40)
	for i := range sends {
		sends[i] = provider.SendRequest{Op: provider.SendOpWrite, Flags: provider.SendSignaled, Segments: segments}
	}
	sends[1] = provider.SendRequest{Flags: provider.SendSignaled, Data: make([]byte, 64)}
	receives := []provider.ReceiveRequest{{Segments: segments}, {}}
	datagrams := []provider.SendRequest{{Flags: provider.SendSignaled, To: &provider.Datagram{Handle: ah}}}
	wcs := make([]provider.WorkCompletion, 100)
	if n := testing.AllocsPerRun(100, func() {
		a, err1 := qp.PostSend(sends)
		b, err2 := qp.PostReceive(receives)
		c, err3 := ud.PostSend(datagrams)
		d, err4 := s.cq.Poll(wcs)
		if a+b+c != 43 || d != 43 || err1 != nil || err2 != nil || err3 != nil || err4 != nil {
			t.Fatalf("posted %d, %d, %d, polled %d: %v %v %v %v", a, b, c, d, err1, err2, err3, err4)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if chain := control(t, s.c.library, "fake_last_chain", 0); chain != 1 {
		t.Errorf("the last chain has %d requests, want the datagram", chain)
	}
}

// TestWaiting checks that Wait, a channel's Wait and NextEvent return when something happens, when
// their context ends and when their object is closed.
func TestWaiting(t *testing.T) {
	s := openStandIn(t, "good0")
	ch, err := s.CreateChannel()
	if err != nil {
		t.Fatal(err)
	}
	shared := s.newQueue(t, provider.CQConfig{Channel: ch})
	qp := s.newPair(t, provider.QPConfig{ID: 5, SignalAll: true})
	other := s.newPair(t, provider.QPConfig{SendCQ: shared, RecvCQ: shared, SignalAll: true})
	wcs := make([]provider.WorkCompletion, 4)
	waits := map[string]func(context.Context) error{
		"Wait":           func(ctx context.Context) error { _, err := s.cq.Wait(ctx, wcs); return err },
		"Wait (channel)": func(ctx context.Context) error { _, err := ch.Wait(ctx); return err },
		"NextEvent":      func(ctx context.Context) error { _, err := s.NextEvent(ctx); return err },
	}
	happen := map[string]func(){
		"Wait":           func() { _, _ = qp.PostSend(make([]provider.SendRequest, 1)) },
		"Wait (channel)": func() { _, _ = other.PostSend(make([]provider.SendRequest, 1)) },
		"NextEvent":      func() { control(t, s.c.library, "fake_event", int(provider.EventQPFatal)) },
	}
	for name, wait := range waits {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s = %v, want the deadline", name, err)
		}
		cancel()
		if err := shared.Arm(false); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for range 2 { // two goroutines wait, for one thing each
			go func() { done <- wait(t.Context()) }()
		}
		for range 2 {
			time.Sleep(5 * time.Millisecond)
			happen[name]()
			if err := <-done; err != nil {
				t.Errorf("%s = %v", name, err)
			}
			_ = shared.Arm(false)
		}
	}
	if _, err := shared.Wait(t.Context(), wcs); err == nil {
		t.Error("Wait on a queue with a channel: no error")
	}
	if err := s.cq.Arm(false); err == nil {
		t.Error("Arm of a queue without a channel: no error")
	}
	errs := make(chan error, 2)
	go func() { errs <- waits["Wait (channel)"](t.Context()) }()
	time.Sleep(5 * time.Millisecond)
	if err := errors.Join(qp.Close(), other.Close(), shared.Close(), ch.Close()); err != nil {
		t.Error(err)
	}
	if err := <-errs; !errors.Is(err, provider.ErrClosed) {
		t.Errorf("Wait on a closed channel = %v, want ErrClosed", err)
	}
	cq := s.newQueue(t, provider.CQConfig{Wait: provider.WaitEvent})
	for range 2 {
		go func() { _, err := cq.Wait(t.Context(), wcs[:1]); errs <- err }()
	}
	time.Sleep(5 * time.Millisecond)
	if err := cq.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, provider.ErrClosed) {
			t.Errorf("Wait on a closed queue = %v, want ErrClosed", err)
		}
	}
}

// TestEvents checks IDs, overruns, and that events of closed objects are acknowledged and dropped.
func TestEvents(t *testing.T) {
	s := openStandIn(t, "good0")
	cq := s.newQueue(t, provider.CQConfig{ID: 31})
	qp := s.newPair(t, provider.QPConfig{SendCQ: cq, RecvCQ: cq, ID: 32})
	srq, err := s.pd.CreateSRQ(provider.SRQConfig{ID: 33, Limit: 9})
	if err != nil || control(t, s.c.library, "fake_last_limit", 0) != 9 {
		t.Fatalf("CreateSRQ: %v", err)
	}
	report := func(kind provider.EventType) { control(t, s.c.library, "fake_event", int(kind)) }
	for _, want := range []provider.Event{
		{Type: provider.EventCQError, ID: 31},
		{Type: provider.EventQPFatal, ID: 32, QPN: qp.qpn},
		{Type: provider.EventSRQLimit, ID: 33},
		{Type: provider.EventPortError, Port: 1},
		{Type: provider.EventDeviceFatal},
	} {
		report(want.Type)
		if got, err := s.NextEvent(t.Context()); got != want || err != nil {
			t.Errorf("NextEvent = %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := cq.Poll(make([]provider.WorkCompletion, 1)); !errors.Is(err, provider.ErrOverrun) {
		t.Errorf("Poll = %v, want ErrOverrun", err)
	}
	if qp.State() != provider.QPStateError {
		t.Errorf("state %v after a fatal event, want ERR", qp.State())
	}
	if err := errors.Join(qp.Close(), cq.Close(), srq.Close()); err != nil {
		t.Fatal(err)
	}
	report(provider.EventQPFatal)
	report(provider.EventPortActive)
	if got, err := s.NextEvent(t.Context()); got.Type != provider.EventPortActive || err != nil {
		t.Errorf("NextEvent = %+v, %v, want the event behind that of a closed queue pair", got, err)
	}
	if n := control(t, s.c.library, "fake_unacked_events", 0); n != 0 {
		t.Errorf("%d events are not acknowledged", n)
	}
}

// TestShared checks requests of a shared receive queue, whose completions come in any order.
func TestShared(t *testing.T) {
	s := openStandIn(t, "good0")
	cq := s.newQueue(t, provider.CQConfig{}) // the last one gets the stand-in's completions
	if _, err := s.pd.CreateSRQ(provider.SRQConfig{MaxWR: 13}); err == nil ||
		!strings.Contains(err.Error(), "the driver has granted no requests") {
		t.Errorf("CreateSRQ of a driver that grants nothing = %v", err)
	}
	before := registered(&s.queues)
	srq, err := s.pd.CreateSRQ(provider.SRQConfig{MaxWR: 100})
	if err != nil {
		t.Fatal(err)
	}
	// The stand-in grants one more than asked for, as only a query shows.
	if err := srq.SetLimit(102); err == nil {
		t.Error("SetLimit(102) of 101 requests: no error")
	}
	if err := srq.SetLimit(101); err != nil {
		t.Error(err)
	}
	qp := s.newPair(t, provider.QPConfig{SRQ: srq, SendCQ: cq, RecvCQ: cq})
	if _, err := qp.PostReceive(make([]provider.ReceiveRequest, 1)); err == nil {
		t.Error("PostReceive to a queue pair with a shared queue: no error")
	}
	wrs := make([]provider.ReceiveRequest, 70)
	for i := range wrs {
		wrs[i].ID = uint64(1000 + i)
	}
	wcs := make([]provider.WorkCompletion, len(wrs))
	for range 3 {
		if n, err := srq.PostReceive(wrs); n != len(wrs) || err != nil {
			t.Fatalf("PostReceive = %d, %v", n, err)
		}
		if n, err := cq.Poll(wcs); n != len(wrs) || err != nil {
			t.Fatalf("Poll = %d, %v", n, err)
		}
		want := provider.WorkCompletion{
			ID: 1069, Op: provider.WCReceive,
			Flags: provider.WCGRH | provider.WCImmediate, Immediate: [4]byte{1, 2, 3, 4},
			Bytes: 5, QPN: 0x999, SourceQPN: 77, SourceLID: 9, PathBits: 2, ServiceLevel: 3, PKeyIndex: 4,
		}
		if diff := cmp.Diff(want, wcs[69]); diff != "" {
			t.Errorf("last completion (-want +got):\n%s", diff)
		}
	}
	s.fail(t, failPost, syscall.ENOMEM)
	if n, err := srq.PostReceive(wrs); n != 0 || !errors.Is(err, provider.ErrQueueFull) {
		t.Errorf("PostReceive to a full queue = %d, %v, want ErrQueueFull", n, err)
	}
	if q, ok := srq.(*sharedQueue); !ok || slices.Contains(q.pool.used, true) {
		t.Error("requests that were not taken occupy entries")
	}
	if err := srq.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close of a queue in use = %v, want ErrBusy", err)
	}
	if err := errors.Join(qp.Close(), srq.Close(), srq.Close(), cq.Close()); err != nil {
		t.Error(err)
	}
	if n := registered(&s.queues); n != before {
		t.Errorf("%d work queues after closing, %d before", n, before)
	}
	if _, err := srq.PostReceive(wrs); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("PostReceive to a closed queue = %v, want ErrClosed", err)
	}
}

// registered returns the number of work queues that completions may belong to.
func registered(t *queueTable) (n int) {
	if list := t.list.Load(); list != nil {
		for _, e := range *list {
			if e.queue != nil {
				n++
			}
		}
	}
	return n
}

// TestBusyDriver checks that an object that the driver doesn't destroy stays open.
func TestBusyDriver(t *testing.T) {
	s := openStandIn(t, "good0")
	qp := s.newPair(t, provider.QPConfig{SignalAll: true})
	for _, tt := range []struct {
		errno  syscall.Errno
		target error
	}{{syscall.EBUSY, provider.ErrBusy}, {syscall.EIO, syscall.EIO}} {
		s.fail(t, failDestroy, tt.errno)
		if err := qp.Close(); !errors.Is(err, tt.target) {
			t.Errorf("Close = %v, want %v", err, tt.target)
		}
		if err := s.mr.Close(); !errors.Is(err, tt.target) || s.mr.Bytes() == nil {
			t.Errorf("Close of a region = %v, want %v, and the memory", err, tt.target)
		}
		s.fail(t, failDestroy, 0)
		if n, err := qp.PostSend(make([]provider.SendRequest, 1)); n != 1 || err != nil {
			t.Errorf("PostSend = %d, %v, want the queue pair still open", n, err)
		}
	}
	if err := errors.Join(qp.Close(), qp.Close()); err != nil {
		t.Error(err)
	}
}

// TestConcurrentClose closes objects while other goroutines use them: the stand-in counts calls
// with destroyed objects.
func TestConcurrentClose(t *testing.T) {
	s := openStandIn(t, "good0")
	for range 5 {
		cq := s.newQueue(t, provider.CQConfig{Depth: 1000})
		qp := s.newPair(t, provider.QPConfig{Type: provider.QPTypeUD, SendCQ: cq, RecvCQ: cq, SignalAll: true})
		ah, err := s.pd.CreateAddressHandle(1, provider.Path{DGID: ib.GID{1}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		until := func(f func() error) {
			wg.Go(func() {
				for {
					if err := f(); errors.Is(err, provider.ErrClosed) {
						return
					}
				}
			})
		}
		send := []provider.SendRequest{{To: &provider.Datagram{Handle: ah}}, {To: &provider.Datagram{Handle: ah}}}
		until(func() error { _, err := qp.PostSend(send); return err })
		until(func() error { _, err := qp.PostReceive(make([]provider.ReceiveRequest, 3)); return err })
		until(func() error { _, err := qp.Query(); return err })
		until(func() error { _, err := cq.Poll(make([]provider.WorkCompletion, 7)); return err })
		until(func() error { _, err := cq.Wait(t.Context(), make([]provider.WorkCompletion, 7)); return err })
		time.Sleep(time.Millisecond)
		for _, c := range []interface{ Close() error }{ah, qp, cq} {
			wg.Go(func() {
				for c.Close() != nil {
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
		wg.Wait()
	}
}

// TestEventWhileCreating reads events of queue pairs while they are created: one that an event can
// be about has its number. The race detector sees one that gets it too late.
func TestEventWhileCreating(t *testing.T) {
	s := openStandIn(t, "good0")
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			var addr uintptr
			s.mu.Lock()
			for a, o := range s.objects {
				if _, ok := o.(*queuePair); ok {
					addr = a
				}
			}
			s.mu.Unlock()
			c := &cAsyncEvent{EventType: uint32(provider.EventQPLastRequest)}
			binary.NativeEndian.PutUint64(c.Element[:], uint64(addr))
			if event, ok := s.event(c); ok && event.QPN == 0 {
				t.Error("an event of a queue pair without its number")
				return
			}
		}
	})
	for range 200 {
		qp, err := s.pd.newQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq})
		if err != nil {
			t.Fatal(err)
		}
		if err := qp.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestDefaultDepth creates a completion queue on a device whose largest one is below the default.
func TestDefaultDepth(t *testing.T) {
	s := openStandIn(t, "good0")
	for most, want := range map[int32]int{100: 100, 1 << 20: defaultDepth} {
		s.attr.MaxCQE = most
		q := s.newQueue(t, provider.CQConfig{})
		if got := q.Depth(); got != want {
			t.Errorf("depth %d on a device with at most %d, want %d", got, most, want)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRegister checks addresses and flags of the kinds of memory.
func TestRegister(t *testing.T) {
	s := openStandIn(t, "good0")
	buf := make([]byte, 100)
	const local = provider.AccessLocalWrite
	memory := func(o provider.MemoryOptions) (provider.MemoryRegion, error) { return s.pd.RegisterMemory(buf, o) }
	address := func(o provider.MemoryOptions) (provider.MemoryRegion, error) {
		return s.pd.RegisterAddress(0x10000, 100, o)
	}
	dmabuf := func(o provider.MemoryOptions) (provider.MemoryRegion, error) {
		return s.pd.RegisterDMABuf(3, 0, 100, o)
	}
	for _, tt := range []struct {
		name     string
		register func(provider.MemoryOptions) (provider.MemoryRegion, error)
		options  provider.MemoryOptions
		addr     uint64
		access   provider.Access
		bytes    bool
	}{
		{"memory", memory, provider.MemoryOptions{Access: local}, uint64(addressOf(buf)), local, true},
		{"at an address", memory, provider.MemoryOptions{Access: local, Address: 0x5000}, 0x5000, local, true},
		{"zero based", memory, provider.MemoryOptions{Access: local | provider.AccessZeroBased}, 0, local, true},
		{
			"relaxed", memory,
			provider.MemoryOptions{Access: provider.AccessRelaxedOrdering},
			uint64(addressOf(buf)),
			provider.AccessRelaxedOrdering, true,
		},
		{"C memory", address, provider.MemoryOptions{}, 0x10000, 0, false},
		{"dma-buf", dmabuf, provider.MemoryOptions{Address: 0x7000}, 0x7000, 0, false},
	} {
		r, err := tt.register(tt.options)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		access := provider.Access(control(t, s.c.library, "fake_last_access", 0))
		if r.Addr() != tt.addr || access != tt.access || r.Length() != 100 || (r.Bytes() != nil) != tt.bytes ||
			r.LKey() == r.RKey() {
			t.Errorf("%s: address %#x, access %#x, %d bytes, want %#x and %#x", tt.name, r.Addr(), access, r.Length(),
				tt.addr, tt.access)
		}
		if err := errors.Join(r.Close(), r.Close()); err != nil || r.Bytes() != nil {
			t.Errorf("%s: Close = %v", tt.name, err)
		}
	}
	for name, o := range map[string]provider.MemoryOptions{
		"local write": {Access: provider.AccessRemoteWrite},
		"exclude":     {Access: provider.AccessZeroBased, Address: 1},
		"exceed":      {Address: 1<<64 - 50},
		"on-demand":   {Access: provider.AccessOnDemand},
	} {
		if _, err := memory(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("RegisterMemory(%+v) = %v, want %q", o, err, name)
		}
	}
	if _, err := s.pd.RegisterMemory(nil, provider.MemoryOptions{}); err == nil {
		t.Error("RegisterMemory(nil): no error")
	}
}
