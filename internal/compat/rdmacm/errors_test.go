package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/verbs"
)

// likeError matches an errno without wrapping one.
type likeError struct{ errno syscall.Errno }

func (likeError) Error() string          { return "like an errno" }
func (e likeError) Is(target error) bool { return target == e.errno }

// TestErrors maps errors to what the C programs print.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		event  string
		number int
		errno  syscall.Errno // EINVAL if there is none
		gai    int
	}{
		{&verbs.RejectedError{Code: 28}, "RDMA_CM_EVENT_REJECTED", 28, syscall.EINVAL, eaiNoName},
		{os.ErrDeadlineExceeded, "RDMA_CM_EVENT_UNREACHABLE", -110, syscall.EINVAL, eaiNoName},
		{context.DeadlineExceeded, "RDMA_CM_EVENT_UNREACHABLE", -110, syscall.EINVAL, eaiNoName},
		{syscall.ENETUNREACH, "", 0, syscall.ENETUNREACH, eaiNoName},
		{fs.ErrNotExist, "", 0, syscall.EADDRNOTAVAIL, eaiNoName},
		{errors.New("other"), "", 0, syscall.EINVAL, eaiNoName},
		{&net.DNSError{IsNotFound: true}, "", 0, syscall.EINVAL, eaiNoName},
		{&net.DNSError{IsTemporary: true}, "", 0, syscall.EINVAL, eaiAgain},
		{&net.DNSError{IsTimeout: true}, "RDMA_CM_EVENT_UNREACHABLE", -110, syscall.EINVAL, eaiAgain},
		{&net.DNSError{}, "", 0, syscall.EINVAL, eaiFail},
		{likeError{syscall.EADDRINUSE}, "", 0, syscall.EADDRINUSE, eaiNoName},
		{likeError{syscall.EHOSTUNREACH}, "", 0, syscall.EHOSTUNREACH, eaiNoName},
	} {
		err := fmt.Errorf("wrapped: %w", tt.err)
		event, number := connectEvent(err)
		if event != tt.event || number != tt.number {
			t.Errorf("connectEvent(%v) = %s, %d, want %s, %d", tt.err, event, number, tt.event, tt.number)
		}
		if got := errnoOf(err, syscall.EINVAL); got != tt.errno {
			t.Errorf("errnoOf(%v) = %v, want %v", tt.err, got, tt.errno)
		}
		if got, _ := gaiError(err); got != tt.gai {
			t.Errorf("gaiError(%v) = %d, want %d", tt.err, got, tt.gai)
		}
	}
}

// TestOpenStage tells a missing route from a missing device.
func TestOpenStage(t *testing.T) {
	for err, want := range map[error]rping.Stage{
		syscall.ENETUNREACH: rping.StageResolve, syscall.EHOSTUNREACH: rping.StageResolve,
		syscall.EADDRINUSE: rping.StageOpen, fs.ErrNotExist: rping.StageOpen,
	} {
		if got := openStage(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("openStage(%v) = %s, want %s", err, got, want)
		}
	}
}

// TestConnectOptions holds what ucmatose asks for to its options and to the C program's numbers.
func TestConnectOptions(t *testing.T) {
	c := &tosser{space: verbs.PortSpaceIB, tos: 0x20, timeout: 14}
	want := verbs.ConnectOptions{
		PortSpace: verbs.PortSpaceIB, ReadAtomic: 1, DestReadAtomic: 1, RetryCount: 5, RNRRetry: verbs.RetryNone,
		TrafficClass: 0x20, Timeout: 14,
	}
	if diff := cmp.Diff(want, (&toss{tosser: c}).options(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("options, -want +got:\n%s", diff)
	}
	source := netip.MustParseAddr("192.0.2.7")
	p := &pinger{size: 100, source: source}
	if o := p.options(&tracker{p: p}); o.Local != source || o.Size != 100 || o.Observer == nil {
		t.Errorf("options of rping: %+v", o)
	}
}

// TestLookup prefers IPv4, also in its IPv6 form.
func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		list []string
		want string // "" is an error
	}{
		{[]string{"2001:db8::1", "192.0.2.1"}, "192.0.2.1"},
		{[]string{"2001:db8::1", "::ffff:192.0.2.1"}, "192.0.2.1"},
		{[]string{"2001:db8::1", "2001:db8::2"}, "2001:db8::1"},
		{nil, ""},
	} {
		r := &run{Host: Host{Lookup: func(context.Context, string) (list []netip.Addr, err error) {
			for _, text := range tt.list {
				list = append(list, netip.MustParseAddr(text))
			}
			return list, nil
		}}}
		got, err := r.lookup(t.Context(), "server")
		if tt.want == "" {
			if _, ok := errors.AsType[*net.DNSError](err); !ok {
				t.Errorf("lookup without addresses = %v, %v, want a DNSError", got, err)
			}
			continue
		}
		if err != nil || got != netip.MustParseAddr(tt.want) {
			t.Errorf("lookup of %v = %v, %v, want %s", tt.list, got, err, tt.want)
		}
	}
}

// TestHints adds those of the host to those of the explanation.
func TestHints(t *testing.T) {
	var out strings.Builder
	r := &run{Host: Host{Stderr: &out, Hints: func(error) []string { return []string{"the host's"} }}}
	r.explain(syscall.EADDRINUSE, rping.StageOpen, "roce@eth0", netip.AddrPort{})
	if got := out.String(); !strings.HasPrefix(got, "hint: open: open roce@eth0: ") ||
		!strings.HasSuffix(got, "hint: the host's\n") || strings.Count(got, "hint: ") != 3 {
		t.Errorf("explain = %q", got)
	}
}
