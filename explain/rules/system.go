package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// systemRules are about the kernel, the fabric, and Kubernetes.
func systemRules() []Rule { return slices.Concat(kernelRules(), driverRules(), clusterRules()) }

// one returns a rule about failures of one kind.
func one(
	id, name, what, explanation string, kind evidence.Kind, sources []string,
	causes func(c *candidates, x *facts.Failure),
) Rule {
	return Rule{
		ID: id, Name: name, Title: what, Explanation: explanation, Sources: sources, Find: simple(what, kind, causes),
	}
}

func kernelRules() []Rule {
	return []Rule{
		one(
			"RDX-160",
			"card-health",
			"the card's firmware stopped",
			"The driver watches a counter that the card's firmware must increase. All jobs of the node fail.",
			evidence.KernelHealth,
			[]string{"Linux, drivers/net/ethernet/mellanox/mlx5/core/health.c"},
			func(c *candidates, x *facts.Failure) {
				c.add("card-firmware", "the card's firmware stopped working", common+strong).
					supports(strong, x.Event.Text, x.Event.Place).
					todo("rdmactl doctor --only devlink-health; mstfwtrace",
						"reset the card, update its firmware, replace it").
					from("charmplusplus/charm#2635")
				c.add("card-hardware", "the card or its slot is defective", usual).
					todo("lspci -vvv: AER errors", "replace it")
			},
		),
		one(
			"RDX-161",
			"card-hardware",
			"the card reports a hardware problem",
			"Power, temperature and module messages of the driver.",
			evidence.KernelHardware,
			[]string{"Linux, drivers/net/ethernet/mellanox/mlx5/core/events.c"},
			func(c *candidates, x *facts.Failure) {
				c.add("card-hardware", "hardware: "+x.Event.Text, common+strong).
					supports(strong, x.Event.Text, x.Event.Place).
					todo("rdmactl doctor", "power, cooling, module or slot")
			},
		),
		one(
			"RDX-162",
			"peermem-symbol",
			"a module doesn't fit the RDMA subsystem",
			"The module for GPU memory was built for another ib_core.",
			evidence.KernelSymbol,
			[]string{"Mellanox/nv_peer_memory#79"},
			func(c *candidates, x *facts.Failure) {
				c.add("peermem-build", "the module was built for another OFED, or for none", common+strong).
					proves("the kernel doesn't find the symbol "+x.Event.Fields["symbol"], x.Event.Place).
					todo("grep ib_register_peer_memory_client /proc/kallsyms",
						"reinstall the driver after OFED, or use DMA-BUF").
					from("Mellanox/nv_peer_memory#79", "Mellanox/nv_peer_memory#84")
			},
		),
		one(
			"RDX-163",
			"module-insert",
			"a module could not be inserted",
			"modprobe was refused.",
			evidence.KernelModule,
			[]string{"Mellanox/nv_peer_memory#79"},
			func(c *candidates, x *facts.Failure) {
				slug, title := "module-build", "the module was built for another kernel or RDMA stack than those "+
					"that run"
				if strings.Contains(x.Event.Fields["module"], "peer") {
					slug, title = "peermem-build", "the module was built for another OFED, or for none"
				}
				c.add(slug, title, common+strong).supports(hint, x.Event.Text, x.Event.Place).
					todo("dmesg: unknown symbol; modinfo -F vermagic of the module; uname -r",
						"reinstall the driver after OFED, or use DMA-BUF; rebuild the module for this kernel").
					from("Mellanox/nv_peer_memory#79")
			},
		),
	}
}

