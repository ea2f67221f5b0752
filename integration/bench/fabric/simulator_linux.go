package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// umad2sim is Debian's path of the library that connects the C tools to the simulator.
const umad2sim = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

// limits of the waits for the simulator and for the subnet manager, which takes a minute for 10,000
// nodes.
const (
	simulatorPatience = 30 * time.Second
	managerPatience   = 4 * time.Minute
)

// The nodes of the subnet manager and of the measured programs.
const (
	managerNode = "host0"
	toolNode    = "host1"
)

// simulator is a running ibsim with a subnet manager that has finished.
type simulator struct {
	socketName string
	processes  []*exec.Cmd
}

var serial atomic.Uint32

// startSimulator runs ibsim and OpenSM on a net.
func (b *bench) startSimulator(ctx context.Context, spec netSpec) (*simulator, error) {
	s := &simulator{socketName: fmt.Sprintf("rdmakit-bench-%d-%d", os.Getpid(), serial.Add(1))}
	err := s.start(ctx, b.dir, spec)
	if err == nil {
		err = s.manage(ctx, b.dir)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("net %s: %w", spec.name, err)
	}
	return s, nil
}

func (s *simulator) start(ctx context.Context, dir string, spec netSpec) error {
	name := filepath.Join(dir, s.socketName)
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := spec.net.WriteTo(file); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	cmd := s.command(ctx, dir, "ibsim", append([]string{"-s"}, append(ibsimtest.LargeArguments(), name)...)...)
	// Its console must stay open: at the end of its input ibsim reads in a busy loop.
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.run(cmd); err != nil {
		return err
	}
	return await(ctx, simulatorPatience, "ibsim", func() bool {
		conn, err := ibsim.Dial(ctx, ibsim.Config{SocketName: s.socketName})
		if err == nil {
			conn.Close() //nolint:errcheck // a try
		}
		return err == nil
	})
}

// manage runs OpenSM until it reports the subnet up. It keeps running, because ibqueryerrors
// queries it once, but it no longer sweeps.
func (s *simulator) manage(ctx context.Context, dir string) error {
	dir, err := os.MkdirTemp(dir, "opensm-") // files of an earlier run would change LIDs
	if err != nil {
		return err
	}
	config, log := filepath.Join(dir, "conf"), filepath.Join(dir, "log")
	if err := os.WriteFile(config, []byte("force_log_flush TRUE\nsweep_interval 0\n"), 0o600); err != nil {
		return err
	}
	cmd := s.command(ctx, dir, "opensm", "-F", config, "-R", "minhop", "-f", log)
	cmd.Env = append(cmd.Env, s.environment(managerNode)...)
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+umad2sim, "OSM_CACHE_DIR="+dir, "OSM_TMP_DIR="+dir)
	if err := s.run(cmd); err != nil {
		return err
	}
	return await(ctx, managerPatience, "opensm", func() bool {
		text, _ := os.ReadFile(log) // not there yet
		return bytes.Contains(text, []byte("SUBNET UP"))
	})
}

// environment returns the variables that connect a program to a node of the simulator.
func (s *simulator) environment(node string) []string {
	return []string{"IBSIM_SOCKNAME=" + s.socketName, "SIM_HOST=" + node}
}

// await waits until the condition is true.
func await(ctx context.Context, patience time.Duration, what string, ready func() bool) error {
	for end := time.Now().Add(patience); !ready(); {
		if time.Now().After(end) {
			return fmt.Errorf("%s is not ready after %v", what, patience)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

func (s *simulator) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir // umad2sim leaves files here if its program is killed
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.socketName)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (s *simulator) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w (make deps installs it)", err)
	}
	s.processes = append(s.processes, cmd)
	return nil
}

// stop ends the programs, the manager before the simulator.
func (s *simulator) stop() {
	for _, p := range slices.Backward(s.processes) {
		p.Process.Kill() //nolint:errcheck // it may have ended
		p.Wait()         //nolint:errcheck // killed
	}
}
