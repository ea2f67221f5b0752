package facts_test

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// slowFS has a file whose reading waits, and counts how often each is read.
type slowFS struct {
	fstest.MapFS
	slow    string
	release chan struct{}
	reads   atomic.Int32
}

func (s *slowFS) ReadFile(name string) ([]byte, error) {
	s.reads.Add(1)
	if name == s.slow {
		<-s.release
	}
	return s.MapFS.ReadFile(name)
}

// TestFilesBlocked has a file whose reading does not return: all other files can be read, and those
// who read it get its content when it does.
func TestFilesBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := &slowFS{
			MapFS: fstest.MapFS{"slow": {Data: []byte("late\n")}, "fast": {Data: []byte("now\n")}}, slow: "slow",
			release: make(chan struct{}),
		}
		files := facts.NewFiles(root)
		got := make(chan string, 2)
		read := func() {
			text, err := files.Text("slow")
			if err != nil {
				t.Errorf("Text(slow): %v", err)
			}
			got <- text
		}
		go read()
		synctest.Wait() // it waits for the file
		if text, err := files.Text("fast"); text != "now" || err != nil {
			t.Errorf("Text(fast) = %q, %v, want now", text, err)
		}
		if list := files.Problems(); len(list) != 0 {
			t.Errorf("Problems = %v, want none", list)
		}
		go read()
		close(root.release)
		if a, b := <-got, <-got; a != "late" || b != "late" {
			t.Errorf("Text(slow) = %q and %q, want late", a, b)
		}
		if n := root.reads.Load(); n != 2 {
			t.Errorf("%d files were read, want 2: each once", n)
		}
	})
}

// TestFilesTooLarge reads no file of more than 4 MiB, whether or not its size is known before.
func TestFilesTooLarge(t *testing.T) {
	most := strings.Repeat("x", 4<<20)
	root := &slowFS{MapFS: fstest.MapFS{
		"most": {Data: []byte(most)}, "large": {Data: []byte(most + "y")},
	}}
	files := facts.NewFiles(root)
	if b, err := files.Bytes("most"); len(b) != len(most) || err != nil {
		t.Errorf("Bytes(most) = %d bytes, %v, want %d", len(b), err, len(most))
	}
	b, err := files.Bytes("large")
	if b != nil || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("Bytes(large) = %d bytes, %v, want the limit in the error", len(b), err)
	}
	if n := root.reads.Load(); n != 1 {
		t.Errorf("%d files were read, want the one of 4 MiB only", n)
	}
	if list := files.Problems(); len(list) != 1 || list[0].Path != "/large" {
		t.Errorf("Problems = %v, want /large", list)
	}
	if _, err := facts.NewFiles(sizeless{root.MapFS}).Bytes("large"); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Bytes of a large file of unknown size: %v, want %v", err, syscall.EFBIG)
	}
}

// sizeless shows all files with size 0, as procfs does.
type sizeless struct{ fstest.MapFS }

func (s sizeless) Stat(name string) (fs.FileInfo, error) {
	info, err := s.MapFS.Stat(name)
	return noSize{info}, err
}

type noSize struct{ fs.FileInfo }

func (noSize) Size() int64 { return 0 }

// TestFilesNotRegular refuses files whose reading may wait or never end.
func TestFilesNotRegular(t *testing.T) {
	for _, mode := range []fs.FileMode{
		fs.ModeNamedPipe, fs.ModeSocket, fs.ModeDevice | fs.ModeCharDevice, fs.ModeDevice,
	} {
		root := &slowFS{MapFS: fstest.MapFS{"f": {Data: []byte("x"), Mode: mode | 0o644}}}
		files := facts.NewFiles(root)
		if b, err := files.Bytes("f"); b != nil || err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%v: Bytes = %q, %v, want that it is no regular file", mode, b, err)
		}
		if n := root.reads.Load(); n != 0 {
			t.Errorf("%v: it was read", mode)
		}
		if list := files.Problems(); len(list) != 1 || list[0].Path != "/f" {
			t.Errorf("%v: Problems = %v, want /f", mode, list)
		}
	}
}

// TestResolve follows links as the kernel does after chroot: at most 40 (path_resolution(7)).
func TestResolve(t *testing.T) {
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
	}
	deep := strings.Repeat("d/", 100)
	root := fstest.MapFS{
		"sys/devices/pci0/card/net/eth0/mtu": {}, "sys/class/net/eth0": link("../../devices/pci0/card/net/eth0"),
		"sys/devices/pci0/card/net/eth0/device": link("../.."), "abs": link("/sys/class/net/eth0"),
		"loop": link("loop"), "out": link("../../../sys/devices"), "nowhere": link("missing"),
		"hop": link("sys/class/net/eth0/../eth0"), deep + "end": {}, "c40": {},
	}
	for i := range 41 { // l0 needs 41 links, l1 needs 40
		root["l"+string(rune('A'+i))] = link("l" + string(rune('A'+i+1)))
	}
	root["l"+string(rune('A'+41))] = link("c40")
	for _, tt := range []struct {
		name, want string
	}{
		{"sys/class/net/eth0/mtu", "sys/devices/pci0/card/net/eth0/mtu"},
		{"sys/class/net/eth0/device", "sys/devices/pci0/card"},
		{"abs", "sys/devices/pci0/card/net/eth0"},
		{"out", "sys/devices"},
		{"hop", "sys/devices/pci0/card/net/eth0"}, // ".." of where the link leads
		{".", "."},
		{deep + "end", deep + "end"}, // many elements are not many links
		{"lC", "c40"},
		{"lB", ""},
		{"loop", ""},
		{"nowhere", ""},
		{"missing", ""},
	} {
		got, ok := facts.NewFiles(root).Resolve(tt.name)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Resolve(%.20s) = %.40q, %t, want %.40q", tt.name, got, ok, tt.want)
		}
	}
}
