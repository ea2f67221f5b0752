package applet

import (
	"context"
	"path"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// ibstatus replaces a shell script: the attributes that it reads undergo the word splitting of the
// shell.
func ibstatus() Applet {
	return Applet{
		Name: "ibstatus", Summary: "Print GID 0, LIDs, state, rate and link layer of ports, in the format of sysfs",
		Usage: "[-h] [DEVICE[:PORT]...]", Like: "ibstatus of infiniband-diags 44", Example: "rxe0:1",
		Long: `The only option is -h, which must come first. A port that doesn't exist is shown as unknown, with
exit code 0, as in the original.`,
		Options: []Option{{"-h", "print usage on standard output; exit code 255, as in the original"}},
		run:     runIbstatus,
	}
}

const ibstatusUsage = `Usage:  %[1]s  [-h] [devname[:portnum]]
	-h:	this help screen
	Examples:
		%[1]s mthca1		# shows status of all ports of 'mthca1'
		%[1]s mthca0:2	# shows status port number 2 of 'mthca0'
		%[1]s		# default: shows status of all 'mthca0' ports
`

// allPorts is the script's value for an argument without a port.
const allPorts = "+"

func runIbstatus(_ context.Context, env *Env) int {
	t := env.tree()
	switch {
	case len(env.Args) > 0 && env.Args[0] == "-h":
		env.printf(ibstatusUsage, path.Base(env.Name))
		return exitMinusOne
	case len(env.Args) == 0 || env.Args[0] == "":
		if !t.isDir(sysfs.ClassInfiniBand) {
			env.printf("Fatal error:  No devices\n")
			return exitMinusOne
		}
		for _, dev := range t.glob(sysfs.ClassInfiniBand) {
			if !env.ibStatus(t, dev, allPorts) {
				return exitMinusOne
			}
		}
		return 0
	}
	for _, arg := range env.Args {
		if arg == "" {
			break // the loop of the script ends here
		}
		arg = strings.Join(strings.Fields(arg), " ")
		dev, _, _ := strings.Cut(arg, ":")
		port := arg[strings.LastIndexByte(arg, ':')+1:]
		if port == dev {
			port = allPorts
		}
		if !env.ibStatus(t, dev, port) {
			return exitMinusOne
		}
	}
	return 0
}

// glob lists a folder as the shell's * does, which stays literal if the folder is empty.
func (t *sysTree) glob(dir string) []string {
	all, _ := t.names(dir)
	var names []string
	for _, name := range all {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{"*"}
	}
	return names
}

// ibStatus prints the ports of a device; false ends the script. Arguments with blanks are split
// into words.
func (env *Env) ibStatus(t *sysTree, dev, port string) bool {
	words := append(strings.Fields(dev), strings.Fields(port)...)
	words = append(words, "", "")
	dev, port = words[0], words[1]
	dir := path.Join(sysfs.ClassInfiniBand, strings.TrimPrefix(dev, "/"), "ports")
	if !validName(dev) || !t.isDir(dir) {
		env.printf("Fatal error:  device '%s': sys files not found (/%s/%s/ports)\n", dev, sysfs.ClassInfiniBand, dev)
		return false
	}
	ports := strings.Fields(port)
	if port == allPorts {
		ports = t.glob(dir)
	}
	for _, p := range ports {
		env.portStatus(t, dir, dev, p)
	}
	return true
}

func (env *Env) portStatus(t *sysTree, dir, dev, port string) {
	env.printf("Infiniband device '%s' port %s status:\n", dev, port)
	for _, line := range []struct{ label, file, missing string }{
		{"default gid:\t", "gids/0", "unknown"},
		{"base lid:\t", "lid", "unknown"},
		{"sm lid:\t\t", "sm_lid", "unknown"},
		{"state:\t\t", "state", "unknown"},
		{"phys state:\t", "phys_state", "unknown"},
		{"rate:\t\t", "rate", "unknown"},
		{"link_layer:\t", "link_layer", "IB"},
	} {
		text := line.missing
		if validName(port) {
			text = env.catOr(t, path.Join(dir, port, line.file), line.missing)
		}
		env.printf("\t%s%s\n", line.label, spaced(text))
	}
	env.printf("\n")
}

// catOr is: [ -r FILE ] && cat FILE || echo MISSING.
func (env *Env) catOr(t *sysTree, file, missing string) string {
	b, ok := t.raw(file)
	switch {
	case ok:
		return string(b)
	case t.errno != syscall.ENOENT && t.errno != syscall.EACCES && t.errno != syscall.ENOTDIR:
		env.errorf("cat: /%s: %s\n", file, clib.Strerror(t.errno))
	}
	return missing
}

// spaced returns the words of a text as echo prints them after another one; "" if there are no
// words.
func spaced(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	if len(words) == 0 {
		return ""
	}
	return " " + strings.ReplaceAll(strings.Join(words, " "), "\x00", "")
}

// validName reports whether a name is the name of a file in a folder, so that names from the
// command line can't leave the folder.
func validName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}