func clusterRules() []Rule {
	return []Rule{
		one("RDX-164", "opensm", "the subnet manager reports an error", "Messages of OpenSM.", evidence.OpenSMError,
			[]string{"linux-rdma/opensm#38", "linux-rdma/opensm#43"},
			func(c *candidates, x *facts.Failure) {
				leak := c.add(
					"opensm-mlid-leak",
					"OpenSM has no multicast LIDs left: they leak when groups are left in part",
					rare,
				)
				none := x.Event.Fields["code"] == "1B19" ||
					strings.Contains(x.Event.Text, "mlids are taken") ||
					strings.Contains(x.Event.Text, "NO_RESOURCES")
				leak.supportsIf(none, strong+usual,
					"the error is the one for a new group without a free LID", x.Event.Place).
					todo("saquery -g | wc -l before and after a restart of OpenSM", "a newer OpenSM").
					from("linux-rdma/opensm#43")
				c.add("subnet-manager",
					"the subnet manager doesn't support these switches, or can't reach them", usual).
					todo("rdmactl fabric sm; rdmactl fabric errors", "the vendor's subnet manager").
					from("linux-rdma/opensm#38")
			}),
		one(
			"RDX-165",
			"vf-guid",
			"a virtual function of InfiniBand has no GUID",
			"Without GUID the subnet manager doesn't configure it, and it stays down.",
			evidence.K8sVF,
			[]string{"openshift/sriov-network-operator#243"},
			func(c *candidates, x *facts.Failure) {
				c.add("vf-guid",
					"the virtual function has no GUID, or the subnet manager no virtualization", common+strong).
					supports(usual, x.Event.Text, x.Event.Place).
					todo("rdmactl doctor --only port-active; ip link show: node_guid",
						"GUIDs for the functions; virt_enabled in the subnet manager").
					from("openshift/sriov-network-operator#243", "openshift/sriov-network-device-plugin#20")
			},
		),
		one(
			"RDX-166",
			"netns-mode",
			"the RDMA subsystem is in the wrong namespace mode",
			"The shared device plugin needs the shared mode, the RDMA CNI the exclusive one.",
			evidence.K8sNamespace,
			[]string{"Mellanox/k8s-rdma-shared-dev-plugin#84"},
			func(c *candidates, x *facts.Failure) {
				c.add("netns-mode", "the mode of the RDMA subsystem doesn't fit the plugin", common+strong).
					proves(x.Event.Text, x.Event.Place).
					todo("rdma system", "rdma system set netns shared|exclusive, for the plugin in use").
					from("Mellanox/k8s-rdma-shared-dev-plugin#84", "Mellanox/k8s-rdma-shared-dev-plugin#87")
			},
		),
		one(
			"RDX-167",
			"rdma-cm",
			"rdma_cm could not connect",
			"Address, route or connection were refused.",
			evidence.CMAEvent,
			[]string{"Mellanox/k8s-rdma-sriov-dev-plugin#18", "rdma_get_cm_event(3)"},
			cmaCauses,
		),
		{
			ID:          "RDX-168",
			Name:        "efa",
			Title:       "EFA could not reach a peer",
			Explanation: "On EFA, security groups decide.",
			Sources:     []string{"open-mpi/ompi#6795", "aws/aws-ofi-nccl#663"},
			Find:        findEFA,
		},
		one(
			"RDX-169",
			"operator",
			"an operator could not configure the node",
			"Messages of the SR-IOV operator and of CNIs.",
			evidence.K8sOperator,
			[]string{"k8snetworkplumbingwg/sriov-network-operator#548"},
			func(c *candidates, x *facts.Failure) {
				c.add("driver-refuses", "the driver of the card refuses what the network's definition asks for", usual).
					todo("the same by hand: ip link set PF vf N …; dmesg", "leave the setting out of the definition")
				c.add("environment-differs", "the object doesn't fit the node", usual).
					todo("rdmactl k8s lint", "the object")
			},
		),
		{
			ID: "RDX-170", Name: "link-down", Title: "a link went down",
			Explanation: "The kernel reports that the carrier of a card's port was lost.",
			Sources:     []string{"Linux, drivers/net/ethernet/mellanox/mlx5/core/en_main.c"},
			Find:        findLink,
		},
		{
			ID: "RDX-171", Name: "killed", Title: "a process was killed",
			Explanation: "What others report then are only echoes.",
			Sources:     []string{"Linux, mm/oom_kill.c"},
			Find:        findKilled,
		},
	}
}

