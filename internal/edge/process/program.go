package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// SystemPath is where execvp of the C library looks when PATH is not set.
const SystemPath = "/bin:/usr/bin"

// scriptShell runs files that are executable and have no #! line, as execvp does it.
const scriptShell = "/bin/sh"

// The codes of a StartError, as shells, env and nohup have them.
const (
	CodeCannotStart = 126 // found, and can't be started
	CodeNotFound    = 127 // not found
)

// StartError tells why a program was not started.
type StartError struct {
	Code  int // CodeCannotStart or CodeNotFound
	Err   error
	hints []string
}

// Error implements error.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Hints tells what to look at.
func (e *StartError) Hints() []string { return e.hints }

func cannotStart(format string, args ...any) error {
	return &StartError{Code: CodeCannotStart, Err: fmt.Errorf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &StartError{Code: CodeNotFound, Err: fmt.Errorf(format, args...)}
}

// Program is what is to be started.
type Program struct {
	Args    []string // the name first, as it was given
	Files   []string // that may be it, in the order to try them: see [Find]
	Environ []string // NAME=value
}

// Find returns the files that a name may stand for: itself if it has a slash, or else one in each
// folder of path, which are separated by colons. An empty folder is the current one.
func Find(name, path string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		out = append(out, strings.TrimSuffix(dir, "/")+"/"+name)
	}
	return out
}

// Start tries the files as execvp does: what isn't there is passed over, and so is what may not be
// run, which is remembered. try is [Exec], or looks only, as [CanStart] does; where it returns nil,
// so does Start. The error is a *[StartError].
func (p Program) Start(try func(file string, args, environ []string) error) error {
	var denied error
	for _, file := range p.Files {
		err := try(file, p.Args, p.Environ)
		if errors.Is(err, syscall.ENOEXEC) {
			err = try(scriptShell, append([]string{scriptShell, file}, p.Args[1:]...), p.Environ)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EACCES):
			denied = fmt.Errorf("%s: %w", file, err)
		case !isAbsent(err):
			return cannotStart("start %s: %w", file, err)
		case isFile(file):
			return &StartError{Code: CodeNotFound, Err: fmt.Errorf("start %s: %w", file, err), hints: []string{
				"the file is there: what its #! line names is missing, or the loader of the C library it was built for",
			}}
		}
	}
	switch {
	case denied != nil:
		return cannotStart("start %w", denied)
	case strings.Contains(p.Args[0], "/"):
		return notFound("start %s: no such file", p.Args[0])
	}
	return notFound("start %s: not found in PATH", p.Args[0])
}

// isAbsent reports whether a file isn't there, or its folder can't be reached.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ESTALE) ||
		errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ETIMEDOUT)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
