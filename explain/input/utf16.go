package input

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Byte order marks, with which texts of Windows begin.
const (
	markUTF8     = "\xef\xbb\xbf"
	markUTF16LE  = "\xff\xfe"
	markUTF16BE  = "\xfe\xff"
	utf16Unit    = 2
	maxRuneBytes = utf8.UTFMax
)

// text returns a reader of UTF-8 for a text that begins with a byte order mark, and br for all
// others.
func text(br *bufio.Reader) *bufio.Reader {
	head, _ := br.Peek(len(markUTF8)) // a shorter text has no mark or a shorter one
	var order binary.ByteOrder
	switch s := string(head); {
	case s == markUTF8:
		_, _ = br.Discard(len(markUTF8)) // it was peeked
		return br
	case len(s) >= utf16Unit && s[:utf16Unit] == markUTF16LE:
		order = binary.LittleEndian
	case len(s) >= utf16Unit && s[:utf16Unit] == markUTF16BE:
		order = binary.BigEndian
	default:
		return br
	}
	_, _ = br.Discard(utf16Unit) // it was peeked
	return bufio.NewReaderSize(&fromUTF16{in: br, order: order}, pumpBlock)
}

// fromUTF16 turns UTF-16 into UTF-8.
type fromUTF16 struct {
	in    *bufio.Reader
	order binary.ByteOrder
}

// Read implements io.Reader. Half a character at the end becomes U+FFFD.
func (r *fromUTF16) Read(p []byte) (int, error) {
	n := 0
	for n+maxRuneBytes <= len(p) {
		if n > 0 && r.in.Buffered() < 2*utf16Unit {
			break // what there is goes first: the next read may block
		}
		c, err := r.char()
		if err != nil {
			if n > 0 {
				return n, nil // it comes again
			}
			return 0, err
		}
		n += utf8.EncodeRune(p[n:], c)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.ErrShortBuffer
	}
	return n, nil
}

// char reads a character, of one unit or two.
func (r *fromUTF16) char() (rune, error) {
	unit, err := r.in.Peek(utf16Unit)
	switch {
	case len(unit) == 1 && errors.Is(err, io.EOF):
		_, _ = r.in.Discard(1) // it was peeked
		return utf8.RuneError, nil
	case err != nil:
		return 0, err
	}
	c := rune(r.order.Uint16(unit))
	_, _ = r.in.Discard(utf16Unit) // it was peeked
	if !utf16.IsSurrogate(c) {
		return c, nil
	}
	second, err := r.in.Peek(utf16Unit)
	if err != nil {
		return utf8.RuneError, nil //nolint:nilerr // the next character has the error
	}
	pair := utf16.DecodeRune(c, rune(r.order.Uint16(second)))
	if pair != utf8.RuneError {
		_, _ = r.in.Discard(utf16Unit) // it was peeked
	}
	return pair, nil
}
