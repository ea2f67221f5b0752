package remote_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/remote"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// wantError checks the kind of an error, and that its text has some parts.
func wantError(t *testing.T, err error, kind remote.Kind, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[*remote.Error](err)
	if !ok {
		t.Errorf("error %v, want one of kind %s", err, kind)
		return
	}
	if e.Kind != kind {
		t.Errorf("error of kind %s (%v), want %s; stderr:\n%s", e.Kind, e, kind, e.Stderr)
	}
	for _, part := range parts {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("error %q, want %q in it", e, part)
		}
	}
	if hints := e.Hints(); kind != remote.KindCanceled && (len(hints) != 1 || strings.Contains(hints[0], "HOST")) {
		t.Errorf("hints %q", hints)
	}
}

// fails starts a program on node1, which must fail.
func (s *server) fails(t *testing.T, cfg remote.Config, kind remote.Kind, parts ...string) {
	t.Helper()
	session, err := start(t.Context(), "node1", cfg)
	if session != nil {
		_ = session.Close()
	}
	wantError(t, err, kind, append(parts, "start worker on node1: ")...)
	if left := processes(t, cfg.SSH[len(cfg.SSH)-1]); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// TestLoginFailures fails before the login, with what OpenSSH says.
func TestLoginFailures(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	write(t, s.file("changed"), s.known("stranger"))
	write(t, s.file("revoked"), "@revoked "+s.known("host"))
	write(t, s.file("none"), "")
	for i, tt := range []struct {
		own  string
		kind remote.Kind
		text string
	}{
		{"IdentityFile KEYS/stranger", remote.KindDenied, "Permission denied (publickey)"},
		{"IdentityFile KEYS/stranger\nLogLevel QUIET", remote.KindDenied, "Permission denied (publickey)"},
		{"UserKnownHostsFile DIR/none", remote.KindHostKeyUnknown, "Host key verification failed."},
		{
			"UserKnownHostsFile DIR/none\nStrictHostKeyChecking yes", remote.KindHostKeyUnknown,
			"No ED25519 host key is known",
		},
		{"UserKnownHostsFile DIR/changed", remote.KindHostKeyChanged, "has changed and you have requested strict"},
		{"UserKnownHostsFile DIR/revoked", remote.KindHostKeyChanged, "was revoked and you have requested strict"},
		{"UserKnownHostsFile DIR/changed\nStrictHostKeyChecking no\nIdentityFile KEYS/stranger", remote.KindDenied, ""},
		{fmt.Sprintf("Port %d", freePort(t)), remote.KindRefused, "Connection refused"},
		{"HostName does-not-exist.invalid", remote.KindUnknownHost, "Could not resolve hostname"},
		{"Ciphers 3des-cbc\nHostName 127.0.0.1", remote.KindNegotiation, "no matching cipher found"},
		{"NoSuchOption yes", remote.KindConfig, "onfiguration option"},
		{"ProxyCommand false", remote.KindClosed, ""},
		{"ProxyCommand sh -c 'echo nonsense; exec sleep 60'\nConnectTimeout 1", remote.KindJump, "timed out"},
	} {
		t.Run(tt.own, func(t *testing.T) {
			t.Parallel()
			cfg := s.config("cat")
			cfg.SSH = s.clientFile(fmt.Sprintf("ssh_config_%02d", i), "Host node1\n"+tt.own)
			s.fails(t, cfg, tt.kind, tt.text)
		})
	}
}

// TestUnreachable tries an address that nobody has; which error that is depends on the network.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cfg := s.config("cat")
	cfg.SSH = s.client("Host node1\nHostName 192.0.2.1\nConnectTimeout 1")
	conn, dialErr := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", "192.0.2.1:9")
	kind := remote.KindNoRoute
	switch {
	case dialErr == nil:
		_ = conn.Close()
		t.Skip("this network answers for 192.0.2.1, which is for documentation")
	case os.IsTimeout(dialErr):
		kind = remote.KindTimeout
	case errors.Is(dialErr, syscall.ECONNREFUSED):
		kind = remote.KindRefused
	}
	s.fails(t, cfg, kind, "connect to host 192.0.2.1")
}

