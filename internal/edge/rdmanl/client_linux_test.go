package rdmanl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"go.uber.org/goleak"
)

// These tests simulate the kernel. They require Linux because of the error numbers.

// fake returns a Client that uses fn as the kernel.
func fake(fn func(q netlink.Message) ([]netlink.Message, error)) Client {
	return Client{dial: func(int) (*netlink.Conn, error) {
		return nltest.Dial(func(req []netlink.Message) ([]netlink.Message, error) { return fn(req[0]) }), nil
	}}
}

// multi returns the response to a dump.
func multi(q netlink.Message, flags netlink.HeaderFlags, bodies ...[]byte) ([]netlink.Message, error) {
	h := netlink.Header{
		Type: q.Header.Type, Flags: netlink.Multi | flags, Sequence: q.Header.Sequence, PID: q.Header.PID,
	}
	var out []netlink.Message
	for _, b := range bodies {
		out = append(out, netlink.Message{Header: h, Data: b})
	}
	h.Type = netlink.Done
	return append(out, netlink.Message{Header: h}), nil
}

func single(q netlink.Message, body []byte) ([]netlink.Message, error) {
	h := netlink.Header{Type: q.Header.Type, Sequence: q.Header.Sequence, PID: q.Header.PID}
	return []netlink.Message{{Header: h, Data: body}}, nil
}

func errno(q netlink.Message, n syscall.Errno) ([]netlink.Message, error) {
	q.Header.Flags = 0 // the bits of a dump have another meaning in a response
	return nltest.Error(int(n), []netlink.Message{q})
}

const (
	typeGet     = 5<<10 | 1
	typePortGet = 5<<10 | 5
	typeChar    = 5<<10 | 15
	isDump      = netlink.Request | netlink.Dump
)

func TestDevicesRequest(t *testing.T) {
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		if q.Header.Type != typeGet || q.Header.Flags != isDump || len(q.Data) != 0 {
			t.Errorf("request %+v, want an nldev device dump", q)
		}
		return multi(q, 0, append(readVector(t, "devices"), []byte{1, 2, 3, 4, 5})...)
	})
	got, err := c.Devices(t.Context())
	if len(got) != 2 || got[1].Name != "siw0" {
		t.Errorf("Devices() = %+v, want rxe0 and siw0 in spite of the broken message", got)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "nldev device dump: message 2: ") {
		t.Errorf("Devices() error = %v, want one about message 2", err)
	}
}

// TestPortsMissing simulates a kernel whose dump ends at port 2, which doesn't respond.
func TestPortsMissing(t *testing.T) {
	port := func(n uint32) []byte {
		b := appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, 3)
		return appendAttrU32(b, RDMA_NLDEV_ATTR_PORT_INDEX, n)
	}
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		if q.Header.Type != typePortGet {
			t.Errorf("request %+v, want port get", q)
		}
		if q.Header.Flags == isDump {
			return multi(q, 0, port(1))
		}
		p, err := decodePort(q.Data)
		if err != nil {
			t.Error(err)
		}
		if p.Number == 2 {
			return errno(q, syscall.ETIMEDOUT)
		}
		return single(q, port(p.Number))
	})
	got, err := c.Ports(t.Context(), Device{Index: 3, Name: "mlx5_3", Ports: new(uint32(3))})
	if len(got) != 2 || got[0].Number != 1 || got[1].Number != 3 {
		t.Errorf("Ports() = %+v, want ports 1 and 3", got)
	}
	if !errors.Is(err, syscall.ETIMEDOUT) || err.Error() != "nldev port get mlx5_3/2: connection timed out" {
		t.Errorf("Ports() error = %v", err)
	}
}

