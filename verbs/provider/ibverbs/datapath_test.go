//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The kinds of objects and failures of testdata/datapath.c.
const (
	fakePD = iota
	fakeMR
	fakeCQ
	fakeQP
	fakeAH
	fakeSRQ
	fakeMW
	fakeChannel
	fakeKinds
)

const (
	failCreate = iota
	failDestroy
	failModify
	failPost
	failPoll
	failStatus
)

// standIn is a device of the stand-in library with one object of each kind.
type standIn struct {
	*openDevice
	pd *domain
	cq *completionQueue
	mr *region
}

// as returns v as a type of this package.
func as[T any](t *testing.T, v any) T {
	t.Helper()
	out, ok := v.(T)
	if !ok {
		t.Fatalf("%T, want %T", v, out)
	}
	return out
}

// openStandIn opens a device. At the end of the test all objects must have been destroyed, and none
// used after that.
func openStandIn(t *testing.T, name string) *standIn {
	t.Helper()
	p := Provider{Library: fake(t, "-DDATAPATH"), chars: t.TempDir()}
	device, err := p.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	s := &standIn{openDevice: as[*openDevice](t, device)}
	keep, err := dl.Open(dl.Spec{Name: p.Library}) // to read its counters at the end
	if err != nil {
		t.Fatal(err)
	}
	l := &Library{dl: keep}
	t.Cleanup(func() {
		if err := errors.Join(s.mr.Close(), s.cq.Close(), s.pd.Close(), s.Close()); err != nil {
			t.Errorf("Close = %v", err)
		}
		for kind := range fakeKinds {
			if n := control(t, l, "fake_live", kind); n != 0 {
				t.Errorf("%d objects of kind %d were not destroyed", n, kind)
			}
		}
		if n := control(t, l, "fake_misuse", 0); n != 0 {
			t.Errorf("C was called %d times with a wrong or destroyed object", n)
		}
		if n := control(t, l, "fake_open_devices", 0); n != 0 {
			t.Errorf("%d devices are open", n)
		}
		_ = keep.Close()
	})
	pd, err := s.AllocatePD()
	if err != nil {
		t.Fatal(err)
	}
	s.pd = as[*domain](t, pd)
	s.cq = s.newQueue(t, provider.CQConfig{})
	mr, err := s.pd.RegisterMemory(make([]byte, 4096), provider.MemoryOptions{Access: provider.AccessLocalWrite})
	if err != nil {
		t.Fatal(err)
	}
	s.mr = as[*region](t, mr)
	return s
}

