package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errLocked is returned by tryLock when another holder has the lock.
var errLocked = errors.New("locked")

// tryLock takes the advisory lock of a file, which is created if necessary. Closing the file
// releases the lock, and so does the holder's death, unless a child inherited the file.
func tryLock(path string) (*os.File, error) { return tryLockAs(path, syscall.LOCK_EX) }

// tryLockAs takes a lock as syscall.LOCK_EX or as syscall.LOCK_SH.
func tryLockAs(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", path, errLocked)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// waitLock takes the lock when it becomes free. It calls waiting once if it
// has to wait.
func waitLock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	return waitLockAs(ctx, path, syscall.LOCK_EX, waiting)
}

func waitLockAs(ctx context.Context, path string, how int, waiting func()) (*os.File, error) {
	for first := true; ; first = false {
		f, err := tryLockAs(path, how)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
