package nodetree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"testing"
)

// unpackTo unpacks an archive with other limits than FromTarGz.
func unpackTo(data []byte, archiveLimit, streamLimit int64) error {
	return (&unpacker{tree: New()}).unpack(bytes.NewReader(data), archiveLimit, streamLimit)
}

// chained returns a chain of 38 links, whose targets have a number of components
// more than they need, and n links to its end.
func chained(n, more int) []tar.Header {
	entries := []tar.Header{file("c0", "")}
	for i := range 38 {
		entries = append(entries, link(fmt.Sprint("c", i+1), strings.Repeat("./", more)+fmt.Sprint("c", i)))
	}
	for i := range n {
		entries = append(entries, link(fmt.Sprint("l", i), "c38"))
	}
	return entries
}

// deepPath is as long as paths may be.
var deepPath = strings.Repeat("d/", maxPath/2-5) + "d"

// stepsOfArchive is FromTarGz, but returns the counted steps.
func stepsOfArchive(data []byte) (int, error) {
	u := &unpacker{tree: New()}
	err := u.load(bytes.NewReader(data))
	return u.budget.steps, err
}

// parsed is Parse, but returns the counted steps.
func parsed(text string) (*parser, error) {
	p := &parser{tree: New(), dir: "."}
	err := p.parse([]byte(text))
	return p, err
}

// errnoChains is an errno.json that names files through links.
func errnoChains(n, more int) []tar.Header {
	entries := append(chained(0, more), dir("dir"))
	entries[0] = link("c0", "dir")
	list := make([]string, 0, n)
	for i := range n {
		list = append(list, fmt.Sprintf(`"c38/f%d":"EINVAL"`, i))
		entries = append(entries, file(fmt.Sprint("dir/f", i), ""))
	}
	return append(entries, file("errno.json", "{"+strings.Join(list, ",")+"}"))
}

func TestStepsOfArchives(t *testing.T) {
	tests := []struct {
		name    string
		entries []tar.Header
		want    error
	}{
		{"links through a chain", chained(20, 2000), nil},
		{"many links through a chain", chained(200, 2000), ErrTooLarge},
		{"errors through a chain", errnoChains(10, 2000), nil},
		{"many errors through a chain", errnoChains(100, 2000), ErrTooLarge},
		{"files at the end of a deep path", filesBelow(deepPath, 1000), nil},
		{"many files at the end of a deep path", filesBelow(deepPath, 4000), ErrTooLarge},
		{
			"as many files at a path of sysfs",
			filesBelow("sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0/ports/1/gids", 4000), nil,
		},
	}
	for _, tt := range tests {
		steps, err := stepsOfArchive(archive(t, tt.entries...))
		if !errors.Is(err, tt.want) || (err != nil) != (tt.want != nil) {
			t.Errorf("%s: FromTarGz = %v after %d steps, want %v", tt.name, err, steps, tt.want)
		}
		if steps > maxSteps+maxPath { // one look-up more at most
			t.Errorf("%s: %d steps, want %d at most", tt.name, steps, maxSteps)
		}
	}
}

func filesBelow(dir string, n int) []tar.Header {
	entries := make([]tar.Header, 0, n)
	for i := range n {
		entries = append(entries, file(fmt.Sprint(dir, "/", i), ""))
	}
	return entries
}

func TestBoundsOfText(t *testing.T) {
	long := strings.Repeat("n", 249)
	contents := "f0..5 = " + strings.Repeat("x", 4_000_000) + "\n"
	tests := []struct {
		name string
		text string
		want error
	}{
		{
			"a table of sysfs",
			"[sys/devices/pci0000:10/0000:18:00.0/infiniband/mlx5_0/ports/1/gids]\n0..65535 = x\n", nil,
		},
		{"range in a deep directory", "[" + deepPath + "]\n0..9999 = x\n", ErrTooLarge},
		{"shorter range in a deep directory", "[" + deepPath + "]\n0..999 = x\n", nil},
		{"headers of a deep directory", strings.Repeat("["+deepPath+"]\n", 4000), ErrTooLarge},
		{"long names and contents", nameRanges(long, 3, 60_000) + contents, ErrTooLarge},
		{"short names instead", nameRanges("n", 3, 60_000) + contents, nil},
		{"a name too long", strings.Repeat("n", 256) + " = x\n", fs.ErrInvalid},
		{"a range of names too long", strings.Repeat("n", 3900) + "0..199999 = x\n", fs.ErrInvalid},
		{"the longest name", strings.Repeat("n", 255) + " = x\n", nil},
		{"a path too long", "[" + deepPath + "]\n" + "ddddddddddd/x = 1\n", fs.ErrInvalid},
		{"comments", strings.Repeat("#\n", maxSteps+1), ErrTooLarge},
		{"many long targets", targets(17_000), ErrTooLarge},
	}
	for _, tt := range tests {
		p, err := parsed(tt.text)
		if !errors.Is(err, tt.want) || (err != nil) != (tt.want != nil) {
			t.Errorf("%s: Parse = %.200v, want %v", tt.name, err, tt.want)
		}
		held := p.tree.named + p.budget.bytes
		if p.tree.made > maxEntries+maxPath || held > maxTotal+maxFile || p.budget.steps > maxSteps+maxPath {
			t.Errorf("%s: %d entries, %d bytes, %d steps: above the bounds", tt.name, p.tree.made, held, p.budget.steps)
		}
	}
}

// nameRanges is n ranges of names with this prefix.
func nameRanges(prefix string, n, length int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%c0..%d = \"\"\n", prefix, 'a'+i, length-1)
	}
	return b.String()
}

func targets(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "l%d -> %s\n", i, strings.Repeat("x", maxPath))
	}
	return b.String()
}

