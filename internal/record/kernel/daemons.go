package kernel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// starters are the daemons whose limits jobs or containers inherit. The kernel cuts names after 15
// bytes.
var starters = []string{
	"slurmd", "pbs_mom", "sge_execd", "condor_startd", "sbatchd", "containerd", "dockerd", "crio", "k3s-server",
	"k3s-agent", "rke2", "ray", "nomad", "flux-broker",
}

// daemons reads the limits of the daemons that start jobs.
func daemons(now func() time.Time) facts.Collector {
	return facts.Collector{
		Kind: facts.KindDaemons, Source: "/proc/PID/comm, limits and cgroup", Cost: "one small file of each process",
		Collect: func(ctx context.Context, _ *inventory.Snapshot, f *facts.Facts) {
			f.Daemons = facts.Read(now, func() ([]facts.Daemon, error) { return running(ctx, os.DirFS("/")) })
		},
	}
}

func running(ctx context.Context, root fs.FS) ([]facts.Daemon, error) {
	entries, err := fs.ReadDir(root, sysfs.Proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	out := []facts.Daemon{}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := path.Join(sysfs.Proc, e.Name())
		comm, err := fs.ReadFile(root, path.Join(dir, "comm"))
		name := string(bytes.TrimSpace(comm))
		if err != nil || !slices.Contains(starters, name) {
			continue // the process has ended, or starts no jobs
		}
		limits, err := fs.ReadFile(root, path.Join(dir, "limits"))
		if err != nil {
			continue
		}
		cgroup, _ := fs.ReadFile(root, path.Join(dir, "cgroup")) // without it the unit is not known
		d := facts.Daemon{Name: name, PID: pid, Unit: unitOf(string(cgroup))}
		var known [2]bool
		d.Memlock, known[0] = limitOf(string(limits), "Max locked memory")
		d.Files, known[1] = limitOf(string(limits), "Max open files")
		if known == [2]bool{true, true} {
			d.Settings = daemonSettings(root, cmp.Or(d.Unit, name+".service"))
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b facts.Daemon) int { return a.PID - b.PID })
	return out, nil
}

// unitOf returns the service in /proc/PID/cgroup that a process belongs to: the last one on the way
// to its cgroup in the hierarchy of systemd, which is the only one of version 2. "" without one.
func unitOf(cgroup string) string {
	for line := range strings.Lines(cgroup) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 || f[1] != "" && f[1] != "name=systemd" {
			continue
		}
		names := strings.Split(f[2], "/")
		for _, name := range slices.Backward(names) {
			if strings.HasSuffix(name, ".service") {
				return name
			}
		}
	}
	return ""
}

// limitOf returns a limit of /proc/PID/limits, and whether it is there and valid.
func limitOf(limits, label string) (facts.Range, bool) {
	for line := range strings.Lines(limits) {
		rest, ok := strings.CutPrefix(line, label)
		f := strings.Fields(rest)
		if !ok || len(f) < 2 {
			continue
		}
		soft, err1 := inventory.ParseLimit(f[0])
		hard, err2 := inventory.ParseLimit(f[1])
		return facts.Range{Soft: soft, Hard: hard}, err1 == nil && err2 == nil
	}
	return facts.Range{}, false
}

// daemonSettings returns the lines about locked memory: of the unit of a daemon, of systemd, and
// for logins. Nothing else of these files is kept, because units hold passwords.
func daemonSettings(root fs.FS, service string) []facts.DaemonSetting {
	var out []facts.DaemonSetting
	add := func(pattern string, is func(line string) bool) {
		names, _ := fs.Glob(root, pattern) // only a bad pattern fails
		for _, name := range names {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				if line = strings.TrimSpace(line); is(line) {
					out = append(out, facts.DaemonSetting{Path: "/" + name, Value: line})
				}
			}
		}
	}
	unit := func(line string) bool { return strings.HasPrefix(line, "LimitMEMLOCK=") }
	system := func(line string) bool { return strings.HasPrefix(line, "DefaultLimitMEMLOCK=") }
	login := func(line string) bool { // of everybody, so that no name of a user is kept
		f := strings.Fields(line)
		return len(f) == 4 && (f[0] == "*" || f[0] == "root") && f[2] == "memlock"
	}
	for _, dir := range []string{"usr/lib/systemd/system", "lib/systemd/system", "etc/systemd/system"} {
		add(path.Join(dir, service), unit)
	}
	add("etc/systemd/system/"+service+".d/*.conf", unit)
	add(sysfs.SystemdConfig, system)
	add(sysfs.SystemdConfig+".d/*.conf", system)
	add(sysfs.SecurityLimits, login)
	add(path.Join(path.Dir(sysfs.SecurityLimits), "limits.d/*.conf"), login)
	return out
}
