package munge

import (
	"errors"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/process"
)

// The causes that callers may distinguish. They are values of munge_err_t in munge.h, which are
// also the exit codes of the programs.
var (
	ErrNoDaemon      = errors.New("no MUNGE daemon answers")
	ErrBadCredential = errors.New("not a valid credential of this MUNGE key") // also one of another key
	ErrForeignRealm  = errors.New("a credential of another security realm")
	ErrExpired       = errors.New("the credential has expired: it is too old, or the clocks of the nodes differ")
	ErrRewound       = errors.New("the credential comes from the future: the clocks of the nodes differ")
	ErrReplayed      = errors.New("the credential has been used before")
	ErrUnauthorized  = errors.New("the credential is for another user")
)

// Error is what a program of MUNGE reported. It matches the cause, if that is one of this package.
type Error struct {
	Program string
	Code    int    // munge_err_t
	Text    string // the program's message, "" if there was none
	cause   error
}

// Error returns the cause and the program's message.
func (e *Error) Error() string {
	s := e.cause.Error()
	if e.Text != "" {
		s += " (" + e.Program + ": " + e.Text + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// The codes of munge.h that have a cause here.
const (
	codeSocket       = 6
	codeTimeout      = 7
	codeBadCred      = 8
	codeBadZip       = 12 // 9 to 12: version, cipher, MAC, compression
	codeBadRealm     = 13
	codeInvalid      = 14
	codeExpired      = 15
	codeRewound      = 16
	codeReplayed     = 17
	codeUnauthorized = 18
)

// refusal returns the error of a program that has failed.
func refusal(program string, exit *process.ExitError) error {
	e := &Error{Program: program, Code: exit.Code, cause: exit}
	_, text, ok := strings.Cut(exit.Stderr, "Error: ")
	if ok {
		e.Text = text
	}
	switch c := exit.Code; {
	case c == codeSocket, c == codeTimeout:
		e.cause = ErrNoDaemon
	case c >= codeBadCred && c <= codeBadZip, c == codeInvalid:
		e.cause = ErrBadCredential
	case c == codeBadRealm:
		e.cause = ErrForeignRealm
	case c == codeExpired:
		e.cause = ErrExpired
	case c == codeRewound:
		e.cause = ErrRewound
	case c == codeReplayed:
		e.cause = ErrReplayed
	case c == codeUnauthorized:
		e.cause = ErrUnauthorized
	default:
		e.Text = "" // the cause has it
	}
	return e
}
