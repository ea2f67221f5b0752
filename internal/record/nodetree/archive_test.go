package nodetree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// archive packs entries; the content of a link is its target.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		content := e.Linkname
		if e.Typeflag != tar.TypeReg {
			content = ""
		} else {
			e.Linkname, e.Size = "", int64(len(content))
		}
		if e.Typeflag != tar.TypeXGlobalHeader { // takes nothing but records
			e.Mode = 0o644
		}
		if err := tw.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content}
}

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }

func TestFromTarGz(t *testing.T) {
	data := archive(t, dir("./"), dir("./sys/"), file("./sys/a", "1\n"), file("sys/b", ""), link("./sys/l", "a"),
		link("sys/dangling", "nowhere"), dir("sys/closed"),
		file("./errno.json", `{"sys/b": "EINVAL", "sys/closed": "EACCES"}`), dir("sys"))
	got, err := FromTarGz(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := mustParse(t, "[sys]\na = 1\nb ! EINVAL\nl -> a\ndangling -> nowhere\nclosed/ ! EACCES\n")
	if !got.Equal(want) {
		t.Errorf("FromTarGz = %s, want %s", got.Text(), want.Text())
	}
}

// TestFromTarGzDamaged cuts an archive everywhere, and changes bytes of it.
func TestFromTarGzDamaged(t *testing.T) {
	data := archive(t, dir("sys"), file("sys/a", strings.Repeat("value\n", 1000)), file("errno.json", "{}"))
	for n := 2; n < len(data); n++ {
		if _, err := FromTarGz(bytes.NewReader(data[:n])); !errors.Is(err, ErrDamaged) {
			t.Errorf("FromTarGz of %d of %d bytes = %v, want %v", n, len(data), err, ErrDamaged)
		}
	}
	for _, at := range []int{2, 30, len(data) / 2, len(data) - 6, len(data) - 1} {
		changed := bytes.Clone(data)
		changed[at] ^= 0xff
		if _, err := FromTarGz(bytes.NewReader(changed)); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTooLarge) {
			t.Errorf("FromTarGz with byte %d changed = %v, want %v", at, err, ErrDamaged)
		}
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	tape := make([]byte, 2000) // of a tar that was cut before it was packed
	if _, err := io.ReadFull(zr, tape); err != nil {
		t.Fatal(err)
	}
	var cut bytes.Buffer
	zw := gzip.NewWriter(&cut)
	if _, err := zw.Write(tape); err != nil || zw.Close() != nil {
		t.Fatal(err)
	}
	if _, err := FromTarGz(&cut); !errors.Is(err, ErrDamaged) {
		t.Errorf("FromTarGz of half a tar = %v, want %v", err, ErrDamaged)
	}
	if _, err := FromTarGz(bytes.NewReader(append(data, 0))); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("FromTarGz with data after the archive = %v", err)
	}
}

