package ibdiags

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

// Exit codes of the C programs.
const (
	exitMinusOne = 255 // exit(-1)
	exitUsage    = 2
)

// Version is the version of the C programs that these replace.
const Version = "44.0"

// Host is the environment of a program.
type Host struct {
	// Name is the program's name in messages: argv[0], as typed.
	Name string
	// Args are the arguments, without the name.
	Args           []string
	Stdout, Stderr io.Writer
	// PID is the process ID in debug messages.
	PID int
	// LookupEnv reads the environment; nil means an empty one.
	LookupEnv func(string) (string, bool)
	// Open opens the port that the options -C and -P select: "" and 0 mean any.
	Open func(ctx context.Context, device string, port int) (fabric.Transport, error)
	// ReadFile and WriteFile access files that options name or that have a default path: defaults,
	// node name maps, thresholds, caches.
	ReadFile  func(name string) ([]byte, error)
	WriteFile func(name string, data []byte) error
	// Hostname is the name of a ping server, with the domain.
	Hostname func() string
	// Hints returns hints for an error; it may be nil.
	Hints func(error) []string
}

// Program is one program.
type Program struct {
	Name    string // perfquery
	Summary string // what it prints, for lists
	Usage   string // operands in C's usage: "[options] <dest lid|guid>"
	// UsageNote follows Usage in C's usage, for a program that lists its operations.
	UsageNote string
	Long      string // description beyond Summary
	// Example is a command line without the program's name, for the documentation; empty: the first
	// of Examples.
	Example string
	// Examples are command lines without the program's name, as C's usage lists them; "#" begins
	// a remark.
	Examples []string
	// Options are the program's specific options in the order of C's usage, followed by the common
	// options that it has.
	Options []Option

	run func(ctx context.Context, r *run) int
}

// Option is an option with its text in the usage.
type Option struct {
	clib.Option
	Value string // "<ms>" of an option with an argument
	Help  string // lines after the first are printed below it
}

// Programs returns the programs in alphabetical order.
func Programs() []Program {
	return []Program{
		ibhosts(), iblinkinfo(), ibnetdiscover(), ibnodes(), ibping(), ibqueryerrors(),
		ibroute(), ibswitches(), ibtracert(), perfquery(), saquery(), sminfo(), smpquery(),
	}
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

// flagOption and valueOption return options of a table; letters that can't be printed mark options
// without a short form.
func flagOption(long string, short byte, help string) Option {
	return Option{Option: clib.Flag(long, short), Help: help}
}

func valueOption(long string, short byte, value, help string) Option {
	return Option{Option: clib.Value(long, short), Value: value, Help: help}
}

// commonOptions returns the options that most programs share, in C's order, except those whose
// letters are excluded.
func commonOptions(without string) []Option {
	var list []Option
	for _, o := range []Option{
		valueOption("config", 'z', "<config>", "use config file, default: "+configFile),
		valueOption("Ca", 'C', "<ca>", "Ca name to use"),
		valueOption("Port", 'P', "<port>", "Ca port number to use"),
		flagOption("Direct", 'D', "use Direct address argument"),
		flagOption("Lid", 'L', "use LID address argument"),
		flagOption("Guid", 'G', "use GUID address argument"),
		valueOption("timeout", 't', "<ms>", "timeout in ms"),
		valueOption("sm_port", 's', "<lid>", "SM port lid"),
		flagOption("show_keys", 'K', "display security keys in output"),
		valueOption("m_key", 'y', "<key>", "M_Key to use in request"),
		flagOption("errors", 'e', "show send and receive errors"),
		flagOption("verbose", 'v', "increase verbosity level"),
		flagOption("debug", 'd', "raise debug level"),
		flagOption("help", 'h', "help message"),
		flagOption("version", 'V', "show version"),
	} {
		if !strings.ContainsRune(without, rune(o.Short)) {
			list = append(list, o)
		}
	}
	return list
}

// Run runs the program and returns its exit code.
func (p Program) Run(ctx context.Context, host Host) int {
	r := newRun(&host, &p)
	defer r.close()
	return p.run(ctx, r)
}

// usage returns the text that C prints for -h and for wrong options.
func (p *Program) usage(name string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nUsage: %s %s\n%s\nOptions:\n", name, p.Usage, p.UsageNote)
	for _, o := range p.Options {
		b.WriteString(usageLine(o))
	}
	if len(p.Examples) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range p.Examples {
			fmt.Fprintf(&b, "  %s %s\n", name, e)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// Flags formats the option as in the usage: "--timeout, -t <ms>".
func (o Option) Flags() string {
	flags := "--" + o.Long
	if o.Short > ' ' && o.Short < 0x7f {
		flags += ", -" + string(rune(o.Short))
	}
	if o.Value != "" {
		flags += " " + o.Value
	}
	return flags
}

// usageLine puts the help of an option in column 26, or two spaces after a longer option, as C
// does.
func usageLine(o Option) string {
	if o.Help == "" {
		return "  " + o.Flags() + "\n"
	}
	flags := fmt.Sprintf("  %-22s  ", o.Flags())
	return flags + strings.ReplaceAll(o.Help, "\n", "\n"+strings.Repeat(" ", len(flags))) + "\n"
}
