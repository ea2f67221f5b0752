package ibdiags

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

// listLong is the description that the three lists have in common. In infiniband-diags they are
// shell scripts around ibnetdiscover.
const listLong = `If a topology file (the output of ibnetdiscover) is given, the program reads that file
instead of the subnet. Backslashes in names are kept; the original shell scripts interpret them. ` +
	sweepOnce

func ibswitches() Program {
	return listProgram("ibswitches", "List the switches of the subnet", func(ctx context.Context, r *run) int {
		return r.list(ctx, switchLine)
	})
}

func ibhosts() Program {
	return listProgram("ibhosts", "List the channel adapters of the subnet", func(ctx context.Context, r *run) int {
		return r.list(ctx, hostLine)
	})
}

func ibnodes() Program {
	return listProgram("ibnodes", "List the channel adapters and the switches of the subnet",
		func(ctx context.Context, r *run) int {
			return r.list(ctx, hostLine, switchLine)
		})
}

func listProgram(name, summary string, run func(ctx context.Context, r *run) int) Program {
	return Program{
		Name: name, Summary: summary, Usage: "[-h] [<topology-file> | -y mkey -C ca_name -P ca_port -t timeout_ms]",
		Long: listLong,
		Options: []Option{
			valueOption("m_key", 'y', "<key>", "M_Key to use in request"),
			valueOption("Ca", 'C', "<ca>", "Ca name to use"),
			valueOption("Port", 'P', "<port>", "Ca port number to use"),
			valueOption("timeout", 't', "<ms>", "timeout in ms"),
			flagOption("help", 'h', "help message"),
		},
		run: run,
	}
}

// lister turns a line of ibnetdiscover's output into a line of the list; false if the line is of
// another kind.
type lister func(line string) (string, bool)

// listNames returns the names that the scripts print in their usage.
func (r *run) listNames() []string {
	if r.program.Name == "ibnodes" { // this script calls the other two
		return []string{"ibhosts", "ibswitches"}
	}
	return []string{path.Base(r.Name)}
}

// list prints the lists, one after the other, from one sweep or one file.
func (r *run) list(ctx context.Context, listers ...lister) int {
	file, args, ok := listArguments(r.Args)
	if !ok {
		for _, name := range r.listNames() {
			r.printf("Usage: %s [-h] [<topology-file> | -y mkey -C ca_name -P ca_port -t timeout_ms]\n", name)
		}
		return exitMinusOne
	}
	var text []byte
	code := 0
	if file != "" {
		var err error
		if text, err = r.ReadFile(file); err != nil {
			r.errorf("cat: %s: %s\n", file, reasonOf(err))
			code = exitOne
		}
	} else {
		text, code = r.discover(ctx, args)
	}
	out := bufio.NewWriter(r.Stdout)
	defer out.Flush() //nolint:errcheck // as for all output
	for _, from := range listers {
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if entry, ok := from(line); ok {
				out.WriteString(entry + "\n")
			}
			if isMessage(line) {
				out.WriteString(line + "\n")
			}
		}
	}
	return code
}

// reasonOf returns the C library's message for an error.
func reasonOf(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return clib.Strerror(errno)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return clib.Strerror(syscall.ENOENT)
	}
	return err.Error()
}

// listArguments parses the arguments of the scripts: the file, or arguments for ibnetdiscover. An
// empty argument ends them.
func listArguments(args []string) (file string, passed []string, ok bool) {
	key := "0"
	for len(args) > 0 && args[0] != "" {
		switch word := args[0]; word {
		case "-y", "--m_key", "-P", "--Port", "-C", "--Ca", "-t", "--timeout":
			if len(args) < 2 || args[1] == "" || args[1][0] == '-' {
				return "", nil, false
			}
			if word == "-y" || word == "--m_key" {
				key = args[1]
			} else {
				passed = append(passed, word, args[1])
			}
			args = args[1:]
		default:
			if word[0] == '-' || file != "" {
				return "", nil, false
			}
			file = word
		}
		args = args[1:]
	}
	return file, append([]string{"-y", key}, passed...), true
}

// discover runs ibnetdiscover, which the scripts call by its full path.
func (r *run) discover(ctx context.Context, args []string) (text []byte, code int) {
	dir := "/usr/sbin"
	if r.LookupEnv != nil {
		if v, ok := r.LookupEnv("IBPATH"); ok && v != "" {
			dir = v
		}
	}
	var stdout bytes.Buffer
	host := *r.Host
	host.Name, host.Args, host.Stdout = dir+"/ibnetdiscover", args, &stdout
	code = ibnetdiscover().Run(ctx, host)
	return stdout.Bytes(), code
}

// isMessage reports whether a line is an error message.
func isMessage(line string) bool {
	return strings.HasPrefix(line, "ib") || strings.Contains(line, "ibpanic:") || strings.Contains(line, "ibwarn:") ||
		strings.Contains(line, "iberror:")
}

// nodeLine splits a node's line: `Ca 1 "H-…" # "host1 mlx5_0"`.
func nodeLine(line, kind string) (head, rest string, ok bool) {
	if !strings.HasPrefix(line, kind) {
		return "", "", false
	}
	fields := append(strings.Fields(line), "", "", "")
	guid := fields[2][min(len(fields[2]), 3):]
	if _, behind, found := strings.Cut(line, "#"); found {
		rest = strings.TrimLeft(behind, " \t")
	} else {
		rest = line // as awk's substr does
	}
	return fields[0] + "\t: 0x" + guid[:min(len(guid), 16)] + " ports " + fields[1] + " ", rest, true
}

func hostLine(line string) (string, bool) {
	head, rest, ok := nodeLine(line, "Ca")
	return head + rest, ok
}

// switchLine inserts a space before "port 0", whatever comes before it, as the script does.
func switchLine(line string) (string, bool) {
	head, rest, ok := nodeLine(line, "Switch")
	if at := strings.Index(rest, "port 0"); at >= 0 {
		rest = rest[:max(0, at-1)] + " " + rest[at:]
	} else {
		rest = " " + rest
	}
	return head + rest, ok
}
