// Package rdmacm implements programs of rdmacm-utils, with the options, output and exit codes of
// those of rdma-core 44: rping, ucmatose and cmtime.
//
//	program, _ := rdmacm.Find("rping")
//	code := program.Run(ctx, rdmacm.Host{Args: []string{"-c", "-a", "192.0.2.1"}, Open: open, …})
//
// Where the C programs end with a line such as "cma event RDMA_CM_EVENT_REJECTED, error 8", these
// add lines with "hint: " on standard error: the stage, the cause and what to do. Devices of
// processes in user space (engines) take part as those of the kernel do.
//
// Runs are independent and may be concurrent.
package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/verbs"
)

// Exit codes of the C programs.
const (
	exitMinusOne = 255
	exitNoDevice = int(syscall.ENODEV)
	exitInvalid  = int(syscall.EINVAL)
)

// Host is the environment of a program.
type Host struct {
	// Name is the program's name in messages: argv[0].
	Name string
	// Args are the arguments, without the name.
	Args           []string
	Stdout, Stderr io.Writer
	// Ordered makes the first operand end the options, as POSIXLY_CORRECT does.
	Ordered bool
	// Open opens the device with the address local, or the one from which the route to remote
	// leads; either may be the zero Addr. A nil Open opens none, as on a recorded node.
	Open func(ctx context.Context, local, remote netip.Addr) (*verbs.Device, error)
	// Lookup returns the addresses of a name; nil is the system's resolver.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Hints returns hints for an error; it may be nil.
	Hints func(error) []string
}

// Program is one program.
type Program struct {
	Name    string // rping
	Summary string // what it does, for lists
	Usage   string // its options: "-s|-c [-a ADDRESS]"
	Long    string // description beyond Summary
	Example string // arguments of an example run
	Options []Option

	run func(ctx context.Context, r *run) int
}

// Option is an option, for the documentation.
type Option struct{ Flags, Help string }

// Programs returns the programs in alphabetical order.
func Programs() []Program {
	return []Program{cmtimeProgram(), rpingProgram(), cmatoseProgram()}
}

// Find returns the program of that name.
func Find(name string) (Program, bool) {
	for _, p := range Programs() {
		if p.Name == name {
			return p, true
		}
	}
	return Program{}, false
}

// Run runs the program and returns its exit code. A signal kills the C programs: if the cause of
// the end of ctx has a method ExitCode() int, Run returns its result, such as 130.
func (p Program) Run(ctx context.Context, host Host) int {
	r := &run{Host: host}
	if r.Lookup == nil {
		r.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	code := p.run(ctx, r)
	if ctx.Err() == nil {
		return code
	}
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](context.Cause(ctx)); ok {
		return e.ExitCode()
	}
	return exitMinusOne
}

// run is a program that runs. Its methods may be called by several goroutines.
type run struct {
	Host

	mu sync.Mutex // of the streams
}

func (r *run) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.Stdout, format, args...) // nowhere left to complain
}

func (r *run) errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.Stderr, format, args...)
}

// perror prints a message as perror(3) does.
func (r *run) perror(what string, errno syscall.Errno) {
	r.errorf("%s: %s\n", what, clib.Strerror(errno))
}

// explain prints the stage and the cause of an error, and what to do.
func (r *run) explain(err error, stage rping.Stage, device string, addr netip.AddrPort) {
	r.printFailure(err, rping.Explain(err, stage, device, addr))
}

// explainConnect prints the cause of an error of connecting, and what to do. server is how the
// server of this program is started, where that of rping isn't what is missing.
func (r *run) explainConnect(err error, device string, addr netip.AddrPort, server string) {
	f := rping.Explain(err, rping.StageConnect, device, addr)
	if f.Code == rping.CodeNobodyListens || f.Code == rping.CodeNoAnswer {
		f.Remedies[0] = "start the server there first: " + server
	}
	r.printFailure(err, f)
}

// printFailure prints a failure, what to do, and the hints of its error.
func (r *run) printFailure(err error, f *rping.Failure) {
	r.errorf("hint: %v\n", f)
	hints := f.Remedies
	if r.Hints != nil {
		hints = append(hints, r.Hints(err)...)
	}
	for _, hint := range hints {
		r.errorf("hint: %s\n", hint)
	}
}

// noDevices is the end of a program on a recorded node.
func (r *run) noDevices() {
	r.errorf("No RDMA devices were detected\nhint: a recorded node has no device to open\n")
}

// Errors of getaddrinfo (netdb.h).
const (
	eaiAgain  = -3
	eaiNoName = -2
	eaiFail   = -4
)

// gaiError returns the number of getaddrinfo's error, and its text in glibc.
func gaiError(err error) (number int, text string) {
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && dns.IsNotFound, !ok:
		return eaiNoName, "Name or service not known"
	case dns.IsTemporary || dns.IsTimeout:
		return eaiAgain, "Temporary failure in name resolution"
	}
	return eaiFail, "Non-recoverable failure in name resolution"
}

// lookup returns the first address of a name, IPv4 first as getaddrinfo mostly has it.
func (r *run) lookup(ctx context.Context, name string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Unmap(), nil
	}
	list, err := r.Lookup(ctx, name)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, addr := range list {
		if addr.Unmap().Is4() {
			return addr.Unmap(), nil
		}
	}
	if len(list) == 0 {
		return netip.Addr{}, &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
	}
	return list[0], nil
}

// errnoOf returns the system's error number in an error.
func errnoOf(err error, otherwise syscall.Errno) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	for _, errno := range []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRINUSE} {
		if errors.Is(err, errno) {
			return errno
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return syscall.EADDRNOTAVAIL
	}
	return otherwise
}

// openStage returns the stage of an error of Host.Open: the route or the device.
func openStage(err error) rping.Stage {
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) {
		return rping.StageResolve
	}
	return rping.StageOpen
}

// connectEvent returns the event of rdma_cm for an error of a connection, with its number; "" if it
// is none of the peer's.
func connectEvent(err error) (event string, number int) {
	if rejected, ok := errors.AsType[*verbs.RejectedError](err); ok {
		return "RDMA_CM_EVENT_REJECTED", int(rejected.Code)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "RDMA_CM_EVENT_UNREACHABLE", -int(syscall.ETIMEDOUT)
	}
	return "", 0
}
