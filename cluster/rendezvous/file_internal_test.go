//go:build unix

package rendezvous

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// invitation is what a leader writes.
var invitation = protocol.Invitation{Addr: "node1:7700", Hash: Hash{1}, Secret: "secret"}

// home returns the environment of a user with a new home.
func home(t *testing.T) (dir string, getenv func(string) string) {
	t.Helper()
	dir = t.TempDir()
	return dir, func(name string) string { return map[string]string{"HOME": dir}[name] }
}

// newFile returns the way of a task in a home.
func newFile(t *testing.T, getenv func(string) string) *File {
	t.Helper()
	f, err := NewFile(Task{Job: "12/3.0"}, getenv)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFile checks what the leader writes, how a worker finds it, and that nothing is left.
func TestFile(t *testing.T) {
	dir, getenv := home(t)
	leader, worker := newFile(t, getenv), newFile(t, getenv)
	if want := dir + "/.cache/rdmakit/job-12%2F3.0"; leader.Folder() != want {
		t.Errorf("the folder is %s, want %s", leader.Folder(), want)
	}
	if err := leader.Publish(t.Context(), invitation); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": os.ModeDir | 0o700, fileName: 0o600} {
		info, err := os.Lstat(filepath.Join(leader.Folder(), name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if got, err := worker.Find(t.Context(), nil); got != invitation || err != nil {
		t.Errorf("Find = %v, %v, want %v", got, err, invitation)
	}
	entries, err := os.ReadDir(leader.Folder())
	if err != nil || len(entries) != 1 {
		t.Errorf("in the folder: %v, %v, want one file", entries, err)
	}
	if err := errors.Join(worker.Close(), worker.Pass(t.Context())); err != nil {
		t.Error(err)
	}
	// Another leader has replaced it: it is not the first one's any more.
	second := newFile(t, getenv)
	if err := errors.Join(second.Publish(t.Context(), invitation), leader.Close(), leader.Close()); err != nil {
		t.Error(err)
	}
	if _, err := worker.Find(t.Context(), nil); err != nil {
		t.Errorf("after the first leader's end: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(leader.Folder()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	err = errors.Join(second.Publish(t.Context(), invitation), os.RemoveAll(second.Folder()), second.Close())
	if err != nil {
		t.Errorf("Close after somebody has removed the folder: %v", err)
	}
}

// TestNewFile checks that a folder that isn't private is refused at once.
func TestNewFile(t *testing.T) {
	dir, getenv := home(t)
	folder := newFile(t, getenv).Folder()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("NewFile has made %v, %v", left, err)
	}
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := NewFile(Task{Job: "12/3.0"}, getenv)
	if _, ok := errors.AsType[*UntrustedError](err); !ok {
		t.Errorf("a folder with permissions for others: %v", err)
	}
}

// nobody is the second user of these tests.
const nobody = 65534

// plant changes what a leader has written.
type plant struct {
	name string
	do   func(folder, file string) error
	want string
	root bool // needs root
}

func plants() []plant {
	mode := func(of string, mode os.FileMode) func(string, string) error {
		return func(folder, _ string) error { return os.Chmod(filepath.Join(folder, of), mode) }
	}
	return []plant{
		{name: "mode 0644", do: mode(fileName, 0o644), want: "its mode is 0644"},
		{name: "mode 0660", do: mode(fileName, 0o660), want: "its mode is 0660"},
		{name: "mode 0602", do: mode(fileName, 0o602), want: "its mode is 0602"},
		{name: "mode 0611", do: mode(fileName, 0o611), want: "its mode is 0611"},
		{name: "folder 0750", do: mode("", 0o750), want: "its mode is 0750"},
		{name: "symbolic link", want: "it is a symbolic link, not a file", do: func(_, file string) error {
			return errors.Join(os.Rename(file, file+"2"), os.Symlink(fileName+"2", file))
		}},
		{name: "linked folder", want: "it is a symbolic link, not a folder", do: func(folder, _ string) error {
			return errors.Join(os.Rename(folder, folder+"2"), os.Symlink(folder+"2", folder))
		}},
		{name: "folder instead of a file", want: "it is a folder, not a file", do: func(_, file string) error {
			return errors.Join(os.Remove(file), os.Mkdir(file, 0o700))
		}},
		{name: "pipe", want: "it is a special file, not a file", do: func(_, file string) error {
			return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600))
		}},
		{name: "large", want: "more than 4096 bytes", do: func(_, file string) error {
			return os.Truncate(file, maxFile+1)
		}},
		{name: "empty", want: "unexpected end of JSON", do: func(_, file string) error { return os.Truncate(file, 0) }},
		{name: "other text", want: `its format is "x"`, do: func(_, file string) error {
			return os.WriteFile(file, []byte(`{"format":"x"}`), 0o600)
		}},
		{
			name: "file of another user", root: true, want: "it belongs to user 65534, not 0",
			do: func(_, file string) error { return os.Chown(file, nobody, nobody) },
		},
		{
			name: "folder of another user", root: true, want: "it belongs to user 65534, not 0",
			do: func(folder, _ string) error { return os.Chown(folder, nobody, nobody) },
		},
	}
}

// TestPlanted checks files that others may have written, or read.
func TestPlanted(t *testing.T) {
	for _, q := range plants() {
		t.Run(q.name, func(t *testing.T) {
			if q.root && os.Geteuid() != 0 {
				t.Skip("needs root to give a file away; TestOwner has files of another user")
			}
			_, getenv := home(t)
			leader, worker := newFile(t, getenv), newFile(t, getenv)
			if err := leader.Publish(t.Context(), invitation); err != nil {
				t.Fatal(err)
			}
			if err := q.do(leader.folder, filepath.Join(leader.folder, fileName)); err != nil {
				t.Fatal(err)
			}
			i, err := worker.Find(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), q.want) || !strings.Contains(err.Error(), leader.folder) {
				t.Errorf("Find = %v, %v, want %q", i, err, q.want)
			}
		})
	}
}

// TestOwner checks that files of this user are refused by another one, and that no file is written
// to a folder of another user.
func TestOwner(t *testing.T) {
	_, getenv := home(t)
	leader, worker := newFile(t, getenv), newFile(t, getenv)
	if err := leader.Publish(t.Context(), invitation); err != nil {
		t.Fatal(err)
	}
	worker.owner++
	for _, err := range []error{second(worker.Find(t.Context(), nil)), worker.Publish(t.Context(), invitation)} {
		if _, ok := errors.AsType[*UntrustedError](err); !ok || !strings.Contains(err.Error(), "belongs to user") {
			t.Errorf("as another user: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestOtherUserFile reads and writes the file as another user of this node.
func TestOtherUserFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user; TestFile has the permissions")
	}
	dir, getenv := home(t)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	leader := newFile(t, getenv)
	if err := errors.Join(leader.Publish(t.Context(), invitation), os.Chmod(dir+"/.cache", 0o755),
		os.Chmod(dir+"/.cache/rdmakit", 0o755)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(leader.folder, fileName)
	for _, script := range []string{"cat " + file, "echo >> " + file, "rm " + file, "touch " + leader.folder + "/x"} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "ermission denied") {
			t.Errorf("%s: %v, %s", script, err, out)
		}
	}
	if got, err := newFile(t, getenv).Find(t.Context(), nil); got != invitation || err != nil {
		t.Errorf("Find = %v, %v", got, err)
	}
}

// TestWait checks how a worker waits: for a leader that comes later, for one that replaces a file
// of a dead one, and in vain.
func TestWait(t *testing.T) {
	for _, q := range []struct {
		name   string
		before func(leader *File) // what is there before the leader comes
		try    bool               // whether the worker tries the leader of the file
		comes  bool
		want   string
	}{
		{name: "late", comes: true},
		{name: "never", want: "shared by all nodes, and does the leader run? (there is no file yet)"},
		{
			name: "expired", comes: true,
			before: func(leader *File) { leader.Validity = 2 * time.Second },
		},
		{
			name: "expired and nothing else", want: "it has expired 1m1s ago",
			before: func(leader *File) { leader.Validity = 2 * time.Second },
		},
		{name: "another job", before: func(leader *File) { leader.job = "123.1" }, comes: true},
		{
			name: "only another job", want: `it is of the job "123.1"`,
			before: func(leader *File) { leader.job = "123.1" },
		},
		{name: "dead leader", before: func(*File) {}, try: true, comes: true},
		{name: "only a dead leader", before: func(*File) {}, try: true, want: "its leader, dead:1: no answer"},
	} {
		t.Run(q.name, func(t *testing.T) {
			dir, getenv := home(t)
			synctest.Test(t, func(t *testing.T) {
				leader, worker := newFile(t, getenv), newFile(t, getenv)
				old := *leader
				if q.before != nil {
					q.before(&old)
					if err := old.Publish(t.Context(), protocol.Invitation{Addr: "dead:1", Secret: "x"}); err != nil {
						t.Fatal(err)
					}
				}
				var try Try
				if q.try {
					try = func(_ context.Context, i protocol.Invitation) error {
						if i != invitation {
							return errors.New("no answer")
						}
						return nil
					}
				}
				if q.before != nil && !q.try && old.Validity != 0 {
					time.Sleep(3 * time.Second)
				}
				if q.comes {
					time.AfterFunc(30*time.Second, func() {
						if err := leader.Publish(t.Context(), invitation); err != nil {
							t.Error(err)
						}
					})
				}
				began := time.Now()
				got, err := worker.Find(t.Context(), try)
				took := time.Since(began)
				if left, err := os.ReadDir(dir); q.name == "never" && (err != nil || len(left) != 0) {
					t.Errorf("left in the home: %v, %v", left, err)
				}
				switch {
				case q.want == "" && (got != invitation || err != nil || took.Truncate(time.Second) != 30*time.Second):
					t.Errorf("Find = %v, %v after %v", got, err, took)
				case q.want != "" && (err == nil || !strings.Contains(err.Error(), q.want) || took != time.Minute):
					t.Errorf("Find = %v, %v after %v, want %q", got, err, took, q.want)
				}
			})
		})
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	_, getenv := home(t)
	if _, err := newFile(t, getenv).Find(ctx, nil); !errors.Is(err, ended) {
		t.Errorf("Find after the end: %v", err)
	}
}

// TestJobFolder checks jobs and homes that have no folder.
func TestJobFolder(t *testing.T) {
	for _, q := range []struct{ job, cache, home, want, err string }{
		{"1.0", "/scratch", "/home/a", "/scratch/rdmakit/job-1.0", ""},
		{"1.0", "relative", "/home/a", "/home/a/.cache/rdmakit/job-1.0", ""},
		{"..", "", "/home/a", "/home/a/.cache/rdmakit/job-..", ""},
		{"../x", "", "/home/a", "/home/a/.cache/rdmakit/job-..%2Fx", ""},
		{"", "/scratch", "/home/a", "", "no identification"},
		{"1", "", "", "", "neither XDG_CACHE_HOME nor HOME"},
	} {
		env := map[string]string{"XDG_CACHE_HOME": q.cache, "HOME": q.home}
		got, err := jobFolder(q.job, func(name string) string { return env[name] })
		if got != q.want || (err == nil) != (q.err == "") || err != nil && !strings.Contains(err.Error(), q.err) {
			t.Errorf("jobFolder(%q) = %q, %v, want %q, %q", q.job, got, err, q.want, q.err)
		}
	}
}
