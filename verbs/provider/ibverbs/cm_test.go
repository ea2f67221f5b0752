//go:build linux && (amd64 || arm64) && !nodl

package ibverbs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// The steps of fakecm.c that can fail.
const (
	cmStepChannel = iota
	cmStepCreate
	cmStepBind
	cmStepListen
	cmStepAddr
	cmStepRoute
	cmStepConnect
	cmStepAccept
	cmStepAttr
	cmStepEstablish
	cmStepMigrate
	cmStepFD // the channel's descriptor is invalid
)

// cmNoEvent is the event of a step that leads to none.
const cmNoEvent = 255

var (
	cmPeer  = netip.MustParseAddrPort("192.0.2.9:7174")
	cmLocal = netip.MustParseAddrPort("192.0.2.1:7174")
)

// fakeCM compiles testdata/fakecm.c into a library that only this test uses.
func fakeCM(t testing.TB, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "libfakecm.so")
	compile(t, append(flags, "-shared", "-fPIC", "-o", file, "testdata/fakecm.c")...)
	return file
}

// cmStandIn is a device with both stand-in libraries. At the end of the test all identifiers and
// channels must have been freed.
type cmStandIn struct{ *standIn }

func openCMStandIn(t *testing.T) *cmStandIn {
	t.Helper()
	s := &cmStandIn{openStandIn(t, "good0")}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, cmFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.cm, err = openCM(fakeCM(t), dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{"fake_cm_channels", "fake_cm_ids", "fake_cm_events", "fake_cm_misuse"} {
			if n := s.call(t, name, 0); n != 0 {
				t.Errorf("%s() = %d at the end, want 0", name, n)
			}
		}
	})
	return s
}

// call calls a function of the stand-in itself.
func (s *cmStandIn) call(t *testing.T, name string, arg int) int {
	t.Helper()
	return control(t, &Library{dl: s.cm.dl}, name, arg)
}

// failStep makes a step fail.
func (s *cmStandIn) failStep(t *testing.T, step int, errno syscall.Errno) {
	t.Helper()
	s.call(t, "fake_cm_fail", step<<8|int(errno))
}

// lead makes a step lead to an event.
func (s *cmStandIn) lead(t *testing.T, step int, event cmEventType, status int) {
	t.Helper()
	s.call(t, "fake_cm_event", step<<24|int(event)<<16|status&0xffff)
}

// cmQP returns a queue pair in RESET.
func (s *cmStandIn) cmQP(t *testing.T, kind provider.QPType) *queuePair {
	t.Helper()
	qp, err := s.pd.newQP(provider.QPConfig{Type: kind, SendCQ: s.cq, RecvCQ: s.cq})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := qp.Close(); err != nil {
			t.Errorf("Close of %s = %v", qp.what, err)
		}
	})
	return qp
}

// dialStandIn connects a queue pair.
func (s *cmStandIn) dialStandIn(t *testing.T, qp *queuePair) *connection {
	t.Helper()
	conn, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return as[*connection](t, conn)
}

