package input_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rdmakit/rdmakit/explain/input"
)

// Packed forms that are not read have an error with the command that unpacks them.
func TestForeignForms(t *testing.T) {
	folder := t.TempDir()
	for head, command := range map[string]string{
		"\x04\x22\x4d\x18\x64": "lz4 -d", "7z\xbc\xaf\x27\x1c\x00": "7z x", "Rar!\x1a\x07\x00": "unrar x",
	} {
		got, errs := contents(folder, []string{write(t, folder, "x", []byte(head))}, "")
		if len(got) > 0 || len(errs) != 1 || !strings.Contains(errs[0], command) {
			t.Errorf("%q: inputs %q, errors %q, want one with %q", head, got, errs, command)
		}
	}
}

// The files of testdata are written by xz 5.4: an archive by xz -9, and a file with a dictionary of
// 256 MiB, which isn't read.
func TestXz(t *testing.T) {
	whole, err := os.ReadFile("testdata/a.tar.xz")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	damaged := bytes.Clone(whole)
	damaged[40] ^= 1
	names := []string{
		write(t, folder, "whole.xz", whole), write(t, folder, "gz.gz", gzipped(t, whole)),
		write(t, folder, "head.xz", whole[:20]), write(t, folder, "damaged.xz", damaged), "testdata/large.xz",
	}
	got, errs := contents(folder, names, "")
	if want := []string{"whole.xz:r0.log=zero", "gz.gz:r0.log=zero"}; !slices.Equal(got, want) {
		t.Errorf("inputs %q, want %q", got, want)
	}
	for i, text := range []string{"head.xz: xz: data is truncated", "damaged.xz: xz: data is corrupt", "dictionary"} {
		if len(errs) != 3 || !strings.Contains(errs[i], text) {
			t.Fatalf("errors %q, want one for each damaged file, and %q", errs, text)
		}
	}
	got, errs = contents(folder, []string{write(t, folder, "half.xz", whole[:len(whole)/2])}, "")
	if len(got) != 1 || !strings.HasPrefix(got[0], "half.xz=r0.log") || len(errs) != 1 {
		t.Errorf("half a file: inputs %q, errors %q; want its beginning and an error", got, errs)
	}
}

func TestEmptyFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, errs := contents(folder, []string{folder}, "")
	if len(got) > 0 || len(errs) != 1 || !strings.Contains(errs[0], input.ErrEmpty.Error()) {
		t.Errorf("inputs %q, errors %q, want that the folder is empty", got, errs)
	}
}

// A file counts once, also by a link, another path, or its folder; a file of the same content is
// another one.
func TestSameFile(t *testing.T) {
	folder := t.TempDir()
	one := write(t, folder, "logs/one", []byte("x"))
	write(t, folder, "logs/two", []byte("x"))
	link := filepath.Join(folder, "link")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	got, errs := contents(folder, []string{one, one, folder + "/logs/../logs/one", link, folder + "/logs"}, "")
	if want := []string{"logs/one=x", "logs/two=x"}; !slices.Equal(got, want) || len(errs) > 0 {
		t.Errorf("inputs %q, errors %q, want %q", got, errs, want)
	}
}

// cutZip returns a zip archive of a stored entry, a packed one, and one more, without its end. The
// sizes of packed entries stand behind them.
func cutZip(t *testing.T, packed string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	stored, err := w.CreateRaw(&zip.FileHeader{
		Name: "stored.log", Method: zip.Store, UncompressedSize64: 6, CompressedSize64: 6, CRC32: 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(stored, "stored")
	for _, name := range []string{"packed.log", "cut.log"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, packed)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()[:bytes.LastIndex(b.Bytes(), []byte("PK\x03\x04"))+60]
}

// An archive whose end is missing is read as far as it goes, from a file and from a stream.
func TestHalfZip(t *testing.T) {
	folder := t.TempDir()
	text := strings.Repeat("a line of a log that is packed ", 50)
	data := cutZip(t, text)
	name := write(t, folder, "half.zip", data)
	for _, names := range [][]string{{name}, {input.Stdin}} {
		got, errs := contents(folder, names, string(data))
		if len(got) != 3 || !strings.HasSuffix(got[0], ":stored.log=stored") ||
			!strings.HasSuffix(got[1], ":packed.log="+text) || !strings.Contains(got[2], ":cut.log=a line") {
			t.Errorf("%s: inputs = %.200q", names, got)
		}
		if len(errs) != 2 || !strings.Contains(errs[0], "unexpected EOF") ||
			!strings.Contains(errs[1], "not a valid zip") {
			t.Errorf("%s: errors = %q", names, errs)
		}
	}
}

// Texts with a byte order mark become UTF-8 without one, also packed ones, and odd bytes at the end
// don't hang.
func TestByteOrderMarks(t *testing.T) {
	folder := t.TempDir()
	want := "NCCL WARN été 🚀\r\n" + strings.Repeat("x", 100_000)
	encode := func(order binary.AppendByteOrder) []byte {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + want)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	little := encode(binary.LittleEndian)
	names := []string{
		write(t, folder, "8", []byte("\xef\xbb\xbf"+want)), write(t, folder, "le", little),
		write(t, folder, "be", encode(binary.BigEndian)), write(t, folder, "gz", gzipped(t, little)),
	}
	got, errs := contents(folder, names, "")
	if len(errs) > 0 || len(got) != len(names) {
		t.Fatalf("%d inputs, errors %q", len(got), errs)
	}
	for i, g := range got {
		if g != filepath.Base(names[i])+"="+want {
			t.Errorf("%s = %.60q", filepath.Base(names[i]), g)
		}
	}
	odd := []string{
		write(t, folder, "odd", []byte("\xff\xfea\x00b")), write(t, folder, "half", []byte("\xff\xfea\x00\x3d\xd8")),
		write(t, folder, "alone", []byte("\xff\xfe\x3d\xd8a\x00")), write(t, folder, "mark", []byte("\xff\xfe")),
	}
	got, _ = contents(folder, odd, "")
	if want := []string{"odd=a\ufffd", "half=a\ufffd", "alone=\ufffda", "mark="}; !slices.Equal(got, want) {
		t.Errorf("odd texts = %q, want %q", got, want)
	}
}

// A stream that waits ends with the context, after what it gave; so does a file.
func TestUntil(t *testing.T) {
	r, w := io.Pipe()
	defer func() { _ = w.Close() }()
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = io.WriteString(w, "a line\n")
		_, _ = w.Write(nil) // returns with the next read: the line was taken
		cancel(ended)
	}()
	for in, err := range input.Until(ctx, []string{input.Stdin}, r) {
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(in.Reader); !errors.Is(err, ended) || string(data) != "a line\n" {
			t.Errorf("read %q, %v, want the line and %v", data, err, ended)
		}
	}
	name := write(t, t.TempDir(), "x", []byte("x"))
	failed := 0
	for _, err := range input.Until(ctx, []string{name}, nil) {
		failed++
		if !errors.Is(err, ended) {
			t.Errorf("file after the end: %v, want %v", err, ended)
		}
	}
	if failed != 1 {
		t.Errorf("%d inputs after the end, want 1", failed)
	}
}
