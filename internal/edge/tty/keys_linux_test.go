package tty

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe has no keys; what a terminal gives is tested with the commands that ask for it.
func TestOpenNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Open(r); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("Open(pipe) = %v, want ENOTTY", err)
	}
}

// A terminal that is not the one of this process group is left alone.
func TestOpenForeignTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := Open(terminal); !errors.Is(err, ErrBackground) {
		t.Errorf("Open(foreign terminal) = %v, want %v", err, ErrBackground)
	}
}
