package nodetree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const sample = `# A node for tests.
# Second line.

[sys/class/infiniband]
mlx5_0 -> ../../devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0
gone -> ../../devices/gone
loop -> loop
out -> ../../../../etc
[sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0/ports/1]
state = 4: ACTIVE
gids/0 = fe80:0000:0000:0000:ba3f:d2ff:fea5:1000
gids/1..255 = 0000:0000:0000:0000:0000:0000:0000:0000
gid_attrs/types/0..255 ! EINVAL
secret ! EACCES
uevent = "A=1\nB=2\n"
empty = ""
hw_counters/
[sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0]
device -> ../..
locked/ ! EACCES
`

func mustParse(t testing.TB, text string) *Tree {
	t.Helper()
	tree, err := Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestReadFile(t *testing.T) {
	fsys := mustParse(t, sample).FS()
	const port = "sys/class/infiniband/mlx5_0/ports/1/"
	tests := []struct {
		name    string
		want    string
		wantErr error
		wantOp  string
	}{
		{name: port + "state", want: "4: ACTIVE\n"},
		{name: port + "uevent", want: "A=1\nB=2\n"},
		{name: port + "empty", want: ""},
		{name: port + "gids/255", want: "0000:0000:0000:0000:0000:0000:0000:0000\n"},
		{name: port + "gids/256", wantErr: fs.ErrNotExist, wantOp: "open"},
		{name: port + "gid_attrs/types/7", wantErr: syscall.EINVAL, wantOp: "read"},
		{name: port + "secret", wantErr: fs.ErrPermission, wantOp: "open"},
		{name: port + "state/x", wantErr: syscall.ENOTDIR, wantOp: "open"},
		{name: port + "gids", wantErr: syscall.EISDIR, wantOp: "read"},
		{name: "sys/class/infiniband/mlx5_0/device/infiniband/mlx5_0/ports/1/state", want: "4: ACTIVE\n"},
		{name: "sys/class/infiniband/mlx5_0/locked/x", wantErr: fs.ErrPermission, wantOp: "open"},
		{name: "sys/class/infiniband/gone", wantErr: fs.ErrNotExist, wantOp: "open"},
		{name: "sys/class/infiniband/loop", wantErr: syscall.ELOOP, wantOp: "open"},
		{name: "sys/class/infiniband/out/passwd", wantErr: ErrEscape, wantOp: "open"},
		{name: "../x", wantErr: fs.ErrInvalid, wantOp: "open"},
	}
	for _, tt := range tests {
		got, err := fs.ReadFile(fsys, tt.name)
		if string(got) != tt.want || !errors.Is(err, tt.wantErr) {
			t.Errorf("ReadFile(%s) = %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.wantErr)
		}
		var perr *fs.PathError
		if errors.As(err, &perr) && (perr.Op != tt.wantOp || perr.Path != tt.name) {
			t.Errorf("ReadFile(%s): operation %s on %s, want %s", tt.name, perr.Op, perr.Path, tt.wantOp)
		}
		if err != nil && perr == nil {
			t.Errorf("ReadFile(%s): error %T, want *fs.PathError", tt.name, err)
		}
	}
}

func TestReadDirAndLinks(t *testing.T) {
	fsys := mustParse(t, sample).FS()
	entries, err := fs.ReadDir(fsys, "sys/class/infiniband")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprint(e.Name(), " ", e.Type()))
	}
	want := []string{"gone L---------", "loop L---------", "mlx5_0 L---------", "out L---------"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadDir(-want +got):\n%s", diff)
	}
	if _, err := fs.ReadDir(fsys, "sys/class/infiniband/mlx5_0/locked"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("ReadDir(locked) = %v, want permission", err)
	}
	if target, err := fs.ReadLink(fsys, "sys/class/infiniband/gone"); target != "../../devices/gone" || err != nil {
		t.Errorf("ReadLink(gone) = %q, %v", target, err)
	}
	if _, err := fs.ReadLink(fsys, "sys"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("ReadLink(sys) = %v, want EINVAL", err)
	}
	if info, err := fs.Lstat(fsys, "sys/class/infiniband/gone"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat(gone) = %v, %v, want a link", info, err)
	}
	if info, err := fs.Stat(fsys, "sys/class/infiniband/mlx5_0"); err != nil || !info.IsDir() ||
		info.Name() != "mlx5_0" {
		t.Errorf("Stat(mlx5_0) = %v, %v, want a directory", info, err)
	}
	for name, want := range map[string]error{
		"none": fs.ErrNotExist, "sys/class/infiniband/mlx5_0/ports/1/state": syscall.ENOTDIR,
		"sys/class/infiniband/loop": syscall.ELOOP,
	} {
		if _, err := fs.Sub(fsys, name); !errors.Is(err, want) {
			t.Errorf("Sub(%s) = %v, want %v", name, err, want)
		}
	}
	sub, err := fs.Sub(fsys, "sys/class/infiniband/mlx5_0")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(sub, "device/infiniband/mlx5_0/ports/1/state"); string(b) != "4: ACTIVE\n" {
		t.Errorf("ReadFile below Sub = %q, %v", b, err)
	}
}

