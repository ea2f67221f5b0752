package wholefile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// TestKeepsWhatTheNameIs writes to a symbolic link, a pipe and files with several modes.
func TestKeepsWhatTheNameIs(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(path("private"), nil, 0o600), os.Symlink("private", path("link")),
		syscall.Mkfifo(path("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		options wholefile.Options
		want    fs.FileMode // of the target file
	}{
		{"new", wholefile.Options{Mode: 0o644}, 0o644},
		{"new", wholefile.Options{Mode: 0o600, Replace: true}, 0o600},
		{"link", wholefile.Options{Mode: 0o644, Replace: true, KeepMode: true}, 0o600},
	} {
		if err := wholefile.Write(path(test.name), test.options, text(test.name)); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(path(test.name))
		content, readErr := os.ReadFile(path(test.name))
		if err != nil || readErr != nil || info.Mode() != test.want || string(content) != test.name {
			t.Errorf("%s has mode %v and %q, %v, want %v", test.name, info.Mode(), content, err, test.want)
		}
	}
	if info, err := os.Lstat(path("link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}
	pipe, err := os.OpenFile(path("pipe"), os.O_RDWR, 0) // first, since opening for writing waits for a reader
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := wholefile.Write(path("pipe"), wholefile.Options{}, text("through the pipe")); err != nil {
		t.Error(err)
	}
	b := make([]byte, len("through the pipe"))
	if _, err := io.ReadFull(pipe, b); err != nil || string(b) != "through the pipe" {
		t.Errorf("read %q from the pipe, %v", b, err)
	}
	if info, err := os.Lstat(path("pipe")); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe was replaced: %v, %v", info.Mode(), err)
	}
}

// TestRefusals checks that a failed Write leaves existing files unchanged and creates no other
// ones.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("old"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	for _, test := range []struct {
		name  string
		write func(io.Writer) error
		want  error
	}{
		{dir, text("x"), syscall.EISDIR},
		{path("none/file"), text("x"), fs.ErrNotExist},
		{path("old"), text("x"), fs.ErrExist},
		{path("new"), func(io.Writer) error { return failed }, failed},
	} {
		err := wholefile.Write(test.name, wholefile.Options{Mode: 0o600}, test.write)
		if !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), "write "+test.name+": ") ||
			strings.Contains(err.Error(), "/.") {
			t.Errorf("Write(%s): %v, want %v and the name", test.name, err, test.want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v, want the old file only", entries, err)
	}
	if content, err := os.ReadFile(path("old")); err != nil || string(content) != "old" {
		t.Errorf("old holds %q, %v", content, err)
	}
}

func TestMissingFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a")
	name := filepath.Join(folder, "x")
	err := wholefile.Write(name, wholefile.Options{Mode: 0o644}, func(io.Writer) error {
		t.Error("Write writes to a folder that doesn't exist")
		return nil
	})
	missing, ok := errors.AsType[*wholefile.FolderError](err)
	want := "write " + name + ": the folder " + folder + " doesn't exist"
	if !ok || !errors.Is(err, fs.ErrNotExist) || err.Error() != want || len(missing.Hints()) != 1 {
		t.Errorf("Write = %v, want %s with a hint", err, want)
	}
	if err := wholefile.CheckFolder(filepath.Join(t.TempDir(), "x")); err != nil {
		t.Errorf("CheckFolder of an existing folder = %v", err)
	}
}