func TestFromTarGzRefuses(t *testing.T) {
	many := make([]tar.Header, 0, 18)
	for i := range 17 {
		many = append(many, file(fmt.Sprint(i), strings.Repeat("x", maxFile)))
	}
	deep := make([]tar.Header, 0, 150) // each adds 2,000 directories
	for i := range cap(deep) {
		deep = append(deep, file(fmt.Sprint(i, "/", strings.Repeat("d/", 2000), "x"), ""))
	}
	tests := []struct {
		name    string
		entries []tar.Header
		want    error
	}{
		{"absolute name", []tar.Header{file("/etc/x", "")}, fs.ErrInvalid},
		{"parent in name", []tar.Header{file("a/../../x", "")}, fs.ErrInvalid},
		{"no name", []tar.Header{file("./.", "")}, syscall.EISDIR},
		{"absolute link", []tar.Header{link("a", "/etc")}, ErrEscape},
		{"link out", []tar.Header{link("d/a", "../../x")}, ErrEscape},
		{"dangling link out", []tar.Header{link("a", "gone/../../x")}, ErrEscape},
		{"link out through another", []tar.Header{
			dir("top"), link("d/e/x", "../../top"), link("d/e/y", "x/../.."),
		}, ErrEscape},
		{"entry below a link", []tar.Header{dir("d"), link("l", "d"), file("l/x", "")}, syscall.ENOTDIR},
		{"file twice", []tar.Header{file("x", ""), file("x", "")}, syscall.EEXIST},
		{"link twice", []tar.Header{link("x", "y"), link("x", "y")}, syscall.EEXIST},
		{"link over file", []tar.Header{file("x", ""), link("x", "y")}, syscall.EEXIST},
		{"file over directory", []tar.Header{dir("x"), file("x", "")}, syscall.EEXIST},
		{"large file", []tar.Header{file("x", strings.Repeat("x", maxFile+1))}, ErrTooLarge},
		{"many large files", many, ErrTooLarge},
		{"many directories", deep, ErrTooLarge},
		{"errno of nothing", []tar.Header{file("errno.json", `{"x":"EINVAL"}`)}, fs.ErrNotExist},
		{"errno of a link", []tar.Header{link("x", "x"), file("errno.json", `{"x":"EINVAL"}`)}, syscall.ELOOP},
	}
	for _, tt := range tests {
		_, err := FromTarGz(bytes.NewReader(archive(t, tt.entries...)))
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: FromTarGz = %v, want %v", tt.name, err, tt.want)
		}
	}
	for name, entry := range map[string]tar.Header{
		"hard link":  {Typeflag: tar.TypeLink, Name: "x", Linkname: "y"},
		"device":     {Typeflag: tar.TypeChar, Name: "x"},
		"block":      {Typeflag: tar.TypeBlock, Name: "x"},
		"pipe":       {Typeflag: tar.TypeFifo, Name: "x"},
		"bad errno":  file("errno.json", `{"x": 1}`),
		"root file":  file(".", ""),
		"empty link": link("x", ""),
	} {
		if _, err := FromTarGz(bytes.NewReader(archive(t, entry))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestFromTarGzBomb checks that neither a large file nor headers without end are
// unpacked. Global headers count as no entry, so only the bound of the stream holds them.
func TestFromTarGzBomb(t *testing.T) {
	var large bytes.Buffer
	zw := gzip.NewWriter(&large)
	tw := tar.NewWriter(zw)
	if err := tw.WriteHeader(&tar.Header{Name: "x", Size: 1 << 40, Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil { // the content never comes
		t.Fatal(err)
	}
	if _, err := FromTarGz(bytes.NewReader(large.Bytes())); !errors.Is(err, ErrTooLarge) {
		t.Errorf("FromTarGz of a file of 1 TiB = %v, want ErrTooLarge", err)
	}
	comment := tar.Header{
		Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": strings.Repeat("x", 1000)},
	}
	headers := make([]tar.Header, 100)
	for i := range headers {
		headers[i] = comment
	}
	endless := archive(t, headers...)
	if err := unpackTo(endless, maxArchive, 50_000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("FromTarGz of global headers = %v, want ErrTooLarge", err)
	}
	if err := unpackTo(endless, maxArchive, 1_000_000); err != nil {
		t.Errorf("FromTarGz within the bound = %v", err)
	}
	whole := archive(t, file("a", "1\n"))
	if _, err := FromTarGz(bytes.NewReader(whole[:len(whole)/2])); err == nil {
		t.Error("truncated archive: no error")
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	want := mustParse(t, "a = 1\n")
	for name, data := range map[string][]byte{
		"node.tree":   want.Text(),
		"node.tar.gz": archive(t, file("a", "1\n")),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path)
		if err != nil || !got.Equal(want) {
			t.Errorf("Open(%s) = %v, %v", name, got, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open(none) = %v, want fs.ErrNotExist", err)
	}
}

func FuzzFromTarGz(f *testing.F) {
	f.Add(archive(f, dir("./"), file("a/b", "1\n"), link("l", "a"), file("errno.json", `{"a/b":"EIO"}`)))
	f.Add(archive(f, link("d/e/x", "../../top"), link("d/e/y", "x/../..")))
	f.Add(archive(f, chained(3, 1)...))
	f.Add(archive(f, errnoChains(3, 1)...))
	f.Add(append(archive(f, file("a", "")), archiveOf(f, nil)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := FromTarGz(bytes.NewReader(data))
		if err != nil {
			return
		}
		if again, err := Parse("text", tree.Text()); err != nil || !again.Equal(tree) {
			t.Fatalf("Parse(Text): %v\n%s", err, tree.Text())
		}
		err = fs.WalkDir(tree.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
			if _, err := fs.Stat(tree.FS(), name); errors.Is(err, ErrEscape) {
				t.Errorf("%s leads out", name)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestSalvage reads the entries before the damage, of which the last one is not complete, and no
// errors of files that are missing.
func TestSalvage(t *testing.T) {
	whole := archive(t, file("errno.json", `{"sys/a": "EINVAL", "sys/z": "EINVAL"}`), file("sys/a", ""),
		file("sys/b", "1\n"), file("sys/z", ""))
	if tree, err := Salvage(bytes.NewReader(whole)); err != nil || tree == nil {
		t.Errorf("whole: %v, %v", tree, err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		blocks int // of 512 bytes; the content of sys/b is block 4
		b      bool
	}{{4, false}, {5, true}} {
		var cut bytes.Buffer
		zw := gzip.NewWriter(&cut)
		_, _ = zw.Write(plain[:c.blocks*512])
		_ = zw.Flush() // without the end
		tree, err := Salvage(&cut)
		if !errors.Is(err, ErrDamaged) || tree == nil {
			t.Fatalf("%d blocks: %v, %v, want a part and ErrDamaged", c.blocks, tree, err)
		}
		if _, err := fs.ReadFile(tree.FS(), "sys/a"); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%d blocks: sys/a: %v, want EINVAL", c.blocks, err)
		}
		if data, err := fs.ReadFile(tree.FS(), "sys/b"); (err == nil && string(data) == "1\n") != c.b {
			t.Errorf("%d blocks: sys/b: %q, %v, want it: %v", c.blocks, data, err, c.b)
		}
	}
	if tree, err := Salvage(strings.NewReader("text")); tree != nil && len(tree.root.children) > 0 || err == nil {
		t.Errorf("text: %v, %v", tree, err)
	}
}
