package guest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// register registers a new guest: a new folder under root with its state and its life lock, which
// the caller keeps. Guests whose owners are dead are removed first.
func register(ctx context.Context, root string, o Options) (state, *os.File, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return state{}, nil, fmt.Errorf("register guest: %w", err)
	}
	// No process may treat a guest as dead between the creation of its folder and its lock.
	lock, err := waitLock(ctx, filepath.Join(root, registerName), func() {})
	if err != nil {
		return state{}, nil, err
	}
	defer lock.Close()
	if err := clearDead(root, o.logf); err != nil {
		o.logf("remove dead guests: %v", err)
	}
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return state{}, nil, fmt.Errorf("register guest: %w", err)
	}
	name := hex.EncodeToString(id)
	now := time.Now().UTC().Truncate(time.Second)
	s := state{
		Dir: filepath.Join(root, name), Netns: netnsPrefix + name, Detached: o.Detach,
		Started: now, Ends: now.Add(o.MaxLife),
	}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		return state{}, nil, fmt.Errorf("register guest: %w", err)
	}
	life, err := tryLock(filepath.Join(s.Dir, lifeName))
	if err == nil {
		err = s.write()
	}
	if err != nil {
		_ = os.RemoveAll(s.Dir)
		return state{}, nil, fmt.Errorf("register guest: %w", err)
	}
	return s, life, nil
}

// clearDead removes all guests under root whose life lock is not held. The caller holds the
// register's lock.
func clearDead(root string, logf func(string, ...any)) error {
	dirs, err := filepath.Glob(filepath.Join(root, "*", stateName))
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range dirs {
		s, err := readState(filepath.Dir(file))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		life, err := tryLock(filepath.Join(s.Dir, lifeName))
		if errors.Is(err, errLocked) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		logf("removing %s, whose owner is dead", s.Netns)
		errs = append(errs, s.remove())
		_ = life.Close()
	}
	return errors.Join(errs...)
}

// remove removes the guest's resources: the processes in its namespace by their ids, the namespace
// with its taps, the folder. A missing resource is not an error.
func (s state) remove() error {
	if !strings.HasPrefix(s.Netns, netnsPrefix) {
		return fmt.Errorf("remove guest: %q is no guest's namespace", s.Netns)
	}
	err := errors.Join(killIn(s.Netns), deleteNetns(s.Netns))
	if err != nil {
		return fmt.Errorf("remove guest %s: %w", s.Netns, err)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("remove guest %s: %w", s.Netns, err)
	}
	return nil
}

func deleteNetns(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ip", "netns", "delete", name).CombinedOutput()
	if _, statErr := os.Stat(netnsPath(name)); errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete namespace: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func netnsPath(name string) string { return "/run/netns/" + name }

// killIn ends all processes in a namespace with SIGTERM and, after two seconds, with SIGKILL.
func killIn(netns string) error {
	const kind, hard = 2 * time.Second, 7 * time.Second
	start := time.Now()
	for signaled := map[int]syscall.Signal{}; ; time.Sleep(10 * time.Millisecond) {
		pids, err := pidsIn("/proc", netnsPath(netns))
		if err != nil || len(pids) == 0 {
			return err
		}
		waited := time.Since(start)
		if waited > hard {
			return fmt.Errorf("end processes %v: still alive after %v", pids, hard)
		}
		signal := syscall.SIGTERM
		if waited > kind {
			signal = syscall.SIGKILL
		}
		for _, pid := range pids {
			if signaled[pid] == signal {
				continue
			}
			signaled[pid] = signal
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d: %w", pid, err)
			}
		}
	}
}

// pidsIn returns the processes in the network namespace that is mounted at path, except this one.
// It returns none if there is no such namespace.
func pidsIn(proc, path string) ([]int, error) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the processes of %s: %w", path, err)
	}
	want := "net:[" + strconv.FormatUint(st.Ino, 10) + "]"
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("find the processes of %s: %w", path, err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that can't be read has ended meanwhile.
		if link, err := os.Readlink(filepath.Join(proc, e.Name(), "ns", "net")); err == nil && link == want {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}
