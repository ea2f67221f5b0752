package inventory

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Obstacle is a reason why RDMA can't be used on a node.
type Obstacle struct {
	ID     string `json:"id"`               // stable: no-card, unbound, …
	Object string `json:"object,omitempty"` // card, device or library
	Text   string `json:"text"`             // description of the problem, a sentence without period
	// Path and Value are the evidence: a file or folder, and its content or that it is missing.
	Path   string `json:"path,omitempty"`
	Value  string `json:"value,omitempty"`
	Remedy string `json:"remedy,omitempty"` // a command, or what to do
}

// missing is the Value of a Path that doesn't exist.
const missing = "does not exist"

// The identifiers of obstacles.
const (
	ObstacleNoCard      = "no-card"         // no PCI function is an RDMA card
	ObstacleUnbound     = "unbound"         // a card has no driver
	ObstacleNoModule    = "no-module"       // a card's RDMA module is not loaded
	ObstacleNoDevice    = "no-device"       // driver and module are loaded, but there is no RDMA device
	ObstacleNetns       = "exclusive-netns" // the RDMA device is in another network namespace
	ObstacleNoUverbs    = "no-uverbs"       // a device has no uverbs file
	ObstacleDenied      = "uverbs-denied"   // the uverbs file can't be opened
	ObstacleLibibverbs  = "no-libibverbs"   // libibverbs is not installed
	ObstacleProvider    = "no-provider"     // libibverbs has no provider library for a device
	ObstacleNoPCIAccess = "no-pci"          // the PCI bus isn't visible, so cards can't be found
)

// Obstacles returns the reasons why RDMA can't be used on the node, the lowest layer
// first: hardware, driver, module, namespace, character devices, libraries. The list is
// empty if verbs programs have everything that they need.
func (s *Snapshot) Obstacles() []Obstacle {
	var out []Obstacle
	for i := range s.Cards {
		out = append(out, s.cardObstacle(&s.Cards[i])...)
	}
	if len(s.Devices) == 0 {
		if len(s.Cards) == 0 {
			out = append(out, s.noCard())
		}
		return out
	}
	return slices.Concat(out, s.charObstacles(), s.libraryObstacles())
}

func (s *Snapshot) noCard() Obstacle {
	if !s.Host.PCIVisible {
		return Obstacle{
			ID: ObstacleNoPCIAccess, Text: "the PCI bus isn't visible, so RDMA cards can't be detected",
			Path: "/" + sysfs.BusPCIDevices, Value: "empty or missing", Remedy: "run on the host, or mount sysfs",
		}
	}
	if i := slices.IndexFunc(s.Netdevs, func(n Netdev) bool { return n.Driver == driverSlingshot }); i >= 0 {
		return Obstacle{
			ID: ObstacleNoCard, Object: s.Netdevs[i].Name, Text: "HPE Slingshot cards have no verbs devices",
			Path: s.Netdevs[i].Path + "/device/driver", Value: driverSlingshot,
			Remedy: "use libfabric's provider cxi, and NCCL or RCCL with the OFI plugin",
		}
	}
	return Obstacle{
		ID: ObstacleNoCard, Text: "no PCI function is a known RDMA card",
		Path: "/" + sysfs.BusPCIDevices, Value: "no class 0x0207, no known vendor and device",
		Remedy: "for tests, create a software device: rdma link add rxe0 type rxe netdev NETDEV",
	}
}

// cardObstacle returns the reason why a card has no RDMA device.
func (s *Snapshot) cardObstacle(c *Card) []Obstacle {
	name := c.PCI.Name()
	o := Obstacle{Object: c.PCI.Address}
	switch {
	case len(c.Devices) > 0:
		return nil
	case c.PCI.Driver == "" && s.driversUnseen():
		return nil
	case c.PCI.Driver == "vfio-pci":
		return nil // assigned to a virtual machine on purpose
	case c.PCI.Driver == "":
		o.ID, o.Text = ObstacleUnbound, name+" has no driver"
		o.Path, o.Value = c.PCI.Path+"/driver", missing
		o.Remedy = "load the driver: modprobe " + driverFor(c.PCI)
	case s.hasVFDevice(c):
		return nil // its VFs are in this namespace, the PF is in the host's
	case c.Module != "" && s.moduleMissing(c.Module) && s.optional(c):
		return nil
	case c.Module != "" && s.moduleMissing(c.Module):
		o.ID, o.Text = ObstacleNoModule, fmt.Sprintf("%s is driven by %s, but the RDMA module %s is not loaded",
			name, c.PCI.Driver, c.Module)
		o.Path, o.Value = "/"+sysfs.ModuleDir+"/"+c.Module, missing
		o.Remedy = "modprobe " + c.Module + "   # in Ubuntu of linux-modules-extra, in RHEL of kernel-modules-extra"
	case s.Host.NetnsMode == NetnsModeExclusive && len(s.Devices) > 0:
		return nil // the cards without a device here belong to other namespaces
	case s.Host.NetnsMode == NetnsModeExclusive:
		o.ID, o.Text = ObstacleNetns, name+
			" has no RDMA device in this network namespace, and the RDMA namespace mode is exclusive"
		o.Path, o.Value = "rdma system", "netns exclusive"
		o.Remedy = "in the network namespace of the device: rdma dev set DEVICE netns NAME"
	case !slices.Contains(alwaysRDMA, c.PCI.Driver) || c.VF != nil || s.sharesBond(c) || s.besideDPU(c):
		return nil // RDMA depends on model or licence, moved to another namespace, or part of a bond's device
	default:
		o.ID, o.Text = ObstacleNoDevice, fmt.Sprintf("%s is driven by %s, but has no RDMA device",
			name, c.PCI.Driver)
		o.Path, o.Value = c.PCI.Path+"/class", c.PCI.Class.String()
		o.Remedy = "modprobe " + c.Module + "; if that doesn't help, read the kernel log: dmesg | grep -iE '" +
			c.PCI.Driver + "|infiniband'; RoCE may be disabled: devlink dev param show pci/" + c.PCI.Address +
			" name enable_roce"
	}
	return []Obstacle{o}
}

