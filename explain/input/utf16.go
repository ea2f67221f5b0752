package input

import (
	"bufio"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Byte order marks, with which texts of Windows begin.
const (
	markUTF8    = "\xef\xbb\xbf"
	markUTF16LE = "\xff\xfe"
	markUTF16BE = "\xfe\xff"
)

// text returns a reader of UTF-8 for a text that begins with a byte order mark, and br for all
// others. Half a character of UTF-16 becomes U+FFFD.
func text(br *bufio.Reader) *bufio.Reader {
	head, _ := br.Peek(len(markUTF8)) // a shorter text has no mark or a shorter one
	switch s := string(head); {
	case s == markUTF8:
		_, _ = br.Discard(len(markUTF8)) // it was peeked
	case strings.HasPrefix(s, markUTF16LE), strings.HasPrefix(s, markUTF16BE):
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		return bufio.NewReaderSize(transform.NewReader(br, utf16), pumpBlock)
	}
	return br
}
