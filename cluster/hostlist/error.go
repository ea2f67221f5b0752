package hostlist

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Errors that [Error] wraps.
var (
	ErrEmpty     = errors.New("no host in the list")              // nothing but blanks, comments and exclusions
	ErrTooMany   = fmt.Errorf("more than %d hosts", MaxHosts)     // more names than a list may have
	ErrDuplicate = errors.New("hosts that are twice in the list") // also if only user@ or the case differ
)

// Error reports a list that can't be read: where, and why.
type Error struct {
	Op     string // parse host list, or read and the name of the file
	Line   int    // of a file, from 1; 0 for a list, and if the error is in no single place
	Column int    // in characters, from 1; 0 if the error is in no single place
	Text   string // the element of the list, "" if the error is in no single place
	Err    error
}

// Error returns operation, position, text and cause:
//
//	parse host list: column 1: gpu[001-o64]: "o64" is not a number (letter o for digit 0?)
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Column > 0 {
		b.WriteString(": " + position{e.Line, e.Column}.String())
	}
	if e.Text != "" {
		b.WriteString(": " + clip(e.Text))
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// position is a place in a list; line is 0 if it is not of a file.
type position struct{ line, column int }

func (p position) String() string {
	if p.line == 0 {
		return fmt.Sprintf("column %d", p.column)
	}
	return fmt.Sprintf("line %d, column %d", p.line, p.column)
}

// clip returns a text as part of a message: at most 60 characters of it, quoted if it has others
// than visible ones of ASCII.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		runes := []rune(s[:min(len(s), most*utf8.UTFMax)])
		s = string(runes[:min(len(runes), most)]) + "..."
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Sprintf("%q", s)
	}
	return s
}
