package verbs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// plainDevice is a device of a provider that implements nothing optional.
type plainDevice struct{ provider.Device }

func (plainDevice) Name() string                                            { return "plain0" }
func (plainDevice) AllocatePD() (provider.ProtectionDomain, error)          { return plainDomain{}, nil }
func (plainDevice) Devices(context.Context) ([]DeviceInfo, error)           { return nil, nil }
func (d plainDevice) Open(context.Context, string) (provider.Device, error) { return d, nil }

type plainDomain struct{ provider.ProtectionDomain }

// TestNotSupported checks that each optional feature of a device that doesn't have it is an error
// that names the device.
func TestNotSupported(t *testing.T) {
	d := &Device{plainDevice{}}
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"RegisterAddress":     func() error { _, err := pd.RegisterAddress(1, 1, MemoryOptions{}); return err },
		"RegisterDMABuf":      func() error { _, err := pd.RegisterDMABuf(3, 0, 1, MemoryOptions{}); return err },
		"AllocateWindow":      func() error { _, err := pd.AllocateWindow(WindowType2); return err },
		"CreateSRQ":           func() error { _, err := pd.CreateSRQ(SRQConfig{}); return err },
		"CreateAddressHandle": func() error { _, err := pd.CreateAddressHandle(1, Path{}); return err },
		"CreateChannel":       func() error { _, err := d.CreateChannel(); return err },
		"NextEvent":           func() error { _, err := d.NextEvent(t.Context()); return err },
		"Listen": func() error {
			_, err := d.Listen(t.Context(), netip.AddrPort{}, ListenOptions{})
			return err
		},
		"Dial": func() error {
			_, err := d.Dial(t.Context(), &QueuePair{}, netip.AddrPort{}, ConnectOptions{})
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), "plain0") {
			t.Errorf("%s = %v, want ErrNotSupported and the device", name, err)
		}
	}
}

// richDevice has all optional features and notes the last call.
type richDevice struct {
	plainDevice
	note *note
}

type note struct {
	args []any
	qp   provider.QPConfig
	sent []SendRequest
}

func (n *note) record(args ...any) { n.args = args }

func (d richDevice) AllocatePD() (provider.ProtectionDomain, error) {
	return richDomain{note: d.note}, nil
}

func (d richDevice) NextEvent(context.Context) (Event, error) {
	return Event{Type: EventPortError, Port: 1}, nil
}

func (d richDevice) Listen(_ context.Context, addr netip.AddrPort, o ListenOptions) (provider.Listener, error) {
	d.note.record(addr, o)
	return richListener{d.note, addr}, nil
}

func (d richDevice) Dial(
	_ context.Context, qp provider.QueuePair, addr netip.AddrPort, o ConnectOptions,
) (provider.Connection, error) {
	d.note.record(qp, addr, o.RetryCount, o.RNRRetry, o.Timeout)
	return nil, &RejectedError{Reason: "no listener", NobodyListens: true}
}

type richListener struct {
	note *note
	addr netip.AddrPort
}

func (l richListener) Addr() netip.AddrPort { return l.addr }
func (l richListener) Close() error         { return nil }
func (l richListener) Next(context.Context) (provider.ConnectionRequest, error) {
	return richRequest{l}, nil
}

type richRequest struct{ richListener }

func (r richRequest) Remote() netip.AddrPort      { return r.addr }
func (r richRequest) Local() netip.AddrPort       { return netip.AddrPortFrom(r.addr.Addr(), 1) }
func (r richRequest) Options() ConnectOptions     { return ConnectOptions{PrivateData: []byte("hello")} }
func (r richRequest) Reject(private []byte) error { r.note.record(string(private)); return nil }
func (r richRequest) Accept(
	_ context.Context, qp provider.QueuePair, o ConnectOptions,
) (provider.Connection, error) {
	r.note.record(qp, o.ReadAtomic, o.DestReadAtomic)
	return richConnection{r}, nil
}

type richConnection struct{ richRequest }

func (c richConnection) Done() <-chan struct{} { return nil }
func (c richConnection) Err() error            { return io.EOF }
func (c richConnection) Datagram() (DatagramPeer, bool) {
	return DatagramPeer{QPN: 9, QKey: provider.QKeyDatagrams}, true
}

func (c richConnection) Disconnect(ctx context.Context) error {
	c.note.record("disconnect")
	return context.Cause(ctx)
}

