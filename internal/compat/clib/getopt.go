package clib

import (
	"fmt"
	"io"
	"strings"
)

// Option is an option of getopt_long(3).
type Option struct {
	Long  string // without the dashes; empty: none
	Short byte   // also the value that Next returns; not a printable character: no short option
	Arg   bool   // the option takes an argument
}

// Flag is an option without argument.
func Flag(long string, short byte) Option { return Option{Long: long, Short: short} }

// Value is an option with an argument.
func Value(long string, short byte) Option { return Option{Long: long, Short: short, Arg: true} }

// UnknownOption is what Next returns for a wrong option, as getopt does.
const UnknownOption = '?'

// Getopt parses arguments as glibc's getopt_long does: bundled short options, long options that may
// be abbreviated, operands between options, "--". Wrong options are reported on ErrOut with glibc's
// messages.
type Getopt struct {
	Name    string   // argv[0], for messages
	Options []Option // the known options
	// Ordered makes the first operand end the options, as POSIXLY_CORRECT does.
	Ordered bool
	// ShortOnly makes it parse as getopt does: there are no long options.
	ShortOnly bool
	ErrOut    io.Writer
	// Operands collects the operands; it is complete once Next has returned false.
	Operands []string

	args   []string // remaining arguments
	bundle string   // remaining short options of the current argument
}

// NewGetopt returns a parser for arguments; the caller sets the other fields before the first Next.
func NewGetopt(args []string, options []Option) *Getopt {
	return &Getopt{Options: options, args: args, ErrOut: io.Discard}
}

// Next returns the next option by its short letter, with its argument, and false after the
// last one.
func (g *Getopt) Next() (letter byte, arg string, ok bool) {
	if g.bundle != "" {
		return g.short()
	}
	for len(g.args) > 0 {
		word := g.args[0]
		g.args = g.args[1:]
		switch {
		case word == "--":
			g.Operands = append(g.Operands, g.args...)
			g.args = nil
		case len(word) < 2 || word[0] != '-':
			g.Operands = append(g.Operands, word)
			if g.Ordered {
				g.Operands = append(g.Operands, g.args...)
				g.args = nil
			}
		case word[1] == '-' && !g.ShortOnly:
			return g.long(word[2:])
		default:
			g.bundle = word[1:]
			return g.short()
		}
	}
	return 0, "", false
}

func (g *Getopt) short() (letter byte, arg string, ok bool) {
	letter, g.bundle = g.bundle[0], g.bundle[1:]
	for _, o := range g.Options {
		if o.Short != letter {
			continue
		}
		if !o.Arg {
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

func (g *Getopt) long(word string) (letter byte, arg string, ok bool) {
	name, arg, given := strings.Cut(word, "=")
	found := g.match(name)
	switch {
	case len(found) == 0:
		return g.wrong("unrecognized option '--%s'", word)
	case len(found) > 1:
		var b strings.Builder
		for _, o := range found {
			b.WriteString(" '--" + o.Long + "'")
		}
		return g.wrong("option '--%s' is ambiguous; possibilities:%s", word, b.String())
	}
	o := found[0]
	switch {
	case given && !o.Arg:
		return g.wrong("option '--%s' doesn't allow an argument", o.Long)
	case o.Arg && !given && len(g.args) == 0:
		return g.wrong("option '--%s' requires an argument", o.Long)
	case o.Arg && !given:
		arg, g.args = g.args[0], g.args[1:]
	}
	return o.Short, arg, true
}

// match returns the option with that name, or else all whose names begin with it.
func (g *Getopt) match(name string) []Option {
	var found []Option
	for _, o := range g.Options {
		switch {
		case o.Long == name:
			return []Option{o}
		case strings.HasPrefix(o.Long, name):
			found = append(found, o)
		}
	}
	return found
}

func (g *Getopt) wrong(format string, args ...any) (letter byte, arg string, ok bool) {
	_, _ = fmt.Fprintf(g.ErrOut, "%s: %s\n", g.Name, fmt.Sprintf(format, args...))
	return UnknownOption, "", true
}
