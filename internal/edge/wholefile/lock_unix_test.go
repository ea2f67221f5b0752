//go:build unix

package wholefile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLock takes the lock of a file by two open files: the second one gets it when the first one is
// closed.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), name) {
		t.Errorf("locked twice: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); err != nil {
		t.Errorf("after the first one was closed: %v", err)
	}
	if err := Lock(first); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a closed file: %v", err)
	}
}