func cmaCauses(c *candidates, x *facts.Failure) {
	event, n := x.Event.Fields["event"], strings.TrimPrefix(x.Event.Fields["error"], "-")
	switch {
	case strings.Contains(event, "ADDR_ERROR"):
		c.add("overlay-address",
			"the address belongs to an interface without RDMA in this namespace, such as the overlay", common).
			supportsIf(n == "19", strong, "errno 19: no RDMA device for that interface", x.Event.Place).
			todo("ip -br address and rdma link: the interface of the address", "the address on the rail").
			from("Mellanox/k8s-rdma-sriov-dev-plugin#18")
		c.add("rails-not-connected", "no neighbour or route", usual).
			supportsIf(n == "110" || n == "101" || n == "113", strong, "errno "+n, x.Event.Place).
			todo("ping -I INTERFACE PEER", "address and route")
	case strings.Contains(event, "ROUTE_ERROR"):
		c.add("subnet-manager", "the subnet manager gave no path", common).
			todo("rdmactl fabric sa paths LID", "a working subnet manager")
	case strings.Contains(event, "REJECTED"):
		c.add("nobody-listens", "nobody listens on that port, or the program refused", common).
			todo("the server's process and port", "start it")
	case strings.Contains(event, "CONNECT_ERROR"):
		c.add("driver-refuses", "the queue pair could not be connected: an attribute, the route or the device",
			usual).
			todo("dmesg of both; rping with the same addresses", "what they say")
		c.add("udp-blocked", "the peer's answer doesn't arrive", usual).
			supportsIf(n == "110", strong, "errno 110", x.Event.Place).todo("rdmactl doctor --probe PEER", "the path")
	case strings.Contains(event, "DEVICE_REMOVAL"):
		c.add("bad-nic", "the device was removed or reset", common).
			supports(strong, x.Event.Text, x.Event.Place).todo("dmesg: health, AER, driver", "what dmesg says")
	case strings.Contains(event, "UNREACHABLE"):
		c.add("udp-blocked", "the peer doesn't answer: UDP 4791 is dropped, or it is down", common).
			todo("rdmactl doctor --probe PEER", "the path")
	}
}

func findEFA(f *facts.Facts) []Finding {
	list := of(f, evidence.EFAError, evidence.LibfabricError)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	silent := x.Event.Fields["status"] == "13" || x.Event.Fields["status"] == "15" ||
		strings.Contains(x.Event.Text, "nresponsive") || strings.Contains(x.Event.Text, "nreachable")
	c.add("efa-security-group", "the security group has no rule to itself, in both directions", common).
		supportsIf(silent, strong, "the peer doesn't respond", x.Event.Place).
		todo("the security group: all traffic from and to itself", "a rule to itself, in and out").
		from("open-mpi/ompi#6795")
	c.add("version-mismatch", "versions of plugin and libfabric don't fit", usual).
		todo("the version lines of NET/OFI", "matching versions").from("aws/aws-ofi-nccl#663")
	c.add("dead-peer", "the peer's process has ended: it crashed, or was killed when memory ran out", rare).
		supportsIf(strings.Contains(x.Event.Text, "(QPN)"), strong+usual, "the peer is there, its queue pair is not",
			x.Event.Place).
		todo("the peer's log; kubectl describe pod: OOMKilled; dmesg of its node", "what ended it")
	return []Finding{
		{What: where(x) + ": EFA could not reach a peer", Failure: x, Events: events(list), Causes: c.causes()},
	}
}

// findLink reports links that went down, unless another failure has it as evidence.
func findLink(f *facts.Facts) []Finding {
	list := with(of(f, evidence.KernelLink), "state", "down", "flap")
	if len(list) == 0 || len(completions(f, "12")) > 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	c.add("link-flap", "the link of "+x.Event.Fields["netdev"]+x.Event.Fields["device"]+" went down", common).
		supports(usual, x.Event.Text, x.Event.Place).
		todo("rdmactl doctor on the node; the switch port's log", "cable, transceiver or switch port")
	c.add("other-port-event", "the port isn't used", rare).todo("rdmactl detect", "nothing")
	return []Finding{
		{What: fmt.Sprintf("a link of %s went down", where(x)), Failure: x, Events: events(list), Causes: c.causes()},
	}
}

func findKilled(f *facts.Facts) []Finding {
	list := of(f, evidence.KernelOOM, evidence.ProgramKilled)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	signal := strings.TrimPrefix(x.Event.Fields["signal"], "SIG")
	memory := c.add("host-memory", "the node, or the container's limit, ran out of memory", rare)
	memory.supportsIf(x.Event.Kind == evidence.KernelOOM, decisive, "the kernel's OOM killer: "+x.Event.Text,
		x.Event.Place).
		supportsIf(signal == "9" || signal == "KILL", strong, "SIGKILL is what the OOM killer sends", x.Event.Place).
		todo("dmesg | grep -i oom on that node; the memory limit of the job", "more memory, fewer loader workers")
	k := c.add("dead-peer", "the process ended: what other ranks report follows from it", usual)
	k.supports(hint, x.Event.Text, x.Event.Place).
		todo("dmesg of that node; the process's own log", "what ended it")
	return []Finding{
		{
			What:    fmt.Sprintf("a process of %s was ended", where(x)),
			Failure: x,
			Events:  events(list),
			Causes:  c.causes(),
		},
	}
}
