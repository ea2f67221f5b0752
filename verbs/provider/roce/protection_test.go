package roce

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// attempt is a valid operation, which a test case changes into one that memory protection must
// reject.
type attempt struct {
	t    *testing.T
	a, b *side
	wr   provider.SendRequest
	rr   provider.ReceiveRequest
}

// remoteFaults are requests for remote memory that the requester must not access. All complete
// with a remote access error at the requester, or as invalid if the queue pair doesn't permit them;
// the target's queue pair goes to ERR, which flushes the receive request.
var remoteFaults = []struct {
	name   string
	change func(x *attempt)
}{
	{"wrong rkey", func(x *attempt) { x.wr.RKey++ }},
	{"key 0", func(x *attempt) { x.wr.RKey = 0 }},
	{"one byte too far", func(x *attempt) {
		x.wr.RemoteAddr = x.b.target.Addr() + uint64(len(x.b.target.Bytes())) - 2999
	}},
	{"after the region", func(x *attempt) { x.wr.RemoteAddr = x.b.target.Addr() + uint64(len(x.b.target.Bytes())) }},
	{"one byte before", func(x *attempt) { x.wr.RemoteAddr = x.b.target.Addr() - 1 }},
	{"address 0", func(x *attempt) { x.wr.RemoteAddr = 0 }},
	{"end of the address space", func(x *attempt) { x.wr.RemoteAddr = ^uint64(0) - 2999 }},
	{"wrap of the address space", func(x *attempt) { x.wr.RemoteAddr = ^uint64(0) - 10 }},
	{"freed region", func(x *attempt) { _ = x.b.target.Close() }},
	{"foreign protection domain", func(x *attempt) {
		pd, err := x.b.e.AllocatePD()
		if err != nil {
			x.t.Fatal(err)
		}
		x.wr.RKey, x.wr.RemoteAddr = x.expose(pd, peersMayWrite|provider.AccessRemoteAtomic)
		x.b.also = append(x.b.also, pd)
	}},
	{"region with no remote access", func(x *attempt) {
		x.wr.RKey, x.wr.RemoteAddr = x.expose(x.b.pd, provider.AccessLocalWrite)
	}},
	{"region with the other access", func(x *attempt) {
		access := provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteAtomic
		if x.wr.Op == provider.SendOpRead {
			access = provider.AccessLocalWrite | provider.AccessRemoteWrite | provider.AccessRemoteAtomic
		}
		x.wr.RKey, x.wr.RemoteAddr = x.expose(x.b.pd, access)
	}},
	{"queue pair without the access", func(x *attempt) {
		access := provider.AccessRemoteRead
		if x.wr.Op == provider.SendOpRead {
			access = provider.AccessRemoteWrite
		}
		if err := x.b.qp.Modify(provider.QPAttributes{
			State: provider.QPStateRTS, Mask: provider.QPAttrAccess, Access: access,
		}); err != nil {
			x.t.Fatal(err)
		}
	}},
}

// expose registers another region of b and returns its key and address.
func (x *attempt) expose(pd provider.ProtectionDomain, access provider.Access) (uint32, uint64) {
	mr, err := pd.RegisterMemory(make([]byte, 1<<13), provider.MemoryOptions{Access: access})
	if err != nil {
		x.t.Fatal(err)
	}
	x.b.also = append(x.b.also, mr)
	return mr.RKey(), mr.Addr()
}

func TestProtectionOfRemoteMemory(t *testing.T) {
	for _, op := range []provider.SendOp{provider.SendOpWrite, provider.SendOpWriteImmediate, provider.SendOpRead} {
		for _, length := range []int{3000, 10} {
			for _, tt := range remoteFaults {
				if length == 10 && tt.name == "one byte too far" {
					continue // ten bytes are still inside the region
				}
				t.Run(fmt.Sprintf("%v/%d/%s", op, length, tt.name), func(t *testing.T) {
					status := provider.WCRemoteAccess
					if tt.name == "queue pair without the access" {
						status = provider.WCRemoteInvalid
					}
					try(t, op, length, tt.change, status, provider.WCFlushed, provider.QPStateError)
				})
			}
		}
	}
}

