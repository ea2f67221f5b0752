// Package frame implements the line format that the guest harness and its daemon in the guest use
// on a virtio serial port: one frame per line, the payload in base64.
//
// The format uses lines rather than length prefixes because a port has no connections: if a client
// dies in the middle of a frame, the next client writes a newline and both sides are synchronized
// again. Each client chooses a new session, which distinguishes its frames from those of earlier
// clients.
//
// A [Reader] or [Writer] must be used by only one goroutine at a time.
package frame

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// MaxPayload is the largest payload of one frame, in bytes. Longer data is
// sent in several frames.
const MaxPayload = 96 * 1024

// maxName is the largest length of session and kind.
const maxName = 32

// maxLine is the longest line: two names, two spaces, base64, newline.
const maxLine = 2*maxName + 2 + (MaxPayload+2)/3*4 + 1

// ErrMalformed is wrapped by every error of [Decode].
var ErrMalformed = errors.New("malformed frame")

// Frame is one message. Session and Kind are 1 to 32 bytes out of
// [a-z0-9-]; Payload is at most [MaxPayload] bytes and may be empty.
type Frame struct {
	Session string
	Kind    string
	Payload []byte
}

// Append appends the line of f, newline included, to b.
func Append(b []byte, f Frame) ([]byte, error) {
	if !validName([]byte(f.Session)) || !validName([]byte(f.Kind)) {
		return b, fmt.Errorf("encode frame: session %q kind %q: %w", f.Session, f.Kind, ErrMalformed)
	}
	if len(f.Payload) > MaxPayload {
		return b, fmt.Errorf("encode frame: payload of %d bytes, at most %d: %w",
			len(f.Payload), MaxPayload, ErrMalformed)
	}
	b = append(b, f.Session...)
	b = append(b, ' ')
	b = append(b, f.Kind...)
	b = append(b, ' ')
	b = base64.StdEncoding.AppendEncode(b, f.Payload)
	return append(b, '\n'), nil
}

// Decode parses one line without its newline. The payload is decoded in
// place: it aliases line.
func Decode(line []byte) (Frame, error) {
	session, rest, found := bytes.Cut(line, []byte(" "))
	kind, data, found2 := bytes.Cut(rest, []byte(" "))
	if !found || !found2 || !validName(session) || !validName(kind) {
		return Frame{}, fmt.Errorf("decode frame: no session and kind: %w", ErrMalformed)
	}
	if bytes.ContainsAny(data, "\r\n") {
		// The base64 decoder would skip these.
		return Frame{}, fmt.Errorf("decode frame: line break in the payload: %w", ErrMalformed)
	}
	f := Frame{Session: string(session), Kind: string(kind)}
	n, err := base64.StdEncoding.Strict().Decode(data, data)
	if err != nil {
		return Frame{}, fmt.Errorf("decode frame: %w: %w", ErrMalformed, err)
	}
	if n > MaxPayload {
		return Frame{}, fmt.Errorf("decode frame: payload of %d bytes, at most %d: %w", n, MaxPayload, ErrMalformed)
	}
	f.Payload = data[:n]
	return f, nil
}

func validName(b []byte) bool {
	if len(b) == 0 || len(b) > maxName {
		return false
	}
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Reader reads frames from a stream.
type Reader struct {
	r *bufio.Reader
}

// NewReader returns a [Reader] over r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, maxLine)}
}

// Next returns the next well-formed frame and skips everything else, because a client that died may
// leave an incomplete line. The payload is valid until the next call. The error is the stream's; a
// last line without a newline is incomplete.
func (r *Reader) Next() (Frame, error) {
	for {
		line, err := r.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if err := r.skipLine(); err != nil {
				return Frame{}, err
			}
			continue
		}
		if err != nil {
			return Frame{}, err
		}
		if f, err := Decode(line[:len(line)-1]); err == nil {
			return f, nil
		}
	}
}

func (r *Reader) skipLine() error {
	for {
		_, err := r.r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// Writer writes frames to a stream, one Write call per frame.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a [Writer] over w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame.
func (w *Writer) Write(f Frame) error {
	var err error
	if w.buf, err = Append(w.buf[:0], f); err != nil {
		return err
	}
	_, err = w.w.Write(w.buf)
	return err
}

// Sync ends an incomplete line that an earlier client may have left.
func (w *Writer) Sync() error {
	_, err := w.w.Write([]byte{'\n'})
	return err
}