func TestDialStandIn(t *testing.T) {
	s := openCMStandIn(t)
	qp := s.cmQP(t, provider.QPTypeRC)
	conn, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{
		Local: cmLocal.Addr(), PrivateData: []byte("hello"), Access: provider.AccessRemoteRead, ReadAtomic: 3,
		DestReadAtomic: 4, RetryCount: 5, RNRRetry: 6, TrafficClass: 104, Timeout: 17,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	attr := record[cQPAttr](t, s.standIn, "fake_last_attr")
	if attr.Timeout != 17 || attr.MaxRDAtomic != 3 || qp.State() != provider.QPStateRTS {
		t.Errorf("last attributes %+v in state %v, want those of the options, in RTS", attr, qp.State())
	}
	got := qp.attr
	want := provider.QPAttributes{
		Mask: got.Mask, State: provider.QPStateRTS, Port: 1, Access: provider.AccessRemoteRead,
		Path: provider.Path{
			DLID: 7, Global: true, DGID: ib.GID{15: 9}, TrafficClass: 104,
		},
		PathMTU: ib.MTU1024, DestQPN: 0x123, ReceivePSN: 0x111, SendPSN: 0x222, MaxDestReadAtomic: 4,
		MaxReadAtomic: 3, MinRNRTimer: 12, Timeout: 17, RetryCount: 7, RNRRetry: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" || got.Mask&provider.QPAttrTimeout == 0 {
		t.Errorf("attributes of the queue pair (-want +got):\n%s", diff)
	}
	f, err := s.cm.dl.Func("fake_cm_param")
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := f.CallErrno()
	param := peek[cConnParam](addr)
	param.PrivateData = 0
	if diff := cmp.Diff(cConnParam{
		PrivateDataLen: 5, ResponderResources: 4, InitiatorDepth: 3, RetryCount: 5, RNRRetryCount: 6,
		QPNum: uint32(qp.qpn),
	}, param); diff != "" {
		t.Errorf("parameters (-want +C):\n%s", diff)
	}
	if n := s.call(t, "fake_cm_tos", 0); n != 104 {
		t.Errorf("type of service %d, want 104", n)
	}
	if n := s.call(t, "fake_cm_established", 0); n != 1 {
		t.Errorf("rdma_establish was called %d times, want once", n)
	}
	if conn.Local().Addr() != cmLocal.Addr() || conn.Remote() != cmPeer {
		t.Errorf("connection from %v to %v, want %v to %v", conn.Local(), conn.Remote(), cmLocal, cmPeer)
	}
	o := conn.Options()
	if string(o.PrivateData[:24]) != "private data of the peer" || o.ReadAtomic != 5 || o.DestReadAtomic != 2 {
		t.Errorf("options of the peer %+v", o)
	}
	if err := qp.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close of a connected queue pair = %v, want ErrBusy", err)
	}
}

// TestDialFailures checks the errors of each step, and that nothing is left behind.
func TestDialFailures(t *testing.T) {
	s := openCMStandIn(t)
	qp := s.cmQP(t, provider.QPTypeRC)
	for step, what := range map[int]string{
		cmStepChannel: "", cmStepCreate: "", cmStepAddr: "resolve address", cmStepRoute: "resolve route",
		cmStepConnect: "", cmStepAttr: "attributes of qp", cmStepEstablish: "",
	} {
		s.failStep(t, step, syscall.EACCES)
		_, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{})
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, fs.ErrPermission) || !strings.Contains(e.Remedy, "rdma_cm") ||
			!strings.Contains(err.Error(), "connect to 192.0.2.9:7174") || !strings.Contains(err.Error(), what) {
			t.Errorf("step %d: %v, want EACCES with a remedy", step, err)
		}
		s.failStep(t, step, 0)
		if err := qp.Modify(provider.QPAttributes{State: provider.QPStateReset}); err != nil {
			t.Fatal(err)
		}
	}
	s.fail(t, failModify, syscall.EINVAL)
	if _, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{}); !errors.Is(err, syscall.EINVAL) ||
		!strings.Contains(err.Error(), "RESET→INIT") {
		t.Errorf("Dial with a queue pair that can't be modified = %v", err)
	}
	s.fail(t, failModify, 0)
	s.call(t, "fake_cm_device", 1)
	_, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), "through device old0") ||
		!strings.Contains(e.Remedy, "good0") {
		t.Errorf("Dial through another device = %v", err)
	}
}

