package roce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// implements reports whether v implements I.
func implements[I any](v any) bool { _, ok := v.(I); return ok }

// TestCapabilities checks that the engine announces exactly the optional features that it has.
func TestCapabilities(t *testing.T) {
	v := newVictim(t)
	got := v.e.Capabilities()
	for _, c := range []struct {
		capability provider.Capabilities
		has        bool
	}{
		{provider.CapWindow1, implements[provider.WindowAllocator](v.pd)},
		{provider.CapSRQ, implements[provider.SRQCreator](v.pd)},
		{provider.CapUD, implements[provider.AddressHandleCreator](v.pd)},
		{provider.CapRegisterAddress, implements[provider.AddressRegistrar](v.pd)},
		{provider.CapDMABuf, implements[provider.DMABufRegistrar](v.pd)},
		{provider.CapWatch, implements[provider.MemoryWatcher](v.mr)},
		{provider.CapChannel, implements[provider.ChannelCreator](v.e)},
		{provider.CapEvents, implements[provider.EventSource](v.e)},
		{provider.CapConnector, implements[provider.Connector](v.e)},
		{provider.CapInline, true},
		{provider.CapImmediate, true},
		{provider.CapRC, true},
	} {
		if got.Has(c.capability) != c.has {
			t.Errorf("capability %v = %t, want %t", c.capability, !c.has, c.has)
		}
	}
	_, err := v.pd.CreateQP(provider.QPConfig{Type: 9, SendCQ: v.cq, RecvCQ: v.cq})
	if !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("CreateQP of type 9 = %v, want ErrNotSupported", err)
	}
	if _, err := v.e.CreateCQ(provider.CQConfig{Timestamps: true}); !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("CreateCQ with timestamps = %v, want ErrNotSupported", err)
	}
	_, err = v.pd.CreateQP(provider.QPConfig{SendCQ: v.cq, RecvCQ: v.cq, SRQ: foreignSRQ{}})
	if err == nil || !strings.Contains(err.Error(), "shared receive queue belongs to another device") {
		t.Errorf("CreateQP with the shared receive queue of another device = %v", err)
	}
}

type foreignSRQ struct{ provider.SharedReceiveQueue }

// TestDevices checks that the list contains an engine for the loopback device, as the last one.
func TestDevices(t *testing.T) {
	list, err := Provider{}.Devices(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("Devices = %v, %v", list, err)
	}
	want := provider.DeviceInfo{
		Name: "roce@lo", Provider: "roce", NodeType: provider.NodeTypeCA, Transport: provider.TransportTypeInfiniBand,
		Software: true, Capabilities: capabilities,
	}
	if last := list[len(list)-1]; last != want {
		t.Errorf("last device = %+v, want %+v", last, want)
	}
}

// TestMemoryOptions checks flags and addresses that are accepted and rejected.
func TestMemoryOptions(t *testing.T) {
	v := newVictim(t)
	const write = provider.AccessLocalWrite | provider.AccessRemoteWrite
	for _, tt := range []struct {
		name    string
		options provider.MemoryOptions
		addr    uint64 // of the region, if it matters
		want    string // part of the error; "" is none
	}{
		{"plain", provider.MemoryOptions{Access: write}, 0, ""},
		{"relaxed ordering is a hint", provider.MemoryOptions{Access: write | provider.AccessRelaxedOrdering}, 0, ""},
		{"address", provider.MemoryOptions{Access: write, Address: 0x7f00}, 0x7f00, ""},
		{"highest address", provider.MemoryOptions{Address: ^uint64(0) - 15}, ^uint64(0) - 15, ""},
		{"zero based", provider.MemoryOptions{Access: write | provider.AccessZeroBased}, 0, ""},
		{"beyond the address space", provider.MemoryOptions{Address: ^uint64(0) - 14}, 0, "exceed the address space"},
		{"both", provider.MemoryOptions{Access: provider.AccessZeroBased, Address: 1}, 0, "exclude each other"},
		{"no local write", provider.MemoryOptions{Access: provider.AccessRemoteWrite}, 0, "requires local write"},
		{"windows without local write", provider.MemoryOptions{Access: provider.AccessWindowBind}, 0, "requires local"},
		{"on demand", provider.MemoryOptions{Access: provider.AccessOnDemand}, 0, "0x40: unsupported"},
		{"unknown flag", provider.MemoryOptions{Access: 1 << 31}, 0, "unsupported"},
	} {
		mr, err := v.pd.RegisterMemory(make([]byte, 16), tt.options)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: RegisterMemory = %v, want %q", tt.name, err, tt.want)
		}
		if err != nil {
			continue
		}
		zero := tt.options.Access&provider.AccessZeroBased != 0
		if (tt.addr != 0 || zero) && mr.Addr() != tt.addr || mr.Length() != 16 {
			t.Errorf("%s: %d bytes at %#x, want 16 at %#x", tt.name, mr.Length(), mr.Addr(), tt.addr)
		}
		_ = mr.Close()
	}
}

