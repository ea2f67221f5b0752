//go:build unix

package wholefile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes the exclusive lock of an open file, flock(2), which closing the file releases, as does
// the end of the process. It doesn't wait: if another process has the lock, the error is
// [ErrLocked]. File systems without locks have none to take.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("lock %s: %w", f.Name(), ErrLocked)
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOLCK):
		return nil
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}
