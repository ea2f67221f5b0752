package host

import (
	"fmt"
	"strconv"
)

// Plant is a fault to inject on a rail.
type Plant struct {
	Kind Kind
	Rail int // from 0; ignored by faults of the whole node
}

// Kind is a kind of fault that also occurs on real nodes.
type Kind string

// The faults.
const (
	SmallMTU    Kind = "small MTU"    // the network device still has the default MTU of 1500
	NoAddress   Kind = "no address"   // the network device has no IP address, so the GIDs are link-local
	NoLink      Kind = "no link"      // no cable or transceiver: the port is down
	NoSM        Kind = "no SM"        // InfiniBand: no subnet manager has configured the port
	SlowLink    Kind = "slow link"    // the link has half the rate
	OldFirmware Kind = "old firmware" // an older version than on the other cards
	NoCharNode  Kind = "no char node" // /dev/infiniband/uverbsN is missing
	Memlock     Kind = "memlock"      // the node's limit of locked memory is 64 KiB
)

// oldFirmware is the version of a card that was not updated.
const oldFirmware = "28.36.1010"

// Fault is an injected fault as a check should report it.
type Fault struct {
	Device string `json:"device"` // RDMA device, "" for the whole node
	Object string `json:"object"` // of the finding: mlx5_2:1, mlx5_2 or node
	Check  string `json:"check"`  // ID of the check that reports it
	Text   string `json:"text"`   // description of the fault
}

// Faults returns the injected faults, in their order, as `doctor` should report them.
func (s Spec) Faults() []Fault {
	s = s.withDefaults()
	faults := make([]Fault, 0, len(s.Plant))
	for _, p := range s.Plant {
		dev := s.railDevice(p.Rail)
		netdev := s.railNetdev(p.Rail)
		f := Fault{Device: dev, Object: dev + ":1"}
		switch p.Kind {
		case SmallMTU:
			f.Check, f.Text = "mtu", fmt.Sprintf("rail %d: the MTU of %s was left at 1500", p.Rail, netdev)
		case NoAddress:
			f.Check, f.Text = "gid-routable", fmt.Sprintf(
				"rail %d: %s has no IP address, so its GIDs are link-local only", p.Rail, netdev)
		case NoLink:
			f.Check, f.Text = "port-active", fmt.Sprintf("rail %d: the cable of %s is unplugged", p.Rail, dev)
		case NoSM:
			f.Check, f.Text = "port-active", fmt.Sprintf("rail %d: no subnet manager reaches %s", p.Rail, dev)
		case SlowLink:
			f.Check, f.Text = "rail-rate", fmt.Sprintf("rail %d: %s trained down to %d Gb/s", p.Rail, dev, s.Rate/2)
		case OldFirmware:
			f.Check, f.Object, f.Text = "firmware", dev, fmt.Sprintf("rail %d: %s still has firmware %s",
				p.Rail, dev, oldFirmware)
		case NoCharNode:
			f.Check, f.Object, f.Text = "uverbs", dev, fmt.Sprintf("rail %d: the device node of %s is missing",
				p.Rail, dev)
		case Memlock:
			f = Fault{Object: "node", Check: "memlock", Text: "the limit of locked memory is 64 KiB"}
		}
		faults = append(faults, f)
	}
	return faults
}

func (p Plant) validate(s Spec) error {
	switch p.Kind {
	case SmallMTU, NoAddress:
		if s.LinkLayer == InfiniBand {
			return fmt.Errorf("fault %q requires Ethernet", p.Kind)
		}
	case NoSM:
		if s.LinkLayer != InfiniBand {
			return fmt.Errorf("fault %q requires InfiniBand", p.Kind)
		}
	case SlowLink:
		if rateText(s.Rate/2) == "" {
			return fmt.Errorf("fault %q: half of %d Gb/s is not a link rate", p.Kind, s.Rate)
		}
	case NoLink, OldFirmware, NoCharNode:
	case Memlock:
		return nil
	default:
		return fmt.Errorf("unknown fault %q", p.Kind)
	}
	if p.Rail < 0 || p.Rail >= s.Rails {
		return fmt.Errorf("fault %q: there is no rail %d", p.Kind, p.Rail)
	}
	return nil
}

// has reports whether a fault is injected on a rail, or on any rail if rail is -1.
func (s Spec) has(k Kind, rail int) bool {
	for _, p := range s.Plant {
		if p.Kind == k && (rail < 0 || p.Rail == rail) {
			return true
		}
	}
	return false
}

func (s Spec) railDevice(rail int) string { return s.Card.Prefix + strconv.Itoa(rail) }

// railNetdev returns the name of a rail's network device. It has the number of the slot,
// counted from 1, or of the IPoIB device, counted from 0.
func (s Spec) railNetdev(rail int) string {
	if s.LinkLayer != InfiniBand {
		rail++
	}
	return fmt.Sprintf(s.Netdev, rail)
}