// TestNamesAreCopies checks that nodes do not hold on to the path in which their
// name stood: 8 MB for 2,000 files of a deep directory.
func TestNamesAreCopies(t *testing.T) {
	text := []byte("[" + deepPath + "]\n0..1999 = x\n")
	before := heap()
	p := &parser{tree: New(), dir: "."}
	if err := p.parse(text); err != nil {
		t.Fatal(err)
	}
	if held := heap() - before; held > 4<<20 {
		t.Errorf("%d entries hold %d bytes", p.tree.made, held)
	}
	runtime.KeepAlive(p)
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestGzip checks what lies outside of the archive itself.
func TestGzip(t *testing.T) {
	whole := archive(t, file("a", "1\n"))
	empty := archiveOf(t, nil)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-5] ^= 1 // in the checksum or the length
	damaged[len(damaged)-8] ^= 1
	tests := []struct {
		name string
		data []byte
	}{
		{"second member", append(bytes.Clone(whole), empty...)},
		{"members without end", append(bytes.Clone(empty), bytes.Repeat(empty, 1000)...)},
		{"data behind it", append(bytes.Clone(whole), 0)},
		{"bad checksum", damaged},
	}
	for _, tt := range tests {
		if _, err := FromTarGz(bytes.NewReader(tt.data)); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
	if err := unpackTo(whole, int64(len(whole)), maxStream); !errors.Is(err, ErrTooLarge) {
		t.Errorf("archive of the limit = %v, want ErrTooLarge", err)
	}
	if err := unpackTo(whole, int64(len(whole))+1, maxStream); err != nil {
		t.Errorf("archive below the limit = %v", err)
	}
}

// endless is an archive that never ends: empty gzip members, or one member of
// empty blocks. It counts what was read of it.
type endless struct {
	head, body []byte
	read       int
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		if e.read < len(e.head) {
			b[n] = e.head[e.read]
		} else {
			b[n] = e.body[(e.read-len(e.head))%len(e.body)]
		}
		n++
		e.read++
	}
	return n, nil
}

func TestEndlessArchive(t *testing.T) {
	header := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	stored := []byte{0, 0, 0, 255, 255} // a block of nothing
	for name, e := range map[string]*endless{
		"members": {body: archiveOf(t, nil)},
		"blocks":  {head: header, body: stored},
	} {
		if _, err := FromTarGz(e); err == nil || e.read > maxArchive {
			t.Errorf("%s: FromTarGz = %v after %d bytes, want an error after %d at most", name, err, e.read, maxArchive)
		}
	}
}

// archiveOf compresses bytes.
func archiveOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, err := zw.Write(data)
	if err = errors.Join(err, zw.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// hugeDir is a file system whose root lists files without end, and counts them.
type hugeDir struct{ listed int }

func (h *hugeDir) Open(string) (fs.File, error) { return h, nil }
func (h *hugeDir) Stat() (fs.FileInfo, error)   { return fileInfo{mode: fs.ModeDir}, nil }
func (h *hugeDir) Read([]byte) (int, error)     { return 0, io.EOF }
func (h *hugeDir) Close() error                 { return nil }
func (h *hugeDir) ReadDir(n int) (l []fs.DirEntry, _ error) {
	for range n {
		l = append(l, fs.FileInfoToDirEntry(fileInfo{name: fmt.Sprint(h.listed), mode: 0o444}))
		h.listed++
	}
	return l, nil
}

func TestFromFSOfHugeDirectory(t *testing.T) {
	h := &hugeDir{}
	if _, err := FromFS(h); !errors.Is(err, ErrTooLarge) || h.listed > maxEntries+2048 {
		t.Errorf("FromFS = %v after %d entries, want ErrTooLarge after %d", err, h.listed, maxEntries)
	}
}

func TestFromFSOfDeepPaths(t *testing.T) {
	for files, want := range map[int]error{500: nil, 3000: ErrTooLarge} {
		tree := mustParse(t, fmt.Sprintf("[%s]\n0..%d = x\n", deepPath, files-1))
		if _, err := FromFS(tree.FS()); !errors.Is(err, want) {
			t.Errorf("FromFS of %d files in a deep directory = %v, want %v", files, err, want)
		}
	}
}

// TestErrorsBelowClosed checks that an injected error hides neither errors nor
// links below it from a loader.
func TestErrorsBelowClosed(t *testing.T) {
	data := archive(t, file("d/x", ""), file("d/y", ""),
		file("errno.json", `{"d": "EACCES", "d/x": "EINVAL", "d/y": "EIO"}`))
	for range 20 { // in any order
		if _, err := FromTarGz(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	tree := mustParse(t, "[d]\nx -> e\ny -> x/../..\ne -> ../top\n[.]\ntop/\nd/ ! EACCES\n")
	if err := tree.WriteDir(t.TempDir() + "/x"); !errors.Is(err, ErrEscape) {
		t.Errorf("WriteDir with a link out in a closed directory = %v, want ErrEscape", err)
	}
}

// TestLongRun checks that runs of equal files whose numbers outgrow ranges fold
// up to there.
func TestLongRun(t *testing.T) {
	tree := New()
	for i := range 20 {
		if err := tree.Set(fmt.Sprint("x", 999_999_990+i), ""); err != nil {
			t.Fatal(err)
		}
	}
	text := string(tree.Text())
	if want := "x999999990..999999999 = \"\"\nx1000000000 = \"\"\n"; !strings.HasPrefix(text, want) {
		t.Errorf("Text = %s, want %s first", text, want)
	}
	if !mustParse(t, text).Equal(tree) {
		t.Error("Parse(Text) differs")
	}
}
