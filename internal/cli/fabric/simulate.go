package fabric

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/edge/wholefile"
	"github.com/rdmakit/rdmakit/internal/sim/ibsimd"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	generate, write, faults, name, listen string
	managers                              []string
}

func newFabricSimulateCommand(app *cli.App) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate [FILE]",
		Short: "Serve a simulated fabric to rdmactl, OpenSM and the C tools",
		Long: `Simulate an InfiniBand subnet until Ctrl-C, and serve it over the sockets of ibsim: rdmactl with SIM_HOST
set joins it, and so do OpenSM, infiniband-diags and other programs that have libumad2sim preloaded
(package ibsim-utils). The lines to paste into a shell are printed. Nothing of this machine's fabric
is read or changed.

FILE is a net file of ibsim, the output of ibnetdiscover, or a sweep that "fabric topology --save"
has saved, which is replayed with its LIDs, routes and counters. --generate makes a usual topology
instead; each parameter may be left out:

    fat-tree:leaves=4,spines=2,hosts=8,cables=1          hosts of each leaf
    fat-tree:pods=2,cores=4,leaves=4,spines=2,hosts=8    three levels
    rail:groups=1,nodes=8,rails=8,spines=4,cables=1      a leaf for each rail of a group
    dragonfly:groups=4,leaves=2,spines=2,hosts=4,global=2    dragonfly+; cables between two groups

radix=64 and speed=hdr (edr, ndr) fit all of them.

Without a subnet manager the ports have no LIDs: start OpenSM in the subnet, or let --manager NODE
simulate that one has configured it, which also answers "fabric sa" and saquery. --faults FILE reads
what is wrong with the subnet from YAML: dead, slow and lying nodes, M_Keys, two masters, counters
that grow. All of it is in docs/fabric.md.

Exit codes:

    0   stopped with Ctrl-C, or --write wrote the file
    1   another simulator has the sockets, or a socket failed
    2   wrong use, a file that can't be parsed, or --write into a folder that doesn't exist
    4   no permission to read or write a file
    6   the time limit expired (--timeout)`,
		Example: `  rdmactl fabric simulate --generate fat-tree:leaves=4,hosts=16 --manager host0
  rdmactl fabric simulate fabric.json --name replay
  rdmactl fabric simulate --generate rail:nodes=32 --write rail.net`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return f.run(cmd.Context(), app, args)
		},
	}
	set := cmd.Flags()
	set.StringVar(&f.generate, "generate", "", "simulate this `TOPOLOGY`: "+strings.Join(ibsimd.Shapes(), ", ")+
		", with parameters after a colon")
	set.StringVar(&f.write, "write", "", "write the subnet to `FILE` as a net file of ibsim, and end")
	set.StringVar(&f.faults, "faults", "", "read the faults of the subnet from this YAML `FILE`")
	set.StringArrayVar(&f.managers, "manager", nil,
		"simulate a subnet manager at `NODE`, which has configured the subnet; a second one is its standby")
	set.StringVar(&f.name, "name", "", "the `NAME` of the sockets (default: IBSIM_SOCKNAME, or sim)")
	set.StringVar(&f.listen, "listen", "", "serve on UDP at `ADDRESS[:PORT]` instead, as ibsim -r does, for clients "+
		"with IBSIM_SERVER_NAME (default port 7070; the next ten are the clients')")
	for _, file := range []string{"write", "faults"} {
		_ = cmd.MarkFlagFilename(file)
	}
	cmd.MarkFlagsMutuallyExclusive("name", "listen")
	cmd.MarkFlagsMutuallyExclusive("write", "faults")
	cmd.MarkFlagsMutuallyExclusive("write", "manager")
	return cmd
}

// check rejects flags that contradict each other, and those of commands that read a subnet.
func (f *simulateFlags) check(cmd *cobra.Command, args []string) error {
	switch generate := cmd.Flags().Changed("generate"); {
	case generate && len(args) > 0:
		return cli.UsageError(cmd, errors.New("FILE and --generate can't be combined"))
	case !generate && len(args) == 0:
		return cli.UsageError(cmd, errors.New("missing argument FILE; --generate TOPOLOGY needs none"))
	}
	reading := append(keyFlagNames(), "from", "rescan", "save", "hosts", "budget", "transport", "device", "port",
		"pkey", "pkey-idx", "mad-timeout", "retries")
	for _, name := range reading {
		if cmd.Flags().Changed(name) {
			return cli.UsageError(cmd, fmt.Errorf("--%s can't be used: simulate reads no subnet", name))
		}
	}
	if f.write == "" && cmd.Flags().Changed("write") {
		return cli.UsageError(cmd, errors.New("--write: empty"))
	}
	return nil
}