// TestChosenAddress checks that a peer writes to the addresses that the program chose.
func TestChosenAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 64, 8)
		for _, o := range []provider.MemoryOptions{
			{Access: peersMayWrite | provider.AccessZeroBased}, {Access: peersMayWrite, Address: ^uint64(0) - 63},
		} {
			mr, err := b.pd.RegisterMemory(make([]byte, 64), o)
			if err != nil {
				t.Fatal(err)
			}
			a.mr.Bytes()[0] = 0x5a
			if _, err := a.qp.PostSend([]provider.SendRequest{{
				Op: provider.SendOpWrite, Flags: provider.SendSignaled, RKey: mr.RKey(), RemoteAddr: o.Address + 63,
				Segments: []provider.Segment{{Region: a.mr, Length: 1}},
			}}); err != nil {
				t.Fatal(err)
			}
			if wc := wait(t, a, 1)[0]; wc.Err() != nil || memory(b, mr)[63] != 0x5a {
				t.Errorf("address %#x: %v, byte %#x", o.Address, wc.Err(), memory(b, mr)[63])
			}
			_ = mr.Close()
		}
	})
}

// TestData checks requests whose message is plain bytes.
func TestData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 64, 8)
		qp, err := a.pd.CreateQP(provider.QPConfig{
			SendCQ: a.cq, RecvCQ: a.cq, Capacity: provider.QPCapacity{MaxInline: 16},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = a.qp.Close()
		a.qp = qp
		connect(t, a, b, ib.MTU256)
		data := []byte("sixteen bytes ok")
		whole := provider.ReceiveRequest{Segments: []provider.Segment{{Region: b.mr, Offset: 32, Length: 32}}}
		if _, err := b.qp.PostReceive([]provider.ReceiveRequest{whole, whole}); err != nil {
			t.Fatal(err)
		}
		for _, wr := range []provider.SendRequest{
			{Op: provider.SendOpWrite, Data: data, RKey: b.mr.RKey(), RemoteAddr: b.mr.Addr()},
			{Op: provider.SendOpSend, Data: data},
			{Op: provider.SendOpSend, Data: []byte{}},
		} {
			wr.Flags = provider.SendSignaled
			if _, err := a.qp.PostSend([]provider.SendRequest{wr}); err != nil {
				t.Fatal(err)
			}
		}
		clear(data) // copied when posting
		wait(t, a, 3)
		want := "sixteen bytes ok"
		if got := memory(b, b.mr); string(got[:16]) != want || string(got[32:48]) != want {
			t.Errorf("memory = %q", got)
		}
		for i, wc := range wait(t, b, 2) {
			if wc.Err() != nil || wc.Bytes != []uint32{16, 0}[i] {
				t.Errorf("receive %d: %v, %d bytes", i, wc.Err(), wc.Bytes)
			}
		}
		one := []provider.Segment{{Region: a.mr, Length: 1}}
		for _, tt := range []struct {
			wr   provider.SendRequest
			want string
		}{
			{provider.SendRequest{Op: provider.SendOpSend, Data: make([]byte, 17)}, "17 bytes inline, and the queue"},
			{provider.SendRequest{Op: provider.SendOpSend, Data: data, Segments: one}, "exclude each other"},
			{provider.SendRequest{Op: provider.SendOpRead, Data: data}, "inline data is not supported for RDMA READ"},
			{provider.SendRequest{Op: provider.SendOpSendInvalidate, Data: data}, "SEND with invalidate: unsupported"},
		} {
			_, err := a.qp.PostSend([]provider.SendRequest{tt.wr})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("PostSend = %v, want %q", err, tt.want)
			}
		}
	})
}