// listen accepts connections and handles each until the test ends.
func listen(t *testing.T, handle func(net.Conn)) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port //nolint:errcheck,forcetypeassert // of TCP
}

// TestDeaf connects to a server that doesn't say anything: the limit of the user for connecting
// holds, otherwise that of the configuration.
func TestDeaf(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	held := make(chan net.Conn, 10) // a connection without references would be closed
	port := listen(t, func(conn net.Conn) { held <- conn })
	cfg := s.config("cat")
	cfg.SSH = s.client(fmt.Sprintf("Host node1\nPort %d", port))
	cfg.Connect = time.Second
	s.fails(t, cfg, remote.KindTimeout, "timed out during banner exchange")
	cfg.Connect = time.Hour
	cfg.SSH = s.client(fmt.Sprintf("Host node1\nPort %d\nConnectTimeout 1", port))
	s.fails(t, cfg, remote.KindTimeout, "timed out during banner exchange")
}

// TestDropped connects to a server that drops the first connections, as sshd does with more than
// MaxStartups of them.
func TestDropped(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var tries, again atomic.Int32
	port := listen(t, func(conn net.Conn) {
		tries.Add(1)
		_, _ = conn.Write([]byte("Exceeded MaxStartups\r\n"))
		_ = conn.Close()
	})
	cfg := s.config("cat")
	cfg.Progress = func(e remote.Event) {
		switch {
		case e.Again:
			again.Add(1)
			cfg.SSH = nil
			s.client("") // the next one reaches the server
		case e.Err != nil:
			t.Errorf("event %+v", e)
		}
	}
	s.client(fmt.Sprintf("Host node1\nPort %d", port))
	exchange(t, s.started(cfg))
	if tries.Load() != 1 || again.Load() != 1 {
		t.Errorf("%d connections dropped, %d events say so, want 1", tries.Load(), again.Load())
	}
}

// TestSilent logs in where the command isn't run.
func TestSilent(t *testing.T) {
	t.Parallel()
	for command, text := range map[string]string{
		"echo This account is not available.; exit 1": "(exit status 1): This account is not available.",
		"echo one; echo two >&2; exit 9":              "(exit status 9): two",
		"exit 0":                                      "(exit status 0)",
	} {
		s := newServer(t, "ForceCommand "+command)
		s.fails(t, s.config("cat"), remote.KindSilent, text)
	}
}

// TestHang logs in where a startup file doesn't end.
func TestHang(t *testing.T) {
	t.Parallel()
	s := newServer(t, "ForceCommand exec cat")
	cfg := s.config("cat")
	cfg.Limit = time.Second
	s.fails(t, cfg, remote.KindTimeout, "no answer within 1s")
}

// TestNoSSH has no ssh program.
func TestNoSSH(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	cfg := s.config("cat")
	for _, name := range []string{"no-such-program", s.file("nothing"), s.file("known")} {
		cfg.SSH = []string{name}
		s.fails(t, cfg, remote.KindNoSSH, name)
	}
}

