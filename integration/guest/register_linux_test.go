package guest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestRegisterAndAttach(t *testing.T) {
	root := t.TempDir()
	ctx := t.Context()
	opts := Options{MaxLife: time.Hour, Detach: true}
	s, life, err := register(ctx, root, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Attach(s.Dir); err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("Attach while booting = %v, want an error other than ErrEnded", err)
	}
	s.Ready = true
	if err := s.write(); err != nil {
		t.Fatal(err)
	}
	g, err := Attach(s.Dir)
	if err != nil {
		t.Fatalf("Attach = %v, want nil", err)
	}
	if g.Netns() != s.Netns || g.Dir() != s.Dir {
		t.Errorf("Attach = %s in %s, want %s in %s", g.Netns(), g.Dir(), s.Netns, s.Dir)
	}
	if dir, err := findDetached(root); dir != s.Dir || err != nil {
		t.Errorf("findDetached = %q, %v, want %q", dir, err, s.Dir)
	}

	// Registering a second guest doesn't remove the first while that has an owner.
	s2, life2, err := register(ctx, root, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer life2.Close()
	if _, err := os.Stat(s.Dir); err != nil {
		t.Errorf("the first guest's folder after another's start: %v, want it there", err)
	}

	// The owner dies.
	if err := life.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Attach(s.Dir); !errors.Is(err, ErrEnded) {
		t.Errorf("Attach after the owner's death = %v, want ErrEnded", err)
	}
	if _, err := findDetached(root); !errors.Is(err, ErrEnded) {
		t.Errorf("findDetached after the owner's death = %v, want ErrEnded", err)
	}
	if err := clearDead(root, t.Logf); err != nil {
		t.Errorf("clearDead = %v, want nil", err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead guest's folder: %v, want it gone", err)
	}
	if _, err := os.Stat(s2.Dir); err != nil {
		t.Errorf("the living guest's folder: %v, want it there", err)
	}
	if _, err := Attach(s.Dir); !errors.Is(err, ErrEnded) {
		t.Errorf("Attach without a folder = %v, want ErrEnded", err)
	}
}

func TestRemoveRefusesForeignNamespaces(t *testing.T) {
	dir := t.TempDir()
	if err := (state{Dir: dir, Netns: "somebody"}).remove(); err == nil {
		t.Error("remove of a foreign namespace = nil, want an error")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the folder after that: %v, want it there", err)
	}
}

func TestReadStateMalformed(t *testing.T) {
	for _, text := range []string{"", "{", "{}"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, stateName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(dir); err == nil {
			t.Errorf("readState of %q = %+v, want an error", text, s)
		}
	}
}

// Processes are found by the inode of their namespace.
func TestPidsIn(t *testing.T) {
	dir := t.TempDir()
	netns := filepath.Join(dir, "netns")
	if err := os.WriteFile(netns, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "stat", "-c", "%i", netns).Output()
	if err != nil {
		t.Fatal(err)
	}
	inode := string(out[:len(out)-1])
	links := map[string]string{
		"100": "net:[" + inode + "]", "99": "net:[" + inode + "]", "101": "net:[" + inode + "0]",
		"self": "net:[" + inode + "]", strconv.Itoa(os.Getpid()): "net:[" + inode + "]",
	}
	proc := filepath.Join(dir, "proc")
	for pid, link := range links {
		if err := os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link, filepath.Join(proc, pid, "ns", "net")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := pidsIn(proc, netns)
	if err != nil || len(got) != 2 || got[0] != 99 || got[1] != 100 {
		t.Errorf("pidsIn = %v, %v, want [99 100]", got, err)
	}
	if got, err := pidsIn(proc, netns+".none"); err != nil || got != nil {
		t.Errorf("pidsIn of no namespace = %v, %v, want none", got, err)
	}
}

func TestWaitLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); !errors.Is(err, errLocked) {
		t.Errorf("tryLock of a held lock = %v, want errLocked", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := waitLock(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("waitLock of a held lock = %v after %d calls, want deadline exceeded after 1", err, waited)
	}
	time.AfterFunc(100*time.Millisecond, func() { _ = held.Close() })
	f, err := waitLock(t.Context(), path, func() {})
	if err != nil {
		t.Fatalf("waitLock of a lock that is given back = %v, want nil", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestSharedLock(t *testing.T) {
	g := &Guest{state: state{Dir: t.TempDir()}}
	soon, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	var held []*os.File
	for range 2 {
		lock, err := g.lockSteady(t.Context())
		if err != nil {
			t.Fatalf("lockSteady = %v, want nil for any number", err)
		}
		held = append(held, lock)
	}
	if _, err := g.lockExclusive(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lockExclusive of a guest that others look at = %v, want to wait", err)
	}
	for _, lock := range held {
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := g.lockExclusive(t.Context())
	if err != nil {
		t.Fatalf("lockExclusive of a free guest = %v, want nil", err)
	}
	defer lock.Close()
	soon, cancel = context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	if _, err := g.lockSteady(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lockSteady of a guest that is held exclusively = %v, want to wait", err)
	}
}