func (f *simulateFlags) run(ctx context.Context, app *cli.App, args []string) error {
	n, managers, source, err := f.subnet(app, args)
	if err != nil {
		return err
	}
	if f.write != "" {
		return writeNet(f.write, n)
	}
	more, err := f.plant(n)
	if err != nil {
		return err
	}
	managers = append(managers, more...)
	config, err := f.sockets(app)
	if err != nil {
		return err
	}
	sim, err := ibsimd.New(n, ibsimd.Options{
		Managers: managers,
		OnJoin:   func(node string) { app.Log.Debug("client joins", "node", node) },
		OnLeave:  func(node string) { app.Log.Debug("client leaves", "node", node) },
	})
	if err != nil {
		return cli.Exitf(cli.ExitUsage, "%w", err)
	}
	if err := sim.Listen(config); err != nil {
		if errors.Is(err, ibsim.ErrInUse) {
			err = cli.WithHints(err, "--name NAME serves at other sockets, or --listen ADDRESS:PORT at other ports")
		}
		return err
	}
	if err := app.Out.Raw([]byte(announce(n, managers, source, config))); err != nil {
		return errors.Join(err, sim.Close())
	}
	err = sim.Serve(ctx)
	s := sim.Stats()
	app.Out.Note("%s served: %s, %s from one client to another, %d lost", english.Count(s.Clients, "client"),
		english.Count(s.Answers, "answer"), english.Count(s.Forwards, "packet"), s.Lost)
	if _, interrupted := errors.AsType[*cli.SignalError](context.Cause(ctx)); err == nil && !interrupted {
		err = context.Cause(ctx)
	}
	return err
}

// subnet returns the subnet that file or flags describe, the managers of a saved sweep, and the
// source for messages. An error has an exit code.
func (f *simulateFlags) subnet(app *cli.App, args []string) (*ibsimd.Net, []ibsimd.Manager, string, error) {
	if len(args) == 0 {
		n, err := ibsimd.Generate(f.generate)
		if err != nil {
			return nil, nil, "", cli.Exitf(cli.ExitUsage, "%w", nearest(err))
		}
		return n, nil, f.generate, nil
	}
	name := args[0]
	var r io.Reader
	if name == "-" {
		stdin, err := app.TakeStdin("FILE")
		if err != nil {
			return nil, nil, "", err
		}
		r, name = stdin, "standard input"
	} else {
		file, err := os.Open(name) //nolint:gosec // the user's file
		if err != nil {
			return nil, nil, "", cli.InputError(fmt.Errorf("read net: %w", err))
		}
		defer file.Close()
		r = file
	}
	in := bufio.NewReader(r)
	if head, _ := in.Peek(64); !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) && notTopology(in) == "" {
		n, err := ibsimd.ParseNet(name, in)
		if err != nil {
			return nil, nil, "", cli.InputError(err)
		}
		return n, nil, name, nil
	}
	t, err := parseTopology(in, name)
	if err != nil {
		return nil, nil, "", err
	}
	n, managers, err := ibsimd.FromTopology(t)
	if err != nil {
		return nil, nil, "", cli.Exitf(cli.ExitUsage, "%s: %w", name, err)
	}
	return n, managers, name, nil
}

// nearest adds a hint to the error for an unknown name.
func nearest(err error) error {
	unknown, is := errors.AsType[*ibsimd.UnknownNameError](err)
	if !is {
		return err
	}
	return cli.WithHints(err, cli.DidYouMean(spelling.Nearest(unknown.Name, unknown.Known, spelling.Loose))...)
}

// maxFaultFile is the largest size of a file of faults in bytes.
const maxFaultFile = 1 << 20