func TestErrors(t *testing.T) {
	dev := Device{Index: 3, Name: "rxe0", Ports: new(uint32(1))}
	chardev := func(c Client) error {
		_, err := c.CharDevice(t.Context(), CharUverbs, &dev, 0)
		return err
	}
	for _, tt := range []struct {
		name string
		// answers are errors by message type; a device get without an error succeeds.
		answer map[netlink.HeaderType]syscall.Errno
		call   func(Client) error
		want   string
		is     []error
	}{
		{"permission", map[netlink.HeaderType]syscall.Errno{typePortGet: syscall.EPERM}, func(c Client) error {
			_, err := c.Ports(t.Context(), dev)
			return err
		}, "nldev port dump rxe0: operation not permitted", []error{fs.ErrPermission, syscall.EPERM}},
		{
			"gone",
			map[netlink.HeaderType]syscall.Errno{typePortGet: syscall.EINVAL, typeGet: syscall.EINVAL},
			func(c Client) error {
				_, err := c.Ports(t.Context(), dev)
				return err
			}, "nldev port dump rxe0: device has been removed: file does not exist",
			[]error{fs.ErrNotExist},
		},
		{"not removed", map[netlink.HeaderType]syscall.Errno{typePortGet: syscall.EINVAL}, func(c Client) error {
			_, err := c.Ports(t.Context(), dev)
			return err
		}, "nldev port dump rxe0: invalid argument", []error{syscall.EINVAL}},
		{
			"chardev, old kernel",
			map[netlink.HeaderType]syscall.Errno{typeChar: syscall.EINVAL},
			chardev,
			"no nldev chardev get uverbs rxe0: kernel 5.3 or later: invalid argument",
			[]error{errors.ErrUnsupported},
		},
		{
			"chardev, gone",
			map[netlink.HeaderType]syscall.Errno{typeChar: syscall.EINVAL, typeGet: syscall.EINVAL},
			chardev,
			"nldev chardev get uverbs rxe0: device has been removed: file does not exist",
			[]error{fs.ErrNotExist},
		},
		{
			"chardev, no module",
			map[netlink.HeaderType]syscall.Errno{typeChar: syscall.EOPNOTSUPP},
			chardev,
			"nldev chardev get uverbs rxe0: operation not supported",
			[]error{errors.ErrUnsupported},
		},
		{"system, old kernel", map[netlink.HeaderType]syscall.Errno{5<<10 | 6: syscall.EINVAL}, func(c Client) error {
			_, err := c.System(t.Context())
			return err
		}, "no nldev system get: kernel 5.2 or later: invalid argument", []error{
			errors.ErrUnsupported, syscall.EINVAL,
		}},
		{"umad without port", nil, func(c Client) error {
			_, err := c.CharDevice(t.Context(), CharUMAD, &dev, 0)
			return err
		}, "nldev chardev get umad rxe0: invalid combination of kind, device and port", nil},
		{"umad beyond the last port", nil, func(c Client) error {
			_, err := c.CharDevice(t.Context(), CharUMAD, &dev, 2)
			return err
		}, "nldev chardev get umad rxe0/2: invalid combination of kind, device and port", nil},
	} {
		c := fake(func(q netlink.Message) ([]netlink.Message, error) {
			if n, ok := tt.answer[q.Header.Type]; ok {
				return errno(q, n)
			}
			return single(q, readVector(t, "devices")[0])
		})
		err := tt.call(c)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: error %q, want %q", tt.name, err, tt.want)
		}
		for _, target := range tt.is {
			if !errors.Is(err, target) {
				t.Errorf("%s: %q doesn't match %v", tt.name, err, target)
			}
		}
		if errors.Is(err, ErrNoRDMANetlink) {
			t.Errorf("%s: %q matches ErrNoRDMANetlink", tt.name, err)
		}
	}
}