// sendFaults are errors of the receive buffer of a SEND, and of the requester's own memory.
var sendFaults = []struct {
	name         string
	ops          []provider.SendOp
	change       func(x *attempt)
	own, peer    provider.WCStatus
	targetsState provider.QPState
}{
	{
		"receive buffer too short",
		[]provider.SendOp{provider.SendOpSend, provider.SendOpSendImmediate},
		func(x *attempt) { x.rr.Segments[0].Length = 999 },
		provider.WCRemoteInvalid, provider.WCLocalLengthError, provider.QPStateError,
	},
	{
		"receive buffer's region freed",
		[]provider.SendOp{provider.SendOpSend, provider.SendOpSendImmediate},
		func(x *attempt) { x.rr.Segments[0].Region = x.b.mr; x.wr.Flags |= freeTarget },
		provider.WCRemoteOperation, provider.WCLocalProtection, provider.QPStateError,
	},
	{
		"requester's region freed",
		[]provider.SendOp{
			provider.SendOpSend, provider.SendOpSendImmediate, provider.SendOpWrite, provider.SendOpWriteImmediate,
			provider.SendOpRead,
		},
		func(x *attempt) { x.wr.Flags |= freeOwn },
		provider.WCLocalProtection, provider.WCSuccess, provider.QPStateRTS,
	},
}

// Flags used only by tests: regions to close between posting and sending.
const (
	freeTarget provider.SendFlags = 1 << 6
	freeOwn    provider.SendFlags = 1 << 7
)

func TestProtectionOfSends(t *testing.T) {
	for _, tt := range sendFaults {
		for _, op := range tt.ops {
			t.Run(fmt.Sprintf("%v/%s", op, tt.name), func(t *testing.T) {
				try(t, op, 3000, tt.change, tt.own, tt.peer, tt.targetsState)
			})
		}
	}
}

// try makes an attempt and checks both ends: the completion of the request and of the target's
// receive request (peer is WCSuccess if the receive request must not complete), the target's
// state, and every byte of both buffers around and inside the regions.
func try(t *testing.T, op provider.SendOp, length int, change func(
	*attempt,
), own, peer provider.WCStatus, state provider.QPState,
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		base, other, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		a, b := base.another(t, 1<<12, 16), other.another(t, 1<<12, 16)
		surroundingA, surroundingB := a.guard(t), b.guard(t)
		connect(t, a, b, ib.MTU1024)
		x := &attempt{
			t: t, a: a, b: b,
			wr: provider.SendRequest{
				ID: 1, Op: op, Segments: []provider.Segment{{Region: a.mr, Length: length}}, RKey: b.target.RKey(),
				RemoteAddr: b.target.Addr(),
			},
			rr: provider.ReceiveRequest{ID: 9},
		}
		if op <= provider.SendOpSendImmediate {
			x.rr.Segments = []provider.Segment{{Region: b.target, Length: length}}
		}
		change(x)
		t.Cleanup(func() {
			for _, c := range b.also {
				_ = c.Close()
			}
		})
		if _, err := b.qp.PostReceive([]provider.ReceiveRequest{x.rr}); err != nil {
			t.Fatal(err)
		}
		if x.wr.Flags&freeTarget != 0 {
			_ = b.mr.Close()
		}
		x.post()
		before, beforeB := bytes.Clone(*surroundingA), bytes.Clone(*surroundingB)
		if wc := wait(t, a, 1)[0]; wc.Status != own || wc.ID != 1 || a.qp.State() != provider.QPStateError {
			t.Errorf("requester: %+v in state %v, want %v in ERR", wc, a.qp.State(), own)
		}
		time.Sleep(time.Second)
		var wcs [4]provider.WorkCompletion
		switch n, err := b.receives.Poll(wcs[:]); {
		case err != nil:
			t.Error(err)
		case peer == provider.WCSuccess && n != 0,
			peer != provider.WCSuccess && (n != 1 || wcs[0].Status != peer || wcs[0].ID != 9):
			t.Errorf("target: %d completions, %+v, want %v", n, wcs[:n], peer)
		}
		if got := b.qp.State(); got != state {
			t.Errorf("the target's qp is in state %v, want %v", got, state)
		}
		if wasSend := op <= provider.SendOpSendImmediate &&
			own == provider.WCRemoteInvalid; !wasSend && !bytes.Equal(beforeB, *surroundingB) {
			t.Error("the target's memory was touched")
		}
		if !bytes.Equal(before, *surroundingA) {
			t.Error("the requester's memory was touched")
		}
	})
}

// post posts the request; with freeOwn its memory region is closed before the request is sent.
func (x *attempt) post() {
	x.t.Helper()
	flags := x.wr.Flags
	x.wr.Flags &^= freeOwn | freeTarget
	between := func() {}
	if flags&freeOwn != 0 {
		between = func() { _ = x.a.mr.Close() }
	}
	postAnd(x.t, x.a, between, x.wr)
}

