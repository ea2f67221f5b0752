package pmi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/pmi"
)

// taskVariable says that this process is a task of a job, and what it does.
const taskVariable = "RDMAKIT_PMI_TASK"

// TestMain runs a task instead of the tests if a process manager has started this process.
func TestMain(m *testing.M) {
	if kind := os.Getenv(taskVariable); kind != "" {
		if err := task(kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	m.Run()
}

// longValue is a value of several parts with every byte.
func longValue() string {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

// task is one of a job of 4. It prints a line if all is right.
func task(kind string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if kind == "absent" && os.Getenv("PMI_RANK") != "0" {
		return nil // enters no barrier
	}
	c, err := pmi.Open(ctx, os.Getenv)
	if err != nil {
		return err
	}
	if kind == "absent" {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := c.Barrier(short); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a barrier that not all tasks enter: %w", err)
		}
		fmt.Println("waited in vain")
		return c.Close(ctx)
	}
	if err := exchange(ctx, c); err != nil {
		return fmt.Errorf("rank %d: %w", c.Rank(), err)
	}
	return c.Close(ctx)
}

// exchange puts a value at rank 0 and one at rank 3, and gets both everywhere.
func exchange(ctx context.Context, c *pmi.Client) error {
	if _, err := c.Get(ctx, "a key"); !errors.Is(err, pmi.ErrNotFound) {
		return fmt.Errorf("a key before it was put: %w", err)
	}
	var err error
	switch c.Rank() {
	case 0:
		err = c.Put(ctx, "a key", longValue())
	case 3:
		err = c.Put(ctx, "a=key\n", "")
	}
	if err := errors.Join(err, c.Barrier(ctx)); err != nil {
		return err
	}
	long, err := c.Get(ctx, "a key")
	empty, err2 := c.Get(ctx, "a=key\n")
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if long != longValue() || empty != "" {
		return fmt.Errorf("got %d bytes and %q", len(long), empty)
	}
	fmt.Printf("rank %d of %d\n", c.Rank(), c.Size())
	return nil
}

// TestHydra exchanges values under mpiexec.hydra of MPICH.
func TestHydra(t *testing.T) {
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		t.Skipf("needs MPICH: %v", err)
	}
	all := []string{"rank 0 of 4", "rank 1 of 4", "rank 2 of 4", "rank 3 of 4"}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, q := range []struct {
		kind string
		args []string
		want []string
	}{
		{"exchange", nil, all},
		{"exchange", []string{"-pmi-port"}, all},
		{"absent", nil, []string{"waited in vain"}},
	} {
		cmd := exec.CommandContext(ctx, "mpiexec.hydra", append(q.args, "-n", "4", os.Args[0])...)
		cmd.Env = append(os.Environ(), taskVariable+"="+q.kind)
		out, err := cmd.CombinedOutput()
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, q.want) {
			t.Errorf("%s %s: %v, got\n%s", q.kind, q.args, err, out)
		}
	}
}