func TestNoRDMANetlink(t *testing.T) {
	refused := fake(func(netlink.Message) ([]netlink.Message, error) { return nil, syscall.ECONNREFUSED })
	noProto := Client{dial: func(int) (*netlink.Conn, error) {
		return nil, &netlink.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EPROTONOSUPPORT)}
	}}
	for c, want := range map[*Client]string{
		&noProto: "no RDMA netlink: ib_core not loaded (modprobe ib_core): protocol not supported",
		&refused: "no RDMA netlink: not available in this network namespace: connection refused",
	} {
		_, err := c.Devices(t.Context())
		var typed *NotSupportedError
		if !errors.Is(err, ErrNoRDMANetlink) || !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &typed) {
			t.Errorf("Devices() error %v doesn't match ErrNoRDMANetlink, ErrUnsupported and *NotSupportedError", err)
		}
		if err.Error() != want {
			t.Errorf("Devices() error = %q, want %q", err, want)
		}
		if _, err := c.CharDevices(t.Context(), Device{}); !errors.Is(err, ErrNoRDMANetlink) {
			t.Errorf("CharDevices() error = %v, want ErrNoRDMANetlink", err)
		}
		if _, err := c.Links(t.Context()); err == nil || errors.Is(err, ErrNoRDMANetlink) {
			t.Errorf("Links() error = %v, want one that has nothing to do with RDMA", err)
		}
	}
}

func TestCharDevicesLeavesOutWhatIsMissing(t *testing.T) {
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		if p, err := decodePort(q.Data); err != nil || p.Number == 1 { // no port, or the first
			return errno(q, syscall.EOPNOTSUPP)
		}
		return single(q, readVector(t, "char-umad-rxe0")[0])
	})
	got, err := c.CharDevices(t.Context(), Device{Name: "x", Ports: new(uint32(2))})
	want := []CharDevice{{Kind: CharUMAD, Port: 2, Name: "umad0", ABI: new(uint64(5)), Major: 231}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("CharDevices() error %v, -want +got:\n%s", err, diff)
	}
}

func TestDefaultRoutesFilter(t *testing.T) {
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		if q.Header.Type != RTM_GETROUTE || q.Header.Flags != isDump || q.Data[4] != RT_TABLE_MAIN {
			t.Errorf("request %+v, want a dump of the main table", q)
		}
		// All families and tables together, as in responses of old kernels.
		bodies := append(readVector(t, "routes-ipv4"), readVector(t, "routes-ipv6")...)
		other := append([]byte{2, 0, 0, 0, 252, 3, 0, 1, 0, 0, 0, 0}, appendAttrU32(nil, RTA_TABLE, 1077)...)
		cloned := []byte{10, 0, 0, 0, 254, 3, 0, 1, 0, 2, 0, 0}
		return multi(q, 0, append(bodies, other, cloned)...)
	})
	got, err := c.DefaultRoutes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []Route
	for _, r := range defaultRoutes {
		want = append(want, r.route())
	}
	check(t, "DefaultRoutes", plain(got), want)
}

func TestDefaultRoutesNoTable(t *testing.T) {
	c := fake(func(q netlink.Message) ([]netlink.Message, error) { return errno(q, syscall.ENOENT) })
	if got, err := c.DefaultRoutes(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("DefaultRoutes() = %v, %v, want none in a fresh namespace", got, err)
	}
}

func TestDumpInterrupted(t *testing.T) {
	for _, tt := range []struct{ interrupted, wantTries int }{{0, 1}, {2, 3}, {99, dumpTries}} {
		tries := 0
		c := fake(func(q netlink.Message) ([]netlink.Message, error) {
			tries++
			var flags netlink.HeaderFlags
			if tries <= tt.interrupted {
				flags = netlink.DumpInterrupted
			}
			return multi(q, flags, readVector(t, "links")...)
		})
		links, err := c.Links(t.Context())
		if tries != tt.wantTries || errors.Is(err, ErrInconsistent) != (tt.interrupted > dumpTries) {
			t.Errorf("Links() after %d interruptions: %d tries, error %v, want %d tries",
				tt.interrupted, tries, err, tt.wantTries)
		}
		if len(links) != 9 {
			t.Errorf("Links() after %d interruptions = %d links, want 9", tt.interrupted, len(links))
		}
	}
}

