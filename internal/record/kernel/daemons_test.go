package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// process adds a process to a tree; its limits are the soft and the hard one of locked memory, and
// the same of open files.
func process(root fstest.MapFS, pid int, comm, limits, cgroup string) {
	dir := fmt.Sprintf("proc/%d/", pid)
	root[dir+"comm"] = &fstest.MapFile{Data: []byte(comm + "\n")}
	if f := strings.Fields(limits); len(f) == 4 {
		text := fmt.Sprintf("Limit                     Soft Limit           Hard Limit           Units     \n"+
			"Max cpu time              1                    2                    seconds   \n"+
			"Max locked memory         %-20s %-20s bytes     \n"+
			"Max open files            %-20s %-20s files     \n", f[0], f[1], f[2], f[3])
		root[dir+"limits"] = &fstest.MapFile{Data: []byte(text)}
	}
	if cgroup != "" {
		root[dir+"cgroup"] = &fstest.MapFile{Data: []byte(cgroup)}
	}
}

func settingFiles(root fstest.MapFS, files map[string]string) {
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
}

// TestDaemons reads a node on which some daemons start jobs. One is in cgroups of version 1, one
// has ended while its files were read, some have limits that no kernel prints.
func TestDaemons(t *testing.T) {
	root := fstest.MapFS{}
	process(root, 1, "systemd", "1 2 3 4", "0::/init.scope\n")
	process(root, 1200, "slurmd", "8388608 unlimited 1024 4096", "0::/system.slice/slurmd.service\n")
	process(root, 77, "containerd", "8388608 unlimited 1048576 2097152",
		"12:rdma:/other.service\nnonsense\n1:name=systemd:/system.slice/containerd.service/init\n"+
			"0::/last.service\n")
	process(root, 500, "crio", "65536 65536 1024 4096", "")
	process(root, 600, "k3s-agent", "65536 65536 1024 4096",
		"0::/user.slice/user@0.service/app.slice/k3s:1/k3s:2.service/sub\n")
	process(root, 700, "dockerd", "", "0::/system.slice/docker.service\n")
	process(root, 800, "nomad", "65536 65536 many 4096", "")
	process(root, 801, "nomad", "65536 many 1024 4096", "")
	process(root, 802, "nomad", "65536 65536 1024 4096", "")
	root["proc/802/limits"].Data = []byte("Max locked memory 65536\nMax open files 1 2 files\n")
	root["proc/self/comm"] = root["proc/1200/comm"]
	root["proc/self/limits"] = root["proc/1200/limits"]
	root["proc/900/limits"] = root["proc/1200/limits"] // without a name
	bytes := func(soft, hard uint64) facts.Range {
		return facts.Range{Soft: inventory.Limit{Bytes: soft}, Hard: inventory.Limit{Bytes: hard}}
	}
	raisable := facts.Range{Soft: inventory.Limit{Bytes: 8388608}, Hard: inventory.Limit{Unlimited: true}}
	small, files := bytes(65536, 65536), bytes(1024, 4096)
	want := []facts.Daemon{
		{
			Name: "containerd", PID: 77, Unit: "containerd.service", Memlock: raisable,
			Files: bytes(1048576, 2097152),
		},
		{Name: "crio", PID: 500, Memlock: small, Files: files},
		{Name: "k3s-agent", PID: 600, Unit: "k3s:2.service", Memlock: small, Files: files},
		{Name: "slurmd", PID: 1200, Unit: "slurmd.service", Memlock: raisable, Files: files},
	}
	got, err := running(t.Context(), root)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("running() = %v, -want +got:\n%s", err, diff)
	}
}