func (s *standIn) newQueue(t *testing.T, cfg provider.CQConfig) *completionQueue {
	t.Helper()
	cq, err := s.newCQ(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return cq
}

// newPair creates a queue pair and moves it to RTS.
func (s *standIn) newPair(t *testing.T, cfg provider.QPConfig) *queuePair {
	t.Helper()
	if cfg.SendCQ == nil {
		cfg.SendCQ, cfg.RecvCQ = s.cq, s.cq
	}
	qp, err := s.pd.newQP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []provider.QPState{provider.QPStateInit, provider.QPStateRTR, provider.QPStateRTS} {
		if err := qp.Modify(attributesTo(cfg.Type, to)); err != nil {
			t.Fatal(err)
		}
	}
	return qp
}

// attributesTo returns attributes for a transition on the way to RTS.
func attributesTo(kind provider.QPType, to provider.QPState) provider.QPAttributes {
	attr := provider.QPAttributes{
		State: to, PKeyIndex: 3, Port: 1, Access: provider.AccessRemoteRead, PathMTU: 2048, DestQPN: 0x123456,
		ReceivePSN: 0xabcdef, SendPSN: 0xfedcba, MaxDestReadAtomic: 5, MaxReadAtomic: 6, MinRNRTimer: 7, Timeout: 8,
		RetryCount: 2, RNRRetry: 4, QKey: 0x80010000,
		Path: provider.Path{
			SGIDIndex: 4, DGID: ib.GID{0xfe, 0x80, 15: 9}, DLID: 0x1234, PathBits: 3, StaticRate: 16,
			FlowLabel: 0xfffff, HopLimit: 63, TrafficClass: 0x68, ServiceLevel: 5,
		},
	}
	attr.Mask, _, _ = provider.TransitionAttributes(kind, to-1, to)
	return attr
}

// record returns the value that a function of the stand-in points to.
func record[T any](t *testing.T, s *standIn, name string) T {
	t.Helper()
	f, err := s.c.library.dl.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := f.CallErrno()
	return peek[T](addr)
}

func (s *standIn) fail(t *testing.T, kind int, errno syscall.Errno) {
	t.Helper()
	control(t, s.c.library, "fake_fail", kind<<8|int(errno))
}

// TestAddressing checks the path that C gets: on InfiniBand with and without a GRH, and on
// Ethernet, where RoCE v1 and v2 differ only in the GID that the index selects.
func TestAddressing(t *testing.T) {
	local := cAHAttr{DLID: 0x1234, SL: 5, SrcPathBits: 3, StaticRate: 16, PortNum: 1}
	global := local
	global.DGID, global.FlowLabel, global.SGIDIndex = [16]byte{0xfe, 0x80, 15: 9}, 0xfffff, 4
	global.HopLimit, global.TrafficClass, global.IsGlobal = 63, 0x68, 1
	for _, tt := range []struct {
		name, device string
		global       bool
		want         cAHAttr
	}{
		{"InfiniBand", "ib0", false, local},
		{"InfiniBand with GRH", "ib0", true, global},
		{"RoCE", "good0", false, global},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openStandIn(t, tt.device)
			p := attributesTo(provider.QPTypeRC, provider.QPStateRTR).Path
			p.Global = tt.global
			ah, err := s.pd.CreateAddressHandle(1, p)
			if err != nil {
				t.Fatal(err)
			}
			got := record[cAHAttr](t, s, "fake_last_ah")
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cAHAttr{})); diff != "" {
				t.Errorf("path of an address handle (-want +C):\n%s", diff)
			}
			qp, err := s.pd.newQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq})
			if err != nil {
				t.Fatal(err)
			}
			rtr := attributesTo(provider.QPTypeRC, provider.QPStateRTR)
			rtr.Path = p
			init := attributesTo(provider.QPTypeRC, provider.QPStateInit)
			if err := errors.Join(qp.Modify(init), qp.Modify(rtr)); err != nil {
				t.Fatal(err)
			}
			got = record[cQPAttr](t, s, "fake_last_attr").AHAttr
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cAHAttr{})); diff != "" {
				t.Errorf("path of a queue pair (-want +C):\n%s", diff)
			}
			back, err := qp.Query()
			p.Global = tt.want.IsGlobal == 1
			if !p.Global {
				p.DGID, p.SGIDIndex, p.FlowLabel, p.HopLimit, p.TrafficClass = ib.GID{}, 0, 0, 0, 0
			}
			if diff := cmp.Diff(p, back.Path); diff != "" || err != nil {
				t.Errorf("Query: %v, path (-set +got):\n%s", err, diff)
			}
			if err := errors.Join(ah.Close(), qp.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	s := openStandIn(t, "ib0")
	for name, p := range map[string]provider.Path{
		"GID index": {SGIDIndex: 256, DLID: 1}, "flow label": {FlowLabel: 1 << 20, DLID: 1},
		"service level": {ServiceLevel: 16, DLID: 1}, "DLID": {},
	} {
		if _, err := s.pd.CreateAddressHandle(1, p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("CreateAddressHandle(%+v) = %v, want an error about the %s", p, err, name)
		}
	}
}

