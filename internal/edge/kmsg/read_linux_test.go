package kmsg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// answers returns a read function that gives one answer for each call.
func answers(list ...any) func([]byte) (int, error) {
	return func(b []byte) (int, error) {
		if len(list) == 0 {
			return 0, unix.EAGAIN
		}
		next := list[0]
		list = list[1:]
		switch next := next.(type) {
		case string:
			return copy(b, next), nil
		case unix.Errno:
			return 0, next
		}
		panic("neither a record nor an error")
	}
}

func TestReadAll(t *testing.T) {
	got, err := readAll(t.Context(), answers(
		"6,1,1,-;one\n", unix.EPIPE, unix.EINTR, "30,2,2,-;a program\n", "6,9,3,-;two\n",
	))
	if err != nil || len(got) != 2 || got[0].Text != "one" || got[1].Sequence != 9 {
		t.Errorf("readAll() = %+v, %v, want one and two", got, err)
	}
	got, err = readAll(t.Context(), answers("6,1,1,-;one\n", "broken", "6,2,2,-;two\n"))
	if !errors.Is(err, errRecord) || len(got) != 2 {
		t.Errorf("readAll() with a broken record = %+v, %v, want both others and an error", got, err)
	}
	got, err = readAll(t.Context(), answers("6,1,1,-;one\n", unix.EIO))
	if !errors.Is(err, unix.EIO) || len(got) != 1 || err.Error() != "read /dev/kmsg: input/output error" {
		t.Errorf("readAll() with EIO = %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = readAll(ctx, answers()); !errors.Is(err, context.Canceled) {
		t.Errorf("readAll() with a done context = %v", err)
	}
}

// TestReadMatchesDmesg compares the messages with those of dmesg, which uses another system call.
func TestReadMatchesDmesg(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := Read(ctx)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		if os.Geteuid() == 0 && !errors.Is(err, fs.ErrNotExist) {
			if _, err2 := exec.CommandContext(ctx, "dmesg").Output(); err2 == nil {
				t.Fatalf("Read() = %v, but dmesg can", err)
			}
		}
		t.Skipf("this process may not read the kernel's log: %v", err)
	}
	if err != nil {
		t.Fatalf("Read() = %v", err)
	}
	out, err := exec.CommandContext(ctx, "dmesg", "--kernel", "--syslog").Output()
	if err != nil {
		t.Skipf("needs dmesg: %v", err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		_, line, _ = strings.Cut(line, "] ")
		want = append(want, strings.TrimSpace(line))
	}
	missing := 0
	all := map[string]bool{}
	for _, r := range got {
		for line := range strings.Lines(r.Text) {
			all[strings.TrimSpace(line)] = true
		}
	}
	for _, line := range want {
		if !all[line] {
			missing++
		}
	}
	if len(got) == 0 || missing > len(want)/100 { // what was logged in between
		t.Errorf("Read() has %d records; %d of dmesg's %d lines are missing: %s", len(got), missing, len(want),
			fmt.Sprint(want[:min(3, len(want))]))
	}
}
