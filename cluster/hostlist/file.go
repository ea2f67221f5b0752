package hostlist

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// maxFile bounds a file, in bytes: MaxHosts of the longest names, and as much of comments.
const maxFile = MaxHosts * (maxName + 2) * 2

// ParseFile reads hosts from a file whose name is for messages: each line has a list, empty or of
// one name or more, and # begins a comment. Lines may end with CR LF. A hyphen excludes nothing in
// a file: a name that begins with one is an error. Errors about the contents are of type [*Error].
func ParseFile(r io.Reader, name string) ([]string, error) {
	op := "read " + name
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes", op, maxFile)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	p := parser{op: op, file: true}
	for line := range strings.SplitSeq(string(text), "\n") {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "#")
		p.lines = append(p.lines, line)
		if err := p.list(len(p.lines) - 1); err != nil {
			return nil, err
		}
	}
	return p.finish()
}
