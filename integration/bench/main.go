// Command bench measures `rdmactl env` as whole processes against the shell algorithm that it
// replaces (kserve.sh), on two nodes with eight devices and 256 GID slots each: one where the
// algorithm finds an address early, and one where it never does. It first checks that both export
// the same variables.
//
//	integration/bench/run -n 5
//
// Runs are interleaved, so that other load on the machine affects all of them; each result is a
// median. The result is a Markdown table on standard output, including the project's targets. With
// -check a missed target makes the exit code 1.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is main with its streams.
func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 5, "repetitions")
	rdmactl := flags.String("rdmactl", "bin/rdmactl", "program to measure")
	script := flags.String("script", "integration/bench/kserve.sh", "shell algorithm to compare with")
	check := flags.Bool("check", false, "fail when a target is missed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *n < 1 {
		return fmt.Errorf("-n %d: want 1 or more", *n)
	}
	dir, err := os.MkdirTemp("", "rdmakit-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary folder
	b := bench{dir: dir, rdmactl: *rdmactl, script: *script, repetitions: *n, progress: stderr}
	rows, err := b.measure()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, report(machine(), *n, rows)); err != nil {
		return err
	}
	if *check {
		return missed(rows)
	}
	return nil
}

// bench measures.
type bench struct {
	dir             string
	rdmactl, script string
	repetitions     int
	progress        io.Writer
}

// scenario is a node on which programs compete.
type scenario struct {
	tree, title string
	ratio       float64 // target of the speed relative to the script
}

func scenarios() []scenario {
	return []scenario{
		{"30_timing_8x256", "8 × 256 GIDs, early hit", 10},
		{"31_timing_worst_8x256", "8 × 256 GIDs, no match", 100},
	}
}

// contestant is a program on a node, or without one.
type contestant struct {
	row  *row
	args []string
	exit []int // expected exit codes
}

// measure runs every program once to warm up, compares the results, and then measures the times.
func (b bench) measure() ([]row, error) {
	var rows []row
	var list []contestant
	add := func(r row, exit []int, args ...string) {
		rows = append(rows, r)
		list = append(list, contestant{args: args, exit: exit})
	}
	for _, s := range scenarios() {
		root, err := b.writeTree(s.tree)
		if err != nil {
			return nil, err
		}
		if err := b.compare(root); err != nil {
			return nil, fmt.Errorf("%s: %w", s.tree, err)
		}
		add(row{title: s.title, program: "shell algorithm"}, []int{0, 1}, "bash", b.script, root)
		add(row{title: s.title, program: "rdmactl env --compat kserve", ratio: s.ratio, limit: 100 * time.Millisecond},
			[]int{0}, b.rdmactl, "env", "-q", "--compat", "kserve", "--root", root)
		add(row{title: s.title, program: "rdmactl env", ratio: s.ratio, limit: 100 * time.Millisecond}, []int{0, 3},
			b.rdmactl, "env", "-q", "--root", root)
	}
	add(row{title: "start-up", program: "rdmactl version", limit: 30 * time.Millisecond}, []int{0},
		b.rdmactl, "version")
	for i := range list {
		list[i].row = &rows[i]
	}
	for i := range b.repetitions {
		for _, c := range list {
			took, err := timed(c)
			if err != nil {
				return nil, err
			}
			c.row.times = append(c.row.times, took)
		}
		if _, err := fmt.Fprintf(b.progress, "repetition %d of %d\n", i+1, b.repetitions); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// writeTree writes a node without the list of recorded errors, because a real node has no such
// list. The files with errors are then empty for both programs.
func (b bench) writeTree(name string) (string, error) {
	tree, err := testtrees.Load(name)
	if err != nil {
		return "", err
	}
	root := filepath.Join(b.dir, name)
	if err := os.Mkdir(root, 0o750); err != nil {
		return "", err
	}
	if err := tree.WriteDir(root); err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(root, sysfs.ErrnoFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return root, nil
}

// environment is the same for all programs.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "KSERVE_INFER_ROCE=true"}
}

func timed(c contestant) (time.Duration, error) {
	cmd := exec.Command(c.args[0], c.args[1:]...) //nolint:noctx,gosec // runs to its end; the caller's program
	cmd.Env = environment()
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if cmd.ProcessState == nil {
		return 0, err
	}
	for _, code := range c.exit {
		if cmd.ProcessState.ExitCode() == code {
			return took, nil
		}
	}
	return 0, fmt.Errorf("%s: %w", strings.Join(c.args, " "), err)
}

// compare fails unless the script and rdmactl export the same variables on a node. It also warms
// the caches.
func (b bench) compare(root string) error {
	want, err := b.scriptExports(root)
	if err != nil {
		return err
	}
	//nolint:noctx,gosec // as in timed
	cmd := exec.Command(b.rdmactl, "env", "-q", "--compat", "kserve", "--format", "dotenv", "--root", root)
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run rdmactl env: %w", err)
	}
	if got := pairs(string(out), "\n"); !maps.Equal(got, want) {
		return fmt.Errorf("rdmactl exports %v, the script %v", got, want)
	}
	return nil
}

// scriptExports runs the script with its results on file descriptor 3.
func (b bench) scriptExports(root string) (map[string]string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("bash", b.script, root) //nolint:noctx,gosec // as in timed
	cmd.Env, cmd.ExtraFiles = environment(), []*os.File{w}
	err = cmd.Run()
	_ = w.Close() // the script has ended
	if cmd.ProcessState == nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil {
		return nil, err
	}
	return pairs(out.String(), "\x00"), nil
}

// pairs parses NAME=VALUE entries.
func pairs(text, separator string) map[string]string {
	out := map[string]string{}
	for entry := range strings.SplitSeq(text, separator) {
		if name, value, ok := strings.Cut(entry, "="); ok {
			out[name] = value
		}
	}
	return out
}

// machine describes the machine.
func machine() string {
	kernel, cpu := "unknown kernel", "unknown processor"
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	load := "unknown"
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
	}
	return fmt.Sprintf("%d cores of %s, Linux %s, %s, load %s at the end",
		runtime.NumCPU(), cpu, kernel, runtime.Version(), load)
}