// TestQuery checks what a queue pair reports of itself.
func TestQuery(t *testing.T) {
	v := newVictim(t)
	attr, err := v.qp.Query()
	if err != nil || attr.State != provider.QPStateRTS || attr.DestQPN != 77 || attr.SendPSN != 200 ||
		attr.PathMTU != ib.MTU1024 || attr.Mask&provider.QPAttrPath == 0 || attr.Mask&provider.QPAttrQKey != 0 {
		t.Errorf("Query = %+v, %v", attr, err)
	}
	want := provider.QPCapacity{MaxSendWR: 64, MaxRecvWR: defaultDepth, MaxSendSegments: 1, MaxRecvSegments: 1}
	if got := v.qp.Capacity(); got != want || v.qp.Type() != provider.QPTypeRC {
		t.Errorf("Capacity = %+v, want %+v", got, want)
	}
	if err := v.qp.Modify(provider.QPAttributes{State: provider.QPStateReset}); err != nil {
		t.Fatal(err)
	}
	if attr, _ := v.qp.Query(); attr != (provider.QPAttributes{}) {
		t.Errorf("Query after RESET = %+v", attr)
	}
	_ = v.qp.Close()
	if _, err := v.qp.Query(); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("Query after Close = %v, want ErrClosed", err)
	}
	_, err = v.pd.CreateQP(provider.QPConfig{
		SendCQ: v.cq, RecvCQ: v.cq,
		Capacity: provider.QPCapacity{MaxSendSegments: 33, MaxRecvSegments: -1, MaxInline: 1025},
	})
	for _, part := range []string{"send request 33", "receive request -1", "inline bytes 1025"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("CreateQP = %v, want %q", err, part)
		}
	}
}

// channelPair is a channel with two queues: one for sends, one for receives.
type channelPair struct {
	*victim
	c           provider.CompletionChannel
	sends, recv provider.CompletionQueue
}

func newChannelPair(t *testing.T) *channelPair {
	t.Helper()
	p := &channelPair{victim: newVictim(t)}
	var err error
	if p.c, err = p.e.CreateChannel(); err != nil {
		t.Fatal(err)
	}
	for _, q := range []*provider.CompletionQueue{&p.sends, &p.recv} {
		if *q, err = p.e.CreateCQ(provider.CQConfig{Channel: p.c}); err != nil {
			t.Fatal(err)
		}
	}
	_ = p.qp.Close()
	if p.qp, err = p.pd.CreateQP(provider.QPConfig{SendCQ: p.sends, RecvCQ: p.recv}); err != nil {
		t.Fatal(err)
	}
	p.connect(t)
	p.also = append([]interface{ Close() error }{p.qp}, p.also...)
	p.also = append(p.also, p.sends, p.recv, p.c)
	return p
}

