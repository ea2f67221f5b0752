package sysfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// tree writes files and links ("name -> target") below a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a test folder
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, files map[string]string) *Root {
	t.Helper()
	root, err := OpenRoot(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(root.Close(), root.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return root
}

var node = map[string]string{
	"sys/class/infiniband/mlx5_0":             "-> ../../devices/pci0/mlx5_0",
	"sys/devices/pci0/mlx5_0/node_type":       "1: CA\n",
	"sys/devices/pci0/mlx5_0/empty":           "",
	"sys/devices/pci0/mlx5_0/ports/1/gids/0":  "fe80::1\n",
	"sys/devices/pci0/mlx5_0/ports/1/types/0": "",
	"sys/devices/pci0/mlx5_0/number":          "0x1f\n",
	"sys/devices/pci0/mlx5_0/negative":        "-1\n",
	"sys/devices/pci0/mlx5_0/escape":          "-> ../../../../../../../../etc/hostname",
	"sys/devices/pci0/mlx5_0/loop":            "-> loop",
	"sys/devices/pci0/mlx5_0/dangling":        "-> nowhere",
	"sys/devices/pci0/mlx5_0/absolute":        "-> /etc/hostname",
	"sys/devices/pci0/mlx5_0/driver":          "-> ../../../bus/pci/drivers/mlx5_core",
	"sys/bus/pci/drivers/mlx5_core/x":         "y",
	ErrnoFile: `{"sys/devices/pci0/mlx5_0/ports/1/types/0": "EINVAL", ` +
		`"sys/devices/pci0/mlx5_0/number2": "EIO"}`,
}

func TestRootIsAFileSystem(t *testing.T) {
	root := open(t, map[string]string{"a/b": "1\n", "c": "2\n"})
	if err := fstest.TestFS(root, "a/b", "c"); err != nil {
		t.Error(err)
	}
}

func TestRecordedErrors(t *testing.T) {
	root := open(t, node)
	const viaClass = "sys/class/infiniband/mlx5_0/ports/1/types/0"
	if _, err := root.ReadFile(viaClass); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("ReadFile(%s) = %v, want EINVAL", viaClass, err)
	}
	sub, err := fs.Sub(root, "sys/class/infiniband/mlx5_0/ports/1/types")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(sub, "0"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("ReadFile(0) in a sub-root = %v, want EINVAL", err)
	}
	if b, err := root.ReadFile("sys/class/infiniband/mlx5_0/node_type"); err != nil || string(b) != "1: CA\n" {
		t.Errorf("ReadFile(node_type) = %q, %v", b, err)
	}
	for _, bad := range []string{`{"x": "EWHAT"}`, `[`} {
		if _, err := OpenRoot(tree(t, map[string]string{ErrnoFile: bad})); err == nil {
			t.Errorf("OpenRoot with %s = %s: want an error", ErrnoFile, bad)
		}
	}
}

// Nothing outside the root may be read, by any method.
func TestRootConfines(t *testing.T) {
	root := open(t, node)
	sub, err := fs.Sub(root, "sys/devices/pci0/mlx5_0")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"escape", "absolute", "loop"} {
		if b, err := fs.ReadFile(sub, name); err == nil {
			t.Errorf("ReadFile(%s) in a sub-root = %q, want an error", name, b)
		}
		if b, err := root.ReadFile("sys/devices/pci0/mlx5_0/" + name); err == nil {
			t.Errorf("ReadFile(%s) = %q, want an error", name, b)
		}
		if got, err := Resolve(root, "sys/devices/pci0/mlx5_0/"+name); err == nil {
			t.Errorf("Resolve(%s) = %q, want an error", name, got)
		}
	}
	for _, name := range []string{"..", "../x", "/etc/hostname", "a/../../x"} {
		if b, err := root.ReadFile(name); err == nil {
			t.Errorf("ReadFile(%q) = %q, want an error", name, b)
		}
	}
	if _, err := OpenRoot(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenRoot of nothing = %v, want fs.ErrNotExist", err)
	}
}

// A very large file must not fill the memory, with either way of reading.
func TestReadIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{"a/b": "1\n"})
	for _, name := range []string{"a/big", "big"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(8<<30), f.Close()); err != nil { // sparse
			t.Fatal(err)
		}
	}
	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // a test folder
	for _, name := range []string{"a/big", "big"} {
		if b, err := root.ReadFile(name); !errors.Is(err, errTooLong) {
			t.Errorf("ReadFile(%s) = %d bytes, %v, want errTooLong", name, len(b), err)
		}
	}
}

