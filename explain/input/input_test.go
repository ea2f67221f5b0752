package input_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rdmakit/rdmakit/explain/input"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Typeflag: tar.TypeReg, Size: int64(len(files[i+1])), Mode: 0o600}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, files[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, files[i+1])
	}
	_ = w.Close()
	return b.Bytes()
}

func write(t *testing.T, folder, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents returns "NAME=CONTENT" of all inputs, with the folder removed, and the errors.
func contents(folder string, names []string, stdin string) (got, errs []string) {
	for in, err := range input.All(names, strings.NewReader(stdin)) {
		if err != nil {
			errs = append(errs, strings.ReplaceAll(err.Error(), folder+"/", ""))
			continue
		}
		data, err := io.ReadAll(in.Reader)
		if err != nil {
			errs = append(errs, err.Error())
		}
		got = append(got, strings.TrimPrefix(in.Name, folder+"/")+"="+string(data))
	}
	return got, errs
}

func TestAll(t *testing.T) {
	folder := t.TempDir()
	var z bytes.Buffer
	zw, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = zw.Write([]byte("zstd"))
	_ = zw.Close()
	one := string(gzipped(t, []byte("one")))
	names := []string{
		write(t, folder, "plain.log", []byte("plain")),
		write(t, folder, "a.log.gz", gzipped(t, []byte("gzip"))),
		write(t, folder, "a.zst", z.Bytes()),
		write(t, folder, "a.tgz", gzipped(t, tarred(t, "r0.log", "zero", "r1.log.gz", one))),
		write(t, folder, "a.zip", zipped(t, "x.log", "x", "y.tar", string(tarred(t, "y.log", "y")))),
		"-",
	}
	write(t, folder, "logs/b", []byte("b"))
	write(t, folder, "logs/a/c", []byte("c"))
	got, errs := contents(folder, append(names, filepath.Join(folder, "logs")), "standard")
	want := []string{
		"plain.log=plain", "a.log.gz=gzip", "a.zst=zstd", "a.tgz:r0.log=zero", "a.tgz:r1.log.gz=one", "a.zip:x.log=x",
		"a.zip:y.tar:y.log=y", "standard input=standard", "logs/a/c=c", "logs/b=b",
	}
	if !slices.Equal(got, want) || len(errs) > 0 {
		t.Errorf("inputs = %q, %q\nwant %q", got, errs, want)
	}
}

func TestErrorsNameTheInput(t *testing.T) {
	folder := t.TempDir()
	half := gzipped(t, tarred(t, "r0.log", strings.Repeat("a line of text\n", 9000), "r1.log", "one"))
	deep := []byte("deep")
	for range 8 {
		deep = gzipped(t, deep)
	}
	names := []string{
		filepath.Join(folder, "missing"),
		write(t, folder, "half.tgz", half[:len(half)/2]),
		write(t, folder, "deep.gz", deep),
		write(t, folder, "damaged.zip", []byte("PK\x03\x04damaged")),
		write(t, folder, "plain.log", []byte("plain")),
	}
	got, errs := contents(folder, names, "")
	if len(got) < 2 || got[len(got)-1] != "plain.log=plain" || !strings.HasPrefix(got[0], "half.tgz:r0.log=") {
		t.Errorf("inputs = %.80q", got)
	}
	for _, want := range []string{
		"missing: no such file", "unexpected EOF", "deep.gz: archives in archives",
		"damaged.zip: zip: not a valid zip file",
	} {
		if !slices.ContainsFunc(errs, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no error with %q in %q", want, errs)
		}
	}
}

func TestStop(t *testing.T) {
	n := 0
	for _, err := range input.All([]string{"-", "-", "-"}, strings.NewReader("x")) {
		if err != nil {
			t.Error(err)
		}
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d inputs after break", n)
	}
}

// A bundle is an archive whose first entry is a manifest with the schema of bundles; all others are
// unpacked.
func TestBundles(t *testing.T) {
	manifest := "{\n  \"schema\": \"rdmakit.bundle/v1\"\n}\n"
	for _, c := range []struct {
		files []string
		want  bool
	}{
		{[]string{"manifest.json", manifest, "a.log", "a"}, true},
		{[]string{"other.json", manifest, "a.log", "a"}, false},
		{[]string{"manifest.json", "{}", "a.log", "a"}, false},
		{[]string{"a.log", "a", "manifest.json", manifest}, false},
	} {
		plain := tarred(t, c.files...)
		for form, data := range map[string][]byte{"tar": plain, "tar.gz": gzipped(t, plain)} {
			name := filepath.Join(t.TempDir(), "a")
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			inputs, bundles := 0, 0
			for in, err := range input.All([]string{name}, nil) {
				if err != nil {
					t.Fatal(err)
				}
				inputs++
				if in.Bundle {
					bundles++
					if got, err := io.ReadAll(in.Reader); err != nil || !bytes.Equal(got, data) {
						t.Errorf("%s %q: %d bytes, %v, want the archive", form, c.files, len(got), err)
					}
				}
			}
			if bundles == 1 != c.want || !c.want && inputs != 2 {
				t.Errorf("%s %q: %d inputs, %d bundles", form, c.files, inputs, bundles)
			}
		}
	}
}
