package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/internal/compat/applet"
)

// SetArgs gives root the arguments of a run.
func (app *App) SetArgs(root *cobra.Command, args []string) {
	args = appletArgs(root, args, app.ProgramName != "")
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would read os.Args instead
}

// appletArgs inserts "--" after the name of an applet, so that cobra passes the arguments behind it
// to the applet: -v of ibv_devinfo is not -v of rdmactl. Flags of rdmactl go before the name. The
// exception is --help directly after the name, which rdmactl answers; a link has the tool's own.
func appletArgs(root *cobra.Command, args []string, byLink bool) []string {
	at := firstWord(root, args)
	if at < 0 {
		return args
	}
	cmd := childOf(root, args[at])
	if cmd == nil || cmd.GroupID != GroupApplet || cmd.HasSubCommands() {
		return args
	}
	if !byLink && len(args) > at+1 && args[at+1] == "--help" {
		return args[:at+2]
	}
	return slices.Insert(slices.Clone(args), at+1, "--")
}

// firstWord returns the index of the first argument that is neither a flag nor the value of a flag,
// or -1 if there is none or an unknown flag comes first.
func firstWord(root *cobra.Command, args []string) int {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	known.AddFlagSet(root.PersistentFlags())
	known.String("from", "", "")
	known.String("root", "", "")
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			return -1
		case len(arg) < 2 || arg[0] != '-':
			return i
		default:
			skip, ok := flagValues(known, arg)
			if !ok {
				return -1
			}
			i += skip
		}
	}
	return -1
}

// flagValues returns how many of the arguments after a flag are its value, and false for an unknown
// flag.
func flagValues(known *pflag.FlagSet, arg string) (skip int, ok bool) {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, given := strings.Cut(name, "=")
		f := known.Lookup(name)
		if f != nil && !given && f.NoOptDefVal == "" {
			skip = 1
		}
		return skip, f != nil
	}
	for i := 1; i < len(arg); i++ {
		f := known.ShorthandLookup(arg[i : i+1])
		switch {
		case f == nil:
			return 0, false
		case f.NoOptDefVal != "":
		case i == len(arg)-1:
			return 1, true
		default:
			return 0, true
		}
	}
	return 0, true
}

// linkArgs returns the arguments of a run that was started under the name of an applet.
func linkArgs(argv []string) (args []string, isApplet bool) {
	if len(argv) == 0 {
		return nil, false
	}
	if a, ok := applet.Find(filepath.ToSlash(argv[0])); ok {
		return append([]string{a.Name}, argv[1:]...), true
	}
	return argv[1:], false
}
