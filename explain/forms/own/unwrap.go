package own

import (
	"bytes"
	"strings"
)

// maxWrapped is the number of lines of one failure that are joined.
const maxWrapped = 32

// Unwrapper joins the lines of a failure of connect or ping, whose text wraps below its beginning:
//
//	first send: send 64 B from node1 to node2: no
//	            acknowledgement from the peer
//
// The zero value is ready.
type Unwrapper struct {
	line, start, indent, lines int // start is 0 outside of a failure
	text                       strings.Builder
	done                       string
	doneLine                   int
}

// Line takes the next raw line, and reports whether it is a part of a failure.
func (u *Unwrapper) Line(raw []byte) bool {
	u.line++
	raw = bytes.TrimRight(raw, " \r\n")
	if u.start > 0 {
		blank := len(raw) > u.indent && len(bytes.TrimLeft(raw[:u.indent+1], " ")) == 1
		if blank && u.lines < maxWrapped {
			u.text.WriteByte(' ')
			u.text.Write(raw[u.indent:])
			u.lines++
			return true
		}
		u.End()
	}
	stage, _, ok := bytes.Cut(raw[:min(len(raw), len("first send: "))], []byte(": "))
	if !ok || !stages.Match(raw[:len(stage)+2]) {
		return false
	}
	u.start, u.indent, u.lines = u.line, len(stage)+2, 1
	u.text.Write(raw)
	return true
}

// End ends the failure that is being joined, at the end of the input.
func (u *Unwrapper) End() {
	if u.start > 0 {
		u.done, u.doneLine = u.text.String(), u.start
	}
	u.start = 0
	u.text.Reset()
}

// Done returns a failure that has ended, and its first line; "" if there is none. Each is returned
// once.
func (u *Unwrapper) Done() (text string, line int) {
	text, line = u.done, u.doneLine
	u.done = ""
	return text, line
}
