package manifest

import (
	"bytes"
	"strings"
)

// Comment is a YAML comment that starts with a marker.
type Comment struct {
	At   Region // from # to the end of the line
	Text string // after the marker, without surrounding blanks
	// Target is the line that the comment refers to, from 1. It is the comment's own line or, if
	// that has nothing else, the next line that is neither empty nor a comment. It is 0 if there is
	// none in the document.
	Target int
}

// Comments returns the comments that start with a marker, as in "# marker text", in all files with
// objects. It doesn't distinguish comments from the text of block scalars.
func (s *Set) Comments(marker string) []Comment {
	var out []Comment
	var last *text
	for _, o := range s.Objects {
		if o.source != last && o.source != nil {
			last = o.source
			out = append(out, last.comments(marker)...)
		}
	}
	return out
}

func (t *text) comments(marker string) []Comment {
	var out []Comment
	for i, line := range t.lines {
		at, what := commentOf(line, marker)
		if at < 0 {
			continue
		}
		c := Comment{
			At: Region{Pos: t.pos(i, at), Length: max(1, len([]rune(string(line[at:]))))}, Text: what, Target: i + 1,
		}
		if len(bytes.TrimSpace(line[:at])) == 0 {
			c.Target = t.nextLine(i + 1)
		}
		out = append(out, c)
	}
	return out
}

// commentOf returns the offset and text of a comment with a marker in a line, -1 if there is none.
func commentOf(line []byte, marker string) (at int, what string) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '#')
		if i < 0 {
			return -1, ""
		}
		at = from + i
		rest, ok := strings.CutPrefix(strings.TrimLeft(string(line[at+1:]), " \t"), marker)
		if ok && (rest == "" || blank(rune(rest[0]))) && (at == 0 || blank(rune(line[at-1]))) {
			return at, strings.TrimSpace(rest)
		}
		from = at + 1
	}
}

// nextLine returns the number of the first line from index i that is neither empty nor a comment, 0
// if the document ends before.
func (t *text) nextLine(i int) int {
	for ; i < len(t.lines); i++ {
		trimmed := bytes.TrimSpace(t.lines[i])
		switch {
		case isDocumentStart(t.lines[i]):
			return 0
		case len(trimmed) > 0 && trimmed[0] != '#':
			return i + 1
		}
	}
	return 0
}
