package remote_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/remote"
)

// limit is how long anything in these tests may take.
const limit = 60 * time.Second

// programs are the programs that are copied, built once.
type programs struct{ static, dynamic string }

// build builds the programs in a folder.
func build(dir string) (programs, error) {
	p := programs{filepath.Join(dir, "static"), filepath.Join(dir, "dynamic")}
	for _, args := range [][]string{{"-static", "-o", p.static}, {"-o", p.dynamic}} {
		cmd := exec.CommandContext(context.Background(), "gcc", append(args, "-Os", "-s", "testdata/program.c")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("%v: %w (scripts/deps.sh test installs gcc and libc6-dev)\n%s", cmd, err, out)
		}
	}
	return p, nil
}

// built has the programs, and keys a folder with key pairs; TestMain sets them.
var (
	built programs
	keys  string
)

// makeKeys makes key pairs for all tests: those of the host and the user, and those of others.
func makeKeys(dir string) error {
	for _, key := range []string{"host", "user", "stranger"} {
		args := []string{"-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)}
		cmd := exec.CommandContext(context.Background(), "ssh-keygen", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", cmd, err, out)
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	if os.Getenv(leaderVariable) != "" {
		os.Exit(leaderMain()) //nolint:forbidigo // the main function of another program
	}
	dir, err := os.MkdirTemp("", "remote")
	if err == nil {
		built, err = build(dir)
	}
	if keys = dir; err == nil {
		err = makeKeys(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // as in tests without TestMain
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code) //nolint:forbidigo // as above
}

// server is an OpenSSH server for one test, with a home directory for its sessions, and the
// configuration of a client that can log in.
type server struct {
	t    *testing.T
	dir  string
	home string
	port int
	log  *bytes.Buffer // once the server has ended
	stop func()
}

// need returns the file of a program.
func need(t *testing.T, name string) string {
	t.Helper()
	for _, file := range []string{name, "/usr/sbin/" + name} {
		if file, err := exec.LookPath(file); err == nil {
			return file
		}
	}
	t.Fatalf("%s is missing: scripts/deps.sh test installs it", name)
	return ""
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), need(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// newServer starts a server on 127.0.0.1 to 127.0.0.3, with more lines of configuration, in which
// DIR stands for its folder and KEYS for that of the keys.
func newServer(t *testing.T, config ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{t: t, dir: dir, home: filepath.Join(dir, "home")}
	if os.Getuid() == 0 { // sshd wants it, and only systemd makes it
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(s.home, ".hushlogin"), "")
	for range 5 { // another process may take the port
		if s.port = freePort(t); s.start(config) {
			break
		}
	}
	if s.stop == nil {
		t.Fatal("sshd found no port")
	}
	write(t, s.file("known"), s.known("host"))
	s.client("")
	return s
}

// known returns a line for known_hosts with a key.
func (s *server) known(key string) string {
	public, err := os.ReadFile(filepath.Join(keys, key+".pub"))
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("[127.0.0.*]:%d %s", s.port, public)
}

func (s *server) file(name string) string { return filepath.Join(s.dir, name) }

// expand replaces DIR with the folder of the server, and KEYS with that of keys.
func (s *server) expand(text string) string {
	return strings.NewReplacer("DIR", s.dir, "KEYS", keys).Replace(text)
}

// start starts sshd and reports whether it listens.
func (s *server) start(config []string) bool {
	var lines strings.Builder
	fmt.Fprintf(&lines, "Port %d\n", s.port)
	for n := 1; n <= 3; n++ {
		fmt.Fprintf(&lines, "ListenAddress 127.0.0.%d\n", n)
	}
	fmt.Fprintf(&lines, "HostKey KEYS/host\nAuthorizedKeysFile KEYS/user.pub\nStrictModes no\nUsePAM no\n"+
		"PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\n"+
		"PermitRootLogin yes\n")
	own := false
	for _, line := range config {
		own = own || strings.HasPrefix(line, "SetEnv ")
		fmt.Fprintln(&lines, line)
	}
	if !own {
		fmt.Fprintln(&lines, "SetEnv HOME=DIR/home")
	}
	write(s.t, s.file("sshd_config"), s.expand(lines.String()))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, need(s.t, "sshd"), "-D", "-e", "-f", s.file("sshd_config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // a test may panic
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	r := bufio.NewReader(stderr)
	s.log = &bytes.Buffer{}
	listening := 0
	for listening < 3 {
		line, err := r.ReadString('\n')
		s.log.WriteString(line)
		if err != nil || strings.HasPrefix(line, "Bind to port ") { // it listens on the other addresses
			break
		}
		if strings.HasPrefix(line, "Server listening on ") {
			listening++
		}
	}
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(s.log, r)
		close(copied)
	}()
	stop := func() {
		cancel()
		_ = cmd.Wait()
		<-copied
		if s.t.Failed() {
			s.t.Logf("sshd:\n%s", s.log)
		}
	}
	if listening < 3 {
		stop()
		return false
	}
	s.stop = stop
	s.t.Cleanup(stop)
	return true
}

// client writes the configuration of the client: hosts node1 to node3 are the addresses of the
// server, and own is put before. It returns the words of the ssh program.
func (s *server) client(own string) []string { return s.clientFile("ssh_config", own) }

// clientFile writes such a configuration to another file.
func (s *server) clientFile(name, own string) []string {
	u, err := user.Current()
	if err != nil {
		s.t.Fatal(err)
	}
	text := own + "\n"
	for n := 1; n <= 3; n++ {
		text += fmt.Sprintf("Host node%d\n  HostName 127.0.0.%d\n", n, n)
	}
	text += fmt.Sprintf("Host node* jump* 127.*\n  Port %d\n", s.port)
	if !strings.Contains(own, "IdentityFile") {
		text += "Host *\n  IdentityFile KEYS/user\n"
	}
	text += "Host *\n  IdentitiesOnly yes\n  KexAlgorithms curve25519-sha256\n  IdentityAgent none\n" +
		"  CheckHostIP no\n  UserKnownHostsFile DIR/known\n  GlobalKnownHostsFile none\n  User " + u.Username + "\n"
	file := write(s.t, s.file(name), s.expand(text))
	return []string{need(s.t, "ssh"), "-F", file}
}

// config is a configuration that works.
func (s *server) config(args ...string) remote.Config {
	return remote.Config{
		SSH: []string{need(s.t, "ssh"), "-F", s.file("ssh_config")}, Args: args, Executable: built.static, Limit: limit,
	}
}

// start starts the program on one host.
func start(ctx context.Context, host string, cfg remote.Config) (*remote.Session, error) {
	for _, r := range remote.Start(ctx, []string{host}, cfg) {
		return r.Session, r.Err
	}
	return nil, nil
}

// started starts a program on node1, and ends it with the test.
func (s *server) started(cfg remote.Config) *remote.Session {
	s.t.Helper()
	session, err := start(s.t.Context(), "node1", cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = session.Close() })
	return session
}

// cached returns the names of the files in the cache of the server's sessions.
func (s *server) cached() (names []string) {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.home, ".cache", "rdmakit"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port //nolint:errcheck,forcetypeassert // of TCP
}

// processes returns the processes whose command line has a text.
func processes(t *testing.T, text string) (pids []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(text)) {
			pids = append(pids, strings.ReplaceAll(f+": "+string(b), "\x00", " "))
		}
	}
	return pids
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}