// next returns the queue of the next event, or nil if there is none.
func (p *channelPair) next(t *testing.T) provider.CompletionQueue {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	q, err := p.c.Wait(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return q
}

// TestChannel checks for which completions an armed queue has an event.
func TestChannel(t *testing.T) {
	p := newChannelPair(t)
	arm := func(solicited bool) {
		t.Helper()
		if err := p.recv.Arm(solicited); err != nil {
			t.Fatal(err)
		}
	}
	send := func(psn ib.PSN, solicited bool) { // from the peer
		data := sendOnly(psn)
		if solicited {
			data[1] |= 0x80
		}
		p.take(data)
	}
	expect := func(what string, want provider.CompletionQueue) {
		t.Helper()
		if got := p.next(t); got != want {
			t.Errorf("%s: event of %v, want %v", what, got, want)
		}
	}
	send(100, true)
	expect("not armed", nil)
	arm(false)
	expect("the completion came before", nil)
	send(101, false)
	expect("armed", p.recv)
	send(102, true)
	expect("armed once", nil)
	arm(true)
	send(103, false)
	expect("not solicited", nil)
	arm(false) // wider than before
	arm(true)  // and stays so
	if _, err := p.recv.Poll(make([]provider.WorkCompletion, 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.qp.PostReceive([]provider.ReceiveRequest{{}, {}}); err != nil {
		t.Fatal(err)
	}
	if err := p.sends.Arm(true); err != nil {
		t.Fatal(err)
	}
	if err := p.qp.Modify(provider.QPAttributes{State: provider.QPStateError}); err != nil {
		t.Fatal(err)
	}
	expect("a flushed send counts as solicited", p.sends)
	expect("flushed receives", p.recv)
	expect("no more", nil)
}

// TestChannelErrors checks wrong uses of channels, and the end of objects.
func TestChannelErrors(t *testing.T) {
	p := newChannelPair(t)
	other := newVictim(t)
	var wcs [1]provider.WorkCompletion
	if _, err := p.recv.Wait(t.Context(), wcs[:]); err == nil || !strings.Contains(err.Error(), "wait there") {
		t.Errorf("Wait on a queue of a channel = %v, want what to do", err)
	}
	if err := p.cq.Arm(false); err == nil || !strings.Contains(err.Error(), "no channel") {
		t.Errorf("Arm without a channel = %v, want what is missing", err)
	}
	if _, err := other.e.CreateCQ(provider.CQConfig{Channel: p.c}); err == nil {
		t.Error("CreateCQ with a channel of another device = nil")
	}
	if err := p.c.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close = %v, want ErrBusy", err)
	}
	if err := p.e.Close(); !errors.Is(err, provider.ErrBusy) || !strings.Contains(err.Error(), "1 channels") {
		t.Errorf("Close of the device = %v, want ErrBusy and the channel", err)
	}
	for _, q := range []provider.CompletionQueue{p.sends, p.recv} {
		if err := q.Arm(false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.qp.PostReceive([]provider.ReceiveRequest{{}}); err != nil {
		t.Fatal(err)
	}
	_ = p.qp.Modify(provider.QPAttributes{State: provider.QPStateError})
	_, _ = p.qp.PostSend([]provider.SendRequest{{}})
	_ = p.qp.Close()
	_ = p.recv.Close() // its event is pending
	if err := p.recv.Arm(false); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("Arm after Close = %v, want ErrClosed", err)
	}
	if got := p.next(t); got != p.sends {
		t.Errorf("event of %v, want only that of the queue that is open", got)
	}
	if got := p.next(t); got != nil {
		t.Errorf("event of %v, want none", got)
	}
	_ = p.sends.Close()
	ended := make(chan error)
	go func() { _, err := p.c.Wait(t.Context()); ended <- err }()
	if err := p.c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, provider.ErrClosed) {
		t.Errorf("Wait on a closed channel = %v, want ErrClosed", err)
	}
	if _, err := p.e.CreateCQ(provider.CQConfig{Channel: p.c}); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("CreateCQ with a closed channel = %v, want ErrClosed", err)
	}
}

// TestChannelWaiters checks that events that come together wake as many goroutines.
func TestChannelWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChannel(&Engine{})
		a, b := &completionQueue{}, &completionQueue{}
		got := make(chan provider.CompletionQueue, 2)
		for range 2 {
			go func() { q, _ := c.Wait(t.Context()); got <- q }()
		}
		synctest.Wait()
		c.mu.Lock()
		c.list = append(c.list, a, b)
		c.mu.Unlock()
		c.wake.signal()
		synctest.Wait()
		if len(got) != 2 {
			t.Fatalf("%d goroutines are awake, want 2", len(got))
		}
		if x, y := <-got, <-got; x == y {
			t.Error("both goroutines got the same queue")
		}
	})
}

