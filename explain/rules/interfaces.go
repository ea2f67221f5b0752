package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// localInterfaces are the beginnings of names of interfaces that other nodes don't reach: bridges
// and tunnels of containers and virtual machines.
var localInterfaces = []string{
	"br-", "docker", "veth", "virbr", "cni", "flannel", "cali", "lxc", "pod-id-link", "ip6tnl", "tunl", "vmnet",
}

// bridges returns an interface among those that NCCL uses for TCP that other nodes don't reach, and
// where it is listed; "" if there is none.
func bridges(f *facts.Facts) (string, []evidence.Place) {
	for _, n := range f.Nodes {
		for _, v := range n.Sockets {
			name, _, _ := strings.Cut(v.Text, ":")
			for _, prefix := range localInterfaces {
				if strings.HasPrefix(name, prefix) {
					return name, v.Places
				}
			}
		}
	}
	return "", nil
}
