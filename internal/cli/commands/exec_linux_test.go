package commands

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// rdmaNode is a tree on which exec starts its program.
func rdmaNode(t *testing.T) string {
	t.Helper()
	tree, err := filepath.Abs(filepath.Join("..", "..", "testkit", "testtrees", "02_rocev2_8hca.tree"))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// showProcess prints what a program gets from the process that it runs in.
const showProcess = `
	grep -E '^(Umask|Groups|Sig(Ign|Blk|Cgt)|Cap|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed)' /proc/self/status
	cat /proc/self/limits /proc/self/oom_score_adj; nice; umask; ls /proc/self/fd
	for i in 0 1 7; do grep flags /proc/self/fdinfo/$i; done`

// TestExecLeavesNoTrace compares a process that rdmactl exec has started with one started directly:
// ignored and blocked signals, limits, file descriptors, mode of the streams.
func TestExecLeavesNoTrace(t *testing.T) {
	show := func(wrapper string) string {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", `
			ulimit -Sn 777; ulimit -Sc 0; umask 027; exec 7<>/dev/null
			exec env --default-signal --ignore-signal=INT,HUP,TSTP --block-signal=USR1,USR2 nice -n 3 setpriv --no-new-privs `+wrapper+` bash -c "$SHOW"`)
		cmd.Env = append(os.Environ(), "SHOW="+showProcess, "TREE="+rdmaNode(t), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", wrapper, err, out)
		}
		return string(out)
	}
	direct := show("")
	if !strings.Contains(direct, "777") || !hasSignals(direct, "SigIgn", 0x80003) ||
		!hasSignals(direct, "SigBlk", 0xa00) {
		t.Fatalf("the caller's settings are not there:\n%s", direct)
	}
	if diff := cmp.Diff(direct, show(`rdmactl exec -q --from "$TREE" --`)); diff != "" {
		t.Errorf("a program behind exec (-without exec +with):\n%s", diff)
	}
}

// hasSignals reports whether a mask of /proc/PID/status includes all of some signals; the process
// that runs the test may have more, because the race detector and the C library ignore signals that
// programs can't set.
func hasSignals(status, mask string, signals uint64) bool {
	_, text, _ := strings.Cut(status, mask+":\t")
	text, _, _ = strings.Cut(text, "\n")
	got, err := strconv.ParseUint(text, 16, 64)
	return err == nil && got&signals == signals
}

// TestExecKeepsNonblockingStreams checks that asking whether a stream is a terminal leaves its
// mode alone.
func TestExecKeepsNonblockingStreams(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(pipe[0]), "r"), os.NewFile(uintptr(pipe[1]), "w")
	defer r.Close()
	defer w.Close()
	cmd := exec.CommandContext(t.Context(), "rdmactl", "exec", "-q", "--from", rdmaNode(t), "--", "cat",
		"/proc/self/fdinfo/1")
	cmd.Stdout = w
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 4096)
	n, err := r.Read(text)
	if err != nil || !bytes.Contains(text[:n], []byte("flags:\t04001\n")) { // O_NONBLOCK and O_WRONLY
		t.Errorf("standard output of the program = %q, %v, want it nonblocking", text[:n], err)
	}
}

// TestExecTerminated ends the program that exec started, by the PID of exec.
func TestExecTerminated(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "rdmactl", "exec", "-q", "--from", rdmaNode(t), "--", "sh", "-c",
		"echo up; exec sleep 60")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 8)); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // the state has more information
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("after SIGTERM: %v, want that it ended the program", cmd.ProcessState)
	}
}