// events returns the types of the events that nobody has taken.
func (v *victim) events(t *testing.T) (out []provider.EventType) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		e, err := v.e.NextEvent(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != provider.EventCQError && e.QPN != v.qp.QPN() {
			t.Errorf("%v of queue pair %v, want %v", e.Type, e.QPN, v.qp.QPN())
		}
		out = append(out, e.Type)
	}
}

// TestEvents checks the events of queue pairs.
func TestEvents(t *testing.T) {
	v := newVictim(t)
	write := func(rkey uint32) []byte {
		p := ib.Packet{
			BTH:     ib.BTH{Opcode: ib.OpcodeRCWriteOnly, PKey: ib.PKeyDefault, PSN: 100, AckReq: true},
			RETH:    ib.RETH{VirtualAddress: v.target.Addr(), RKey: rkey, DMALength: 4},
			Payload: make([]byte, 4),
		}
		return p.Append(nil)
	}
	invalid := sendOnly(100)
	invalid[0] = byte(ib.OpcodeRCSendMiddle)
	for _, tt := range []struct {
		name   string
		packet []byte
		want   []provider.EventType
	}{
		{"sound", write(v.target.RKey()), nil},
		{"wrong key", write(v.target.RKey() + 1), []provider.EventType{provider.EventQPAccessError}},
		{"middle of nothing", invalid, []provider.EventType{provider.EventQPRequestError}},
	} {
		v.connect(t)
		v.take(tt.packet)
		if got := v.events(t); !slices.Equal(got, tt.want) {
			t.Errorf("%s: events %v, want %v", tt.name, got, tt.want)
		}
	}
	if failEvent(ib.SyndromeNAKRemoteError) != provider.EventQPFatal {
		t.Error("a remote operation error is no EventQPFatal")
	}
}

// TestCauses checks that the event of a refused request says why, and that none is left of a queue
// pair that is closed.
func TestCauses(t *testing.T) {
	v := newVictim(t)
	pd, err := v.e.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{Access: peersMayWrite})
	if err != nil {
		t.Fatal(err)
	}
	readable, err := v.pd.RegisterMemory(make([]byte, 8), provider.MemoryOptions{Access: provider.AccessRemoteRead})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append(v.also, foreign, readable, pd)
	key, addr := v.target.RKey(), v.target.Addr()
	for _, tt := range []struct {
		name   string
		op     ib.Opcode
		reth   ib.RETH
		access provider.Access // of the queue pair
		want   string
	}{
		{"key", ib.OpcodeRCWriteOnly, ib.RETH{RKey: key + 1}, peersMayWrite, "RDMA WRITE of 4 bytes at 0x0, key "},
		{"no region", ib.OpcodeRCWriteOnly, ib.RETH{RKey: key + 1}, peersMayWrite, "no region has this key"},
		{
			"range", ib.OpcodeRCReadRequest,
			ib.RETH{RKey: key, VirtualAddress: addr - 1},
			peersMayWrite,
			fmt.Sprintf("the region has %d bytes at %#x", victimSize, addr),
		},
		{"domain", ib.OpcodeRCReadRequest, ib.RETH{RKey: foreign.RKey()}, peersMayWrite, "another protection domain"},
		{"region", ib.OpcodeRCWriteOnly, ib.RETH{RKey: readable.RKey()}, peersMayWrite, "region doesn't permit"},
		{"queue pair", ib.OpcodeRCWriteOnly, ib.RETH{RKey: key}, 0, "queue pair doesn't permit"},
	} {
		v.connect(t)
		inner(t, v.qp).attr.Access = tt.access
		tt.reth.DMALength = 4
		p := ib.Packet{BTH: ib.BTH{Opcode: tt.op, PKey: ib.PKeyDefault, PSN: 100, AckReq: true}, RETH: tt.reth}
		if tt.op == ib.OpcodeRCWriteOnly {
			p.Payload = make([]byte, 4)
		}
		v.take(p.Append(nil))
		e, err := v.e.NextEvent(t.Context())
		kind := provider.EventQPAccessError
		if tt.access == 0 {
			kind = provider.EventQPRequestError
		}
		if err != nil || e.Type != kind || e.Cause == nil ||
			!strings.Contains(e.Cause.Error(), tt.want) {
			t.Errorf("%s: event %+v, %v, want the cause %q", tt.name, e, err, tt.want)
		}
	}
	v.connect(t)
	invalid := sendOnly(100)
	invalid[0] = byte(ib.OpcodeRCSendMiddle)
	v.take(invalid)
	_ = v.qp.Close()
	if got := v.events(t); len(got) != 0 {
		t.Errorf("events %v of a queue pair that is closed", got)
	}
}

