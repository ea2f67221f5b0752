package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
)

const verbsClass = "/" + sysfs.ClassInfiniBandVerbs

func uverbs() doctor.Check {
	return doctor.Check{
		ID:       "uverbs",
		Title:    "RDMA device that programs can't open",
		Severity: doctor.OutcomeFail,
		Group:    doctor.GroupInventory, Numbers: []int{13},
		Needs: doctor.NeedDevices,
		Reads: []string{verbsClass + "/uverbs*/ibdev"},
		Explanation: prose.Join(`
			Programs use an RDMA device through /dev/infiniband/uverbsN. Without it libibverbs may
			list the device but can't open it; NCCL then finds no InfiniBand device and falls back
			to sockets without an error, often at a tenth of the bandwidth. librdmacm needs
			/dev/infiniband/rdma_cm in the same way.`),
		Remedy: "On a host load ib_uverbs and rdma_ucm. Give a container the character devices: with --device, or in " +
			"Kubernetes by requesting the resource of an RDMA or SR-IOV device plugin.",
		Sources: []string{
			"drivers/infiniband/core/uverbs_main.c", "drivers/infiniband/core/ucma.c", "NVIDIA/nccl#451",
			"NVIDIA/nccl#2428",
		},
		Run: runUverbs,
	}
}

func runUverbs(_ context.Context, in *doctor.Input) []doctor.Finding {
	s := in.Snapshot
	usable, devices := 0, 0
	for i := range s.Devices {
		if s.Devices[i].SMIOf == "" {
			devices++
		}
		if c := verbsOf(&s.Devices[i]); c != nil && c.Node && openable(c) {
			usable++
		}
	}
	var findings []doctor.Finding
	var good []doctor.Evidence
	for i := range s.Devices {
		d := &s.Devices[i]
		c := verbsOf(d)
		switch {
		case d.SMIOf != "": // has none
		case c == nil && !s.UverbsKnown():
			return append(findings, doctor.Unknown(doctor.ObjectNode,
				"no entry of %s was recorded: it is not known whether programs can use the devices", verbsClass))
		case c == nil:
			if _, unread := in.ProblemUnder(verbsClass); !unread {
				findings = append(findings, noVerbsClass(s, d))
			}
		case !s.Host.DevVisible:
			return append(findings, doctor.Unknown(doctor.ObjectNode,
				"no /dev was recorded: it is not known whether programs can open %s", c.Path))
		case !c.Node:
			findings = append(findings, noVerbsNode(s, d, c, usable))
		case !openable(c):
			findings = append(findings, notOpenable(s, d, c))
		default:
			good = append(good, doctor.Evidence{Path: c.Path, Value: opened(c)})
		}
	}
	findings = append(findings, connectionManager(s)...)
	if worst(findings).Compare(doctor.OutcomeInfo) > 0 {
		return findings
	}
	if len(good) == 0 {
		return append(findings, doctor.NotApplicable(doctor.ObjectNode, "%s could not be read", verbsClass))
	}
	pass := doctor.Passed(doctor.ObjectNode,
		fmt.Sprintf("%d of %s can be used by programs", usable, english.Count(devices, "device")), good...)
	return append([]doctor.Finding{pass}, findings...)
}

// verbsOf returns the uverbs device, nil if the kernel has created none.
func verbsOf(d *inventory.Device) *inventory.CharDevice {
	i := slices.IndexFunc(d.Chars, func(c inventory.CharDevice) bool { return strings.HasPrefix(c.Name, "uverbs") })
	if i < 0 {
		return nil
	}
	return &d.Chars[i]
}

// openable reports whether the device could be opened; it is true if that was not tried.
func openable(c *inventory.CharDevice) bool { return c.Opened == nil || *c.Opened }

func opened(c *inventory.CharDevice) string {
	switch {
	case c.Opened == nil:
		return "exists"
	case *c.Opened:
		return "opened"
	}
	return "open: " + c.OpenError
}

func noVerbsClass(s *inventory.Snapshot, d *inventory.Device) doctor.Finding {
	return doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: d.Name,
		Summary: "the kernel has no verbs interface for the device: ib_uverbs is not loaded, or not bound to it",
		Evidence: []doctor.Evidence{
			{Path: verbsClass, Value: "no entry whose ibdev is " + d.Name}, moduleEvidence(s, "ib_uverbs"),
		},
		Remedy: onHost(s, "modprobe ib_uverbs", "# and at every boot",
			"echo ib_uverbs > /etc/modules-load.d/rdmakit.conf"),
	}
}

func moduleEvidence(s *inventory.Snapshot, name string) doctor.Evidence {
	value := "does not exist"
	if slices.ContainsFunc(s.Host.Modules, func(m inventory.Module) bool { return m.Name == name }) {
		value = "exists"
	}
	return doctor.Evidence{Path: "/" + sysfs.ModuleDir + "/" + name, Value: value}
}

