package bench

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/internal/cli"
)

// TestPlace keeps a test near the card, unless the machine or the process leaves no choice.
func TestPlace(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	one := fstest.MapFS{
		"sys/devices/system/node/online":                   file("0"),
		"sys/devices/system/node/node0/cpulist":            file("0-1"),
		"sys/class/infiniband/mlx5_0/device/numa_node":     file("0"),
		"sys/class/infiniband/mlx5_0/device/local_cpulist": file("0-1"),
	}
	two := fstest.MapFS{
		"sys/devices/system/node/online":               file("0-1"),
		"sys/devices/system/node/node0/cpulist":        file("0-3,8-11"),
		"sys/devices/system/node/node1/cpulist":        file("4-7,12-15"),
		"sys/class/infiniband/mlx5_0/device/numa_node": file("0"),
		"sys/class/infiniband/mlx5_1/device/numa_node": file("1"),
		"sys/class/infiniband/vf0/device/numa_node":    file("-1"),
		"sys/class/net/eth1/device/numa_node":          file("1"),
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	near := []int{4, 5, 6, 7, 12, 13, 14, 15} // to mlx5_1
	for _, tt := range []struct {
		name, device, numa string
		root               fstest.MapFS
		allowed            []int
		cpus               []int
		note, err          string
	}{
		{"one node", "mlx5_0", "auto", one, []int{0, 1}, nil, "", ""},
		{"no NUMA", "mlx5_0", "auto", fstest.MapFS{}, []int{0, 1}, nil, "", ""},
		{"near", "mlx5_1", "auto", two, all, near, "CPUs 4-7,12-15 of NUMA node 1", ""},
		{"taskset", "mlx5_0", "auto", two, []int{1, 2, 5}, []int{1, 2}, "CPUs 1-2 of NUMA node 0", ""},
		{"not allowed", "mlx5_1", "auto", two, []int{1, 2}, nil, "any of its CPUs (4-7,12-15), but 1-2", ""},
		{"unknown", "vf0", "auto", two, all, nil, "", ""},
		{"engine", "roce@eth1", "auto", two, all, near, "NUMA node 1", ""},
		{"engine of an address", "roce@192.0.2.1", "auto", two, all, nil, "", ""},
		{"none", "mlx5_1", "none", two, all, nil, "", ""},
		{"given", "mlx5_1", "0", two, []int{3, 4}, []int{3}, "CPUs 3 of NUMA node 0", ""},
		{"given, not allowed", "mlx5_1", "0", two, []int{4}, nil, "", "NUMA node 0: this process may not use"},
		{"no such node", "mlx5_1", "7", two, all, nil, "", "NUMA node 7: this machine has no such node"},
		{"wrong", "mlx5_1", "near", two, all, nil, "", `--numa "near": auto, none or the number of a node`},
	} {
		p, err := place(tt.root, tt.device, tt.numa, tt.allowed)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, tt.err) || (said == "") != (tt.err == "") || !strings.Contains(p.note, tt.note) ||
			(p.note == "") != (tt.note == "") || said == "" && !slices.Equal(p.cpus, tt.cpus) {
			t.Errorf("%s: place = %+v, %v, want CPUs %v, %q, %q", tt.name, p, err, tt.cpus, tt.note, tt.err)
		}
	}
	if _, err := place(two, "mlx5_0", "x", all); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("exit code of a wrong --numa: %d", cli.ExitCode(err))
	}
}