type richDomain struct {
	plainDomain
	note *note
}

// opaque is memory that the program can't access.
type opaque struct {
	provider.MemoryRegion
	length uint64
}

func (opaque) Bytes() []byte    { return nil }
func (o opaque) Length() uint64 { return o.length }

func (d richDomain) RegisterAddress(addr uintptr, length uint64, o MemoryOptions) (provider.MemoryRegion, error) {
	d.note.record(addr, length, o)
	return opaque{length: length}, nil
}

func (d richDomain) RegisterDMABuf(fd int, offset, length uint64, o MemoryOptions) (provider.MemoryRegion, error) {
	d.note.record(fd, offset, length, o)
	return opaque{length: length}, nil
}

func (d richDomain) AllocateWindow(t WindowType) (provider.MemoryWindow, error) {
	return window{t}, nil
}

type window struct{ t WindowType }

func (w window) RKey() uint32     { return 77 }
func (w window) Type() WindowType { return w.t }
func (w window) Close() error     { return nil }

func (d richDomain) CreateSRQ(c SRQConfig) (provider.SharedReceiveQueue, error) {
	return &sharedQueue{config: c}, nil
}

type sharedQueue struct {
	config SRQConfig
	posted []uint64
}

func (q *sharedQueue) PostReceive(wrs []ReceiveRequest) (int, error) {
	for _, wr := range wrs {
		q.posted = append(q.posted, wr.ID)
	}
	return len(wrs), nil
}
func (q *sharedQueue) SetLimit(n int) error      { q.config.Limit = n; return nil }
func (q *sharedQueue) Query() (SRQConfig, error) { return q.config, nil }
func (q *sharedQueue) Close() error              { return nil }

type handle struct{ path Path }

func (handle) Close() error { return nil }

func (d richDomain) CreateAddressHandle(_ int, p Path) (provider.AddressHandle, error) {
	return handle{p}, nil
}

func (d richDomain) CreateQP(c provider.QPConfig) (provider.QueuePair, error) {
	d.note.qp = c
	return &notedQP{note: d.note}, nil
}

type notedQP struct {
	provider.QueuePair
	note *note
}

func (q *notedQP) PostSend(wrs []SendRequest) (int, error) {
	q.note.sent = slices.Clone(wrs)
	for i := range wrs { // the slices belong to the caller after the call
		q.note.sent[i].Data = bytes.Clone(wrs[i].Data)
		if wrs[i].To != nil {
			to := *wrs[i].To
			q.note.sent[i].To = &to
		}
	}
	return len(wrs), nil
}