// postAnd posts requests and calls between before the first packet is sent.
func postAnd(t *testing.T, s *side, between func(), wrs ...provider.SendRequest) {
	t.Helper()
	qp := inner(t, s.qp)
	qp.mu.Lock()
	qp.req.paused = true // as after an RNR NAK
	qp.mu.Unlock()
	if _, err := s.qp.PostSend(wrs); err != nil {
		t.Fatal(err)
	}
	between()
	qp.mu.Lock()
	qp.req.paused = false
	qp.sendPending()
	qp.tx.flush()
	qp.mu.Unlock()
}

// guard replaces the target and own region with ones that are surrounded by canary bytes, and
// returns the whole buffer.
func (s *side) guard(t *testing.T) *[]byte {
	t.Helper()
	const size = 1 << 12
	all := bytes.Repeat([]byte{canary}, 5*size)
	for i, mr := range []*provider.MemoryRegion{&s.mr, &s.target} {
		_ = (*mr).Close()
		var err error
		at := (1 + 2*i) * size
		if *mr, err = s.pd.RegisterMemory(all[at:at+size:at+size],
			provider.MemoryOptions{Access: peersMayWrite}); err != nil {
			t.Fatal(err)
		}
		s.also = append(s.also, *mr)
	}
	t.Cleanup(func() {
		for _, c := range s.also {
			_ = c.Close()
		}
	})
	return &all
}

// A request before the one whose memory region is closed completes with success.
func TestOrderBeforeLocalFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, other, _ := lossy(t, packetnet.Faults{Delay: time.Microsecond}, 1<<12, 16)
		a, b := base.another(t, 1<<12, 16), other.another(t, 1<<12, 16)
		connect(t, a, b, ib.MTU1024)
		gone, err := a.pd.RegisterMemory(make([]byte, 2000), provider.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		good := provider.SendRequest{
			ID: 1, Op: provider.SendOpRead, Flags: provider.SendSignaled,
			Segments: []provider.Segment{{Region: a.mr, Length: 4000}}, RKey: b.target.RKey(),
			RemoteAddr: b.target.Addr(),
		}
		bad := provider.SendRequest{
			ID: 2, Op: provider.SendOpWrite, Segments: []provider.Segment{{Region: gone, Length: 2000}},
			RKey: b.target.RKey(), RemoteAddr: b.target.Addr(),
		}
		after := good
		after.ID = 3
		postAnd(t, a, func() { _ = gone.Close() }, good, bad, after)
		var got []string
		for _, wc := range wait(t, a, 3) {
			got = append(got, fmt.Sprint(wc.ID, " ", wc.Status))
		}
		if want := "[1 success 2 local protection error 3 work request flushed]"; fmt.Sprint(got) != want {
			t.Errorf("completions = %v, want %v", got, want)
		}
	})
}

// Requests with invalid local segments are rejected when they are posted.
func TestProtectionAtPosting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, other, _ := lossy(t, packetnet.Faults{}, 1<<12, 16)
		readOnly, err := base.pd.RegisterMemory(make([]byte, 100), provider.MemoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pd, err := base.e.AllocatePD()
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := pd.RegisterMemory(make([]byte, 100), provider.MemoryOptions{Access: provider.AccessLocalWrite})
		if err != nil {
			t.Fatal(err)
		}
		writable := provider.MemoryOptions{Access: provider.AccessLocalWrite}
		closed, err := base.pd.RegisterMemory(make([]byte, 100), writable)
		if err != nil {
			t.Fatal(err)
		}
		_ = closed.Close()
		base.also = append(base.also, readOnly, foreign, pd)
		segments := []provider.Segment{
			{Region: readOnly, Length: 10},
			{Region: foreign, Length: 10},
			{Region: closed, Length: 10},
			{Region: other.mr, Length: 10},
			{},
			{Region: base.mr, Offset: -1, Length: 10},
			{Region: base.mr, Offset: 10, Length: -1},
			{Region: base.mr, Offset: 4000, Length: 100},
			{Region: base.mr, Offset: 1 << 62, Length: 1 << 62},
		}
		for i, s := range segments {
			if n, err := base.qp.PostReceive([]provider.ReceiveRequest{{Segments: []provider.Segment{s}}}); n != 0 ||
				err == nil {
				t.Errorf("PostReceive of segment %d = %d, %v, want an error", i, n, err)
			}
			if n, err := base.qp.PostSend([]provider.SendRequest{
				{Op: provider.SendOpRead, Segments: []provider.Segment{s}},
			}); n != 0 || err == nil {
				t.Errorf("PostSend of READ into segment %d = %d, %v, want an error", i, n, err)
			}
		}
	})
}

const peersMayWrite = provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteWrite
