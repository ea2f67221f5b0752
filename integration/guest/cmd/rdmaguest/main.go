// Command rdmaguest builds, boots and uses rdmakit's kernel guest interactively: see package guest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest"
)

const usage = `A Debian machine with the real Linux RDMA stack (rxe0, siw0) under QEMU, for tests.

  rdmaguest build                 make the guest from Debian packages (minutes, once)
  rdmaguest up [-life 1h] [-memory 3072]
                                  boot a guest and print its folder
  rdmaguest run [-timeout 60s] 'COMMANDS'
                                  run commands in it; exit with their status
  rdmaguest host CMD [ARG...]     run a command of this machine at the other end of the guest's cables
  rdmaguest push FILE PATH        copy a file into it
  rdmaguest pull PATH FILE        copy a file out of it
  rdmaguest down                  end it and remove its resources

The commands use the guest that RDMAKIT_GUEST names, or else the one that "up" booted last.
In the guest: eth0 192.0.2.1/24 with rxe0, eth1 198.51.100.1/24 with siw0; this machine's ends are .254.
It needs root on Debian bookworm. The processor is emulated: compare measurements only within the guest.

Example:

  export RDMAKIT_GUEST=$(rdmaguest up)
  rdmaguest run 'rdma link; ibv_devinfo -d rxe0'
  rdmaguest host ip -br addr
  go test -tags kernel ./integration/kernel/...
  rdmaguest down
`

// errUsage makes main print the usage.
var errUsage = errors.New("wrong use")

// exitError is the exit status of a command in the guest.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var status exitError
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "rdmaguest:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "build":
		return build(ctx, args, stdout, stderr)
	case "up":
		return up(ctx, args, stdout, stderr)
	case "run":
		return run(ctx, args, stdout, stderr)
	case "host":
		return host(ctx, args, stdout, stderr)
	case "push", "pull":
		return copyFile(ctx, name, args)
	case "down":
		return down(args)
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprint(stdout, usage)
		return err
	}
	return errUsage
}

// parse parses the flags of a subcommand, which must leave the given number
// of arguments.
func parse(fs *flag.FlagSet, args []string, want int) error {
	fs.SetOutput(io.Discard)
	if fs.Parse(args) != nil || fs.NArg() != want {
		return errUsage
	}
	return nil
}

func build(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := parse(flag.NewFlagSet("build", flag.ContinueOnError), args, 0); err != nil {
		return err
	}
	image, err := guest.Build(ctx, guest.Options{Log: stderr})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s (kernel %s, built %s)\n", image.Dir, image.KernelRelease,
		image.Built.Format(time.RFC3339))
	return err
}

func up(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	opts := guest.Options{Log: stderr, Detach: true}
	fs := flag.NewFlagSet("up", flag.ContinueOnError)
	fs.DurationVar(&opts.MaxLife, "life", 0, "")
	fs.IntVar(&opts.Memory, "memory", 0, "")
	if err := parse(fs, args, 0); err != nil {
		return err
	}
	g, err := guest.Start(ctx, opts)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, g.Dir())
	return err
}

// find returns the folder of the guest to use.
func find() (string, error) {
	if dir := os.Getenv("RDMAKIT_GUEST"); dir != "" {
		return dir, nil
	}
	dir, err := guest.FindDetached()
	if errors.Is(err, guest.ErrEnded) {
		err = errors.New("no guest is running: boot one with \"rdmaguest up\"")
	}
	return dir, err
}

func attach() (*guest.Guest, error) {
	dir, err := find()
	if err != nil {
		return nil, err
	}
	return guest.Attach(dir)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	timeout := fs.Duration("timeout", time.Minute, "")
	if err := parse(fs, args, 1); err != nil {
		return err
	}
	g, err := attach()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	res, err := g.Run(ctx, fs.Arg(0))
	_, outErr := stdout.Write(res.Stdout)
	_, errErr := stderr.Write(res.Stderr)
	err = errors.Join(err, outErr, errErr)
	if err == nil && res.ExitCode != 0 {
		err = exitError(res.ExitCode)
	}
	return err
}

func host(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return errUsage
	}
	g, err := attach()
	if err != nil {
		return err
	}
	cmd := g.HostCommand(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exitError(exit.ExitCode())
	}
	return err
}

func copyFile(ctx context.Context, name string, args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	g, err := attach()
	if err != nil {
		return err
	}
	if name == "push" {
		return g.CopyIn(ctx, args[0], args[1])
	}
	to, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	return g.CopyOut(ctx, args[0], to)
}

func down(args []string) error {
	if err := parse(flag.NewFlagSet("down", flag.ContinueOnError), args, 0); err != nil {
		return err
	}
	dir, err := find()
	if err != nil {
		return err
	}
	return guest.Stop(dir)
}