// tools makes a folder of programs for PATH: all that the script may use, from busybox or the
// system, without some, and with some scripts instead.
func tools(t *testing.T, busybox bool, without []string, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name := range strings.FieldsSeq("sh cat chmod find gzip head mkdir mv rm sha256sum touch uname wc") {
		target := need(t, name)
		if busybox {
			target = need(t, "busybox")
		}
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range without {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range scripts {
		_ = os.Remove(filepath.Join(dir, name))
		script.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// withPath is a ForceCommand that runs the command with only the programs of a folder.
func withPath(dir string) string {
	return `ForceCommand PATH=` + dir + ` exec sh -c "$SSH_ORIGINAL_COMMAND"`
}

// TestTools starts on hosts with other programs, and without those that may be missing.
func TestTools(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"busybox":                  tools(t, true, nil, nil),
		"busybox without gzip":     tools(t, true, []string{"gzip"}, nil),
		"busybox without checksum": tools(t, true, []string{"sha256sum"}, nil),
		"no gzip, no checksum":     tools(t, false, []string{"gzip", "sha256sum", "find"}, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, withPath(path))
			exchange(t, s.started(s.config("cat")))
			exchange(t, s.started(s.config("cat")))
			// A shorter copy is noticed also by its size alone.
			file := filepath.Join(s.home, ".cache", "rdmakit", s.cached()[0])
			if err := os.Truncate(file, 100000); err != nil {
				t.Fatal(err)
			}
			exchange(t, s.started(s.config("cat")))
		})
	}
}

// TestOtherHosts starts on hosts of another kind.
func TestOtherHosts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		uname, text string
		kind        remote.Kind
	}{
		{"uname Darwin arm64", "the system is Darwin", remote.KindNotLinux},
		{"Linux aarch64", "the host is linux/arm64, and there is no build for it; looked in", remote.KindNoBuild},
		{"Linux armv7l", "no build exists for the architecture armv7l", remote.KindNoBuild},
	} {
		words := strings.Fields(tt.uname)
		script := `case $1 in -s) echo ` + words[len(words)-2] + `;; -m) echo ` + words[len(words)-1] + `;; esac`
		s := newServer(t, withPath(tools(t, false, nil, map[string]string{"uname": script})))
		s.fails(t, s.config("cat"), tt.kind, tt.text)
	}
}

// unshared is a ForceCommand that runs a command in a mount namespace before the script, so that
// what it mounts ends with the session.
func unshared(t *testing.T, command string) string {
	t.Helper()
	args := "-m"
	if os.Getuid() != 0 {
		args = "-rm"
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", args, "true").CombinedOutput(); err != nil {
		if os.Getuid() == 0 {
			t.Fatalf("unshare: %v: %s", err, out)
		}
		t.Skipf("this user may not create mount namespaces: %s", out)
	}
	return `ForceCommand exec unshare ` + args + ` sh -c '` + command + ` exec sh -c "$SSH_ORIGINAL_COMMAND"'`
}

// TestCache copies to folders that can't hold an executable.
func TestCache(t *testing.T) {
	t.Parallel()
	const (
		noSpace  = "No space left on device"
		original = `exec sh -c "$SSH_ORIGINAL_COMMAND"`
	)
	const mount = "mkdir -p DIR/home/.cache; mount -t tmpfs -o mode=700,"
	for _, tt := range []struct {
		name, config string
		kind         remote.Kind
		text         string
	}{
		{"full", unshared(t, mount+"size=64k none DIR/home/.cache;"), remote.KindNoSpace, noSpace},
		{
			"full, no gzip",
			unshared(t, mount+"size=64k none DIR/home/.cache; PATH="+tools(t, false, []string{"gzip"}, nil)+";"),
			remote.KindNoSpace, noSpace,
		},
		{"no inode", unshared(t, mount+"nr_inodes=2 none DIR/home/.cache;"), remote.KindNoSpace, noSpace},
		{"read-only", unshared(t, mount+"ro none DIR/home/.cache;"), remote.KindNoCache, "Read-only file system"},
		{"noexec", unshared(t, mount+"noexec none DIR/home/.cache;"), remote.KindNoExec, "Permission denied"},
		{"no home", `ForceCommand unset HOME; ` + original, remote.KindNoCache, "HOME is not set"},
		{"relative", `ForceCommand HOME=. XDG_CACHE_HOME=x ` + original, remote.KindNoCache, "HOME is not set"},
		{"file", `ForceCommand XDG_CACHE_HOME=DIR/known ` + original, remote.KindNoCache, "Not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tt.config)
			s.fails(t, s.config("cat"), tt.kind, tt.text)
			if names := s.cached(); len(names) > 0 {
				t.Errorf("cache has %q", names)
			}
		})
	}
}

