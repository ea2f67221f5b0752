package nodes

import (
	"fmt"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// bootstrapComparisons are about the connections over TCP by which ranks meet. The device itself is
// among the notes of package consensus.
func bootstrapComparisons() []Comparison {
	return []Comparison{{
		Check: consensus.Check{
			ID: "host-network", Severity: consensus.SeverityNote,
			What: "network of the address that a host's name has on its node",
			Why: "Gloo and MPI tell their peers the address of the host's name; one in another network reaches them " +
				"only if there is a route between the networks",
			Remedy: "give the name of each node its address in the network that all share: DNS, /etc/hosts",
		},
		Numbers: []int{72}, Facts: []facts.Kind{facts.KindResolver}, values: hostNetwork,
	}}
}

// hostNetwork returns the network of the first address of the host's name that a network device
// has.
func hostNetwork(n Node) []consensus.Value {
	if !n.Facts.Resolver.Known() {
		return nil
	}
	for _, a := range n.Facts.Resolver.Value.Addresses {
		for i := range n.Snapshot.Netdevs {
			dev := &n.Snapshot.Netdevs[i]
			for _, p := range dev.Addresses {
				if p.Addr() != a || a.IsLoopback() || p.IsSingleIP() { // the prefix length is not known
					continue
				}
				return []consensus.Value{{
					Value: p.Masked().String(), Path: "resolver:" + n.Facts.Resolver.Value.Name,
					Text: fmt.Sprintf("%v on %s", p, dev.Name),
				}}
			}
		}
	}
	return nil
}
