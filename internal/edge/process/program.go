package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// SystemPath is the search path of execvp in the C library if PATH is not set.
const SystemPath = "/bin:/usr/bin"

// scriptShell runs executable files without a #! line, as in execvp.
const scriptShell = "/bin/sh"

// The codes of a StartError, the same as in shells, env and nohup.
const (
	CodeCannotStart = 126 // found, but can't be started
	CodeNotFound    = 127 // not found
)

// StartError is the error of a program that could not be started.
type StartError struct {
	Code  int // CodeCannotStart or CodeNotFound
	Err   error
	hints []string
}

// Error implements error.
func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Hints returns what the user can check.
func (e *StartError) Hints() []string { return e.hints }

func cannotStart(format string, args ...any) error {
	return &StartError{Code: CodeCannotStart, Err: fmt.Errorf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &StartError{Code: CodeNotFound, Err: fmt.Errorf(format, args...)}
}

// Program is a program to start.
type Program struct {
	Args    []string // the name first, as the user gave it
	Files   []string // files to try, in this order: see [Find]
	Environ []string // NAME=value
}

// Find returns the files to try for a name: the name itself if it contains a slash, otherwise one
// in each folder of path, a list separated by colons. An empty folder is the current one.
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

// Start tries the files like execvp: it skips files that don't exist, and files that the process is
// not permitted to execute, which it reports if no other file can be started. try is [Exec], or a
// function such as [CanStart] that only checks; if it returns nil, so does Start. The error is a
// *[StartError].
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
				"the file exists, but the program in its #! line, or the loader of its C library, doesn't",
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

// isAbsent reports whether a file doesn't exist or its folder can't be accessed.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ESTALE) ||
		errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ETIMEDOUT)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