// TestFS leaves out what io/fs can't open: injected errors and links to nowhere.
func TestFS(t *testing.T) {
	tree := mustParse(t, sample)
	for _, name := range []string{
		"mlx5_0/locked", "mlx5_0/ports/1/secret", "mlx5_0/ports/1/gid_attrs", "gone", "loop", "out",
	} {
		if err := tree.Remove("sys/class/infiniband/" + name); err != nil {
			t.Fatal(err)
		}
	}
	const port = "sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0/ports/1/"
	if err := fstest.TestFS(tree.FS(), port+"state", port+"gids/255", "sys/class/infiniband/mlx5_0"); err != nil {
		t.Error(err)
	}
}

func TestMutators(t *testing.T) {
	tree := mustParse(t, sample)
	const port = "sys/class/infiniband/mlx5_0/ports/1/"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	clone := tree.Clone()
	must(tree.Set(port+"state", "1: DOWN\n"))
	must(tree.Set(port+"secret", "x\n"))
	must(tree.Set("proc/sys/kernel/hostname", "n1\n"))
	must(tree.SetError(port+"gids/3", syscall.EIO))
	must(tree.SetError("sys/class", syscall.EACCES))
	must(tree.SetError("sys/class", 0))
	must(tree.Link("sys/class/infiniband/gone", "mlx5_0"))
	must(tree.Link("absolute", "/sys/class/infiniband/gone"))
	must(tree.Mkdir("dev/infiniband"))
	must(tree.Remove("sys/class/infiniband/loop"))
	for name, want := range map[string]string{
		"absolute/ports/1/state":   "1: DOWN\n",
		port + "secret":            "x\n",
		"proc/sys/kernel/hostname": "n1\n",
	} {
		if got, err := fs.ReadFile(tree.FS(), name); string(got) != want {
			t.Errorf("ReadFile(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := fs.ReadFile(tree.FS(), port+"gids/3"); !errors.Is(err, syscall.EIO) {
		t.Errorf("ReadFile(gids/3) = %v, want EIO", err)
	}
	if !clone.Equal(mustParse(t, sample)) || clone.Equal(tree) {
		t.Error("the clone changed with its tree")
	}
	for name, err := range map[string]error{
		"remove what is not there": tree.Remove("nothing"),
		"file over a directory":    tree.Set("sys/class", "x"),
		"link over a file":         tree.Link(port+"state", "x"),
		"directory over a file":    tree.Mkdir(port + "state"),
		"bad path":                 tree.Set("../x", ""),
		"below a dangling link":    tree.Set("sys/class/infiniband/out/x", ""),
		"empty target":             tree.Link("l", ""),
		"root":                     tree.Remove("."),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestOpenFileRereads(t *testing.T) {
	tree := mustParse(t, "counter = 1\n")
	file, err := tree.FS().Open("counter")
	if err != nil {
		t.Fatal(err)
	}
	seeker, ok := file.(io.Seeker)
	if !ok {
		t.Fatalf("%T is no io.Seeker", file)
	}
	read := func() string {
		if _, err := seeker.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(file)
		return fmt.Sprint(string(b), err)
	}
	if got := read(); got != "1\n<nil>" {
		t.Errorf("first read = %q", got)
	}
	if err := tree.Set("counter", "2\n"); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != "2\n<nil>" {
		t.Errorf("second read = %q", got)
	}
	if err := tree.Remove("counter"); err != nil {
		t.Fatal(err)
	}
	if got, want := read(), "read counter: "+syscall.ENODEV.Error(); got != want {
		t.Errorf("read of a removed file = %q, want %q", got, want)
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	tree := mustParse(t, sample)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				_, _ = fs.ReadFile(tree.FS(), "sys/class/infiniband/mlx5_0/ports/1/state")
				_, _ = fs.ReadDir(tree.FS(), "sys/class/infiniband")
				_ = tree.Clone().Equal(tree)
			}
		})
	}
	for i := range 500 {
		if err := tree.Set("sys/class/infiniband/mlx5_0/ports/1/state", fmt.Sprintln(i)); err != nil {
			t.Error(err)
		}
		_ = tree.Link("sys/class/infiniband/x", "mlx5_0")
		_ = tree.Remove("sys/class/infiniband/x")
	}
	wg.Wait()
}

func BenchmarkReadFile(b *testing.B) {
	fsys := mustParse(b, sample).FS()
	for b.Loop() {
		if _, err := fs.ReadFile(fsys, "sys/class/infiniband/mlx5_0/ports/1/gids/200"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFromFS(t *testing.T) {
	tree := mustParse(t, sample)
	for _, name := range []string{"out", "loop"} {
		if err := tree.Remove("sys/class/infiniband/" + name); err != nil {
			t.Fatal(err)
		}
	}
	copied, err := FromFS(tree.FS())
	if err != nil {
		t.Fatal(err)
	}
	if !copied.Equal(tree) {
		t.Errorf("FromFS differs:\n%s", cmp.Diff(string(tree.Text()), string(copied.Text())))
	}
	dir := t.TempDir() + "/node"
	if err := tree.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	onDisk, err := FromFS(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if !onDisk.Equal(tree) {
		t.Errorf("WriteDir and FromFS differ:\n%s", cmp.Diff(string(tree.Text()), string(onDisk.Text())))
	}
	if err := tree.WriteDir(dir); err == nil {
		t.Error("WriteDir into a full directory: no error")
	}
	if err := mustParse(t, sample).WriteDir(t.TempDir() + "/x"); !errors.Is(err, ErrEscape) {
		t.Errorf("WriteDir with a link out = %v, want ErrEscape", err)
	}
}
