package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Start boots a guest, and builds it first if necessary: see [Build]. It returns when the guest
// answers. ctx limits only the start; the guest runs until Close, until this process dies (unless
// detached), or until MaxLife is over.
//
// Start also removes the guests of dead processes. The error matches [ErrUnavailable] if this
// machine can't run a guest.
func Start(ctx context.Context, opts Options) (*Guest, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if err := prepareBoot(ctx, opts); err != nil {
		return nil, err
	}
	image, err := Build(ctx, opts)
	if err != nil {
		return nil, err
	}
	// Tells prune that the image is in use.
	now := time.Now()
	if err := os.Chtimes(filepath.Join(image.Dir, "image.json"), now, now); err != nil {
		return nil, fmt.Errorf("boot guest: %w", err)
	}
	s, life, err := register(ctx, runRoot, opts)
	if err != nil {
		return nil, err
	}
	b := &boot{opts: opts, image: image, state: s, life: life, exited: make(chan struct{})}
	if err := b.up(ctx); err != nil {
		err = fmt.Errorf("boot guest: %w%s", err, b.lastWords())
		return nil, errors.Join(err, b.down())
	}
	opts.logf("booted in %.1f s: %s", time.Since(now).Seconds(), s.Dir)
	g := &Guest{state: b.state}
	if opts.Detach {
		return g, life.Close() // QEMU has inherited it
	}
	g.end = b.down
	return g, nil
}

// prepareBoot checks the requirements of a boot and installs missing programs.
func prepareBoot(ctx context.Context, opts Options) error {
	h := readHost()
	if _, packages := h.missingBoot(); len(packages) > 0 && h.Root {
		if _, err := exec.LookPath("apt-get"); err == nil {
			opts.logf("installing %s on this machine", strings.Join(packages, " "))
			tail := &tailBuffer{}
			r := &runner{log: tail}
			if err := errors.Join(r.updatePackages(ctx), r.installPackages(ctx, packages)); err != nil {
				return err
			}
			h = readHost()
		}
	}
	return h.checkBoot()
}

// boot is a guest that this process starts.
type boot struct {
	opts   Options
	image  Image
	state  state
	life   *os.File
	exited chan struct{} // closed when QEMU has ended
}

// up creates the namespace, starts QEMU and waits for an answer.
func (b *boot) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, b.opts.BootTimeout,
		fmt.Errorf("no answer within %v", b.opts.BootTimeout))
	defer cancel()
	r := &runner{log: &tailBuffer{}}
	if err := r.run(ctx, exec.CommandContext(ctx, "ip", "netns", "add", b.state.Netns)); err != nil {
		return err
	}
	batch := exec.CommandContext(ctx, "ip", "-n", b.state.Netns, "-batch", "-")
	batch.Stdin = strings.NewReader(netCommands())
	if err := r.run(ctx, batch); err != nil {
		return err
	}
	if err := b.startQemu(); err != nil {
		return err
	}
	if err := b.waitReady(ctx); err != nil {
		return err
	}
	b.state.Ready = true
	return b.state.write()
}

func (b *boot) startQemu() error {
	log, err := os.Create(filepath.Join(b.state.Dir, "qemu.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := qemuArgs(b.opts, b.state, b.image)
	// No context ends QEMU: it outlives the boot.
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir = b.state.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.opts.Detach {
		cmd.ExtraFiles = []*os.File{b.life}
	} else {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM // reaches timeout, which passes it on
	}
	started := make(chan error, 1)
	go func() {
		// The signal comes when the starting thread dies, not the process:
		// this thread must live as long as QEMU.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the exit status of QEMU is ignored
		}
		close(b.exited)
	}()
	return <-started
}

// waitReady waits until guestd answers on a channel.
func (b *boot) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-b.exited:
			cancel(errors.New("qemu ended"))
		case <-ctx.Done():
		}
	}()
	g := &Guest{state: b.state}
	for {
		s, err := g.open(ctx)
		if err == nil {
			err = s.ping(ctx)
			s.close()
		}
		if err == nil || !errors.Is(err, ErrEnded) {
			return err
		}
		// QEMU has not made its sockets yet.
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// down ends the guest and waits until it has ended.
func (b *boot) down() error {
	err := b.state.remove()
	return errors.Join(err, b.life.Close())
}

// lastWords returns the last lines of QEMU's output and of the console, for errors.
func (b *boot) lastWords() string {
	var text strings.Builder
	for _, name := range []string{"qemu.log", consoleName} {
		tail := &tailBuffer{}
		content, err := os.ReadFile(filepath.Join(b.state.Dir, name))
		if err != nil {
			continue
		}
		_, _ = tail.Write(content)
		if t := tail.text(); t != "" {
			text.WriteString("\n--- end of " + name + "\n" + t)
		}
	}
	return text.String()
}
