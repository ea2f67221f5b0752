package input

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// Stdin is the name that stands for standard input.
const Stdin = "-"

// MaxZip is the largest zip archive that is read from a stream; from a file there is no limit.
const MaxZip = 256 << 20

// maxDepth bounds archives in archives.
const maxDepth = 4

// Causes of errors.
var (
	// ErrTooDeep is for an archive in more than four others.
	ErrTooDeep = errors.New("archives in archives, more than 4 deep")
	// ErrTooLarge is for a zip archive that isn't a file and has more than [MaxZip] bytes.
	ErrTooLarge = errors.New("a zip archive in a stream, larger than 256 MiB")
)

// Input is a stream with content that is not packed.
type Input struct {
	// Name is the path, and for entries of archives the archive's name, a colon, and the entry's.
	Name string
	// Reader is valid until the next input is asked for. Peek doesn't consume.
	Reader *bufio.Reader
	// Bundle reports that the input is a bundle of rdmactl snapshot, an archive that is one input:
	// the reader has the archive, compressed or not.
	Bundle bool
}

// All opens the named files in this order, and those below folders in lexical order. An error
// belongs to one input and names it; the sequence goes on with the next one.
func All(names []string, stdin io.Reader) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		w := walker{yield: yield}
		for _, name := range names {
			if name == Stdin {
				w.stream("standard input", stdin, 0)
			} else {
				w.path(name)
			}
			if w.stopped {
				return
			}
		}
	}
}

// walker visits inputs until the consumer stops.
type walker struct {
	yield   func(Input, error) bool
	stopped bool
}

// give passes an input to the consumer.
func (w *walker) give(in Input, err error) {
	if !w.stopped && !w.yield(in, err) {
		w.stopped = true
	}
}

func (w *walker) fail(err error) { w.give(Input{}, err) }

// path visits a file, or all files below a folder.
func (w *walker) path(name string) {
	info, err := os.Stat(name)
	if err != nil {
		w.fail(fmt.Errorf("read input: %w", err))
		return
	}
	if !info.IsDir() {
		w.file(name)
		return
	}
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case w.stopped:
			return fs.SkipAll
		case err != nil:
			w.fail(fmt.Errorf("read input: %w", err))
		case d.Type().IsRegular(), linksToFile(path, d):
			w.file(path)
		}
		return nil
	})
	if err != nil {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
	}
}

// linksToFile reports whether an entry is a symbolic link to a file, as in /var/log/containers.
func linksToFile(path string, d fs.DirEntry) bool {
	if d.Type() != fs.ModeSymlink {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (w *walker) file(name string) {
	f, err := os.Open(name)
	if err != nil {
		w.fail(fmt.Errorf("read input: %w", err))
		return
	}
	defer func() { _ = f.Close() }() // only read
	if zipped(f) {
		w.zipFile(name, f)
		return
	}
	w.stream(name, f, 0)
}

// zipped reports whether a file is a zip archive; it leaves the position at the beginning.
func zipped(f *os.File) bool {
	var head [4]byte
	n, _ := f.ReadAt(head[:], 0) // a pipe can't be read at a position, and is no zip then
	return isZip(head[:n])
}

func (w *walker) zipFile(name string, f *os.File) {
	info, err := f.Stat()
	if err != nil {
		w.fail(fmt.Errorf("read input: %w", err))
		return
	}
	r, err := zip.NewReader(f, info.Size())
	if err != nil {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	}
	w.zip(name, r, 0)
}

func (w *walker) zip(name string, r *zip.Reader, depth int) {
	for _, entry := range r.File {
		if w.stopped || entry.FileInfo().IsDir() {
			continue
		}
		inside := name + ":" + entry.Name
		f, err := entry.Open()
		if err != nil {
			w.fail(fmt.Errorf("read input %s: %w", inside, err))
			continue
		}
		w.stream(inside, f, depth+1)
		_ = f.Close() // only read
	}
}

// The first bytes of packed forms.
var (
	magicGzip  = []byte("\x1f\x8b")
	magicZstd  = []byte("\x28\xb5\x2f\xfd")
	magicBzip2 = []byte("BZh")
	magicTar   = []byte("ustar") // at 257
)

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// stream visits a stream, unpacking it if it is packed.
func (w *walker) stream(name string, r io.Reader, depth int) {
	if depth > maxDepth {
		w.fail(fmt.Errorf("read input %s: %w", name, ErrTooDeep))
		return
	}
	br, ok := r.(*bufio.Reader)
	if !ok {
		br = bufio.NewReaderSize(r, 64<<10)
	}
	head, err := br.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	}
	switch {
	case isBundle(br):
		w.give(Input{Name: name, Reader: br, Bundle: true}, nil)
	case bytes.HasPrefix(head, magicGzip):
		in, err := gzip.NewReader(br)
		w.packed(name, in, err, depth)
	case bytes.HasPrefix(head, magicZstd):
		in, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err == nil {
			defer in.Close()
		}
		w.packed(name, in, err, depth)
	case bytes.HasPrefix(head, magicBzip2) && len(head) > 10 && string(head[4:10]) == "1AY&SY":
		w.packed(name, bzip2.NewReader(br), nil, depth)
	case len(head) >= 262 && bytes.Equal(head[257:262], magicTar):
		w.tar(name, br, depth)
	case isZip(head):
		w.zipStream(name, br, depth)
	default:
		w.give(Input{Name: name, Reader: br}, nil)
	}
}

func (w *walker) packed(name string, r io.Reader, err error, depth int) {
	if err != nil {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	}
	w.stream(name, r, depth+1)
}

// tar visits the entries of an archive; those before damage count.
func (w *walker) tar(name string, r io.Reader, depth int) {
	archive := tar.NewReader(r)
	for !w.stopped {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.fail(fmt.Errorf("read input %s: %w", name, err))
			return
		}
		if header.Typeflag == tar.TypeReg {
			w.stream(name+":"+header.Name, archive, depth+1)
		}
	}
}

// zipStream reads a zip archive whole, because its directory is at the end.
func (w *walker) zipStream(name string, r io.Reader, depth int) {
	data, err := io.ReadAll(io.LimitReader(r, MaxZip+1))
	switch {
	case err != nil:
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	case len(data) > MaxZip:
		w.fail(fmt.Errorf("read input %s: %w", name, ErrTooLarge))
		return
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	}
	w.zip(name, archive, depth)
}
