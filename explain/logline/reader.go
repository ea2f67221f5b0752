package logline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// MaxLine is how many bytes of a line are kept.
const MaxLine = 64 << 10

// Reader reads lines. Create it with [NewReader].
type Reader struct {
	// Wanted, if set, reports whether a line matters: the text of all others is left empty, which
	// is faster.
	Wanted func(raw []byte) bool

	in    *bufio.Reader
	line  evidence.Line
	shown []byte // of the line
	buf   []byte // the beginning of a line that is longer than the buffer of in
	err   error
	bytes int64
	cut   int
}

// NewReader returns a reader of lines. name is the file's name in places.
func NewReader(in io.Reader, name string) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, 256<<10)}
	r.line.Place.File = name
	return r
}

// Next reads the next line and reports whether there was one. Lines end with "\n", "\r\n" or, as in
// progress bars, "\r".
func (r *Reader) Next() bool {
	raw, ok := r.raw()
	if !ok {
		return false
	}
	r.line.Place.Line++
	file := r.line.Place.File
	r.line.Process = evidence.Process{File: file, Rank: evidence.NoRank}
	raw = bytes.TrimRight(raw, "\r\n")
	if i := bytes.LastIndexByte(raw, '\r'); i >= 0 {
		raw = raw[i+1:] // what a terminal shows of a line that was overwritten
	}
	r.shown = raw
	if r.Wanted != nil && !r.Wanted(raw) {
		r.line.Text, r.line.Time = "", time.Time{}
		return true
	}
	Peel(raw, &r.line)
	return true
}

// raw returns the beginning of the next line; it is valid until the next call.
func (r *Reader) raw() ([]byte, bool) {
	if r.err != nil {
		return nil, false
	}
	part, err := r.in.ReadSlice('\n')
	r.bytes += int64(len(part))
	line, length := part, len(part)
	if errors.Is(err, bufio.ErrBufferFull) {
		r.buf = append(r.buf[:0], part[:MaxLine]...)
		line = r.buf
		for errors.Is(err, bufio.ErrBufferFull) {
			part, err = r.in.ReadSlice('\n')
			r.bytes += int64(len(part))
			length += len(part)
		}
	}
	r.err = err
	if length > MaxLine+len("\r\n") {
		r.cut++
		line = line[:MaxLine]
	}
	return line, length > 0
}

// Line returns the line that Next has read. It is valid until the next call of Next.
func (r *Reader) Line() *evidence.Line { return &r.line }

// Raw returns the line that Next has read as it is in the file, also one that isn't wanted: [Peel]
// reads it later. It is valid until the next call of Next.
func (r *Reader) Raw() []byte { return r.shown }

// Err returns the error that ended the lines, nil at the end of the file.
func (r *Reader) Err() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// Bytes returns how many bytes were read.
func (r *Reader) Bytes() int64 { return r.bytes }

// Cut returns how many lines were longer than [MaxLine].
func (r *Reader) Cut() int { return r.cut }
