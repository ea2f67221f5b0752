package dcbnl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
)

// fake returns a Client that uses fn as the kernel.
func fake(fn func(q netlink.Message) ([]netlink.Message, error)) Client {
	return Client{dial: func() (*netlink.Conn, error) {
		return nltest.Dial(func(req []netlink.Message) ([]netlink.Message, error) {
			if len(req) == 0 {
				return nil, errors.New("nothing to receive")
			}
			return fn(req[0])
		}), nil
	}}
}

func answer(q netlink.Message, body []byte) ([]netlink.Message, error) {
	h := netlink.Header{Type: RTM_GETDCB, Sequence: q.Header.Sequence, PID: q.Header.PID}
	return []netlink.Message{{Header: h, Data: body}}, nil
}

func refuse(q netlink.Message, n syscall.Errno) ([]netlink.Message, error) {
	return nltest.Error(int(n), []netlink.Message{q})
}

func TestQuery(t *testing.T) {
	var asked []string
	s, err := fake(func(q netlink.Message) ([]netlink.Message, error) {
		asked = append(asked, fmt.Sprintf("%d %v %x", q.Header.Type, q.Header.Flags, q.Data))
		if q.Data[1] == DCB_CMD_GDCBX {
			return answer(q, []byte{0, 22, 0, 0, 5, 0, 14, 0, 9, 0, 0, 0})
		}
		return answer(q, readVector(t, "full"))
	}).Query(t.Context(), "eth0")
	if err != nil || s.PFC == nil || s.PFC.Enabled != 0x28 || s.DCBX == nil || *s.DCBX != 9 {
		t.Errorf("Query: %+v, %v", s, err)
	}
	want := []string{
		"78 request 001500000900010065746830" + "00000000", "78 request 001600000900010065746830" + "00000000",
	}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestQueryErrors(t *testing.T) {
	for _, c := range []struct {
		name       string
		ieee, dcbx syscall.Errno
		want       error
		text       string
	}{
		{"no DCB", syscall.EOPNOTSUPP, 0, errors.ErrUnsupported, "dcbnl IEEE get eth0: operation not supported"},
		{"no privilege", syscall.EPERM, 0, fs.ErrPermission, "dcbnl IEEE get eth0: operation not permitted"},
		{"no device", syscall.ENODEV, 0, syscall.ENODEV, "dcbnl IEEE get eth0: no such device"},
		{"no DCBX", 0, syscall.EOPNOTSUPP, nil, ""},
		{"DCBX fails", 0, syscall.EIO, syscall.EIO, "dcbnl DCBX get eth0: input/output error"},
	} {
		s, err := fake(func(q netlink.Message) ([]netlink.Message, error) {
			n := c.ieee
			if q.Data[1] == DCB_CMD_GDCBX {
				n = c.dcbx
			}
			if n != 0 {
				return refuse(q, n)
			}
			return answer(q, readVector(t, "full"))
		}).Query(t.Context(), "eth0")
		if !errors.Is(err, c.want) || c.want != nil && err.Error() != c.text {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
		if (s.PFC != nil) != (c.ieee == 0) || s.Netdev != "eth0" {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	for _, name := range []string{"", "a-name-of-16-chr"} {
		if _, err := (Client{}).Query(t.Context(), name); err == nil {
			t.Errorf("Query(%q): no error", name)
		}
	}
}

func TestQueryEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	_, err := fake(func(netlink.Message) ([]netlink.Message, error) {
		<-stuck // a driver that waits for its firmware
		return nil, nil
	}).Query(ctx, "eth0")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Query of a stuck driver: %v", err)
	}
}

// TestRunningKernel asks for lo, whose driver has no DCB.
func TestRunningKernel(t *testing.T) {
	_, err := Client{}.Query(t.Context(), "lo")
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Query(lo): %v, want operation not supported", err)
	}
	_, err = Client{}.Query(t.Context(), "no-such-netdev")
	if !errors.Is(err, syscall.ENODEV) {
		t.Errorf("Query(no-such-netdev): %v, want no such device", err)
	}
}