// TestStuckKernel simulates a driver that doesn't return from a port query.
func TestStuckKernel(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	defer close(release)
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		<-release
		return multi(q, 0)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Ports(ctx, Device{Name: "mlx5_0", Ports: new(uint32(1))})
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "nldev port dump mlx5_0: context deadline exceeded" {
		t.Errorf("Ports() error = %v, want the deadline", err)
	}
}

// TestDeadlineOnSocket waits for a response that the kernel never sends: control messages
// have none.
func TestDeadlineOnSocket(t *testing.T) {
	defer goleak.VerifyNone(t)
	before := openFiles(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	q := request{op: "nothing", family: NETLINK_ROUTE, typ: netlink.Noop}
	if _, err := (Client{}).exchange(ctx, q); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("exchange error = %v, want the deadline", err)
	}
	canceled, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	if _, err := (Client{}).exchange(canceled, q); !errors.Is(err, context.Canceled) {
		t.Errorf("exchange error = %v, want the cancellation", err)
	}
	if _, err := (Client{}).Links(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("Links(canceled) error = %v, want the cancellation", err)
	}
	for range 100 { // the abandoned goroutines close their sockets soon
		if openFiles(t) <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d files open, %d before", openFiles(t), before)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

func TestRouteToRequest(t *testing.T) {
	header := func(family, bits byte) []byte { return append([]byte{family, bits}, make([]byte, 10)...) }
	linkLocal := slices.Clip(appendAttr(header(10, 128), RTA_DST, append([]byte{0xfe, 0x80}, make([]byte, 14)...)))
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	for dst, want := range map[string][]byte{
		"192.0.2.1":        appendAttr(header(2, 32), RTA_DST, []byte{192, 0, 2, 1}),
		"::ffff:192.0.2.1": appendAttr(header(2, 32), RTA_DST, []byte{192, 0, 2, 1}),
		"fe80::":           linkLocal,
		"fe80::%7":         appendAttrU32(linkLocal, RTA_OIF, 7),
		"fe80::%lo":        appendAttrU32(linkLocal, RTA_OIF, uint32(lo.Index)),
	} {
		c := fake(func(q netlink.Message) ([]netlink.Message, error) {
			if q.Header.Type != RTM_GETROUTE || q.Header.Flags != netlink.Request || !bytes.Equal(q.Data, want) {
				t.Errorf("RouteTo(%s) sends %+v, want %x", dst, q, want)
			}
			return single(q, readVector(t, "route-gateway")[0])
		})
		if _, err := c.RouteTo(t.Context(), netip.MustParseAddr(dst)); err != nil {
			t.Errorf("RouteTo(%s) = %v", dst, err)
		}
	}
	for _, dst := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%no-such-device")} {
		if _, err := (Client{}).RouteTo(t.Context(), dst); err == nil {
			t.Errorf("RouteTo(%v) = nil error", dst)
		}
	}
}

// TestRoutesWithoutCache leaves out entries of caches, which old kernels list for IPv6.
func TestRoutesWithoutCache(t *testing.T) {
	route := make([]byte, rtmsgLen)
	route[0], route[4], route[7] = 10, RT_TABLE_MAIN, 1 // AF_INET6, unicast
	cached := slices.Clone(route)
	binary.NativeEndian.PutUint32(cached[8:], RTM_F_CLONED)
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		if q.Data[0] != 10 {
			return multi(q, 0)
		}
		if q.Data[4] != RT_TABLE_UNSPEC {
			t.Errorf("request for table %d, want those of all", q.Data[4])
		}
		return multi(q, 0, cached, route)
	})
	got, err := c.Routes(t.Context())
	if err != nil || len(got) != 1 || got[0].flags&RTM_F_CLONED != 0 {
		t.Errorf("Routes() = %+v, %v, want the one that is no entry of a cache", got, err)
	}
}
