package applet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs"
)

// Exit codes of C programs.
const (
	exitMinusOne = 255 // exit(-1)
	exitUsage    = 2   // usage errors of infiniband-diags
)

// Env is the environment of an applet.
type Env struct {
	// Name is the program's name in messages: argv[0]. Its last path element selects the applet.
	Name string
	// Args are the arguments, without the name.
	Args           []string
	Stdout, Stderr io.Writer
	// PID is the process ID in messages of infiniband-diags.
	PID int
	// LookupEnv reads the environment; nil means an empty one.
	LookupEnv func(string) (string, bool)
	Node      Node
	// Open opens a device for a program that measures; nil if no device can be opened, as on a
	// recorded node. connects says that rdma_cm connects the queue pairs. Device is the device to
	// open if the arguments name none.
	Open   func(ctx context.Context, name string, connects bool) (*verbs.Device, error)
	Device string
	// ChooseGID returns the index of the GID of a port if the arguments give none; nil chooses 0.
	ChooseGID func(ctx context.Context, device *verbs.Device, port int) (int, error)
	// OpenSubnet opens a port for management datagrams, any port with "" and 0; nil if there is no
	// subnet, as on a recorded node.
	OpenSubnet func(ctx context.Context, device string, port int) (fabric.Transport, error)
	// OpenConnector opens a device that connects by address: the one with the address local, or the
	// one that the route to remote begins at; either may be the zero Addr. It is nil if no device
	// can be opened, as on a recorded node.
	OpenConnector func(ctx context.Context, local, remote netip.Addr) (*verbs.Device, error)
	// Hints returns hints for an error; it may be nil.
	Hints func(error) []string
}

// Node is the node that applets read.
type Node struct {
	// Root is the file tree with "sys" and "dev" at its top, as for inventory.Sources.
	Root fs.FS
	// Live provides the kernel's netlink answers; nil without netlink.
	Live inventory.LiveSource
	// Verbs queries libibverbs; nil if that is impossible, for the reason in WhyNoVerbs.
	Verbs      VerbsSource
	WhyNoVerbs string
}

// Applet is a program.
type Applet struct {
	Name    string // ibstat
	Summary string // what it prints, for lists
	Usage   string // operands and options: "[-l] [CA [PORT]]"
	Long    string // description beyond Summary
	Example string // arguments of an example run
	Like    string // the tool that it replaces: "infiniband-diags 44"
	// Live is true if it opens a device or queries the subnet, so a recorded node is not enough.
	Live bool
	// Options are its options.
	Options []Option

	run func(ctx context.Context, env *Env) int
}

// Option is an option of an applet, for documentation.
type Option struct {
	Flags string // "-d, --ib-dev=DEV"
	Help  string // short description
}

// All returns the applets in alphabetical order.
func All() []Applet {
	list := slices.Concat(perftests(), diagnostics(), connectors(), []Applet{
		ibdev2netdev(), ibstat(), ibstatus(), ibvDevices(), ibvDevinfo(), showGIDs(),
	})
	slices.SortFunc(list, func(a, b Applet) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// NeedsOperand reports whether the usage has an operand that isn't in brackets.
func (a Applet) NeedsOperand() bool {
	depth := 0
	for _, r := range a.Usage {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case '<':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// Find returns the applet with the name in the last path element of a program name.
func Find(name string) (Applet, bool) {
	base := path.Base(name)
	for _, a := range All() {
		if a.Name == base {
			return a, true
		}
	}
	return Applet{}, false
}

// Run runs the applet that env.Name selects and returns its exit code, 127 if there is no such
// applet.
func Run(ctx context.Context, env Env) int {
	a, ok := Find(env.Name)
	if !ok {
		_, _ = fmt.Fprintf(env.Stderr, "%s: no such applet\n", env.Name)
		return 127
	}
	out := bufio.NewWriter(env.Stdout)
	env.Stdout = out
	code := a.run(ctx, &env)
	_ = out.Flush() // a closed pipe raises a signal; the caller's writer keeps other errors
	return code
}

// has reports whether the environment has a variable.
func (env *Env) has(name string) bool {
	if env.LookupEnv == nil {
		return false
	}
	_, ok := env.LookupEnv(name)
	return ok
}

// getopt returns a parser for the arguments.
func (env *Env) getopt(options []clib.Option) *clib.Getopt {
	g := clib.NewGetopt(env.Args, options)
	g.Name, g.ErrOut, g.Ordered = env.Name, env.Stderr, env.has("POSIXLY_CORRECT")
	return g
}

// printf writes to standard output, which Run buffers and flushes.
func (env *Env) printf(format string, args ...any) { _, _ = fmt.Fprintf(env.Stdout, format, args...) }

// errorf writes to standard error.
func (env *Env) errorf(format string, args ...any) { _, _ = fmt.Fprintf(env.Stderr, format, args...) }

// tree returns the node's files.
func (env *Env) tree() *sysTree { return &sysTree{root: env.Node.Root} }

// scan reads the node. Read errors are ignored, because the C tools read less.
func (env *Env) scan(ctx context.Context) inventory.Snapshot {
	snap, _ := inventory.Scan(ctx, inventory.Sources{Root: env.Node.Root, Live: env.Node.Live})
	return snap
}
