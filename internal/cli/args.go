package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// arity is the number of arguments that a usage line allows.
type arity struct {
	names []string // of the arguments in order
	least int
	any   bool // the last may be repeated
}

// usageArity reads "show DEVICE", "validate [FILE]", "exec -- CMD...", "completion bash|zsh". The
// usage line is what the user reads, so it is what the arguments are checked against.
func usageArity(use string) arity {
	var a arity
	for _, word := range strings.Fields(use)[1:] {
		if word == "--" || strings.HasPrefix(word, "[-") || word == "[flags]" {
			continue
		}
		name := strings.Trim(word, "[]")
		if base, repeated := strings.CutSuffix(name, "..."); repeated {
			name, a.any = base, true
		}
		a.names = append(a.names, name)
		if !strings.HasPrefix(word, "[") {
			a.least++
		}
	}
	return a
}

// checkArgs returns the argument check for a command that doesn't define one.
func checkArgs(cmd *cobra.Command, args []string) error {
	want := usageArity(cmd.Use)
	switch {
	case len(args) < want.least:
		return fmt.Errorf("missing argument %s", want.names[len(args)])
	case len(args) > len(want.names) && !want.any:
		return unexpectedArgument(cmd, args[len(want.names)])
	case len(cmd.ValidArgs) == 0:
		return nil
	}
	for _, arg := range args {
		if !slices.Contains(cmd.ValidArgs, arg) {
			err := fmt.Errorf("argument %s is not one of %s", strconv.Quote(arg), strings.Join(cmd.ValidArgs, ", "))
			return WithHints(err, DidYouMean(spelling.Nearest(arg, cmd.ValidArgs, spelling.Loose))...)
		}
	}
	return nil
}

// unexpectedArgument is the error for an argument that cmd doesn't take, which may be a misspelt
// subcommand.
func unexpectedArgument(cmd *cobra.Command, arg string) error {
	err := fmt.Errorf("unexpected argument %s", strconv.Quote(arg))
	return WithHints(err, DidYouMean(cmd.SuggestionsFor(arg)...)...)
}

// checkSubcommand is the check of a command that only groups others.
func checkSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return WithHints(fmt.Errorf("unknown command %s", strconv.Quote(name)), DidYouMean(cmd.SuggestionsFor(name)...)...)
}

// DidYouMean returns a hint that proposes names, or no hint if there are no names.
func DidYouMean(names ...string) []string {
	var quoted []string
	for _, name := range names {
		if name != "" {
			quoted = append(quoted, strconv.Quote(name))
		}
	}
	if len(quoted) == 0 {
		return nil
	}
	return []string{"did you mean " + strings.Join(quoted, " or ") + "?"}
}
