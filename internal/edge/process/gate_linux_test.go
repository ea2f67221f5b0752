package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// TestGate sends signals to this process before the gate is opened and while it is open.
func TestGate(t *testing.T) {
	quiet := NewGate()
	if s := quiet.Close(); s != nil {
		t.Errorf("Close without a signal = %v, want nil", s)
	}
	g := NewGate()
	for _, s := range []syscall.Signal{syscall.SIGCHLD, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(g.heard) < 2 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if s := g.Close(); s != syscall.SIGTERM {
		t.Errorf("Close after SIGTERM = %v, want it", s)
	}
	if s := g.Close(); s != nil {
		t.Errorf("second Close = %v, want nil", s)
	}
}