// TestDaemonSettings has files of settings with other lines, of which nothing is kept.
func TestDaemonSettings(t *testing.T) {
	root := fstest.MapFS{}
	process(root, 9, "slurmd", "1 2 3 4", "0::/system.slice/node.service\n")
	process(root, 10, "crio", "1 2 3 4", "")
	settingFiles(root, map[string]string{
		"usr/lib/systemd/system/node.service": "[Service]\nEnvironment=TOKEN=secret\n  LimitMEMLOCK=infinity \n" +
			"#LimitMEMLOCK=1\nLimitNOFILE=1\n",
		"lib/systemd/system/node.service":             "LimitMEMLOCK=8M\n",
		"etc/systemd/system/node.service":             "LimitMEMLOCK=9M\n",
		"etc/systemd/system/node.service.d/10-x.conf": "LimitMEMLOCK=10M\nDefaultLimitMEMLOCK=2\n",
		"etc/systemd/system/node.service.d/10-x.save": "LimitMEMLOCK=11M\n",
		"etc/systemd/system/crio.service":             "LimitMEMLOCK=12M\n",
		"etc/systemd/system/slurmd.service":           "LimitMEMLOCK=13M\n", // not its unit
		"etc/systemd/system.conf": "" +
			"#DefaultLimitMEMLOCK=1\nDefaultLimitMEMLOCK=64M\nLimitMEMLOCK=2\n",
		"etc/systemd/system.conf.d/x.conf": "DefaultLimitMEMLOCK=65M\n",
		"etc/security/limits.conf": "* hard memlock unlimited\nalice hard memlock 1\n* soft nofile 2\n" +
			"# * soft memlock 3\n* soft memlock\n",
		"etc/security/limits.d/rdma.conf": "root\t-\tmemlock\t64\n",
	})
	root["etc/systemd/system.conf.d/y.conf"] = &fstest.MapFile{Mode: fs.ModeDir} // can't be read
	common := []facts.DaemonSetting{
		{Path: "/etc/systemd/system.conf", Value: "DefaultLimitMEMLOCK=64M"},
		{Path: "/etc/systemd/system.conf.d/x.conf", Value: "DefaultLimitMEMLOCK=65M"},
		{Path: "/etc/security/limits.conf", Value: "* hard memlock unlimited"},
		{Path: "/etc/security/limits.d/rdma.conf", Value: "root\t-\tmemlock\t64"},
	}
	want := [][]facts.DaemonSetting{
		append([]facts.DaemonSetting{
			{Path: "/usr/lib/systemd/system/node.service", Value: "LimitMEMLOCK=infinity"},
			{Path: "/lib/systemd/system/node.service", Value: "LimitMEMLOCK=8M"},
			{Path: "/etc/systemd/system/node.service", Value: "LimitMEMLOCK=9M"},
			{Path: "/etc/systemd/system/node.service.d/10-x.conf", Value: "LimitMEMLOCK=10M"},
		}, common...),
		append([]facts.DaemonSetting{{Path: "/etc/systemd/system/crio.service", Value: "LimitMEMLOCK=12M"}}, common...),
	}
	daemons, err := running(t.Context(), root)
	if err != nil || len(daemons) != len(want) {
		t.Fatalf("running() = %+v, %v, want %d daemons", daemons, err, len(want))
	}
	for i, d := range daemons {
		if diff := cmp.Diff(want[i], d.Settings); diff != "" {
			t.Errorf("settings of %s, -want +got:\n%s", d.Name, diff)
		}
	}
}

// TestStarters has names as /proc/PID/comm shows them, which is at most 15 bytes (TASK_COMM_LEN).
func TestStarters(t *testing.T) {
	for i, name := range starters {
		if len(name) == 0 || len(name) > 15 || slices.Contains(starters[:i], name) {
			t.Errorf("no process has the name %q, or it is listed twice", name)
		}
	}
}

func TestDaemonsUnread(t *testing.T) {
	root := fstest.MapFS{}
	if _, err := running(t.Context(), root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("running() without /proc = %v, want an error that matches ErrNotExist", err)
	}
	process(root, 1, "systemd", "1 2 3 4", "")
	if got, err := running(t.Context(), root); err != nil || got == nil || len(got) != 0 {
		t.Errorf("running() without daemons = %v, %v, want an empty list", got, err)
	}
	process(root, 9, "slurmd", "1 2 3 4", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("no time left")
	cancel(over)
	if got, err := running(ctx, root); got != nil || !errors.Is(err, over) {
		t.Errorf("running() after the end of the time = %v, %v, want %v", got, err, over)
	}
}
