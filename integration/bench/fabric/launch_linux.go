package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// launchWord makes this program run another one and measure it. Linux includes the parent's memory
// at the start in a new program's peak memory, so the parent must be a small process that doesn't
// hold the outputs.
const launchWord = "launch"

// preload is the variable with the library that the launched program, but not the launcher,
// preloads.
const preload = "RDMAKIT_BENCH_PRELOAD"

// resultDescriptor is the file descriptor to which the launcher writes a sample.
const resultDescriptor = 3

// launch runs a program with this process's streams, and writes its sample.
func launch(args []string) int {
	runtime.LockOSThread()                    // the program would end with this thread
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx,gosec // the caller's program; ends with this process
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if library := os.Getenv(preload); library != "" {
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start := time.Now()
	err := cmd.Run()
	s := sample{Seconds: time.Since(start).Seconds()}
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s.Exit = cmd.ProcessState.ExitCode()
	s.Processor = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.Memory = usage.Maxrss << 10
	}
	s.Floor = ownPeak()
	if err := json.NewEncoder(os.NewFile(resultDescriptor, "result")).Encode(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// ownPeak returns the peak resident memory of this process; getrusage would return its parent's, if
// that is larger.
func ownPeak() int64 {
	var kilobytes int64
	text, _ := os.ReadFile("/proc/self/status") // without it, nothing is below the floor
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Sscanf(rest, "%d", &kilobytes) //nolint:errcheck // as above
		}
	}
	return kilobytes << 10
}

// errSignal is the error of a program that a signal ended.
var errSignal = errors.New("ended by a signal")

// measured runs a program through the launcher, and also returns its output. libumad2sim's receiver
// crashes occasionally while a subnet manager is running: a C program that was ended by a signal is
// run again, at most twice.
func (b *bench) measured(ctx context.Context, environment, args []string) (s sample, out []byte, err error) {
	for range 3 {
		s, out, err = b.measureOnce(ctx, environment, args)
		if !errors.Is(err, errSignal) || filepath.Base(args[0]) == "rdmactl" {
			break
		}
	}
	return s, out, err
}

func (b *bench) measureOnce(ctx context.Context, environment, args []string) (s sample, out []byte, err error) {
	file, err := os.CreateTemp(b.dir, "out-")
	if err != nil {
		return s, nil, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // in a temporary folder
	defer file.Close()           //nolint:errcheck // read by name
	r, w, err := os.Pipe()
	if err != nil {
		return s, nil, err
	}
	defer r.Close() //nolint:errcheck // only read
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, b.self, append([]string{launchWord}, args...)...) //nolint:gosec // this program
	cmd.Dir, cmd.Env = b.dir, slices.Concat(os.Environ(), environment)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = file, &stderr, []*os.File{w}
	err = cmd.Run()
	_ = w.Close() // the launcher has ended
	if err == nil {
		err = json.NewDecoder(r).Decode(&s)
	}
	if err == nil && s.Exit < 0 {
		err = errSignal
	}
	if err != nil {
		return s, nil, fmt.Errorf("run %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	out, err = os.ReadFile(file.Name())
	return s, out, err
}
