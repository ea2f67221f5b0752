package facts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// TestFilesOfLinux reads what the kernel has: files of procfs have size 0, and opening a FIFO
// without a writer would wait forever.
func TestFilesOfLinux(t *testing.T) {
	files := facts.NewFiles(os.DirFS("/"))
	if text, err := files.Text("proc/self/status"); !strings.HasPrefix(text, "Name:") || err != nil {
		t.Errorf("Text(proc/self/status) = %.20q, %v", text, err)
	}
	if _, err := files.Text("dev/zero"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Text(dev/zero): %v, want that it is no regular file", err)
	}
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := facts.NewFiles(os.DirFS(dir)).Text("fifo"); err == nil ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Text(fifo): %v, want that it is no regular file", err)
	}
}
