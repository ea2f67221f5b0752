package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/verbs"
)

// TestFailed checks the words that stand for causes.
func TestFailed(t *testing.T) {
	for code, err := range map[string]error{
		"busy":           os.NewSyscallError("bind", syscall.EADDRINUSE),
		"permission":     syscall.EACCES,
		"no-device":      os.ErrNotExist,
		"not-supported":  verbs.ErrNotSupported,
		"no-gid":         errNoGID,
		"port-down":      errPortDown,
		"timeout":        context.DeadlineExceeded,
		"retry-exceeded": &verbs.CompletionError{Status: verbs.WCRetryExceeded},
		"other":          errors.New("disk on fire"),
	} {
		f := failed(t.Context(), result.StepOpen, fmt.Errorf("open mlx5_0: %w", err))
		if f.Code != code || f.Step != result.StepOpen || f.Text == "" {
			t.Errorf("%v: %+v, want %s", err, f, code)
		}
	}
}
