package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestQuick runs the whole measurement on the small net: every program must give the same result
// under every condition.
func TestQuick(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rdmactl := filepath.Join(t.TempDir(), "rdmactl")
	if err := os.Symlink(self, rdmactl); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if err := run(t.Context(), []string{"-quick", "-limit", "3m", "-rdmactl", rdmactl}, &stdout, &stderr); err != nil {
		t.Fatalf("run = %v\n%s", err, stderr.String())
	}
	rows := strings.Count(stdout.String(), "\n| 100 |")
	if want := 7 + 3 + 3; rows != want {
		t.Errorf("%d rows, want %d:\n%s", rows, want, stdout.String())
	}
}

func TestRunArguments(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-nonsense"}, {"-net", "2k"}, {"-rdmactl", "/nonexistent"}} {
		if err := run(t.Context(), args, &strings.Builder{}, &strings.Builder{}); err == nil {
			t.Errorf("run(%v) = no error", args)
		}
	}
}

// TestRunStops lets the time limit expire while the simulator starts: no process may be left
// running, and the error must give the reason.
func TestRunStops(t *testing.T) {
	specs, err := selectNets(true, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	b := &bench{dir: t.TempDir(), rounds: 1, progress: &strings.Builder{}}
	if _, err := b.measure(ctx, specs[0]); err == nil {
		t.Error("measure without time = no error")
	}
}