func TestResolve(t *testing.T) {
	root := open(t, node)
	tests := map[string]string{
		"sys/class/infiniband/mlx5_0":          "sys/devices/pci0/mlx5_0",
		"sys/class/infiniband/mlx5_0/driver":   "sys/bus/pci/drivers/mlx5_core",
		"sys/class/infiniband/mlx5_0/driver/x": "sys/bus/pci/drivers/mlx5_core/x",
		"sys/class":                            "sys/class",
		".":                                    ".",
	}
	for in, want := range tests {
		if got, err := Resolve(root, in); err != nil || got != want {
			t.Errorf("Resolve(%s) = %q, %v, want %q", in, got, err, want)
		}
		if got, err := follow(root, in); err != nil || got != want {
			t.Errorf("follow(%s) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := Resolve(root, "sys/devices/pci0/mlx5_0/dangling"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Resolve(dangling) = %v, want fs.ErrNotExist", err)
	}
}

func TestReader(t *testing.T) {
	top := NewReader(open(t, node), context.Background().Err)
	r, ok := top.Dir("sys/class/infiniband/mlx5_0")
	if !ok {
		t.Fatal("Dir(mlx5_0) = false")
	}
	defer r.Close()
	if s, ok := r.Text("node_type"); !ok || s != "1: CA" {
		t.Errorf("Text(node_type) = %q, %v", s, ok)
	}
	if v := r.Uint("number", 8); v == nil || *v != 0x1f {
		t.Errorf("Uint(number) = %v, want 31", v)
	}
	if v := r.Int("negative"); v == nil || *v != -1 {
		t.Errorf("Int(negative) = %v, want -1", v)
	}
	if got := top.LinkBase("sys/class/infiniband/mlx5_0/driver"); got != "mlx5_core" {
		t.Errorf("LinkBase(driver) = %q", got)
	}
	for _, name := range []string{"none", "empty", "ports/1/types/0"} { // absent, empty, without a value
		if s, ok := r.Text(name); ok {
			t.Errorf("Text(%s) = %q, want nothing", name, s)
		}
	}
	if n := len(top.Errors()); n != 0 {
		t.Fatalf("%d errors so far, want none: %v", n, top.Errors()[0])
	}
	r.Uint("negative", 8)
	r.Required("none")
	r.Required("empty")
	if _, ok := r.Dir("node_type"); ok {
		t.Error("Dir of a file = true")
	}
	r.Uint("node_type", 8)
	var paths []string
	for _, e := range top.Errors() {
		paths = append(paths, e.Path)
	}
	const base = "/sys/class/infiniband/mlx5_0/"
	want := []string{base + "negative", base + "none", base + "empty", base + "node_type"}
	if !slices.Equal(paths, want) {
		t.Errorf("errors at %q, want %q", paths, want)
	}
	if !errors.Is(top.Errors()[1], fs.ErrNotExist) {
		t.Errorf("errors[1] = %v, want fs.ErrNotExist in it", top.Errors()[1])
	}
}

func TestReaderStops(t *testing.T) {
	stopped := errors.New("stopped")
	r := NewReader(open(t, node), func() error { return stopped })
	if _, ok := r.Dir("sys"); ok {
		t.Error("Dir after the stop = true")
	}
	if _, ok := r.Text("sys/devices/pci0/mlx5_0/node_type"); ok {
		t.Error("Text after the stop = true")
	}
	if names := r.List("sys"); names != nil {
		t.Errorf("List after the stop = %v", names)
	}
}

func TestNaturalCompare(t *testing.T) {
	want := []string{
		"1", "2", "10", "eth0", "eth0a", "eth1", "mlx5_0", "mlx5_2", "mlx5_10", "mlx5_10_x", "mlx6_0", "mlx10_0",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, NaturalCompare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted = %v, want %v", got, want)
	}
	if NaturalCompare("a01", "a1") == 0 || NaturalCompare("a1", "a1") != 0 {
		t.Error("NaturalCompare must be 0 for equal names only")
	}
}

func FuzzNaturalCompare(f *testing.F) {
	f.Add("mlx5_2", "mlx5_10")
	f.Fuzz(func(t *testing.T, a, b string) {
		if x, y := NaturalCompare(a, b), NaturalCompare(b, a); x != -y || x == 0 && a != b {
			t.Errorf("NaturalCompare(%q, %q) = %d, turned round %d", a, b, x, y)
		}
	})
}

func BenchmarkReadFile(b *testing.B) {
	root, err := OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // a benchmark's folder
	if err := os.WriteFile(filepath.Join(root.root.Name(), "0"), []byte("fe80::1\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := root.ReadFile("0"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestErrnoNames(t *testing.T) {
	for _, e := range errnos {
		got, ok := ErrnoByName(e.name)
		name, back := ErrnoName(got)
		if !ok || !back || got != e.errno || name != e.name {
			t.Errorf("ErrnoByName(%s) = %v, %t; ErrnoName = %s, %t", e.name, got, ok, name, back)
		}
	}
	if e, ok := ErrnoByName("EWHAT"); ok {
		t.Errorf("ErrnoByName(EWHAT) = %v, want none", e)
	}
}