// plant plants the faults of the file, and returns the subnet managers of file and flags.
func (f *simulateFlags) plant(n *ibsimd.Net) (managers []ibsimd.Manager, err error) {
	if f.faults != "" {
		info, err := os.Stat(f.faults)
		if err == nil && info.Size() > maxFaultFile {
			err = fmt.Errorf("longer than %d bytes", maxFaultFile)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(f.faults)
		}
		if err != nil {
			return nil, cli.InputError(fmt.Errorf("--faults %s: %w", f.faults, err))
		}
		faults, err := ibsimd.ParseFaults(text)
		if err == nil {
			managers, err = faults.Apply(n)
		}
		if err != nil {
			return nil, cli.Exitf(cli.ExitUsage, "--faults %s: %w", f.faults, nearest(err))
		}
	}
	for i, node := range f.managers {
		m := ibsimd.Manager{Node: node, State: mad.SMStateMaster, Priority: 1}
		if i > 0 {
			m.State, m.Priority = mad.SMStateStandby, 0
		}
		if n.Find(node) == nil {
			return nil, cli.Exitf(cli.ExitUsage, "--manager: %w", nearest(n.Unknown(node)))
		}
		managers = append(managers, m)
	}
	return managers, nil
}

// sockets returns the sockets that flags and environment choose.
func (f *simulateFlags) sockets(app *cli.App) (ibsim.ServerConfig, error) {
	c := ibsim.ServerConfig{SocketName: f.name}
	if c.SocketName == "" {
		c.SocketName = app.Getenv("IBSIM_SOCKNAME")
	}
	if f.listen == "" {
		return c, nil
	}
	host, port := f.listen, ""
	if strings.Contains(host, ":") {
		var err error
		if host, port, err = net.SplitHostPort(f.listen); err != nil {
			return c, cli.Exitf(cli.ExitUsage, "--listen %q: %w", f.listen, err)
		}
	}
	c.Listen = host
	if ip := net.ParseIP(host); ip == nil || ip.To4() == nil {
		return c, cli.Exitf(cli.ExitUsage, "--listen %q: %q is not an IPv4 address", f.listen, host)
	}
	if port != "" {
		v, err := strconv.Atoi(port)
		if last := 65535 - ibsim.MaxClients; err != nil || v < 1 || v > last {
			return c, cli.Exitf(cli.ExitUsage, "--listen %q: port %q is not from 1 to %d", f.listen, port, last)
		}
		c.Port = v
	}
	return c, nil
}

// announce says what is served, and how programs join.
func announce(n *ibsimd.Net, managers []ibsimd.Manager, source string, c ibsim.ServerConfig) string {
	switches, hosts, cables := n.Counts()
	at := n.Nodes[0]
	for _, one := range n.Nodes {
		if one.Type != mad.NodeTypeSwitch && !one.Dead {
			at = one
			break
		}
	}
	manager := "no subnet manager: start opensm, or use --manager"
	if len(managers) > 0 {
		var names []string
		for _, m := range managers {
			names = append(names, m.Node)
		}
		manager = "simulated " + english.Count(len(names), "subnet manager") + ": " + strings.Join(names, ", ")
	}
	env := "SIM_HOST=" + quoteShell(at.Name)
	if c.Listen != "" {
		env += " IBSIM_SERVER_NAME=" + c.Listen
		if c.Port != 0 {
			env += " IBSIM_SERVER_PORT=" + strconv.Itoa(c.Port)
		}
	} else if c.SocketName != "" {
		env += " IBSIM_SOCKNAME=" + quoteShell(c.SocketName)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "SIMULATED: %s, %s and %s of %s, at %s\n%s\n\n", english.Count(switches, "switch"),
		english.Count(hosts, "host"), english.Count(cables, "link"), source, c, manager)
	fmt.Fprintf(&b, "# rdmactl\nexport %s\n", env)
	library := "libumad2sim.so # of package ibsim-utils, which is not installed here"
	if found, _ := filepath.Glob("/usr/lib*/*/umad2sim/libumad2sim.so"); len(found) > 0 {
		library = found[0]
	}
	fmt.Fprintf(&b, "# OpenSM and the C tools\nexport %s LD_PRELOAD=%s\n", env, library)
	return b.String()
}

// quoteShell quotes a word for a shell if it has to be.
func quoteShell(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// writeNet writes the whole file or leaves the old one unchanged.
func writeNet(name string, n *ibsimd.Net) error {
	err := wholefile.Write(name, wholefile.Options{Mode: 0o644, Replace: true, KeepMode: true}, n.Write)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR):
		return cli.Exitf(cli.ExitUsage, "--write: %w", err)
	case err != nil:
		return fmt.Errorf("--write: %w", err)
	}
	return nil
}
