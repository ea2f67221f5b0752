package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

// configFile is infiniband-diags' file of defaults.
const configFile = "/etc/infiniband-diags/ibdiag.conf"

// destination is the type of address in the operands.
type destination uint8

const (
	byLID destination = iota
	byGUID
	byPath
	byCombined // LID and route
)

// run is one run of a program: the common options and the connection to the subnet.
type run struct {
	*Host
	program  *Program
	operands []string

	device      string
	port        int
	destination destination
	timeout     time.Duration // of one try; 0: the library's default
	smLID       uint16        // -s; 0: query the local port
	mkey        uint64
	saKey       uint64 // SM_Key for queries of subnet administration
	showKeys    bool
	verbose     int
	debug       int

	transport fabric.Transport
	client    fabric.Client
}

func newRun(host *Host, p *Program) *run { return &run{Host: host, program: p} }

func (r *run) close() {
	if r.transport != nil {
		r.transport.Close() //nolint:errcheck // no request is outstanding
	}
}

// options parses the arguments. own handles the program's specific options, and returns false for
// an invalid value. done reports that the run is over, with the exit code.
func (r *run) options(own func(letter byte, arg string) bool) (code int, done bool) {
	list := make([]clib.Option, len(r.program.Options))
	for i, o := range r.program.Options {
		list[i] = o.Option
	}
	r.readDefaults(configFile)
	g := clib.NewGetopt(r.Args, list)
	g.Name, g.ErrOut, g.Ordered = r.Name, r.Stderr, r.has("POSIXLY_CORRECT")
	for {
		letter, arg, ok := g.Next()
		switch {
		case !ok:
			r.operands = g.Operands
			return 0, false
		case letter == 'V' && r.isCommon('V'):
			r.errorf("%s BUILD VERSION: %s\n", r.Name, Version)
			return 0, true
		case letter == 'h' && r.isCommon('h'), letter == clib.UnknownOption:
			return r.usage(), true
		case r.isCommon(letter):
			if code, done := r.common(letter, arg); done {
				return code, true
			}
		case !own(letter, arg):
			return r.usage(), true
		}
	}
}

// isCommon reports whether the letter is a common option of this program rather than a specific
// one.
func (r *run) isCommon(letter byte) bool {
	for _, o := range r.program.Options {
		if o.Short != letter {
			continue
		}
		for _, c := range commonOptions("") {
			if c.Short == letter {
				return c.Option == o.Option
			}
		}
	}
	return false
}

// common handles one of the common options; done reports that its argument ends the run, with the
// exit code.
func (r *run) common(letter byte, arg string) (code int, done bool) {
	switch letter {
	case 'z':
		r.readDefaults(arg)
	case 'C':
		r.device = arg
	case 'P':
		r.port = int(clib.Strtol(arg, 0))
	case 'D':
		r.destination = byPath
	case 'L':
		r.destination = byLID
	case 'G':
		r.destination = byGUID
	case 't':
		ms, rest := leadingNumber(arg)
		if rest != "" || ms == 0 || ms > math.MaxInt32 {
			const text = "Invalid timeout \"%s\".  Timeout requires a positive integer value < %d."
			return r.fail(nil, text, arg, math.MaxInt32), true
		}
		r.timeout = time.Duration(ms) * time.Millisecond
	case 's':
		lid := clib.Strtol(arg, 0)
		if !isUnicast(lid) {
			return r.fail(nil, "cannot resolve SM destination port %s", arg), true
		}
		r.smLID = uint16(lid)
	case 'K':
		r.showKeys = true
	case 'y':
		key, rest := leadingNumber(arg)
		if rest != "" {
			return r.fail(nil, "Bad M_Key"), true
		}
		r.mkey = key
	case 'e':
		// causes are always printed
	case 'v':
		r.verbose++
	case 'd':
		r.debug++
	}
	return 0, false
}

// usage prints the usage of the program and returns its exit code.
func (r *run) usage() int {
	r.errorf("%s", r.program.usage(r.Name))
	return exitUsage
}

// open connects to the subnet; false after an error message.
func (r *run) open(ctx context.Context) bool {
	err := r.join(ctx)
	if err != nil {
		r.fail(err, "Failed to open '%s' port '%d'", r.deviceName(), r.port)
	}
	return err == nil
}

// fail prints C's message for the end of a run (on standard output, as C does), the cause on
// standard error, and returns the exit code.
func (r *run) fail(cause error, format string, a ...any) int {
	where := ""
	if r.debug > 0 {
		where = fmt.Sprintf("[pid %d] main: ", r.PID)
	}
	r.printf("%s: iberror: %sfailed: %s\n", r.Name, where, fmt.Sprintf(format, a...))
	if cause != nil {
		r.cause(cause)
	}
	return exitMinusOne
}

// cause prints the cause and hints after C's message.
func (r *run) cause(err error) {
	r.errorf("%s: %s\n", r.Name, strings.TrimSpace(err.Error()))
	if r.Hints != nil {
		for _, hint := range r.Hints(err) {
			r.errorf("hint: %s\n", hint)
		}
	}
}

// warn prints a warning as libibmad does, with the cause.
func (r *run) warn(function string, format string, a ...any) {
	r.errorf("ibwarn: [%d] %s: %s\n", r.PID, function, fmt.Sprintf(format, a...))
}

// stopped reports whether the run was interrupted, after printing the reason.
func (r *run) stopped(ctx context.Context) bool {
	cause := context.Cause(ctx)
	if cause != nil {
		r.errorf("%s: %s\n", r.Name, cause.Error())
	}
	return cause != nil
}

// has reports whether the environment has a variable.
func (r *run) has(name string) bool {
	if r.LookupEnv == nil {
		return false
	}
	_, ok := r.LookupEnv(name)
	return ok
}

func (r *run) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.Stdout, format, args...) }

func (r *run) errorf(format string, args ...any) { _, _ = fmt.Fprintf(r.Stderr, format, args...) }

// errAddress is the cause if an operand is not the address of a port.
var errAddress = errors.New("not the address of a port")
