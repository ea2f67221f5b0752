package applet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
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
	exitUsage    = 2   // of infiniband-diags
)

// Env is what an applet sees of the world.
type Env struct {
	// Name is what messages call the program: argv[0]. Its last element chooses the applet.
	Name string
	// Args are the arguments, without the name.
	Args           []string
	Stdout, Stderr io.Writer
	// PID is what messages of infiniband-diags show.
	PID int
	// LookupEnv reads the environment; nil means an empty one.
	LookupEnv func(string) (string, bool)
	Node      Node
	// Open opens a device for a program that measures; nil where there is none to open, as on a
	// recorded node. Device is the one that it opens when its arguments name none.
	Open   func(ctx context.Context, name string) (*verbs.Device, error)
	Device string
	// OpenSubnet opens a port for management datagrams, any with "" and 0; nil where there is no
	// subnet, as on a recorded node.
	OpenSubnet func(ctx context.Context, device string, port int) (fabric.Transport, error)
	// Hints tells what to do about an error; it may be nil.
	Hints func(error) []string
}

// Node is the node that applets look at.
type Node struct {
	// Root is the file tree with "sys" and "dev" at its top, as for inventory.Sources.
	Root fs.FS
	// Live answers for the kernel; nil without netlink.
	Live inventory.LiveSource
	// Verbs asks libibverbs; nil when there is none to ask, and then WhyNoVerbs tells why.
	Verbs      VerbsSource
	WhyNoVerbs string
}

// Applet is a program.
type Applet struct {
	Name    string // as it is called: ibstat
	Summary string // what it prints, for lists
	Usage   string // operands and options: "[-l] [CA [PORT]]"
	Long    string // what there is to know beyond Summary
	Example string // arguments of an example run
	Like    string // what it behaves like: "infiniband-diags 44"
	// Options are its options in words, one each.
	Options []Option

	run func(ctx context.Context, env *Env) int
}

// Option is an option of an applet, for documentation.
type Option struct {
	Flags string // "-d, --ib-dev=DEV"
	Help  string // what it does, in a few words
}

// All returns the applets in alphabetical order.
func All() []Applet {
	list := append(append(perftests(), diagnostics()...), ibdev2netdev(), ibstat(), ibstatus(), ibvDevices(),
		ibvDevinfo(), showGIDs())
	slices.SortFunc(list, func(a, b Applet) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Find returns the applet that a program name means: its last element counts.
func Find(name string) (Applet, bool) {
	base := path.Base(name)
	for _, a := range All() {
		if a.Name == base {
			return a, true
		}
	}
	return Applet{}, false
}

// Run runs the applet that env.Name means and returns its exit code, 127 when there is none of
// that name.
func Run(ctx context.Context, env Env) int {
	a, ok := Find(env.Name)
	if !ok {
		_, _ = fmt.Fprintf(env.Stderr, "%s: no such applet\n", env.Name)
		return 127
	}
	out := bufio.NewWriter(env.Stdout)
	env.Stdout = out
	code := a.run(ctx, &env)
	_ = out.Flush() // who writes to a closed pipe gets the signal; other errors are the caller's writer's to keep
	return code
}

// has tells that the environment has a variable.
func (env *Env) has(name string) bool {
	if env.LookupEnv == nil {
		return false
	}
	_, ok := env.LookupEnv(name)
	return ok
}

// getopt returns a walk over the arguments.
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

// scan reads the node. What could not be read is of no interest here: C tools see less.
func (env *Env) scan(ctx context.Context) inventory.Snapshot {
	snap, _ := inventory.Scan(ctx, inventory.Sources{Root: env.Node.Root, Live: env.Node.Live})
	return snap
}