// TestModifyRecorded checks attributes and masks of the way to RTS against enum ibv_qp_attr_mask,
// as the manual of ibv_modify_qp lists them.
func TestModifyRecorded(t *testing.T) {
	s := openStandIn(t, "good0")
	qp, err := s.pd.newQP(provider.QPConfig{SendCQ: s.cq, RecvCQ: s.cq})
	if err != nil {
		t.Fatal(err)
	}
	defer qp.Close()
	for _, tt := range []struct {
		to   provider.QPState
		mask int
		want cQPAttr
	}{
		{
			provider.QPStateInit, 1<<0 | 1<<4 | 1<<5 | 1<<3,
			cQPAttr{QPState: 1, PKeyIndex: 3, PortNum: 1, QPAccessFlags: 4},
		},
		{
			provider.QPStateRTR, 1<<0 | 1<<7 | 1<<8 | 1<<20 | 1<<12 | 1<<17 | 1<<15,
			cQPAttr{QPState: 2, PathMTU: 4, DestQPNum: 0x123456, RQPSN: 0xabcdef, MaxDestRDAtomic: 5, MinRNRTimer: 7},
		},
		{
			provider.QPStateRTS, 1<<0 | 1<<16 | 1<<9 | 1<<10 | 1<<11 | 1<<13,
			cQPAttr{QPState: 3, SQPSN: 0xfedcba, Timeout: 8, RetryCnt: 2, RNRRetry: 4, MaxRDAtomic: 6},
		},
	} {
		if err := qp.Modify(attributesTo(provider.QPTypeRC, tt.to)); err != nil {
			t.Fatal(err)
		}
		got := record[cQPAttr](t, s, "fake_last_attr")
		got.AHAttr = cAHAttr{} // TestAddressing checks it
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cQPAttr{}, cAHAttr{})); diff != "" {
			t.Errorf("attributes of →%v (-want +C):\n%s", tt.to, diff)
		}
		if mask := control(t, s.c.library, "fake_last_mask", 0); mask != tt.mask {
			t.Errorf("mask of →%v = %#x, want %#x", tt.to, mask, tt.mask)
		}
	}
	for name, attr := range map[string]provider.QPAttributes{
		"no such transition": {State: provider.QPStateRTR},
		"RNR timer code":     {State: provider.QPStateRTS, Mask: provider.QPAttrMinRNRTimer, MinRNRTimer: 32},
	} {
		if err := qp.Modify(attr); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Modify(%+v) = %v, want %q", attr, err, name)
		}
	}
	s.fail(t, failModify, syscall.EIO)
	err = qp.Modify(provider.QPAttributes{State: provider.QPStateError})
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, syscall.EIO) ||
		!strings.Contains(e.Remedy, "removed") {
		t.Errorf("Modify on a lost device = %v, want EIO with a remedy", err)
	}
	if qp.State() != provider.QPStateRTS {
		t.Errorf("state %v after a failed Modify, want RTS", qp.State())
	}
}

