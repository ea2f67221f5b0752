package node

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// TestSignalGate sends signals to this process before and while the gate is open.
func TestSignalGate(t *testing.T) {
	quiet := newSignalGate()
	if err := quiet.close(); err != nil {
		t.Errorf("close without a signal = %v, want nil", err)
	}
	g := newSignalGate()
	for _, s := range []syscall.Signal{syscall.SIGCHLD, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); len(g.heard) < 2 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if code := cli.ExitCode(g.close()); code != 143 {
		t.Errorf("close after SIGTERM ends with %d, want 143", code)
	}
	if err := g.close(); err != nil {
		t.Errorf("second close = %v, want nil", err)
	}
}