// driversUnseen reports whether the drivers of cards were not recorded: there is an RDMA device on
// a card without one.
func (s *Snapshot) driversUnseen() bool {
	return slices.ContainsFunc(s.Devices, func(d Device) bool { return d.PCI != nil && d.PCI.Driver == "" })
}

// optional reports whether nobody misses the RDMA device of a card: the node has compute ports, and
// the card, whose driver also serves cards without RDMA, is not near a GPU, such as the network
// card on the server board.
func (s *Snapshot) optional(c *Card) bool {
	if slices.Contains(alwaysRDMA, c.PCI.Driver) ||
		slices.ContainsFunc(s.GPUs, func(g GPU) bool { return isNearDistance(Distance(&c.PCI, &g.PCI)) }) {
		return false
	}
	for d, p := range s.Ports() {
		if p.Role == RoleCompute && d.Software == "" && d.Driver != c.PCI.Driver {
			return true
		}
	}
	return false
}

// besideDPU reports whether a card is the second function of a BlueField whose first function has
// an RDMA device, as in Cisco's UCSC-885A and Dell's XE9680: they ship dual-port BlueFields whose
// second function has none. If that of another BlueField of the same board has one, it is missing.
func (s *Snapshot) besideDPU(c *Card) bool {
	if !blueField.has(c.PCI) || c.PCI.function() != "1" {
		return false
	}
	first := slices.IndexFunc(s.Devices, func(d Device) bool {
		return d.VF == nil && d.PCI != nil && d.PCI.slot() == c.PCI.slot() && d.PCI.function() == "0"
	})
	return first >= 0 && !slices.ContainsFunc(s.Devices, func(d Device) bool {
		return d.VF == nil && d.SameModel(&s.Devices[first]) && d.PCI.function() == "1"
	})
}

// alwaysRDMA are the drivers whose functions should all have an RDMA device.
var alwaysRDMA = []string{"mlx5_core", "mlx4_core", "efa", "hfi1", "erdma"}

// driverFor returns the driver for a card with these ids.
func driverFor(f PCI) string {
	if card := cardOf(f); card != nil {
		return card.driver
	}
	return "its driver (see lspci -k)"
}

// sharesBond reports whether the card's network device is in a bond that has an RDMA
// device: with LAG all ports of a card share one device.
func (s *Snapshot) sharesBond(c *Card) bool {
	return slices.ContainsFunc(c.Netdevs, func(name string) bool {
		n := s.Netdev(name)
		if n == nil {
			return false
		}
		bond := s.Netdev(n.Master)
		return bond != nil && bond.Bond != nil && bond.RDMADevice != ""
	})
}

// moduleMissing reports whether a module is not loaded. It returns false if the list of
// modules is empty, or if there is a device that needs the module.
func (s *Snapshot) moduleMissing(name string) bool {
	if len(s.Host.Modules) == 0 || slices.ContainsFunc(s.Host.Modules, func(m Module) bool { return m.Name == name }) {
		return false
	}
	return !slices.ContainsFunc(s.Devices, func(d Device) bool { return rdmaModule[d.Driver] == name })
}

// hasVFDevice reports whether a VF of the card has an RDMA device here.
func (s *Snapshot) hasVFDevice(c *Card) bool {
	return slices.ContainsFunc(s.Devices,
		func(d Device) bool { return d.VF != nil && d.VF.ParentAddress == c.PCI.Address })
}

