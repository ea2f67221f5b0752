package manifest

import (
	"bytes"
	"strings"
)

// Comment is a comment of YAML that begins with a marker.
type Comment struct {
	At   Region // from # to the end of the line
	Text string // behind the marker, without blanks around it
	// Target is the line that it is about, from 1: its own, or where it stands alone the next one
	// that is neither empty nor a comment. 0: there is none in its document.
	Target int
}

// Comments returns the comments of all files with objects that begin with a marker, as in "# marker
// text". Texts of blocks are not told from comments.
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

// commentOf finds a comment with a marker in a line, -1 where there is none.
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

// nextLine returns the number of the next line with more than a comment, from the line with index i
// on; 0 where the document ends before.
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