// TestForeignCache refuses a cache folder of another user, who could replace the executable.
func TestForeignCache(t *testing.T) {
	t.Parallel()
	s := newServer(t, `ForceCommand XDG_CACHE_HOME=DIR/foreign exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	if os.Getuid() != 0 { // root owns nothing that this user could name rdmakit
		t.Skip("only root can give a folder to another user")
	}
	if err := os.MkdirAll(s.file("foreign/rdmakit"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(s.file("foreign/rdmakit"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	s.fails(t, s.config("cat"), remote.KindNoCache, "belongs to another user")
}

// TestDamagedCopies replaces copies that are shorter, different, or another user's.
func TestDamagedCopies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	exchange(t, s.started(s.config("cat")))
	file := filepath.Join(s.home, ".cache", "rdmakit", s.cached()[0])
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"truncated":      func() error { return os.Truncate(file, int64(len(whole)/2)) },
		"corrupt":        func() error { return os.WriteFile(file, append([]byte("x"), whole[1:]...), 0o700) },
		"not executable": func() error { return os.Chmod(file, 0o600) },
		"shared":         func() error { return os.Chmod(filepath.Dir(file), 0o777) },
		"another's": func() error {
			if os.Getuid() != 0 {
				return nil
			}
			return os.Chown(file, 65534, 65534)
		},
	} {
		if err := damage(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		exchange(t, s.started(s.config("cat")))
		got, err := os.ReadFile(file)
		if string(got) != string(whole) || err != nil || len(s.cached()) != 1 {
			t.Errorf("%s: after the start: %d bytes, %v, cache %q", name, len(got), err, s.cached())
		}
		for _, f := range []string{file, filepath.Dir(file)} {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			owner, ok := info.Sys().(*syscall.Stat_t)
			if !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o722 != 0o700 {
				t.Errorf("%s: %s has %v and user %v", name, f, info.Mode(), owner.Uid)
			}
		}
	}
}

// TestSlowCopy copies to hosts that take longer than the limit for the whole, but not for a part.
func TestSlowCopy(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"steady":    "for part in 1 2 3 4; do /usr/bin/head -c 2500000; /bin/sleep 0.5; done",
		"last part": `/bin/sleep 1.5; exec /usr/bin/head "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, withPath(tools(t, false, []string{"gzip"}, map[string]string{"head": script})))
			cfg := s.config("cat")
			cfg.Executable = filepath.Join(t.TempDir(), "rdmactl")
			program, err := os.ReadFile(built.static)
			if err != nil {
				t.Fatal(err)
			}
			size := len(program)
			if name == "steady" {
				size = 10_000_000
			}
			write(t, cfg.Executable, string(append(program, make([]byte, size-len(program))...)))
			cfg.Limit = 1200 * time.Millisecond
			exchange(t, s.started(cfg))
		})
	}
}

// TestBrokenCopy loses the connection within the copy, and receives other bytes than were sent.
func TestBrokenCopy(t *testing.T) {
	t.Parallel()
	lost := newServer(t, `ForceCommand SERVER=$PPID; export SERVER; PATH=`+tools(t, false, nil, map[string]string{
		"head": `/usr/bin/head -c 1000 >/dev/null; kill -9 $SERVER; exec sleep 1`,
	})+` exec sh -c "$SSH_ORIGINAL_COMMAND"`)
	lost.fails(t, lost.config("cat"), remote.KindLost)
	for text, script := range map[string]string{
		"bytes written": `/usr/bin/head "$@" | /usr/bin/head -c 100000`,
		"gzip:":         `/usr/bin/head "$@" >/dev/null; echo nonsense`,
	} {
		s := newServer(t, withPath(tools(t, false, nil, map[string]string{"head": script})))
		s.fails(t, s.config("cat"), remote.KindCopy, text)
		if names := s.cached(); len(names) > 0 {
			t.Errorf("cache has %q", names)
		}
	}
}
