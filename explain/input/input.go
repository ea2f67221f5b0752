package input

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
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
	// ErrPacked is for packed forms that are not read, such as lz4.
	ErrPacked = errors.New("packed in a form that is not supported")
	// ErrEmpty is for a folder without files.
	ErrEmpty = errors.New("no files in this folder")
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
// belongs to one input and names it; the sequence goes on with the next one. A file that was opened
// under another name before is left out.
func All(names []string, stdin io.Reader) iter.Seq2[Input, error] {
	return Until(context.Background(), names, stdin)
}

// Until is [All] until the context ends: then reads fail with its cause, also one that waits for a
// pipe or a terminal.
func Until(ctx context.Context, names []string, stdin io.Reader) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends pumps
		w := walker{ctx: ctx, yield: yield, opened: map[string]bool{}}
		for _, name := range names {
			if name == Stdin {
				w.stream("standard input", &pump{ctx: ctx, in: stdin}, 0)
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
	ctx     context.Context //nolint:containedctx // of one pass over the inputs
	yield   func(Input, error) bool
	opened  map[string]bool // files, without links in their paths
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
	files := 0
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case w.stopped:
			return fs.SkipAll
		case err != nil:
			files++
			w.fail(fmt.Errorf("read input: %w", err))
		case d.Type().IsRegular(), linksToFile(path, d):
			files++
			w.file(path)
		}
		return nil
	})
	if err == nil && files == 0 {
		err = ErrEmpty
	}
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
	if w.again(name) {
		return
	}
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
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		w.stream(name, &pump{ctx: w.ctx, in: f}, 0)
		return
	}
	w.stream(name, untilDone{w.ctx, f}, 0)
}

// again reports whether a regular file was opened before, perhaps under another name.
func (w *walker) again(name string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	before := w.opened[path]
	w.opened[path] = true
	return before
}

// The first bytes of packed forms.
var (
	magicGzip  = []byte("\x1f\x8b")
	magicZstd  = []byte("\x28\xb5\x2f\xfd")
	magicBzip2 = []byte("BZh")
	magicXz    = []byte("\xfd7zXZ\x00")
	magicTar   = []byte("ustar") // at 257
)

// foreign are the first bytes of packed forms that are not read, and what unpacks them.
var foreign = []struct{ magic, command string }{
	{"\x04\x22\x4d\x18", "lz4 -d"},
	{"7z\xbc\xaf\x27\x1c", "7z x"},
	{"Rar!\x1a\x07", "unrar x"},
}

// packedOtherwise returns an error for a packed form that is not read.
func packedOtherwise(head []byte) error {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return fmt.Errorf("%w: unpack it with %s", ErrPacked, f.command)
		}
	}
	return nil
}

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
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		w.fail(fmt.Errorf("read input %s: %w", name, err))
		return
	}
	if err := packedOtherwise(head); err != nil {
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
	case bytes.HasPrefix(head, magicXz):
		in, err := xz.NewReader(br, xz.DefaultDictMax) // that of xz -9
		w.packed(name, in, err, depth)
	case bytes.HasPrefix(head, magicBzip2) && len(head) > 10 && string(head[4:10]) == "1AY&SY":
		w.packed(name, bzip2.NewReader(br), nil, depth)
	case len(head) >= 262 && bytes.Equal(head[257:262], magicTar):
		w.tar(name, br, depth)
	case isZip(head):
		w.zipStream(name, br, depth)
	default:
		w.give(Input{Name: name, Reader: text(br)}, nil)
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