// noVerbsNode returns the finding for a missing /dev/infiniband/uverbsN. It is only info in a
// container that was given another device.
func noVerbsNode(s *inventory.Snapshot, d *inventory.Device, c *inventory.CharDevice, usable int) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: d.Name, Summary: c.Path + " does not exist",
		Evidence: []doctor.Evidence{{Path: c.Path, Value: "does not exist"}},
	}
	if !s.Host.DevInfiniBand {
		f.Summary = "/dev/infiniband does not exist"
		f.Evidence = append([]doctor.Evidence{{Path: "/dev/infiniband", Value: "does not exist"}}, f.Evidence...)
	}
	if !inContainer(s) {
		f.Evidence = append(f.Evidence, moduleEvidence(s, "ib_uverbs"))
		f.Remedy = []string{
			"modprobe ib_uverbs",
			"# if it was already loaded: let udev create the node again",
			"udevadm trigger --action=add --subsystem-match=infiniband_verbs && udevadm settle",
		}
		return f
	}
	f.Summary += ", though the container sees the device"
	f.Remedy = containerDevices(s)
	if usable > 0 {
		f.Outcome = doctor.OutcomeInfo
		f.Summary = "not given to this container: " + c.Path + " does not exist"
		f.Explanation = fmt.Sprintf("The container sees every RDMA device of the host, but was given only %d of "+
			"them. If it requested that many, this is correct; don't configure programs to use the others.", usable)
	}
	return f
}

// containerDevices returns the commands that give a container the devices of the host.
func containerDevices(s *inventory.Snapshot) []string {
	if s.Host.Container.Kubernetes {
		return []string{
			"# request the resource of the RDMA or SR-IOV device plugin in the pod's container, for example",
			`#   resources: {limits: {"rdma/YOUR_RESOURCE": 1}}`,
			"# the resource names of a node:",
			`kubectl get node YOUR_NODE -o jsonpath='{.status.allocatable}'`,
		}
	}
	return []string{
		"# all devices of the host; --device=/dev/infiniband/uverbsN gives one of them",
		"docker run --device=/dev/infiniband --ulimit memlock=-1:-1 --cap-add=IPC_LOCK YOUR_IMAGE",
	}
}

func notOpenable(s *inventory.Snapshot, d *inventory.Device, c *inventory.CharDevice) doctor.Finding {
	f := doctor.Finding{
		Outcome: doctor.OutcomeFail, Object: d.Name,
		Summary:  fmt.Sprintf("%s can't be opened: %s", c.Path, c.OpenError),
		Evidence: []doctor.Evidence{{Path: c.Path, Value: opened(c)}},
	}
	denied := strings.Contains(c.OpenError, "permi") // EACCES "permission denied", EPERM "operation not permitted"
	switch {
	case denied && inContainer(s):
		f.Explanation = "The device node exists in the container, but the container's device rules don't allow " +
			"opening it. A bind mount of /dev/infiniband alone is not enough."
		f.Remedy = containerDevices(s)
	case denied:
		f.Remedy = []string{
			"ls -l " + quote(c.Path),
			"# rdma-core's udev rules let every user open it; manually, until the next boot:",
			"chmod 0666 " + quote(c.Path),
		}
	default:
		f.Remedy = []string{"rdma dev show " + quote(d.Name), "dmesg | tail -n 50   # messages of the driver"}
	}
	return f
}

// connectionManager checks /dev/infiniband/rdma_cm, which programs need that connect through
// librdmacm; NCCL and UCX don't need it.
func connectionManager(s *inventory.Snapshot) []doctor.Finding {
	if !s.Host.DevInfiniBand {
		return nil // reported for each device
	}
	c := s.Host.RDMACM
	if c == nil && !inContainer(s) && missingModule(s, "rdma_ucm") {
		return nil // reported by rdma-modules
	}
	f := doctor.Finding{Outcome: doctor.OutcomeWarn, Object: "rdma_cm"}
	f.Explanation = "librdmacm (rping, many storage clients, libfabric's verbs provider) connects through this " +
		"device. NCCL and NVSHMEM don't use it."
	switch {
	case c == nil:
		f.Summary = "/dev/infiniband/rdma_cm does not exist"
		f.Evidence = []doctor.Evidence{
			{Path: "/dev/infiniband/rdma_cm", Value: "does not exist"}, moduleEvidence(s, "rdma_ucm"),
		}
		f.Remedy = []string{"modprobe rdma_ucm"}
		if inContainer(s) {
			f.Remedy = []string{
				"docker run --device=/dev/infiniband/rdma_cm YOUR_IMAGE   # in Kubernetes the device plugin adds it",
			}
		}
	case !openable(c):
		f.Summary = fmt.Sprintf("%s can't be opened: %s", c.Path, c.OpenError)
		f.Evidence = []doctor.Evidence{{Path: c.Path, Value: opened(c)}}
		f.Remedy = []string{"ls -l " + quote(c.Path), "chmod 0666 " + quote(c.Path)}
	default:
		return nil
	}
	return []doctor.Finding{f}
}