// TestDialEvents checks the errors that events report.
func TestDialEvents(t *testing.T) {
	s := openCMStandIn(t)
	for _, tt := range []struct {
		kind   provider.QPType
		step   int
		event  cmEventType
		status int
		target error  // matched, or nil
		text   string // in the error
		code   int    // of a RejectedError; -1: another error
	}{
		{0, cmStepAddr, cmAddrError, -int(syscall.EHOSTUNREACH), syscall.EHOSTUNREACH, "address can't be", -1},
		{0, cmStepAddr, cmAddrError, -int(syscall.ETIMEDOUT), syscall.ETIMEDOUT, "address can't be", -1},
		{0, cmStepRoute, cmRouteError, -int(syscall.ETIMEDOUT), syscall.ETIMEDOUT, "route can't be", -1},
		{0, cmStepConnect, cmUnreachable, -int(syscall.ETIMEDOUT), syscall.ETIMEDOUT, "doesn't answer", -1},
		{0, cmStepConnect, cmConnectError, -int(syscall.EINVAL), syscall.EINVAL, "can't be established", -1},
		{0, cmStepConnect, cmRejected, 8, provider.ErrNobodyListens, "nobody listens", 8},
		{0, cmStepConnect, cmRejected, 28, nil, "by its program", 28},
		{0, cmStepConnect, cmRejected, 77, nil, "reason 77", 77},
		{0, cmStepConnect, cmRejected, -int(syscall.ECONNREFUSED), provider.ErrNobodyListens, "nobody", 0},
		{0, cmStepConnect, cmRejected, -int(syscall.ECONNRESET), nil, "by its program", 0},
		{0, cmStepConnect, cmDeviceRemoval, 0, syscall.ENODEV, "removed", -1},
		{0, cmStepConnect, cmMulticastJoin, 0, nil, "unexpected event 12", -1},
		{provider.QPTypeUD, cmStepConnect, cmUnreachable, 1, provider.ErrNobodyListens, "nobody", 0},
		{provider.QPTypeUD, cmStepConnect, cmUnreachable, 2, nil, "by its program", 0},
		{provider.QPTypeUD, cmStepConnect, cmUnreachable, 9, nil, "status 9", 0},
	} {
		qp := s.cmQP(t, tt.kind)
		s.call(t, "fake_cm_reset", 0)
		s.lead(t, tt.step, tt.event, tt.status)
		_, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.text) || tt.target != nil && !errors.Is(err, tt.target) {
			t.Errorf("event %d, status %d: %v, want %q, %v", tt.event, tt.status, err, tt.text, tt.target)
		}
		rejected, ok := errors.AsType[*provider.RejectedError](err)
		switch {
		case ok != (tt.code >= 0):
			t.Errorf("event %d, status %d: %v, want a RejectedError: %t", tt.event, tt.status, err, tt.code >= 0)
		case ok && (int(rejected.Code) != tt.code || len(rejected.PrivateData) != 30 ||
			errors.Is(err, provider.ErrNobodyListens) != errors.Is(tt.target, provider.ErrNobodyListens)):
			t.Errorf("event %d, status %d: %+v, want code %d and private data", tt.event, tt.status, rejected, tt.code)
		}
		if state := qp.State(); tt.kind == provider.QPTypeRC && state != provider.QPStateReset &&
			state != provider.QPStateInit {
			t.Errorf("event %d: queue pair in state %v, want one that can be dialed again", tt.event, state)
		}
	}
}

// TestRefusedSocket checks the error of iWARP drivers that connect at once.
func TestRefusedSocket(t *testing.T) {
	s := openCMStandIn(t)
	s.failStep(t, cmStepConnect, syscall.ECONNREFUSED)
	_, err := s.Dial(t.Context(), s.cmQP(t, provider.QPTypeRC), cmPeer, provider.ConnectOptions{})
	if !errors.Is(err, provider.ErrNobodyListens) {
		t.Errorf("Dial = %v, want ErrNobodyListens", err)
	}
}

// TestDialCanceled checks that Dial returns at each step when its context ends.
func TestDialCanceled(t *testing.T) {
	s := openCMStandIn(t)
	for _, step := range []int{cmStepAddr, cmStepRoute, cmStepConnect} {
		s.call(t, "fake_cm_reset", 0)
		s.lead(t, step, cmNoEvent, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := s.Dial(ctx, s.cmQP(t, provider.QPTypeRC), cmPeer, provider.ConnectOptions{})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial without the event of step %d = %v, want the deadline", step, err)
		}
	}
	s.call(t, "fake_cm_reset", 0)
	qp := s.cmQP(t, provider.QPTypeRC)
	s.call(t, "fake_cm_hold", 1) // rdma_connect hangs
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Dial(ctx, qp, cmPeer, provider.ConnectOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial that hangs in C = %v, want the deadline", err)
	}
	if err := qp.Close(); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("Close while C connects = %v, want ErrBusy", err)
	}
	s.call(t, "fake_cm_hold", 0)
	for end := time.Now().Add(10 * time.Second); s.call(t, "fake_cm_ids", 0) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the identifier isn't freed when C has returned")
		}
	}
}

