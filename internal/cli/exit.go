package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/edge/process"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// The exit codes of rdmactl. Errors that carry none end a run with ExitFault.
const (
	ExitOK          = 0  // all is well
	ExitFault       = 1  // a check failed, a fault was found, or the run failed for a reason without a code
	ExitUsage       = 2  // wrong command, flag, argument or configuration
	ExitNotFound    = 3  // nothing found, or not applicable here
	ExitPermission  = 4  // the system denied it
	ExitUnreachable = 5  // a peer can't be reached
	ExitTimeout     = 6  // a time limit expired
	ExitPartial     = 7  // partial result: the output is correct but incomplete
	ExitPending     = 10 // changes are pending

	exitBrokenPipe = 141 // what a shell reports for a program that SIGPIPE ended
	exitSignal     = 128 // plus the number of the signal
)

// ExitCodes describes the codes for help and reference, indented so that Markdown keeps the
// lines apart.
func ExitCodes() string {
	return `    0   success, and no fault found
    1   a check failed, a fault was found, or any other error
    2   wrong use: command, flag, argument or configuration
    3   nothing found (device, node, object), or RDMA can't be used here
    4   permission denied
    5   a peer can't be reached
    6   the time limit expired (--timeout)
    7   partial result: the output is correct but incomplete
    10  a difference or a disruption of nodes was found (k8s plan --diff, k8s impact)
    130 interrupted by Ctrl-C; 143 by SIGTERM`
}

// ExitError is an error with an exit code. If Err is nil, the run ends with the code and prints no
// message, because the command has already printed its result.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return "exit code " + strconv.Itoa(e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause, nil if there is none.
func (e *ExitError) Unwrap() error { return e.Err }

// Exitf returns an error with a code and a message; %w works as in fmt.Errorf.
func Exitf(code int, format string, args ...any) error {
	return &ExitError{Code: code, Err: fmt.Errorf(format, args...)}
}

// ExitSilently ends the run with code and no message.
func ExitSilently(code int) error { return &ExitError{Code: code} }

// hintError adds hints to an error. Errors of any package may have hints, through a method Hints()
// []string.
type hintError struct {
	error
	hints []string
}

func (e *hintError) Unwrap() error   { return e.error }
func (e *hintError) Hints() []string { return e.hints }

// WithHints returns err with hints on what to do next, which are printed as "hint: …" below the
// message.
func WithHints(err error, hints ...string) error {
	if len(hints) == 0 {
		return err
	}
	return &hintError{error: err, hints: hints}
}

// TimeoutError is the cause of a context that --timeout ended.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return "timed out after " + e.Limit.String() }

// Is makes it match context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Hints returns a hint on how to allow more time.
func (e *TimeoutError) Hints() []string { return []string{"--timeout sets the time limit"} }

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string {
	if e.Signal == os.Interrupt {
		return "interrupted"
	}
	return "ended by signal: " + e.Signal.String()
}

// ExitCode returns 128 plus the number of the signal. Programs that have their own exit codes use
// it when a signal ends them: see classic.Main.
func (e *SignalError) ExitCode() int { return ExitCode(e) }

// ExitCode returns the exit code for err: the code of the first ExitError in it, or else a code
// derived from its cause.
func ExitCode(err error) int {
	var exit *ExitError
	var signal *SignalError
	var netErr net.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &signal):
		if number, ok := signal.Signal.(syscall.Signal); ok {
			return exitSignal + int(number)
		}
		return ExitFault
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return ExitTimeout
	case errors.Is(err, fs.ErrPermission):
		return ExitPermission
	case unreachable(err):
		return ExitUnreachable
	case errors.As(err, &netErr) && netErr.Timeout():
		return ExitTimeout
	case errors.Is(err, fs.ErrNotExist):
		return ExitNotFound
	}
	return ExitFault
}

func unreachable(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.Is(err, syscall.ENETUNREACH) || errors.As(err, &dns) && !dns.IsTimeout
}

// ConfigExitCode returns the exit code for an error in the configuration: ExitUsage, unless
// permission to read the file was denied.
func ConfigExitCode(err error) int {
	if errors.Is(err, fs.ErrPermission) {
		return ExitPermission
	}
	return ExitUsage
}

// UsageError marks err as a wrong use of cmd and adds a hint to the command's help.
func UsageError(cmd *cobra.Command, err error) error {
	hint := "run \"" + cmd.CommandPath() + " --help\" for how to use it"
	return &ExitError{Code: ExitUsage, Err: WithHints(err, hint)}
}