// charObstacles returns the reasons why a process can't open the devices.
func (s *Snapshot) charObstacles() []Obstacle {
	if !s.UverbsKnown() {
		return nil
	}
	if s.Host.DevVisible && !s.Host.DevInfiniBand {
		o := Obstacle{
			ID: ObstacleNoUverbs, Text: "/dev/infiniband does not exist, so no program can open an RDMA device",
			Path: "/" + sysfs.DevInfiniBand, Value: missing, Remedy: "modprobe ib_uverbs rdma_ucm",
		}
		if s.Host.Container != nil {
			o.Text = "the container has no /dev/infiniband, but the kernel has RDMA devices"
			o.Remedy = "docker: --device=/dev/infiniband --ulimit memlock=-1:-1; Kubernetes: request the device " +
				"plugin's resource, such as rdma/hca_shared_devices_a: 1"
		}
		return []Obstacle{o}
	}
	var out []Obstacle
	for i := range s.Devices {
		// Devices of other containers don't matter, and SMI devices have no uverbs.
		if s.unusableReason(&s.Devices[i]) == "" && s.Devices[i].SMIOf == "" {
			out = append(out, s.uverbsObstacle(s.Devices[i])...)
		}
	}
	return out
}

// UverbsKnown reports whether the snapshot tells which devices have a uverbs device: one of them
// has, the folder /sys/class/infiniband_verbs is there, or the recorded modules are without
// ib_uverbs, which creates it. Otherwise that folder was not recorded.
func (s *Snapshot) UverbsKnown() bool {
	mods := s.Host.Modules
	return s.Host.VerbsVisible || slices.ContainsFunc(s.Devices, func(d Device) bool { return d.hasUverbs() }) ||
		len(mods) > 0 && !slices.ContainsFunc(mods, func(m Module) bool { return m.Name == "ib_uverbs" })
}

// uverbsUnread reports whether the scan could not read all of /sys/class/infiniband_verbs.
func (s *Snapshot) uverbsUnread() bool {
	return slices.ContainsFunc(s.Problems, func(p Problem) bool {
		return strings.HasPrefix(p.Path+"/", "/"+sysfs.ClassInfiniBandVerbs+"/")
	})
}

func (s *Snapshot) uverbsObstacle(d Device) []Obstacle {
	for _, c := range d.Chars {
		if !strings.HasPrefix(c.Name, "uverbs") {
			continue
		}
		switch {
		case !s.Host.DevVisible: // unknown in a recording without /dev
		case !c.Node:
			return []Obstacle{{
				ID: ObstacleNoUverbs, Object: d.Name, Text: "the character device of " + d.Name + " is missing",
				Path: c.Path, Value: missing, Remedy: "docker: --device=" + c.Path +
					"; on a host: udevadm trigger --subsystem-match=infiniband_verbs",
			}}
		case c.OpenError != "":
			return []Obstacle{{
				ID: ObstacleDenied, Object: d.Name, Text: "this process is not permitted to open " + d.Name,
				Path: c.Path, Value: c.OpenError,
				Remedy: "check the mode and group of " + c.Path + ", and in a container the device cgroup",
			}}
		}
		return nil
	}
	if s.uverbsUnread() {
		return nil
	}
	return []Obstacle{{
		ID: ObstacleNoUverbs, Object: d.Name,
		Text: d.Name + " has no uverbs device: the module ib_uverbs is not loaded",
		Path: "/" + sysfs.ClassInfiniBandVerbs, Value: "no entry for " + d.Name, Remedy: "modprobe ib_uverbs",
	}}
}

// providerOf maps kernel drivers to the provider libraries of rdma-core.
var providerOf = map[string]string{
	"mlx5_core": "mlx5", "mlx4_core": "mlx4", "bnxt_en": "bnxt_re", "ice": "irdma", "i40e": "irdma", "idpf": "irdma",
	"qede": "qedr", "cxgb4": "cxgb4", "efa": "efa", "hfi1": "hfi1verbs", "hns3": "hns", "ionic": "ionic",
	"mana": "mana", "erdma": "erdma", "vmw_pvrdma": "vmw_pvrdma", "rxe": "rxe", "siw": "siw",
}

// libraryObstacles returns the libraries for verbs programs that are not installed.
func (s *Snapshot) libraryObstacles() []Obstacle {
	u := s.Host.Userspace
	if !u.Searched {
		return nil
	}
	if u.Libibverbs == "" {
		return []Obstacle{{
			ID: ObstacleLibibverbs, Object: "libibverbs.so.1",
			Text: "the verbs library is not installed, so NCCL and UCX find no device",
			Path: "libibverbs.so.1", Value: "not found in a library folder",
			Remedy: "apt-get install libibverbs1 ibverbs-providers (dnf install libibverbs)",
		}}
	}
	var out []Obstacle
	for _, d := range s.Devices {
		p := providerOf[d.Driver]
		if p == "" || slices.Contains(u.Providers, p) ||
			slices.ContainsFunc(out, func(o Obstacle) bool { return o.Object == p }) {
			continue
		}
		out = append(out, Obstacle{
			ID: ObstacleProvider, Object: p,
			Text: fmt.Sprintf("libibverbs has no provider for %s (%s)", d.Name, d.Driver),
			Path: path.Join(path.Dir(u.Libibverbs), "libibverbs", "lib"+p+"-rdmav*.so"), Value: missing,
			Remedy: "apt-get install ibverbs-providers",
		})
	}
	return out
}
