package applet

import (
	"fmt"
	"io"
	"strings"
)

// option is an option as getopt_long(3) knows it.
type option struct {
	long  string
	short byte // also what stands for the option when it is found
	arg   bool // it takes an argument
}

// unknownOption is what next returns for a wrong option, as getopt does.
const unknownOption = '?'

// getopt walks over arguments the way glibc's getopt_long does: bundled short options, long ones that may be cut short,
// operands between options, "--". Wrong options are told on errOut in glibc's words.
type getopt struct {
	name    string // argv[0]
	options []option
	args    []string // what is left to look at
	ordered bool     // POSIXLY_CORRECT: the first operand ends the options
	errOut  io.Writer

	bundle string // short options that are left of the argument at hand
	// operands collects what is no option; complete once next has returned false.
	operands []string
}

// newGetopt returns a walk over the arguments of env.
func newGetopt(env *Env, options []option) *getopt {
	return &getopt{name: env.Name, options: options, args: env.Args, ordered: env.has("POSIXLY_CORRECT"), errOut: env.Stderr}
}

// next returns the next option by its short letter, with its argument, and false after the last one.
func (g *getopt) next() (letter byte, arg string, ok bool) {
	if g.bundle != "" {
		return g.short()
	}
	for len(g.args) > 0 {
		word := g.args[0]
		g.args = g.args[1:]
		switch {
		case word == "--":
			g.operands = append(g.operands, g.args...)
			g.args = nil
		case len(word) < 2 || word[0] != '-':
			g.operands = append(g.operands, word)
			if g.ordered {
				g.operands = append(g.operands, g.args...)
				g.args = nil
			}
		case word[1] == '-':
			return g.long(word[2:])
		default:
			g.bundle = word[1:]
			return g.short()
		}
	}
	return 0, "", false
}

func (g *getopt) short() (letter byte, arg string, ok bool) {
	letter, g.bundle = g.bundle[0], g.bundle[1:]
	for _, o := range g.options {
		if o.short != letter {
			continue
		}
		if !o.arg {
			return letter, "", true
		}
		if arg, g.bundle = g.bundle, ""; arg != "" {
			return letter, arg, true
		}
		if len(g.args) == 0 {
			return g.wrong("option requires an argument -- '%c'", letter)
		}
		arg, g.args = g.args[0], g.args[1:]
		return letter, arg, true
	}
	return g.wrong("invalid option -- '%s'", string([]byte{letter}))
}

func (g *getopt) long(word string) (letter byte, arg string, ok bool) {
	name, arg, given := strings.Cut(word, "=")
	found := g.match(name)
	switch {
	case len(found) == 0:
		return g.wrong("unrecognized option '--%s'", word)
	case len(found) > 1:
		var b strings.Builder
		for _, o := range found {
			b.WriteString(" '--" + o.long + "'")
		}
		return g.wrong("option '--%s' is ambiguous; possibilities:%s", word, b.String())
	}
	o := found[0]
	switch {
	case given && !o.arg:
		return g.wrong("option '--%s' doesn't allow an argument", o.long)
	case o.arg && !given && len(g.args) == 0:
		return g.wrong("option '--%s' requires an argument", o.long)
	case o.arg && !given:
		arg, g.args = g.args[0], g.args[1:]
	}
	return o.short, arg, true
}

// match returns the option of that name, or else all that begin with it.
func (g *getopt) match(name string) []option {
	var found []option
	for _, o := range g.options {
		switch {
		case o.long == name:
			return []option{o}
		case strings.HasPrefix(o.long, name):
			found = append(found, o)
		}
	}
	return found
}

func (g *getopt) wrong(format string, args ...any) (letter byte, arg string, ok bool) {
	_, _ = fmt.Fprintf(g.errOut, "%s: %s\n", g.name, fmt.Sprintf(format, args...))
	return unknownOption, "", true
}
