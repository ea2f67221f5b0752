package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/cpus"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// placement is where a test runs.
type placement struct {
	node *int   // NUMA node; nil: anywhere
	cpus []int  // of the node, as far as the process may use them
	note string // "" if there is nothing to say
}

// Values of --numa besides a number.
const (
	numaAuto = "auto"
	numaNone = "none"
)

// place returns where a test with a device runs: on the NUMA node that --numa names, or on that of
// the card. On a machine with one node, and for devices without one, it is anywhere. allowed are
// the CPUs that the process may use.
func place(root fs.FS, device, numa string, allowed []int) (placement, error) {
	if numa == numaNone {
		return placement{}, nil
	}
	online, err := readList(root, sysfs.NUMANodes+"/online")
	if errors.Is(err, fs.ErrNotExist) && numa == numaAuto {
		return placement{}, nil // not Linux, or a kernel without NUMA
	}
	if err != nil {
		return placement{}, fmt.Errorf("list NUMA nodes: %w", err)
	}
	node := 0
	if numa == numaAuto {
		if node = nodeOf(root, device); node < 0 || len(online) < 2 {
			return placement{}, nil
		}
	} else if node, err = strconv.Atoi(numa); err != nil {
		return placement{}, &cli.ExitError{
			Code: cli.ExitUsage, Err: fmt.Errorf("--numa %q: auto, none or the number of a node", numa),
		}
	}
	if !slices.Contains(online, node) {
		err := cli.Exitf(cli.ExitNotFound, "NUMA node %d: this machine has no such node", node)
		return placement{}, cli.WithHints(err, "NUMA nodes here: "+cpus.FormatList(online))
	}
	list, err := readList(root, fmt.Sprintf("%s/node%d/cpulist", sysfs.NUMANodes, node))
	if err != nil {
		return placement{}, fmt.Errorf("list the CPUs of NUMA node %d: %w", node, err)
	}
	p := placement{node: &node}
	for _, n := range list {
		if slices.Contains(allowed, n) {
			p.cpus = append(p.cpus, n)
		}
	}
	if p.cpus != nil {
		p.note = fmt.Sprintf("%s: measuring on CPUs %s of NUMA node %d, with memory there; --numa none leaves the "+
			"choice to the kernel", device, cpus.FormatList(p.cpus), node)
		return p, nil
	}
	const none = "NUMA node %d: this process may not use any of its CPUs (%s), but %s"
	why := fmt.Sprintf(none, node, cpus.FormatList(list), cpus.FormatList(allowed))
	if numa != numaAuto {
		return p, cli.WithHints(errors.New(why),
			"taskset -p PID shows them; cpuset.cpus of the control group may restrict them")
	}
	return placement{note: "note: " + device + " is near " + why + ": the test runs on a remote node"}, nil
}

// nodeOf returns the NUMA node of a device's card, or that of the network device of an engine named
// roce@NETDEV; -1 if there is none.
func nodeOf(root fs.FS, device string) int {
	name := sysfs.ClassInfiniBand + "/" + device + "/device/numa_node"
	if _, netdev, ok := strings.Cut(device, "@"); ok {
		name = sysfs.ClassNet + "/" + netdev + "/device/numa_node"
	}
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}

func readList(root fs.FS, name string) ([]int, error) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	return cpus.ParseList(string(b))
}
