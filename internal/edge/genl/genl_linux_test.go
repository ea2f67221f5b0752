package genl

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"go.uber.org/goleak"
)

// fake returns a client that uses fn as the kernel, which has the family "test" as number 42.
func fake(fn genltest.Func) Client {
	return Client{Dial: func() (*genetlink.Conn, error) {
		return genltest.Dial(genltest.ServeFamily(genetlink.Family{ID: 42, Name: "test", Version: 1}, fn)), nil
	}}
}

func request() Request {
	return Request{
		Op: "test dump", Object: "eth0", Family: "test", Version: 3, Command: 7, Dump: true,
		Body: []byte{4, 0, 1, 0},
	}
}

func TestExecute(t *testing.T) {
	defer goleak.VerifyNone(t)
	c := fake(genltest.CheckRequest(42, 7, netlink.Request|netlink.Dump,
		func(q genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
			if q.Header.Version != 3 || string(q.Data) != "\x04\x00\x01\x00" {
				t.Errorf("request %+v", q)
			}
			return []genetlink.Message{{Data: []byte("one!")}, {Data: []byte("two!")}}, nil
		}))
	got, err := c.Execute(t.Context(), request())
	if diff := cmp.Diff([][]byte{[]byte("one!"), []byte("two!")}, got); err != nil || diff != "" {
		t.Errorf("Execute() = %v, -want +got:\n%s", err, diff)
	}
}

func TestExecuteErrors(t *testing.T) {
	for _, tt := range []struct {
		errno syscall.Errno
		want  string
		is    error
	}{
		{syscall.EPERM, "test dump eth0: operation not permitted", fs.ErrPermission},
		{syscall.EOPNOTSUPP, "test dump eth0: operation not supported", errors.ErrUnsupported},
		{syscall.ENODEV, "test dump eth0: no such device", syscall.ENODEV},
	} {
		c := fake(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			return nil, genltest.Error(int(tt.errno))
		})
		q := request()
		q.Dump = false // the bits of a dump have another meaning in genltest's response
		_, err := c.Execute(t.Context(), q)
		if err == nil || err.Error() != tt.want || !errors.Is(err, tt.is) {
			t.Errorf("Execute() = %v, want %q", err, tt.want)
		}
	}
	failing := Client{Dial: func() (*genetlink.Conn, error) { return nil, syscall.EPROTONOSUPPORT }}
	if _, err := failing.Execute(t.Context(), request()); !errors.Is(err, syscall.EPROTONOSUPPORT) {
		t.Errorf("Execute() without netlink = %v", err)
	}
}

// TestExecuteUnknownFamily asks the running kernel.
func TestExecuteUnknownFamily(t *testing.T) {
	q := request()
	q.Family = "rdmakit-none"
	_, err := Client{}.Execute(t.Context(), q)
	if !errors.Is(err, errors.ErrUnsupported) ||
		!strings.Contains(err.Error(), `no generic netlink family "rdmakit-none"`) {
		t.Errorf("Execute() of an unknown family = %v", err)
	}
}

// TestExecuteInterrupted has a list that changes during the first two attempts, or always.
func TestExecuteInterrupted(t *testing.T) {
	for _, tt := range []struct {
		changes int
		want    error
	}{{2, nil}, {100, ErrInconsistent}} {
		tries := 0
		c := Client{Dial: func() (*genetlink.Conn, error) {
			return genltest.Dial(genltest.ServeFamily(genetlink.Family{ID: 42, Name: "test"},
				func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
					tries++
					return []genetlink.Message{{Data: []byte("one!")}}, nil
				})), nil
		}}
		c.interrupted = func() bool { return tries <= tt.changes }
		got, err := c.Execute(t.Context(), request())
		if !errors.Is(err, tt.want) || len(got) != 1 || tries != min(tt.changes+1, dumpTries) {
			t.Errorf("Execute() with %d changes = %q, %v after %d tries", tt.changes, got, err, tries)
		}
	}
}

// TestExecuteReturnsWhenDone has a kernel that doesn't return.
func TestExecuteReturnsWhenDone(t *testing.T) {
	stuck := make(chan struct{})
	c := fake(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
		<-stuck
		return nil, genltest.Error(int(syscall.EIO))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Execute(ctx, request())
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "test dump eth0: context deadline exceeded" {
		t.Errorf("Execute() = %v", err)
	}
	close(stuck)
	if _, err := c.Execute(ctx, request()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Execute() with a done context = %v", err)
	}
	goleak.VerifyNone(t)
}
