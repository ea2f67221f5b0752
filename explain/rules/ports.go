package rules

import (
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// missingProvider returns libibverbs' line about a provider of a card that it could not load, nil
// if there is none. Those of other cards are left-overs of packages.
func missingProvider(f *facts.Facts) *evidence.Event {
	for e := range f.Store.Of(evidence.Symptom) {
		if e.Fields["line"] != "load-driver" {
			continue
		}
		for _, name := range [...]string{"libmlx5", "libbnxt_re", "libirdma", "libefa", "liberdma", "libionic"} {
			if strings.Contains(e.Text, name) {
				return e
			}
		}
	}
	return nil
}

// containerDevices adds what docker inspect says: a container that isn't privileged has only those
// devices that it is given; a privileged one has all of them without listing any.
func containerDevices(f *facts.Facts, node *candidate) {
	privileged := firstOf(f, evidence.Setting, "name", "container privileged")
	none := firstOf(f, evidence.Setting, "name", "container devices")
	switch {
	case privileged == nil:
	case none != nil:
		node.supports(strong, "the container isn't privileged and has no devices", none.Place, privileged.Place)
	default:
		node.supports(hint, "the container isn't privileged: it has only the devices that it is given",
			privileged.Place)
	}
}

// portNotActive returns the first port that ibstat, ibv_devinfo or rdma link show, if none of those
// they show is active.
func portNotActive(f *facts.Facts) *evidence.Event {
	var first *evidence.Event
	for e := range f.Store.Of(evidence.DevicePort) {
		switch e.Fields["state"] {
		case "":
			continue
		case "ACTIVE":
			return nil
		}
		if first == nil {
			first = e
		}
	}
	return first
}

// portCauses adds what the state of the ports says: InfiniBand's initializing is a link that waits
// for a subnet manager.
func portCauses(c *candidates, port *evidence.Event) {
	down := c.add("port-down", "no port is active", rare).
		todo("rdmactl detect; ibv_devinfo", "bring the port up; a subnet manager on InfiniBand")
	if port == nil {
		return
	}
	state := port.Fields["state"]
	text := port.Fields["device"] + " port " + port.Fields["port"] + " is in the state " + state
	if !strings.HasPrefix(state, "INIT") || port.Fields["link"] == "Ethernet" {
		down.supports(decisive, text, port.Place)
		return
	}
	down.supports(hint, text, port.Place)
	c.add("subnet-manager", "no subnet manager has brought the port up", usual).
		supports(decisive, text+": the link is there, and no subnet manager has given it a LID", port.Place).
		todo("rdmactl fabric sm; sminfo", "start a subnet manager: opensm, or that of a managed switch")
}

// hcaCause is about NCCL's filter of devices.
func hcaCause(f *facts.Facts, c *candidates) {
	hca, places, filtered := variable(f, "NCCL_IB_HCA")
	c.add("environment-differs", "NCCL_IB_HCA matches no port", rare).
		supportsIf(filtered, strong, "NCCL_IB_HCA="+hca+" leaves only such ports", places...).
		todo("rdmactl env lint; ibv_devices against the filter", "correct the filter")
}

// connectText says who could not connect to whom.
func connectText(x *facts.Failure) string {
	if joined := x.Event.Fields["joined"]; joined != "" {
		return "only " + strings.Replace(joined, "/", " of ", 1) + " processes joined the job's store of " + where(x)
	}
	return where(x) + " could not connect to " + toward(x) + " by TCP"
}

// connectOf returns the causes of connections that NCCL_SOCKET_IFNAME has nothing to do with: those
// of perftest and of PyTorch's store, nil for others.
func connectOf(f *facts.Facts, list []*facts.Failure) *candidates {
	switch x := list[0]; {
	case x.Event.Kind == evidence.PerftestConnect:
		return perftestConnect(list)
	case x.Event.Fields["joined"] != "":
		return storeClients(x)
	case x.Event.Kind == evidence.TorchStore:
		return storeConnect(list, symptom(f, "rendezvous-connection"))
	}
	return nil
}

func perftestConnect(list []*facts.Failure) *candidates {
	c := &candidates{}
	c.add("nobody-listens", "the other side of perftest isn't running: the server is started first, with the "+
		"same test and port", common).
		todo("ss -ltn on the server (perftest uses TCP port 18515, or -p)",
			"start the same command without an address on the server, then the client")
	iface := c.add("interface-choice", "the address isn't the server's, or no route leads to it", usual)
	oddPeer(iface, list)
	iface.todo("ip -br address on the server; ip route get ADDRESS on the client",
		"an address of the server that the client reaches by TCP")
	c.add("firewall", "a firewall drops the port", usual).
		todo("nc -vz ADDRESS PORT", "open the port, or another one with -p")
	return c
}

// storeClients is about a store that runs and waits for processes that don't come.
func storeClients(x *facts.Failure) *candidates {
	joined := x.Event.Fields["joined"]
	c := &candidates{}
	c.add("dead-peer", "a process hasn't started, or ended before it joined", common).
		supports(hint, "joined "+joined+": the others reached the store", x.Event.Place).
		todo("the logs of all nodes: the rank without a line, or with an earlier error; squeue, kubectl get pods",
			"start it, or what ended it")
	c.add("environment-differs", "a node was started with another MASTER_ADDR, MASTER_PORT or number of "+
		"processes", usual).
		todo("MASTER_ADDR, MASTER_PORT, WORLD_SIZE and --nnodes of each node", "the same on all nodes")
	c.add("firewall", "a firewall or security group drops the port from one node", rare).
		todo("nc -vz MASTER_ADDR MASTER_PORT on each node", "open the ports between the nodes")
	return c
}

// storeConnect is about clients that don't reach PyTorch's store, which is at MASTER_ADDR, or where
// torchrun's rendezvous is: elastic is a line of that, nil if there is none.
func storeConnect(list []*facts.Failure, elastic *evidence.Event) *candidates {
	c := &candidates{}
	iface := c.add("interface-choice", "MASTER_ADDR is an address that this node doesn't reach", common)
	oddPeer(iface, list)
	iface.supportsIf(len(with(list, "errno", "113", "101")) > 0, hint, "no route leads to that address").
		todo("getent hosts MASTER_ADDR; ip route get ADDRESS on this node",
			"MASTER_ADDR (--master-addr, --rdzv-endpoint) with an address of rank 0 on the nodes' common network")
	if elastic != nil {
		c.add("nobody-listens", "no node takes the endpoint for its own, so none has the store", common).
			supports(hint, "torchrun's own rendezvous failed", elastic.Place).
			todo("hostname -f and getent hosts NAME on that node; ss -ltnp there",
				"the node's own name as --rdzv-endpoint; is_host=true in --rdzv-conf of that node").
			from("pytorch/pytorch#79388", "pytorch/pytorch#69197")
	}
	refused := with(list, "errno", "111")
	c.add("dead-peer", "the process of rank 0 ended before, or hasn't begun to listen", usual).
		supportsIf(len(refused) > 0, strong, "the connection was refused: the node is there, nobody "+
			"listens", places(refused)...).
		todo("the log of rank 0; ss -ltn on its node", "what ended it")
	c.add("firewall", "a firewall or security group drops the ports", usual).
		supportsIf(len(with(list, "errno", "110", "113")) > 0, hint, "no answer, or no route").
		todo("nc -vz ADDRESS PORT", "open the ports between the nodes")
	return c
}

// oddPeer adds an address that other nodes can't reach.
func oddPeer(iface *candidate, list []*facts.Failure) {
	for _, x := range list {
		if why := oddAddress(x.Event.Fields["address"]); why != "" {
			iface.supports(strong, x.Event.Fields["address"]+" is "+why, x.Event.Place)
			return
		}
	}
}

// ucxPath returns the line in which UCX names the path of a request that failed, if the peer's GID
// is routable: an IPv4 address, or one of IPv6 that isn't link-local. It is nil for other programs.
func ucxPath(f *facts.Facts, x *facts.Failure) *evidence.Event {
	if family(x) != "ucx" {
		return nil
	}
	var found *evidence.Event
	for e := range f.Store.Of(evidence.UCXPath) {
		a, err := netip.ParseAddr(e.Fields["remoteGID"])
		if err != nil || e.Process.Host != x.Event.Process.Host {
			continue
		}
		if a = a.Unmap(); a.IsUnspecified() || a.IsLinkLocalUnicast() || a.IsLoopback() {
			return nil
		}
		if found == nil {
			found = e
		}
	}
	return found
}