// TestRequests checks what C gets for each operation.
func TestRequests(t *testing.T) {
	s := openStandIn(t, "good0")
	rc := s.newPair(t, provider.QPConfig{SignalAll: true, Capacity: provider.QPCapacity{MaxInline: 16}})
	ud := s.newPair(t, provider.QPConfig{Type: provider.QPTypeUD, SignalAll: true})
	ah, err := s.pd.CreateAddressHandle(1, provider.Path{DGID: ib.GID{1}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.pd.AllocateWindow(provider.WindowType2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(rc.Close(), ud.Close(), ah.Close(), w.Close()) }()
	word := func(lo, hi uint32) (b [8]byte) {
		binary.NativeEndian.PutUint32(b[:4], lo)
		binary.NativeEndian.PutUint32(b[4:], hi)
		return b
	}
	word64 := func(v uint64) (b [8]byte) { binary.NativeEndian.PutUint64(b[:], v); return b }
	windowAddr, handleAddr := as[*memoryWindow](t, w).addr, as[*addressHandle](t, ah).addr
	var key [4]byte
	binary.NativeEndian.PutUint32(key[:], 0x55)
	segment := []provider.Segment{{Region: s.mr, Offset: 8, Length: 100}}
	for _, tt := range []struct {
		qp   *queuePair
		wr   provider.SendRequest
		want cSendWR
	}{
		{
			rc,
			provider.SendRequest{Op: provider.SendOpSend, Flags: provider.SendFence},
			cSendWR{Opcode: 2, SendFlags: 1},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpSendImmediate, Immediate: [4]byte{1, 2, 3, 4}},
			cSendWR{Opcode: 3, Imm: [4]byte{1, 2, 3, 4}},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpWrite, RemoteAddr: 7, RKey: 8, Flags: provider.SendSolicited},
			cSendWR{Opcode: 0, RemoteAddr: 7, Word: word(8, 0), SendFlags: 4},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpRead, RemoteAddr: 7, RKey: 8, Segments: segment},
			cSendWR{Opcode: 4, RemoteAddr: 7, Word: word(8, 0), NumSGE: 1},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpCompareSwap, RemoteAddr: 7, RKey: 8, Compare: 9, Operand: 10},
			cSendWR{Opcode: 5, RemoteAddr: 7, Word: word64(9), Swap: 10, AtomicRKey: 8},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpFetchAdd, RemoteAddr: 7, RKey: 8, Operand: 10},
			cSendWR{Opcode: 6, RemoteAddr: 7, Word: word64(10), AtomicRKey: 8},
		},
		{rc, provider.SendRequest{Op: provider.SendOpSendInvalidate, Invalidate: 0x55}, cSendWR{Opcode: 9, Imm: key}},
		{rc, provider.SendRequest{Op: provider.SendOpLocalInvalidate, Invalidate: 0x55}, cSendWR{Opcode: 7, Imm: key}},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpBindWindow, Bind: &provider.WindowBind{
				Window: w, RKey: 0x3001, Region: s.mr, Offset: 16, Length: 32, Access: provider.AccessRemoteWrite,
			}},
			cSendWR{
				Opcode: 8, BindMW: windowAddr, BindRKey: 0x3001, BindMR: s.mr.addr,
				BindAddr: s.mr.base + 16, BindLength: 32, BindAccess: 2,
			},
		},
		{
			ud,
			provider.SendRequest{
				Op: provider.SendOpSend, Segments: segment,
				To: &provider.Datagram{Handle: ah, QPN: 0x123456, QKey: 0x11},
			},
			cSendWR{
				Opcode: 2, NumSGE: 1, RemoteAddr: uint64(handleAddr), Word: word(0x123456, 0x11),
			},
		},
		{
			rc,
			provider.SendRequest{Op: provider.SendOpSend, Data: []byte("inline")},
			cSendWR{Opcode: 2, SendFlags: 8, NumSGE: 1},
		},
	} {
		tt.wr.ID = 0xfeedfeedfeed
		if n, err := tt.qp.PostSend([]provider.SendRequest{tt.wr}); n != 1 || err != nil {
			t.Errorf("PostSend(%v) = %d, %v", tt.wr.Op, n, err)
			continue
		}
		got := record[cSendWR](t, s, "fake_last_wr")
		got.WRID, got.SGList = 0, 0
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(cSendWR{})); diff != "" {
			t.Errorf("request %v (-want +C):\n%s", tt.wr.Op, diff)
		}
		sge := record[cSGE](t, s, "fake_last_sge")
		if want := (cSGE{s.mr.base + 8, 100, s.mr.lkey}); tt.wr.Segments != nil && sge != want {
			t.Errorf("segment of %v = %+v, want %+v", tt.wr.Op, sge, want)
		}
		wcs := make([]provider.WorkCompletion, 2)
		if n, err := s.cq.Poll(wcs); n != 1 || err != nil || wcs[0].ID != tt.wr.ID || wcs[0].QPN != tt.qp.qpn {
			t.Errorf("completion of %v: %d, %v, %+v", tt.wr.Op, n, err, wcs[0])
		}
	}
	if key := peek[cMW](windowAddr).RKey; key != 0x3001 {
		t.Errorf("key %#x in struct ibv_mw after the binding, want 0x3001", key)
	}
	if got := record[[6]byte](t, s, "fake_last_data"); string(got[:]) != "inline" {
		t.Errorf("inline data %q", got)
	}
}