// TestConnectionEnds checks how connections end.
func TestConnectionEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		event cmEventType
		want  error
	}{
		"disconnect": {cmDisconnected, io.EOF}, "removal": {cmDeviceRemoval, syscall.ENODEV},
		"unreachable": {cmUnreachable, syscall.ETIMEDOUT},
	} {
		s := openCMStandIn(t)
		qp := s.cmQP(t, provider.QPTypeRC)
		conn := s.dialStandIn(t, qp)
		if conn.Err() != nil {
			t.Errorf("%s: Err() = %v before the end", name, conn.Err())
		}
		s.call(t, "fake_cm_push", int(cmAddrChange)<<16) // ignored
		s.call(t, "fake_cm_push", int(tt.event)<<16|-int(syscall.ETIMEDOUT)&0xffff)
		<-conn.Done()
		if err := conn.Err(); !errors.Is(err, tt.want) || qp.State() != provider.QPStateError {
			t.Errorf("%s: Err() = %v in state %v, want %v in ERR", name, err, qp.State(), tt.want)
		}
		if err := errors.Join(conn.Disconnect(t.Context()), conn.Close(), conn.Close()); err != nil {
			t.Errorf("%s: Close = %v", name, err)
		}
		if n := s.call(t, "fake_cm_told", 0); n != 1 {
			t.Errorf("%s: rdma_disconnect was called %d times, want once", name, n)
		}
	}
	s := openCMStandIn(t)
	conn := s.dialStandIn(t, s.cmQP(t, provider.QPTypeRC))
	s.call(t, "fake_cm_hold", 1) // the peer doesn't answer
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := conn.Disconnect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Disconnect from a silent peer = %v, want the deadline", err)
	}
	waits := make(chan error, 1)
	go func() { waits <- conn.Disconnect(context.Background()) }()
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("Disconnect while another goroutine closes = %v", err)
	}
	if err := conn.Err(); !errors.Is(err, provider.ErrClosed) {
		t.Errorf("Err() after Close = %v", err)
	}
}

// TestDialArguments checks what Dial refuses before it asks the library.
func TestDialArguments(t *testing.T) {
	s := openCMStandIn(t)
	rc, ud := s.cmQP(t, provider.QPTypeRC), s.cmQP(t, provider.QPTypeUD)
	udp := provider.ConnectOptions{PortSpace: provider.PortSpaceUDP}
	tcp := provider.ConnectOptions{PortSpace: provider.PortSpaceTCP}
	local := provider.ConnectOptions{Local: netip.MustParseAddr("fe80::1")}
	for name, tt := range map[string]struct {
		qp      provider.QueuePair
		addr    string
		options provider.ConnectOptions
		text    string
	}{
		"foreign":      {struct{ provider.QueuePair }{}, "192.0.2.9:1", provider.ConnectOptions{}, "another device"},
		"link-local":   {rc, "[fe80::1]:1", provider.ConnectOptions{}, "network interface"},
		"zone":         {rc, "[fe80::1%nosuch0]:1", provider.ConnectOptions{}, "nosuch0"},
		"UDP for RC":   {rc, "192.0.2.9:1", udp, "port space UDP"},
		"TCP for UD":   {ud, "192.0.2.9:1", tcp, "port space TCP"},
		"private data": {rc, "192.0.2.9:1", provider.ConnectOptions{PrivateData: make([]byte, 57)}, "at most 56"},
		"of UD":        {ud, "192.0.2.9:1", provider.ConnectOptions{PrivateData: make([]byte, 181)}, "at most 180"},
		"negative":     {rc, "192.0.2.9:1", provider.ConnectOptions{ReadAtomic: -1}, "outstanding"},
		"retry":        {rc, "192.0.2.9:1", provider.ConnectOptions{RetryCount: 8}, "retry count"},
		"local":        {rc, "192.0.2.9:1", local, "link-local"},
	} {
		_, err := s.Dial(t.Context(), tt.qp, netip.MustParseAddrPort(tt.addr), tt.options)
		if err == nil || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), "good0") {
			t.Errorf("%s: %v, want %q", name, err, tt.text)
		}
	}
	if _, err := s.Dial(t.Context(), rc, netip.AddrPort{}, provider.ConnectOptions{}); err == nil {
		t.Error("Dial of the zero address returns no error")
	}
}

