package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Attach returns the guest that the folder describes, started by another process or detached.
// Closing it leaves the guest running. The error wraps [ErrEnded] if that guest has ended.
func Attach(dir string) (*Guest, error) {
	s, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("attach to guest %s: %w", dir, ErrEnded)
	}
	if err != nil {
		return nil, err
	}
	life, err := tryLock(filepath.Join(dir, lifeName))
	if err == nil {
		_ = life.Close()
		return nil, fmt.Errorf("attach to guest %s: %w", dir, ErrEnded)
	}
	if !errors.Is(err, errLocked) {
		return nil, fmt.Errorf("attach to guest: %w", err)
	}
	if !s.Ready {
		return nil, fmt.Errorf("attach to guest %s: still booting", dir)
	}
	return &Guest{state: s}, nil
}

// Stop ends the guest that the folder describes, whichever process started it, and returns when all
// of its resources are removed.
func Stop(dir string) error {
	s, err := readState(dir)
	if err != nil {
		return err
	}
	return s.remove()
}

// ClearDead removes the guests of dead processes: QEMU, namespaces, folders. Start calls it.
func ClearDead(ctx context.Context, log io.Writer) error {
	lock, err := waitLock(ctx, filepath.Join(runRoot, registerName), func() {})
	if errors.Is(err, os.ErrNotExist) {
		return nil // this machine never had a guest
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	return clearDead(runRoot, Options{Log: log}.logf)
}

// FindDetached returns the folder of this machine's most recently started detached guest. The error
// wraps [ErrEnded] if there is none.
func FindDetached() (string, error) { return findDetached(runRoot) }

func findDetached(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", stateName))
	if err != nil {
		return "", err
	}
	var last state
	for _, file := range files {
		g, err := Attach(filepath.Dir(file))
		if err == nil && g.state.Detached && g.state.Started.After(last.Started) {
			last = g.state
		}
	}
	if last.Dir == "" {
		return "", fmt.Errorf("find a detached guest in %s: %w", root, ErrEnded)
	}
	return last.Dir, nil
}

// open opens a free channel, and waits for one if necessary.
func (g *Guest) open(ctx context.Context) (*session, error) {
	for {
		first := rand.IntN(channels)
		for i := range channels {
			n := (first + i) % channels
			s, err := g.openChannel(ctx, n)
			if !errors.Is(err, errLocked) {
				return s, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a free channel: %w", context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (g *Guest) openChannel(ctx context.Context, n int) (*session, error) {
	lock, err := tryLock(filepath.Join(g.state.Dir, "ch"+strconv.Itoa(n)+".lock"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open channel: %w", ErrEnded)
	}
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(g.state.Dir, channelName(n)))
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("open channel: %w: %w", ErrEnded, err)
	}
	s, err := newSession(conn, func() { _ = lock.Close() })
	if err != nil {
		_ = conn.Close()
		_ = lock.Close()
		return nil, fmt.Errorf("open channel: %w: %w", ErrEnded, err)
	}
	return s, nil
}

// lockExclusive takes the guest's lock for Exclusive.
func (g *Guest) lockExclusive(ctx context.Context) (*os.File, error) {
	return waitLock(ctx, filepath.Join(g.state.Dir, exclusiveName), func() {})
}

// lockSteady takes the guest's lock for Steady.
func (g *Guest) lockSteady(ctx context.Context) (*os.File, error) {
	return waitLockAs(ctx, filepath.Join(g.state.Dir, exclusiveName), syscall.LOCK_SH, func() {})
}