// TestRejectedRequests checks requests that are not passed to C.
func TestRejectedRequests(t *testing.T) {
	s, other := openStandIn(t, "good0"), openStandIn(t, "good0")
	rc, uc := s.newPair(t, provider.QPConfig{}), s.newPair(t, provider.QPConfig{Type: provider.QPTypeUC})
	ud := s.newPair(t, provider.QPConfig{Type: provider.QPTypeUD})
	defer func() { _ = errors.Join(rc.Close(), uc.Close(), ud.Close()) }()
	part := func(r provider.MemoryRegion, offset, length int) provider.SendRequest {
		return provider.SendRequest{Segments: []provider.Segment{{Region: r, Offset: offset, Length: length}}}
	}
	bind := provider.SendRequest{Op: provider.SendOpBindWindow}
	for _, tt := range []struct {
		want string
		qp   *queuePair
		wr   provider.SendRequest
	}{
		{"segment 0: bytes 4000 to 4097", rc, part(s.mr, 4000, 97)},
		{"segment 0: bytes -1 to 0", rc, part(s.mr, -1, 1)},
		{"another protection domain", rc, part(other.mr, 0, 1)},
		{"segment 0: region", rc, part(nil, 0, 1)},
		{"at most 1", rc, provider.SendRequest{Segments: make([]provider.Segment, 2)}},
		{"bytes inline", rc, provider.SendRequest{Data: make([]byte, 1)}},
		{"RDMA READ on UC", uc, provider.SendRequest{Op: provider.SendOpRead}},
		{"compare and swap on UC", uc, provider.SendRequest{Op: provider.SendOpCompareSwap}},
		{"RDMA WRITE on UD", ud, provider.SendRequest{Op: provider.SendOpWrite}},
		{"operation 99", rc, provider.SendRequest{Op: 99}},
		{"without destination", ud, provider.SendRequest{}},
		{"no window", rc, bind},
	} {
		if n, err := tt.qp.PostSend([]provider.SendRequest{tt.wr}); n != 0 || err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("PostSend = %d, %v, want an error with %q", n, err, tt.want)
		}
	}
	// The requests before a rejected one are posted.
	n, err := rc.PostSend([]provider.SendRequest{{}, {}, {Op: 99}, {}})
	if n != 2 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("PostSend = %d, %v, want 2 and ErrNotSupported", n, err)
	}
	s.fail(t, failPost, syscall.ENOMEM)
	if n, err := rc.PostSend([]provider.SendRequest{{}}); n != 0 || !errors.Is(err, provider.ErrQueueFull) {
		t.Errorf("PostSend of a full device queue = %d, %v, want ErrQueueFull", n, err)
	}
	if n, err := rc.PostReceive([]provider.ReceiveRequest{{}}); n != 0 || !errors.Is(err, provider.ErrQueueFull) {
		t.Errorf("PostReceive of a full device queue = %d, %v, want ErrQueueFull", n, err)
	}
	s.fail(t, failPost, syscall.EIO)
	for range 2 * rc.Capacity().MaxSendWR { // requests that were not taken occupy no entry
		if n, err := rc.PostSend([]provider.SendRequest{{}}); n != 0 || !errors.Is(err, syscall.EIO) {
			t.Fatalf("PostSend on a lost device = %d, %v, want EIO", n, err)
		}
	}
	s.fail(t, failPost, syscall.EPIPE)
	if n, err := rc.PostSend(make([]provider.SendRequest, 3)); n != 3 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("PostSend to a driver that has taken all = %d, %v, want 3 and EPIPE", n, err)
	}
	srq, err := s.pd.CreateSRQ(provider.SRQConfig{})
	if err != nil {
		t.Fatal(err)
	}
	// A device without the function takes none, and none occupies an entry.
	for _, errno := range []syscall.Errno{syscall.EOPNOTSUPP, syscall.ENOSYS, 255} {
		s.fail(t, failPost, errno)
		for range 2 * uc.Capacity().MaxSendWR {
			a, err1 := uc.PostSend(make([]provider.SendRequest, 3))
			b, err2 := uc.PostReceive(make([]provider.ReceiveRequest, 3))
			c, err3 := srq.PostReceive(make([]provider.ReceiveRequest, 3))
			for _, err := range []error{err1, err2, err3} {
				if e, ok := errors.AsType[*Error](err); !ok || errno != 255 && !errors.Is(e, errno) || a+b+c != 0 {
					t.Fatalf("posted %d, %d, %d: %v, want none and errno %d", a, b, c, err, errno)
				}
			}
		}
	}
	if err := srq.Close(); err != nil {
		t.Error(err)
	}
	s.fail(t, failPost, 0)
	s.fail(t, failPoll, 2)
	if n, err := s.cq.Poll(make([]provider.WorkCompletion, 1)); n != 0 || err == nil {
		t.Errorf("Poll = %d, %v, want an error", n, err)
	}
}
