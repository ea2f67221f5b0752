package kernel

import (
	"context"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// netdevTime is how long the queries of one kind may take for all network devices together. They
// run side by side; one that a faulty card blocks is given up.
const netdevTime = 5 * time.Second

// cardNetdevs returns the names of the network devices of cards that this node or container uses
// itself: those of its RDMA ports, their members if they are bonds, and those of other PCI
// functions. Virtual functions whose physical function is visible are left out; so are all virtual
// functions with physicalOnly.
func cardNetdevs(s *inventory.Snapshot, physicalOnly bool) []string {
	left := map[string]bool{} // PCI addresses
	for _, c := range s.Cards {
		if c.VF != nil && (physicalOnly || c.VF.ParentDevice != "" && s.Device(c.VF.ParentDevice) != nil) {
			left[c.PCI.Address] = true
		}
	}
	var names []string
	add := func(name string) {
		n := s.Netdev(name)
		if n != nil && n.Kind != "representor" && !left[n.PCI] {
			names = append(names, name)
		}
	}
	for d, p := range s.Ports() {
		n := s.Netdev(p.Netdev)
		if n == nil || s.OthersReason(d, p) != "" || physicalOnly && d.VF != nil {
			continue
		}
		if n.Bond != nil {
			for _, member := range n.Bond.Slaves {
				add(member)
			}
		}
		add(n.Name)
	}
	for _, n := range s.Netdevs {
		if n.PCI != "" && n.RDMADevice == "" {
			add(n.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// each calls a function for all names side by side and returns its values in their order. For
// those that have not returned when the time is over it returns late(name), and complete is false:
// they still run.
func each[T any](
	ctx context.Context, limit time.Duration, names []string,
	ask func(context.Context, string) T, late func(string) T,
) (out []T, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		i int
		v T
	}
	answers := make(chan answer, len(names)) // so that no goroutine waits for a reader
	for i, name := range names {
		go func() { answers <- answer{i, ask(ctx, name)} }()
	}
	out = make([]T, len(names))
	for i, name := range names {
		out[i] = late(name)
	}
	for range names {
		select {
		case a := <-answers:
			out[a.i] = a.v
		case <-ctx.Done():
			return out, false
		}
	}
	return out, true
}