// TestOptionalFeatures checks what verbs passes to a provider that has all of them.
func TestOptionalFeatures(t *testing.T) {
	n := &note{}
	d := &Device{richDevice{note: n}}
	pd, err := d.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, args ...any) {
		t.Helper()
		if !slices.Equal(n.args, args) {
			t.Errorf("%s: the provider got %v, want %v", what, n.args, args)
		}
	}
	options := MemoryOptions{Access: AccessRemoteRead | AccessRelaxedOrdering, Address: 0x1000}
	mr, err := pd.RegisterDMABuf(5, 4096, 8192, options)
	want("RegisterDMABuf", 5, uint64(4096), uint64(8192), options)
	if err != nil || mr.Length() != 8192 || mr.Bytes() != nil {
		t.Errorf("region = %d bytes, %v, want 8192 that Go can't see", mr.Length(), err)
	}
	if err := mr.WaitByte(t.Context(), 0, 1); !errors.Is(err, ErrNotSupported) {
		t.Errorf("WaitByte = %v, want ErrNotSupported", err)
	}
	_, _ = pd.RegisterAddress(0x7000, 16, options)
	want("RegisterAddress", uintptr(0x7000), uint64(16), options)

	srq, err := pd.CreateSRQ(SRQConfig{MaxWR: 8, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if k, err := srq.PostReceive(ReceiveRequest{ID: 4}, ReceiveRequest{ID: 5}); k != 2 || err != nil {
		t.Errorf("PostReceive = %d, %v", k, err)
	}
	_ = srq.SetLimit(3)
	if c, _ := srq.Query(); c != (SRQConfig{MaxWR: 8, Limit: 3}) {
		t.Errorf("Query = %+v", c)
	}
	cq := &CompletionQueue{impl: &fakeCQ{}}
	qp, err := pd.CreateQP(QPConfig{
		Type: QPTypeUD, SendCQ: cq, RecvCQ: cq, SRQ: srq, Capacity: QPCapacity{MaxInline: 9},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n.qp.SRQ != srq.impl || n.qp.Type != QPTypeUD || n.qp.Capacity.MaxInline != 9 || n.qp.SendCQ != cq.impl {
		t.Errorf("CreateQP passed %+v", n.qp)
	}
	testRequests(t, n, pd, qp, mr)
	testConnections(t, n, d, qp)
	if e, err := d.NextEvent(t.Context()); e.Type != EventPortError || e.Port != 1 || err != nil {
		t.Errorf("NextEvent = %+v, %v", e, err)
	}
}

// testRequests checks the fields of requests that no engine of ours executes.
func testRequests(t *testing.T, n *note, pd *ProtectionDomain, qp *QueuePair, mr *MemoryRegion) {
	t.Helper()
	ah, _ := pd.CreateAddressHandle(1, Path{DLID: 3})
	w, _ := pd.AllocateWindow(WindowType2)
	data := []byte("first")
	if _, err := qp.PostSend(
		SendRequest{Op: SendOpSend, Data: data, To: ah.To(17, 0x11111111)},
		SendRequest{Op: SendOpSendInvalidate, Invalidate: 99, Data: []byte("second")},
		SendRequest{Op: SendOpBindWindow, Bind: w.Bind(mr, 16, 32, AccessRemoteWrite)},
	); err != nil {
		t.Fatal(err)
	}
	got := n.sent
	if to := got[0].To; to.QPN != 17 || to.QKey != 0x11111111 || to.Handle != (handle{Path{DLID: 3}}) {
		t.Errorf("destination = %+v", to)
	}
	if string(got[0].Data) != "first" || string(got[1].Data) != "second" || got[2].Data != nil {
		t.Errorf("data = %q, %q, %q", got[0].Data, got[1].Data, got[2].Data)
	}
	if got[1].Invalidate != 99 || got[1].Op != SendOpSendInvalidate {
		t.Errorf("request with invalidate = %+v", got[1])
	}
	want := WindowBind{Window: window{WindowType2}, Region: mr.impl, Offset: 16, Length: 32, Access: AccessRemoteWrite}
	if b := got[2].Bind; b == nil || *b != want {
		t.Errorf("binding = %+v, want %+v", b, want)
	}
	for key, next := range map[uint32]uint32{0x1234: 0x1235, 0x12ff: 0x1200} {
		if got := NextKey(key); got != next {
			t.Errorf("NextKey(%#x) = %#x, want %#x", key, got, next)
		}
	}
	if w.RKey() != 77 || w.Type() != WindowType2 {
		t.Errorf("window: key %d, type %d", w.RKey(), w.Type())
	}
}

func testConnections(t *testing.T, n *note, d *Device, qp *QueuePair) {
	t.Helper()
	addr := netip.MustParseAddrPort("192.0.2.1:18515")
	_, err := d.Dial(t.Context(), qp, addr, ConnectOptions{RetryCount: 5, Timeout: TimeoutInfinite})
	if !slices.Equal(n.args, []any{qp.impl, addr, uint8(5), uint8(7), uint8(0)}) {
		t.Errorf("Dial passed %v", n.args)
	}
	if rejected := (*RejectedError)(nil); !errors.As(err, &rejected) || rejected.Reason != "no listener" ||
		!errors.Is(err, ErrNobodyListens) || errors.Is(&RejectedError{}, ErrNobodyListens) {
		t.Errorf("Dial = %v, want a RejectedError", err)
	}
	options := ListenOptions{PortSpace: PortSpaceUDP, Backlog: 3}
	l, err := d.Listen(t.Context(), addr, options)
	if !slices.Equal(n.args, []any{addr, options}) {
		t.Errorf("Listen passed %v", n.args)
	}
	if err != nil || l.Addr() != addr {
		t.Fatalf("Listen = %v at %v", err, l.Addr())
	}
	r, err := l.Next(t.Context())
	if err != nil || r.Remote() != addr || r.Local().Port() != 1 || string(r.Options().PrivateData) != "hello" {
		t.Fatalf("Next = %+v, %v", r, err)
	}
	c, err := r.Accept(t.Context(), qp, ConnectOptions{ReadAtomic: 4})
	if err != nil || c.Remote() != addr || c.Local().Port() != 1 || !errors.Is(c.Err(), io.EOF) || c.Done() != nil ||
		string(c.Options().PrivateData) != "hello" {
		t.Errorf("Accept = %+v, %v", c, err)
	}
	if !slices.Equal(n.args, []any{qp.impl, 4, 4}) {
		t.Errorf("Accept passed %v", n.args)
	}
	if p, ok := c.Datagram(); p.QPN != 9 || !ok {
		t.Errorf("Datagram = %v, %t", p, ok)
	}
	if err := c.Disconnect(t.Context()); err != nil || !slices.Equal(n.args, []any{"disconnect"}) {
		t.Errorf("Disconnect = %v, passed %v", err, n.args)
	}
	if _ = r.Reject([]byte("full")); !slices.Equal(n.args, []any{"full"}) {
		t.Errorf("Reject passed %v", n.args)
	}
}

type fakeCQ struct{ provider.CompletionQueue }

func (*fakeCQ) Close() error { return nil }

// channelDevice has a channel whose events are queues of its own.
type channelDevice struct {
	plainDevice
	events chan provider.CompletionQueue
}

func (d channelDevice) CreateChannel() (provider.CompletionChannel, error) { return d, nil }
func (d channelDevice) Close() error                                       { return nil }
func (d channelDevice) CreateCQ(provider.CQConfig) (provider.CompletionQueue, error) {
	return &namedCQ{}, nil
}

func (d channelDevice) Wait(ctx context.Context) (provider.CompletionQueue, error) {
	select {
	case q := <-d.events:
		return q, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

type namedCQ struct {
	fakeCQ
	_ byte // so that two have different addresses
}

// TestChannelReturnsItsQueue checks that the queue of an event is the one that the program created,
// and that the event of a queue that was closed meanwhile is skipped.
func TestChannelReturnsItsQueue(t *testing.T) {
	events := make(chan provider.CompletionQueue, 2)
	d := &Device{channelDevice{events: events}}
	c, err := d.CreateChannel()
	if err != nil {
		t.Fatal(err)
	}
	var queues [2]*CompletionQueue
	for i := range queues {
		if queues[i], err = d.CreateCQ(CQConfig{Channel: c}); err != nil {
			t.Fatal(err)
		}
	}
	events <- queues[0].impl
	events <- queues[1].impl
	_ = queues[0].Close()
	if got, err := c.Wait(t.Context()); got != queues[1] || err != nil {
		t.Errorf("Wait = %p, %v, want the second queue", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := c.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait = %v, want the end of the context", err)
	}
}

// listProvider lists devices, and fails.
type listProvider struct {
	plainDevice
	list []DeviceInfo
	err  error
}

func (p listProvider) Devices(context.Context) ([]DeviceInfo, error) { return p.list, p.err }

// TestDevices checks that a provider that can't list its devices hides none of the others.
func TestDevices(t *testing.T) {
	broken := errors.New("no permission")
	got, err := Devices(t.Context(), listProvider{list: []DeviceInfo{{Name: "a"}}, err: broken},
		listProvider{list: []DeviceInfo{{Name: "b"}, {Name: "c"}}})
	var names string
	for _, d := range got {
		names += d.Name
	}
	if names != "abc" || !errors.Is(err, broken) || !strings.Contains(err.Error(), "plain0") {
		t.Errorf("Devices = %s, %v, want abc and the error with its provider", names, err)
	}
}

// plainRegion is a region of a provider that doesn't watch memory.
type plainRegion struct {
	provider.MemoryRegion
	buf []byte
}

func (r plainRegion) Bytes() []byte  { return r.buf }
func (r plainRegion) Length() uint64 { return uint64(len(r.buf)) }

// TestWaitByteByPolling checks WaitByte where the provider can't watch memory.
func TestWaitByteByPolling(t *testing.T) {
	r := plainRegion{buf: make([]byte, 8)}
	mr := &MemoryRegion{r}
	r.buf[3] = 7
	if err := mr.WaitByte(t.Context(), 3, 7); err != nil {
		t.Error(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause)
	defer cancel()
	if err := mr.WaitByte(ctx, 3, 8); !errors.Is(err, cause) {
		t.Errorf("WaitByte = %v, want %v", err, cause)
	}
	for _, offset := range []int{-1, 8} {
		if err := mr.WaitByte(t.Context(), offset, 0); err == nil {
			t.Errorf("WaitByte of byte %d = nil", offset)
		}
	}
}