// TestConnectedEvent checks that the first packet in RTR is reported once.
func TestConnectedEvent(t *testing.T) {
	v := newVictim(t)
	v.connect(t)
	attr, _ := v.qp.Query()
	walk(t, v.qp, attr, provider.QPStateRTR)
	room := provider.ReceiveRequest{Segments: []provider.Segment{{Region: v.target, Length: 8}}}
	if _, err := v.qp.PostReceive([]provider.ReceiveRequest{room, room}); err != nil {
		t.Fatal(err)
	}
	v.take(sendOnly(100), sendOnly(101))
	if got := v.events(t); !slices.Equal(got, []provider.EventType{provider.EventCommEstablished}) {
		t.Errorf("events %v, want one of the connection", got)
	}
}

// TestOverrunEvent checks that a queue that overruns is reported once, with its ID.
func TestOverrunEvent(t *testing.T) {
	v := newVictim(t)
	cq, err := v.e.CreateCQ(provider.CQConfig{Depth: 1, ID: 42})
	if err != nil {
		t.Fatal(err)
	}
	qp, err := v.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	v.also = append([]interface{ Close() error }{qp, cq}, v.also...)
	if cq.Depth() != 1 {
		t.Errorf("Depth = %d, want 1", cq.Depth())
	}
	toError(t, qp)
	_, _ = qp.PostSend([]provider.SendRequest{{}, {}, {}})
	e, err := v.e.NextEvent(t.Context())
	if err != nil || e != (provider.Event{Type: provider.EventCQError, ID: 42}) {
		t.Errorf("event = %+v, %v, want the overrun of queue 42", e, err)
	}
	if got := v.events(t); len(got) != 0 {
		t.Errorf("events %v, want no more", got)
	}
}

// TestEventsOfOthersStay checks that closing a completion queue drops its own events only, although
// another one has the same ID.
func TestEventsOfOthersStay(t *testing.T) {
	v := newVictim(t)
	var queues []provider.CompletionQueue
	for range 2 {
		cq, err := v.e.CreateCQ(provider.CQConfig{Depth: 1})
		if err != nil {
			t.Fatal(err)
		}
		qp, err := v.pd.CreateQP(provider.QPConfig{SendCQ: cq, RecvCQ: cq})
		if err != nil {
			t.Fatal(err)
		}
		toError(t, qp)
		_, _ = qp.PostSend([]provider.SendRequest{{}, {}})
		_ = qp.Close()
		queues = append(queues, cq)
	}
	v.also = append(v.also, queues[1])
	_ = queues[0].Close()
	if got := v.events(t); !slices.Equal(got, []provider.EventType{provider.EventCQError}) {
		t.Errorf("events %v, want that of the queue that is open", got)
	}
}

