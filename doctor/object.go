package doctor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Kind is the kind of an object of a finding. With the name it identifies the object on its node;
// [Report.Ports] has the GUIDs and rails by which the fabric and the cluster know ports.
type Kind string

// The kinds, with the form of the name.
const (
	KindNode   Kind = "node"   // "node"
	KindDevice Kind = "device" // RDMA device: "mlx5_0"
	KindPort   Kind = "port"   // port of an RDMA device: "mlx5_0:1"
	KindNetdev Kind = "netdev" // network device: "eth0"
	KindPCI    Kind = "pci"    // PCI function: "0000:3b:00.0"
	KindGPU    Kind = "gpu"    // PCI address of the GPU
	KindOther  Kind = "other"  // anything else: a module, a file, an address
)

// Object is an object of a node.
type Object struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // in the form of the kind
}

// PortIdentity has the names of a port beyond its node.
type PortIdentity struct {
	Port string `json:"port"`           // mlx5_0:1
	Rail *int   `json:"rail,omitempty"` // as in the cluster's results; nil for a port that is no rail
	// NodeGUID and PortGUID are those of the subnet, in the form of the commands of fabric; nil if
	// not known, as PortGUID is beside InfiniBand.
	NodeGUID *ib.GUID `json:"nodeGUID,omitempty"`
	PortGUID *ib.GUID `json:"portGUID,omitempty"`
}

// portsOf returns the identities of all ports.
func portsOf(s *inventory.Snapshot) []PortIdentity {
	var list []PortIdentity
	for d, p := range s.Ports() {
		id := PortIdentity{Port: d.Name + ":" + strconv.Itoa(p.Number), Rail: p.Rail, PortGUID: p.PortGUID()}
		if d.NodeGUID != nil && !d.NodeGUID.IsZero() {
			id.NodeGUID = d.NodeGUID
		}
		list = append(list, id)
	}
	return list
}

// objectsOf returns the objects that a node has besides itself: RDMA devices, their ports, network
// devices, and the PCI functions of cards and GPUs.
func objectsOf(s *inventory.Snapshot) []Object {
	var all []Object
	for _, d := range s.Devices {
		all = append(all, Object{KindDevice, d.Name})
		for _, p := range d.Ports {
			all = append(all, Object{KindPort, fmt.Sprintf("%s:%d", d.Name, p.Number)})
		}
	}
	for _, n := range s.Netdevs {
		all = append(all, Object{KindNetdev, n.Name})
	}
	for _, c := range s.Cards {
		all = append(all, Object{KindPCI, c.PCI.Address})
	}
	for _, g := range s.GPUs {
		all = append(all, Object{KindGPU, g.PCI.Address})
	}
	return all
}

var pciAddress = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// kindOf returns the kind of an object of a node. A name that is both of an RDMA device and of a
// network device is the RDMA device's.
func kindOf(s *inventory.Snapshot, object string) Kind {
	if object == ObjectNode {
		return KindNode
	}
	if s == nil {
		return KindOther
	}
	name, number, isPort := cutLast(object, ":")
	for _, d := range s.Devices {
		if d.Name == object {
			return KindDevice
		}
		if _, err := strconv.Atoi(number); isPort && err == nil && d.Name == name {
			return KindPort
		}
	}
	if s.Netdev(object) != nil {
		return KindNetdev
	}
	if pciAddress.MatchString(object) {
		for _, g := range s.GPUs {
			if g.PCI.Address == object {
				return KindGPU
			}
		}
		return KindPCI
	}
	return KindOther
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
