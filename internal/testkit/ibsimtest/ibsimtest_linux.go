package ibsimtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
)

// patience is the time limit of each wait for one of the programs, on a machine that also runs
// other tests.
const patience = 60 * time.Second

// Umad2sim is Debian's path of the library with which the C tools use the simulator.
const Umad2sim = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

// Simulator is one running ibsim.
type Simulator struct {
	config ibsim.Config // without the node

	t       testing.TB
	dir     string // working directory of the programs
	output  *lockedBuffer
	console io.WriteCloser

	preloaded string   // before umad2sim
	after     string   // libraries, with a colon before each
	env       []string // of programs that use umad2sim
}

// Preload makes the C tools and the subnet managers that start from now on load a library before
// umad2sim, and adds to their environment.
func (s *Simulator) Preload(library string, env ...string) {
	s.preloaded, s.env = library+":", append(s.env, env...)
}

// PreloadAfter makes the programs that are started from then on load a library after umad2sim.
func (s *Simulator) PreloadAfter(library string) { s.after = ":" + library }

// serial numbers the simulators of one process.
var serial atomic.Uint32

// Start runs ibsim with a net file, and waits until it accepts clients. Without ibsim the test
// fails; make deps installs it.
func Start(t testing.TB, netFile string, arguments ...string) *Simulator {
	t.Helper()
	return start(t, netFile, ibsim.Config{}, arguments)
}

// StartUDP does the same with an ibsim that listens on UDP at 127.0.0.1: on the port, and on the
// ten following ports for its clients.
func StartUDP(t testing.TB, netFile string, port int, arguments ...string) *Simulator {
	t.Helper()
	config := ibsim.Config{Server: "127.0.0.1", ServerPort: port}
	return start(t, netFile, config, append([]string{"-r", "-l", strconv.Itoa(port)}, arguments...))
}

// At returns a simulator that the test serves itself at the sockets of the configuration. It has no
// console.
func At(t testing.TB, config ibsim.Config) *Simulator {
	t.Helper()
	config.Node = ""
	return &Simulator{config: config, t: t, output: &lockedBuffer{}, dir: t.TempDir()}
}

// SocketName returns a socket name that no other simulator of this machine's tests has.
func SocketName() string { return fmt.Sprintf("rdmakit-%d-%d", os.Getpid(), serial.Add(1)) }

func start(t testing.TB, netFile string, config ibsim.Config, arguments []string) *Simulator {
	t.Helper()
	config.SocketName = SocketName()
	netFile, err := filepath.Abs(netFile)
	if err != nil {
		t.Fatal(err)
	}
	s := &Simulator{config: config, t: t, output: &lockedBuffer{}, dir: t.TempDir()}
	cmd := s.command("ibsim", append([]string{"-s"}, append(arguments, netFile)...)...)
	console, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.console = console
	cmd.Stdout, cmd.Stderr = s.output, s.output
	s.run(cmd)
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := ibsim.Dial(t.Context(), s.Config(""))
		if err == nil {
			conn.Close() //nolint:errcheck // a try
			return s
		}
		if time.Now().After(end) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("ibsim %s doesn't accept clients: %v\n%s", netFile, err, s.output)
		}
	}
}

// Config returns the configuration of a client at the named node of this simulator.
func (s *Simulator) Config(node string) ibsim.Config {
	c := s.config
	c.Node = node
	return c
}

// Getenv returns the environment with which a program joins this simulator at the named node.
func (s *Simulator) Getenv(node string) func(string) string {
	env := map[string]string{"SIM_HOST": node, "IBSIM_SOCKNAME": s.config.SocketName}
	if s.config.Server != "" {
		env["IBSIM_SERVER_NAME"], env["IBSIM_SERVER_PORT"] = s.config.Server, strconv.Itoa(s.config.ServerPort)
	}
	return func(name string) string { return env[name] }
}

// GetenvSM is Getenv for a program that joins as a subnet manager, and so also receives requests.
func (s *Simulator) GetenvSM(node string) func(string) string {
	plain := s.Getenv(node)
	return func(name string) string {
		if name == "SIM_SET_ISSM" {
			return "1"
		}
		return plain(name)
	}
}