// TestForgottenLostEvents checks that the number of lost events stays when the event that says it
// is dropped with its object.
func TestForgottenLostEvents(t *testing.T) {
	for _, closed := range []string{"a", "b"} {
		s := events{queue: queue[event]{wake: newWakeup()}, lost: 3}
		s.add("a", provider.Event{ID: 1})
		s.add("b", provider.Event{ID: 2})
		s.forget(closed)
		s.add("c", provider.Event{ID: 3})
		lost := 0
		for range 2 {
			e, ok := s.next()
			if !ok {
				t.Fatal("an event is missing")
			}
			lost += e.Lost
		}
		if lost != 3 {
			t.Errorf("without the event of %s: %d lost, want 3", closed, lost)
		}
		s = events{queue: queue[event]{wake: newWakeup()}, lost: 2}
		s.add("a", provider.Event{})
		s.forget("a")
		s.add("c", provider.Event{})
		if e, _ := s.next(); e.Lost != 2 {
			t.Errorf("after the only event was dropped: %d lost, want 2", e.Lost)
		}
	}
}

// TestLostEvents checks that events that nobody takes are dropped and counted.
func TestLostEvents(t *testing.T) {
	s := events{queue: queue[event]{wake: newWakeup()}}
	for i := range maxEvents + 5 {
		s.add(nil, provider.Event{ID: uint64(i)})
	}
	for i := range maxEvents {
		if e, ok := s.next(); !ok || e.ID != uint64(i) || e.Lost != 0 {
			t.Fatalf("event %d = %+v, %t", i, e, ok)
		}
	}
	if _, ok := s.next(); ok {
		t.Error("more events than the limit")
	}
	s.add(nil, provider.Event{ID: 9})
	if e, ok := s.next(); !ok || e.Lost != 5 || e.ID != 9 {
		t.Errorf("next event = %+v, %t, want 5 lost before it", e, ok)
	}
	s.add(nil, provider.Event{})
	if e, _ := s.next(); e.Lost != 0 {
		t.Errorf("%d events lost before the last one, want 0", e.Lost)
	}
}

// TestEventsEnd checks that closing the engine ends a wait for events.
func TestEventsEnd(t *testing.T) {
	v := newVictim(t)
	e, err := New(Config{Name: "roce@10.0.0.9", Conn: &sink{done: make(chan struct{})}, Addr: v.e.addr})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := e.NextEvent(t.Context()); ended <- err }()
	_ = e.Close()
	if err := <-ended; !errors.Is(err, provider.ErrClosed) {
		t.Errorf("NextEvent = %v, want ErrClosed", err)
	}
}

// toError moves a new queue pair to ERR.
func toError(t testing.TB, qp provider.QueuePair) {
	t.Helper()
	for _, state := range []provider.QPState{provider.QPStateInit, provider.QPStateError} {
		attr := provider.QPAttributes{State: state, Port: 1}
		attr.Mask, _, _ = provider.TransitionAttributes(provider.QPTypeRC, provider.QPStateReset, state)
		if err := qp.Modify(attr); err != nil {
			t.Fatal(err)
		}
	}
}

// TestObjectsOfQueuePair checks that a queue pair is a few objects, however deep its queues are.
func TestObjectsOfQueuePair(t *testing.T) {
	v := newVictim(t)
	got := testing.AllocsPerRun(20, func() {
		qp, err := v.pd.CreateQP(provider.QPConfig{
			SendCQ: v.cq, RecvCQ: v.cq,
			Capacity: provider.QPCapacity{MaxSendWR: 500, MaxRecvWR: 500, MaxSendSegments: 3, MaxRecvSegments: 2},
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = qp.Close()
	})
	if got > 20 {
		t.Errorf("%v objects, want at most 20", got)
	}
}
