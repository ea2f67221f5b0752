package rules

import (
	"slices"
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
			if name, _, _ := strings.Cut(v.Text, ":"); isLocal(name) {
				return name, v.Places
			}
		}
	}
	return "", nil
}

// bridgeAt returns the interface with an address that other nodes don't reach, "" if there is none.
func bridgeAt(f *facts.Facts, address string) string {
	for _, n := range f.Nodes {
		for _, list := range [...][]facts.Value{n.Sockets, n.Bootstrap} {
			for _, v := range list {
				if name, at, _ := strings.Cut(v.Text, ":"); address != "" && at == address && isLocal(name) {
					return name
				}
			}
		}
	}
	return ""
}

// isLocal reports whether an interface is one of [localInterfaces].
func isLocal(name string) bool {
	return slices.ContainsFunc(localInterfaces, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
