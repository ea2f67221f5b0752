package input

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

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
		w.halfZip(name, untilDone{w.ctx, f}, err, 0)
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
		w.stream(inside, untilDone{w.ctx, f}, depth+1)
		_ = f.Close() // only read
	}
}

// zipStream reads a zip archive whole, because its directory is at the end.
func (w *walker) zipStream(name string, r io.Reader, depth int) {
	data, err := io.ReadAll(io.LimitReader(r, MaxZip+1))
	switch {
	case len(data) > MaxZip:
		w.fail(fmt.Errorf("read input %s: %w", name, ErrTooLarge))
		return
	case err != nil:
		w.halfZip(name, bytes.NewReader(data), err, depth)
		return
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		w.halfZip(name, bytes.NewReader(data), err, depth)
		return
	}
	w.zip(name, archive, depth)
}

// A local header of a zip archive (APPNOTE.TXT 6.3.10, 4.3.7), and the length of what follows the
// data of an entry whose sizes were not known before (4.3.9), with its signature.
const (
	zipHeader     = 30
	zipDescriptor = 16
	zipSizesLater = 1 << 3 // in the flags
	zipEncrypted  = 1 << 0
	zipUnknown    = 0xffffffff // the size is in another field
)

// halfZip visits the entries of a zip archive without a directory, because its end is missing, as
// far as they go; cause is why there is none.
func (w *walker) halfZip(name string, r io.Reader, cause error, depth int) {
	br := bufio.NewReaderSize(r, pumpBlock)
	for !w.stopped {
		var head [zipHeader]byte
		if _, err := io.ReadFull(br, head[:]); err != nil || !isZip(head[:]) {
			break
		}
		le := binary.LittleEndian
		path := make([]byte, le.Uint16(head[26:]))
		if _, err := io.ReadFull(br, path); err != nil {
			break
		}
		if _, err := br.Discard(int(le.Uint16(head[28:]))); err != nil {
			break
		}
		entry := zipEntry(br, le.Uint16(head[6:]), le.Uint16(head[8:]), le.Uint32(head[18:]))
		if entry == nil {
			break
		}
		if !strings.HasSuffix(string(path), "/") {
			w.stream(name+":"+string(path), entry, depth+1)
		}
		if _, err := io.Copy(io.Discard, entry); err != nil {
			break
		}
		if le.Uint16(head[6:])&zipSizesLater != 0 {
			if _, err := br.Discard(zipDescriptor); err != nil {
				break
			}
		}
	}
	w.fail(fmt.Errorf("read input %s: %w", name, cause))
}

// zipEntry returns the content of an entry that begins here, nil if its end can't be found.
func zipEntry(br *bufio.Reader, flags, method uint16, size uint32) io.Reader {
	switch {
	case flags&zipEncrypted != 0:
		return nil
	case method == zip.Deflate:
		return flate.NewReader(br) // reads no more than it needs
	case method == zip.Store && flags&zipSizesLater == 0 && size != zipUnknown:
		return &exactly{in: br, left: int64(size)}
	}
	return nil
}

// exactly reads a number of bytes; fewer are an error.
type exactly struct {
	in   io.Reader
	left int64
}

// Read implements io.Reader.
func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.in.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
