package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Options configures the build and boot of a guest. The zero value is suitable for tests.
type Options struct {
	// Cache is the folder of built guests. Empty means rdmakit/guest below
	// $RDMAKIT_GUEST_CACHE, $XDG_CACHE_HOME or ~/.cache, the first that is set.
	Cache string
	// Log receives progress messages, one line at a time; nil: none.
	Log io.Writer
	// Memory of the guest in MiB; 0 means 3072. The guest's files are part
	// of it.
	Memory int
	// CPUs of the guest; 0 means 2.
	CPUs int
	// MaxLife is the longest life of the guest; 0 means an hour.
	MaxLife time.Duration
	// BootTimeout limits the boot; 0 means 5 minutes.
	BootTimeout time.Duration
	// Detach lets the guest outlive this process. Close then leaves it
	// running, and Stop ends it.
	Detach bool
}

func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = 3072
	}
	if o.CPUs == 0 {
		o.CPUs = 2
	}
	if o.MaxLife == 0 {
		o.MaxLife = time.Hour
	}
	if o.BootTimeout == 0 {
		o.BootTimeout = 5 * time.Minute
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Memory < 1024:
		return fmt.Errorf("guest options: %d MiB of memory: at least 1024 needed", o.Memory)
	case o.CPUs < 1:
		return fmt.Errorf("guest options: %d CPUs: at least 1 needed", o.CPUs)
	case o.MaxLife < time.Second || o.BootTimeout < time.Second:
		return fmt.Errorf("guest options: life %v, boot %v: at least a second each needed", o.MaxLife, o.BootTimeout)
	}
	return nil
}

func (o Options) logf(format string, args ...any) {
	if o.Log != nil {
		_, _ = fmt.Fprintf(o.Log, "guest: "+format+"\n", args...)
	}
}

// Result is the result of a script.
type Result struct {
	Stdout, Stderr []byte
	// ExitCode is the exit status; 128+n if signal n killed the script, and 128+9 if it was killed
	// at its deadline.
	ExitCode int
}

// Guest is a running guest. Its methods may be called concurrently.
type Guest struct {
	state state

	// end ends a guest that this process owns; nil for other guests.
	end func() error

	mu     sync.Mutex
	closed bool
}

// Dir returns the folder that describes the guest, for [Attach] and for the
// environment variable RDMAKIT_GUEST. It holds the console log as well.
func (g *Guest) Dir() string { return g.state.Dir }

// Netns returns the name of the network namespace with the host's ends of the links, for ip netns.
func (g *Guest) Netns() string { return g.state.Netns }

// Run runs a bash script in the guest, as root, in a new session, with an empty standard input. It
// returns when the script has ended; background processes of the script keep running, and their
// later output is lost.
//
// An exit status other than 0 is not an error. If ctx ends first, the script and all processes that
// it started are killed, the result holds their output, and the error wraps the cause. A script may
// be at most about 90 KiB long.
func (g *Guest) Run(ctx context.Context, script string) (Result, error) {
	s, err := g.session(ctx)
	if err != nil {
		return Result{ExitCode: -1}, fmt.Errorf("run %s in the guest: %w", shorten(script), err)
	}
	defer s.close()
	res, err := s.run(ctx, script)
	if err != nil {
		err = fmt.Errorf("run %s in the guest: %w", shorten(script), err)
	}
	return res, err
}

// Output is Run for scripts that are expected to succeed: it returns the
// standard output, and an error that holds the standard error if the exit
// status is not 0.
func (g *Guest) Output(ctx context.Context, script string) (string, error) {
	res, err := g.Run(ctx, script)
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("run %s in the guest: exit status %d: %s", shorten(script), res.ExitCode, res.Stderr)
	}
	return string(res.Stdout), err
}

// CopyIn copies a regular file of this machine into the guest, including permission bits, and
// creates its parent folders. guestPath is absolute; an existing file is replaced atomically when
// the copy is complete.
func (g *Guest) CopyIn(ctx context.Context, hostPath, guestPath string) error {
	if err := g.copyIn(ctx, hostPath, guestPath); err != nil {
		return fmt.Errorf("copy %s into the guest: %w", hostPath, err)
	}
	return nil
}

func (g *Guest) copyIn(ctx context.Context, hostPath, guestPath string) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := g.session(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return s.put(ctx, f, guestPath)
}

// CopyOut copies a file of the guest, which may be in proc or sysfs, to this machine, including
// permission bits. An existing file hostPath is replaced atomically when the copy is complete.
func (g *Guest) CopyOut(ctx context.Context, guestPath, hostPath string) error {
	if err := g.copyOut(ctx, guestPath, hostPath); err != nil {
		return fmt.Errorf("copy %s out of the guest: %w", guestPath, err)
	}
	return nil
}

func (g *Guest) copyOut(ctx context.Context, guestPath, hostPath string) error {
	s, err := g.session(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	f, err := os.CreateTemp(filepath.Dir(hostPath), ".copy-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // already renamed after success
	mode, err := s.get(ctx, guestPath, f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), hostPath)
}

// HostCommand returns a command of this machine that runs in the guest's network namespace, with
// the addresses [HostAddress] and [HostAddressIWARP]: a peer of the guest. Close kills such
// commands if they are still running.
func (g *Guest) HostCommand(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", g.state.Netns, name}, args...)...)
}

// Close ends a guest that this process has started, unless it is detached, removes its resources,
// and returns when that is done. Other guests keep running. Running calls of other methods return
// [ErrEnded] or the error of their connection. Further calls do nothing.
func (g *Guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	if g.end == nil {
		return nil
	}
	return g.end()
}

func (g *Guest) session(ctx context.Context) (*session, error) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return nil, ErrEnded
	}
	s, err := g.open(ctx)
	if err == nil {
		s.keepAlive(aliveEvery, maxSilence)
	}
	return s, err
}

// shorten quotes a script for an error.
func shorten(script string) string {
	const most = 60
	if len(script) > most {
		return fmt.Sprintf("%q…", script[:most])
	}
	return fmt.Sprintf("%q", script)
}
