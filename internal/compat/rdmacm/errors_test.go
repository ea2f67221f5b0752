package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/verbs"
)

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
		{&net.DNSError{}, "", 0, syscall.EINVAL, eaiFail},
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