// Console sends one line to the simulator's console, such as `Unlink "leaf0"[1]`. The simulator
// executes it before MADs that arrive later; there is no response to wait for.
func (s *Simulator) Console(format string, a ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.console, format+"\n", a...); err != nil {
		s.t.Fatalf("console of ibsim: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
}

// Tool runs one of the C tools at a node and returns its standard output. If the tool exits with an
// error, the test ends with its standard error in the message.
func (s *Simulator) Tool(node, name string, arguments ...string) string {
	s.t.Helper()
	stdout, stderr, code := s.Try(node, name, arguments...)
	if code != 0 {
		s.t.Fatalf("%s %s at %s: exit code %d\n%s", name, strings.Join(arguments, " "), node, code, stderr)
	}
	return stdout
}

// Try runs one of the C tools at a node, and returns its output and exit code. A run that a signal
// has ended is repeated, since libumad2sim's receiver sometimes crashes while a subnet manager
// runs; if a signal ends all runs, the exit code is -1.
func (s *Simulator) Try(node, name string, arguments ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	for range crashes {
		if stdout, stderr, code = s.tryOnce(node, name, arguments); code >= 0 {
			break
		}
		s.t.Logf("%s %s at %s: ended by a signal", name, strings.Join(arguments, " "), node)
	}
	return stdout, stderr, code
}

// crashes is the maximum number of crashes of a C tool.
const crashes = 3

func (s *Simulator) tryOnce(node, name string, arguments []string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := s.command(name, arguments...)
	s.preload(cmd, node)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.t.Fatalf("%s %s at %s: %v", name, strings.Join(arguments, " "), node, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// ToolSeconds runs one of the C tools like Tool, and returns how long it took.
func (s *Simulator) ToolSeconds(node, name string, arguments ...string) float64 {
	s.t.Helper()
	start := time.Now()
	s.Tool(node, name, arguments...)
	return time.Since(start).Seconds()
}

// StartSM runs OpenSM at a node and waits until it reports that the subnet is up. OpenSM ends with
// the test, or when stop is called, which waits for its end.
func (s *Simulator) StartSM(node string, arguments ...string) (stop func()) {
	s.t.Helper()
	return s.startSM(node, "SUBNET UP", "", arguments)
}

// StartStillSM is StartSM with a manager that responds to requests, but doesn't change the subnet
// after it is up. Otherwise OpenSM assigns LIDs again after a fault and activates ports some time
// later, so that two programs that run one after the other may see different subnets. Tests that
// compare programs on a subnet with faults use this function.
func (s *Simulator) StartStillSM(node string, arguments ...string) (stop func()) {
	s.t.Helper()
	return s.startSM(node, "SUBNET UP", "sweep_interval 0\nsweep_on_trap FALSE\n", arguments)
}

// StartStandbySM runs a second OpenSM, with lower priority, at a node and waits until it is in
// state standby.
func (s *Simulator) StartStandbySM(node string, arguments ...string) (stop func()) {
	s.t.Helper()
	return s.startSM(node, "Entering STANDBY state", "", arguments)
}

// startSM runs OpenSM and waits for a text in its log.
func (s *Simulator) startSM(node, ready, settings string, arguments []string) (stop func()) {
	s.t.Helper()
	dir := s.t.TempDir()
	log, config := dir+"/opensm.log", dir+"/opensm.conf"
	// Otherwise the text could stay in a buffer.
	if err := os.WriteFile(config, []byte("force_log_flush TRUE\n"+settings), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := s.command("opensm", append([]string{"-F", config, "-R", "minhop", "-f", log}, arguments...)...)
	s.preload(cmd, node)
	cmd.Env = append(cmd.Env, "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	output := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = output, output
	s.run(cmd)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(log) // the file may not exist yet
		if bytes.Contains(text, []byte(ready)) || strings.Contains(output.String(), ready) {
			return func() {
				cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
				cmd.Wait()                          //nolint:errcheck // by the signal
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("opensm at %s: no %s\n%s\n%s", node, ready, output, text)
		}
	}
}

func (s *Simulator) preload(cmd *exec.Cmd, node string) {
	s.t.Helper()
	if _, err := os.Stat(Umad2sim); err != nil {
		s.t.Fatalf("the C tools need umad2sim (make deps): %v", err)
	}
	cmd.Env = append(append(cmd.Env, s.env...), "LD_PRELOAD="+s.preloaded+Umad2sim+s.after, "SIM_HOST="+node)
}

func (s *Simulator) command(name string, arguments ...string) *exec.Cmd {
	s.t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		s.t.Fatalf("%v (make deps installs it)", err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), name, arguments...)
	cmd.Dir = s.dir // umad2sim leaves its files there if the program is killed
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.config.SocketName)
	if s.config.Server != "" {
		cmd.Env = append(cmd.Env, "IBSIM_SERVER_NAME="+s.config.Server,
			"IBSIM_SERVER_PORT="+strconv.Itoa(s.config.ServerPort))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run starts the program, which ends with the test.
func (s *Simulator) run(cmd *exec.Cmd) {
	s.t.Helper()
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	})
}

// lockedBuffer holds the output of a program.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