// flagError turns an error of the flag parser into a usage error, with a suggestion for a misspelt
// flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Nearest(unknown.GetSpecifiedName(), names, spelling.Loose); near != "" {
			err = WithHints(err, DidYouMean("--"+near)...)
		}
	}
	var invalid *pflag.InvalidValueError
	if number, ok := errors.AsType[*strconv.NumError](err); ok && errors.As(err, &invalid) {
		err = fmt.Errorf("invalid argument %q for --%s: %w", invalid.GetValue(), invalid.GetFlag().Name, number.Err)
	}
	return UsageError(cmd, err)
}

// report prints err and its hints and returns the exit code. path is the command without "rdmactl".
//
//	rdmactl: show: no device "mlx5_9"
//	hint: rdmactl detect lists the devices
func (app *App) report(path string, err error) int {
	code := ExitCode(err)
	var exit *ExitError
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return code
	}
	prefix := "rdmactl: "
	if path != "" {
		prefix += path + ": "
	}
	_, _ = io.WriteString(app.Stderr, app.ErrorLines(prefix, err)) // nowhere left to complain
	return code
}

// ErrorLines formats an error and its hints as rdmactl prints them, with prefix before each line of
// the error. On a terminal the lines are wrapped.
func (app *App) ErrorLines(prefix string, err error) string {
	width := 0
	if app.IsTerminal(app.Stderr) {
		columns, _ := app.Size()
		width = max(columns, 0)
	}
	var text strings.Builder
	write := func(line string) {
		for _, part := range output.Wrap(app.keepCommands(line), width) {
			text.WriteString(part + "\n")
		}
	}
	for _, line := range output.CleanLines(err.Error()) {
		write(prefix + line)
	}
	for _, hint := range withPermissionHint(err, Hints(err)) {
		write("hint: " + output.Clean(hint))
	}
	return text.String()
}

// withPermissionHint returns the hints on err, with a general one if permission was denied and no
// hint names root.
func withPermissionHint(err error, hints []string) []string {
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == process.CodeCannotStart {
		return hints // a program that isn't executable is none for root either
	}
	if !errors.Is(err, fs.ErrPermission) ||
		slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(hint, "root") }) {
		return hints
	}
	const root = "sudo runs rdmactl as root"
	at, ok := errors.AsType[*fs.PathError](err)
	if ok && !slices.Contains([]string{"dev", "proc", "sys"}, strings.Split(at.Path+"/", "/")[1]) {
		return append(hints, root+"; \"ls -ld "+at.Path+"\" shows who has access")
	}
	return append(hints, root+"; in a container a device or a capability may be missing")
}

// keepCommands returns running text in which the commands of rdmactl stay on one line: their names,
// and the flags and placeholders that follow.
func (app *App) keepCommands(text string) string {
	if app.root == nil || !strings.Contains(text, app.root.Name()+" ") {
		return text
	}
	words := strings.Split(text, " ")
	var at *cobra.Command // the command that the last word names
	var b strings.Builder
	for i, word := range words {
		part := false
		if at != nil {
			child := childOf(at, word)
			part = child != nil || strings.HasPrefix(word, "-") || isPlaceholder(word)
			if child != nil {
				at = child
			}
		}
		switch {
		case part:
			b.WriteString(output.Unbroken(" "))
		case i > 0:
			b.WriteString(" ")
		}
		if !part {
			at = nil
			if word == app.root.Name() {
				at = app.root
			}
		}
		b.WriteString(word)
	}
	return b.String()
}

// isPlaceholder reports whether a word of a command stands for an argument: FILE, or FILE,.
func isPlaceholder(word string) bool {
	word = strings.TrimRight(word, ",.;:)")
	return len(word) > 1 && strings.ToUpper(word) == word && strings.ToLower(word) != word
}

// Hints collects the hints in err and its causes without duplicates, innermost first, so that hints
// on the cause come before general ones.
func Hints(err error) []string {
	var all []string
	seen := make(map[string]bool)
	walkErrors(err, func(err error) {
		if h, ok := err.(interface{ Hints() []string }); ok {
			for _, hint := range h.Hints() {
				if !seen[hint] {
					seen[hint] = true
					all = append(all, hint)
				}
			}
		}
	})
	return all
}

// walkErrors calls visit for each error in the tree of err, causes before what wraps them.
func walkErrors(err error, visit func(error)) {
	if err == nil {
		return
	}
	switch e := err.(type) { //nolint:errorlint // this is the unwrapping
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			walkErrors(cause, visit)
		}
	case interface{ Unwrap() error }:
		walkErrors(e.Unwrap(), visit)
	}
	visit(err)
}
