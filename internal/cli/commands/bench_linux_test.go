package commands

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBenchSignals ends waiting servers with a signal: the programs of perftest must end as the C
// programs do, and as rdmactl bench does.
func TestBenchSignals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ib_write_bw"}, {"bench", "write-bw"}} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			cmd := exec.CommandContext(ctx, "rdmactl", append(args, "-d", "roce@127.0.4.9", "-p", "18873")...)
			cmd.Path, cmd.Err = self, nil // the name decides which program the tests' binary is
			code, said := signalled(t, cmd, signal)
			cancel()
			if code != want || !strings.Contains(said, "wait for a client on ") {
				t.Errorf("%v ended by %v: exit code %d, %q, want %d", args, signal, code, said, want)
			}
		}
	}
}

func signalled(t *testing.T, cmd *exec.Cmd, signal os.Signal) (code int, said string) {
	t.Helper()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // one pipe for both: either may print that it waits
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.Contains(strings.ToLower(lines.Text()), "waiting for") {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), text.String()
	} else if err != nil {
		t.Errorf("%v: %v", cmd.Args, err)
	}
	return 0, text.String()
}