// TestLookupStandIn checks a lookup on InfiniBand.
func TestLookupStandIn(t *testing.T) {
	s := openCMStandIn(t)
	qp := s.cmQP(t, provider.QPTypeUD)
	conn, err := s.Dial(t.Context(), qp, cmPeer, provider.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	peer, ok := conn.Datagram()
	want := provider.DatagramPeer{QPN: 0x123, QKey: 0x1234567, Path: provider.Path{DLID: 7, ServiceLevel: 3}}
	if diff := cmp.Diff(want, peer); diff != "" || !ok || qp.State() != provider.QPStateRTS {
		t.Errorf("Datagram: %t, state %v (-want +got):\n%s", ok, qp.State(), diff)
	}
	if err := errors.Join(conn.Disconnect(t.Context()), conn.Close()); err != nil ||
		!errors.Is(conn.Err(), provider.ErrClosed) || qp.State() != provider.QPStateRTS {
		t.Errorf("Close = %v, Err = %v, state %v", err, conn.Err(), qp.State())
	}
	<-conn.Done()
}

// TestWithoutCM checks the errors without the library, without a function of it, and without access
// to the device.
func TestWithoutCM(t *testing.T) {
	s := openStandIn(t, "good0")
	good, dir := fakeCM(t), t.TempDir()
	denied := filepath.Join(t.TempDir(), "denied")
	if err := os.Mkdir(denied, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(denied, cmFile), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ library, dir, text, remedy string }{
		"missing library": {"librdmacm-nowhere.so.9", dir, "librdmacm-nowhere.so.9", "librdmacm1 (Debian"},
		"old library":     {fakeCM(t, "-DBROKEN"), dir, "rdma_establish", "update librdmacm1"},
		"no device":       {good, dir, cmFile, "rdma_ucm"},
		"not usable":      {good, denied, cmFile, ""},
	} {
		s.cm, s.cmError = openCM(tt.library, tt.dir)
		_, err := s.Listen(t.Context(), cmLocal, provider.ListenOptions{})
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, provider.ErrNotSupported) || !strings.Contains(err.Error(), tt.text) ||
			!strings.Contains(e.Remedy, tt.remedy) {
			t.Errorf("%s: %v, want %q with %q in the remedy", name, err, tt.text, tt.remedy)
		}
		if _, ok := errors.AsType[*dl.Error](err); ok != strings.Contains(name, "library") {
			t.Errorf("%s: %v, want a *dl.Error: %t", name, err, !ok)
		}
		if s.probe().Has(provider.CapConnector) {
			t.Errorf("%s: CapConnector is set", name)
		}
	}
	s.cmError = &fs.PathError{Op: "open", Path: cmFile, Err: syscall.EACCES}
	_, err := s.Dial(t.Context(), nil, cmPeer, provider.ConnectOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Remedy, "give the process access") {
		t.Errorf("Dial without permission = %v", err)
	}
}

// TestSockaddr checks the conversion of addresses.
func TestSockaddr(t *testing.T) {
	for _, text := range []string{"192.0.2.1:80", "[2001:db8::1]:65535", "0.0.0.0:0", "[fe80::1%7]:9"} {
		want := netip.MustParseAddrPort(text)
		s, err := sockaddrOf(want)
		if err != nil || s.address() != want {
			t.Errorf("%s converts to %v, %v", text, s.address(), err)
		}
	}
	if s, err := sockaddrOf(netip.MustParseAddrPort("[::ffff:192.0.2.1]:80")); err != nil ||
		s.address() != netip.MustParseAddrPort("192.0.2.1:80") {
		t.Errorf("IPv4 in IPv6 form converts to %v, %v", s.address(), err)
	}
	if s, err := sockaddrOf(netip.MustParseAddrPort("[fe80::1%lo]:9")); err != nil || s.address().Addr().Zone() != "1" {
		t.Errorf("zone lo converts to %v, %v", s.address(), err)
	}
	if a := new(sockaddr).address(); a.IsValid() {
		t.Errorf("an empty address is %v", a)
	}
}
