package lint

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

// hostVariables returns the variables with the address at which peers reach this node.
func hostVariables() []string {
	return []string{"VLLM_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST", "SGLANG_HOST_IP"}
}

// addressRules returns the rules about addresses.
func addressRules() []Rule {
	return []Rule{
		{
			ID: "host-address", Title: "address that this node doesn't have", Severity: SeverityError,
			Variables: hostVariables(), On: "60_pod_shared_netns",
			Wrong: []string{"VLLM_HOST_IP=10.9.8.7"}, Right: []string{"VLLM_HOST_IP=10.244.3.17"},
			Explanation: prose.Join(`
				vLLM, SGLang and the side channel of NIXL listen on this address and send it to
				their peers. If it is the address of another node, for example because the
				environment was copied, listening fails or peers connect to the wrong node. A
				loopback address is not reachable from other nodes.`),
			Remedy: "on each node set the address of that node", Sources: []string{srcLaunch},
			check: checkHostAddress,
		},
		{
			ID: "master-loopback", Title: "MASTER_ADDR is a loopback address, and the job has several nodes",
			Severity: SeverityError, Variables: []string{"MASTER_ADDR"}, On: "47_gpu_switches",
			Wrong: []string{"MASTER_ADDR=127.0.0.1", "NNODES=2"}, Right: []string{"MASTER_ADDR=10.0.0.1", "NNODES=2"},
			Explanation: "Every rank connects to MASTER_ADDR. On the other nodes a loopback address is the node " +
				"itself, where nothing listens: the ranks wait until they time out.",
			Remedy: "set the address of the node with rank 0", Reports: []string{"vllm-project/vllm#7074"},
			Sources: []string{"PyTorch, torch.distributed"}, check: checkMaster,
		},
	}
}

// severalNodes reports whether, according to the environment, the job has more than one node, and
// the settings that show it.
func (l *linter) severalNodes() (many bool, why string) {
	for _, name := range []string{"NNODES", "PET_NNODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "LWS_GROUP_SIZE"} {
		if n, ok := integer(l.value(name)); ok && n > 1 {
			return true, fmt.Sprintf("%s=%d", name, n)
		}
	}
	world, ok := integer(l.value("WORLD_SIZE"))
	local, ok2 := integer(l.value("LOCAL_WORLD_SIZE"))
	switch {
	case ok && ok2 && local > 0 && world > local:
		return true, fmt.Sprintf("WORLD_SIZE=%d, LOCAL_WORLD_SIZE=%d", world, local)
	case ok && !ok2 && len(l.snap.GPUs) > 0 && world > int64(len(l.snap.GPUs)):
		return true, fmt.Sprintf("WORLD_SIZE=%d, and the node has %s", world, english.Count(len(l.snap.GPUs), "GPU"))
	}
	return false, ""
}

func checkHostAddress(l *linter) {
	for _, name := range hostVariables() {
		s := l.get(name)
		if s == nil {
			continue
		}
		addr, err := netip.ParseAddr(strings.TrimSpace(s.Value))
		if err != nil {
			continue // a name
		}
		addr = addr.Unmap().WithZone("")
		switch {
		case addr.IsUnspecified():
			l.report(s, SeverityWarn, "peers can't connect to %s", addr)
		case addr.IsLoopback():
			if many, why := l.severalNodes(); many {
				l.report(s, SeverityError, "%s is a loopback address, but the job has several nodes (%s)", addr, why)
			} else {
				l.report(s, SeverityNote, "%s is reachable from this node only", addr)
			}
		case l.addressesKnown() && !l.hasAddress(addr):
			f := l.report(s, SeverityError, "no network device has %s; the node has %s", addr, join(l.addresses()))
			if own := l.socketAddress(); own != "" {
				f.set(name, own)
			}
		}
	}
}

func (n *node) hasAddress(addr netip.Addr) bool { return slices.Contains(n.addresses(), addr.String()) }

// addresses returns the addresses of the node except loopback addresses.
func (n *node) addresses() []string {
	var out []string
	for _, d := range n.snap.Netdevs {
		for _, p := range d.Addresses {
			if !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
				out = append(out, p.Addr().WithZone("").String())
			}
		}
	}
	return out
}

// socketAddress returns the address of the bootstrap device.
func (n *node) socketAddress() string {
	if n.plan.Socket == nil {
		return ""
	}
	if d := n.snap.Netdev(n.plan.Socket.Netdev); d != nil {
		for _, p := range d.Addresses {
			if !p.Addr().IsLinkLocalUnicast() {
				return p.Addr().String()
			}
		}
	}
	return ""
}

func checkMaster(l *linter) {
	s := l.get("MASTER_ADDR")
	if s == nil {
		return
	}
	addr, err := netip.ParseAddr(s.Value)
	if !strings.EqualFold(s.Value, "localhost") && (err != nil || !addr.IsLoopback()) {
		return
	}
	if many, why := l.severalNodes(); many {
		l.report(s, SeverityError, "%s is a loopback address, but the job has several nodes (%s)", s.Value, why)
	}
}
