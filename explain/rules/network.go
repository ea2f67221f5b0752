package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// networkRules are about the network that was chosen, and sockets.
func networkRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-131",
			Name:  "networks-mixed",
			Title: "one node uses InfiniBand or RoCE and another one TCP",
			Explanation: "The two ends of a connection must use the same network of NCCL. The types in the message " +
				"are numbers of ncclSocketType: 3 is the socket network, 4 InfiniBand and RoCE.",
			Sources: []string{"NVIDIA/nccl, src/include/socket.h", "NVIDIA/nccl-tests#188", "NVIDIA/nccl#234"},
			Find:    findMixed,
		},
		{
			ID:    "RDX-130",
			Name:  "no-device",
			Title: "no RDMA device was found, or sockets are used",
			Explanation: "Without a usable device NCCL and UCX fall back to sockets without an error, and " +
				"everything is slow; or they end, if another network was demanded.",
			Sources: []string{
				"NVIDIA/nccl#451",
				"vllm-project/vllm#6610",
				"sgl-project/sglang#1427",
				"ai-dynamo/dynamo#1314",
			},
			Find: findNoDevice,
		},
		{
			ID:    "RDX-132",
			Name:  "connect",
			Title: "a TCP connection between nodes failed",
			Explanation: "NCCL and PyTorch first connect by TCP over an ordinary interface. If they choose " +
				"docker0, a bridge or a private network, the others can't reach it.",
			Sources: []string{"NVIDIA/nccl-tests#162", "NVIDIA/nccl-tests#14", "ROCm/rccl#328"},
			Find:    findConnect,
		},
		{
			ID: "RDX-133", Name: "versions", Title: "the nodes run different versions or settings",
			Explanation: "Sizes, protocols and structures differ between versions; the ends misread each other.",
			Sources:     []string{"NVIDIA/nccl#626", "NVIDIA/nccl#1267"},
			Find:        findVersions,
		},
		{
			ID: "RDX-135", Name: "ucx-tcp-only", Title: "UCX uses TCP only",
			Explanation: "UCX lists no RDMA transport, so everything goes over TCP and is slow.",
			Sources:     []string{"ai-dynamo/dynamo#1314", "ai-dynamo/dynamo#3343"},
			Find:        findOnlyTCP,
		},
		{
			ID:    "RDX-134",
			Name:  "gloo-loopback",
			Title: "Gloo connects to a loopback address",
			Explanation: "The name of the host resolves to 127.0.0.1, so each node tells the others an address " +
				"that is theirs.",
			Sources: []string{"aws-samples/aws-do-eks#69"},
			Find:    findGloo,
		},
	}
}

func findNoDevice(f *facts.Facts) []Finding {
	none := firstOf(f, evidence.NCCLNoDevice, "")
	sockets := firstOf(f, evidence.NCCLNetwork, "network", "Socket")
	noNetwork := firstOf(f, evidence.NCCLNoNetwork, "")
	ucx := of(f, evidence.UCXNoDevice)
	library := firstOf(f, evidence.NCCLNoLibrary, "")
	device := of(f, evidence.PerftestDevice)
	if sockets == nil && used(f, "Socket") {
		sockets = firstOf(f, evidence.NCCLSockets, "")
	}
	if none == nil && sockets == nil && noNetwork == nil && len(ucx)+len(device) == 0 {
		return nil
	}
	if v, _, ok := variable(f, "NCCL_IB_DISABLE"); ok && v == "1" && noNetwork == nil {
		return nil // as demanded
	}
	other := firstOf(f, evidence.NCCLNetwork, "network", "IB", "AWS Libfabric", "Libfabric")
	same := other != nil && (sockets == nil || sockets.Process.Host == other.Process.Host)
	if same && len(ucx)+len(device) == 0 && library == nil {
		return nil // a line of another communicator, or of a node that has the network
	}
	if v, _, ok := variable(f, "NCCL_NET"); ok && strings.EqualFold(v, "socket") {
		return nil
	}
	if oneNode(f) && noNetwork == nil && len(ucx)+len(device) == 0 {
		return nil // nothing goes over the network
	}
	c := &candidates{}
	var lines []*evidence.Event
	for _, e := range []*evidence.Event{none, noNetwork, sockets, library} {
		if e != nil {
			lines = append(lines, e)
		}
	}
	lines = append(lines, events(append(ucx, device...))...)
	noDeviceCauses(f, c, library, append(ucx, device...))
	pluginDemanded(c, noNetwork)
	what := "no RDMA device was found"
	switch {
	case noNetwork != nil:
		what = "the network that NCCL_NET demands could not be initialized"
	case sockets != nil:
		what += ", so NCCL uses sockets"
	case len(ucx) > 0:
		what = "UCX has no device " + ucx[0].Event.Fields["device"]
	}
	finding := Finding{What: what, Events: lines, Causes: c.causes()}
	for _, x := range f.Failures {
		if x.Event == noNetwork || len(ucx)+len(device) > 0 && x == append(ucx, device...)[0] {
			finding.Failure = x
		}
	}
	return []Finding{finding}
}

// oneNode reports whether lines show that all ranks are on one node.
func oneNode(f *facts.Facts) bool {
	if hosts, ranks, _ := testsHosts(f); ranks > 1 {
		return len(hosts) == 1
	}
	one := false
	for e := range f.Store.Of(evidence.NCCLRanks) {
		if e.Fields["nnodes"] != "1" {
			return false
		}
		one = true
	}
	var with []*facts.Node
	for _, n := range f.Nodes {
		if len(n.Ranks) > 0 {
			with = append(with, n)
		}
	}
	return one || f.Ranks > 0 && len(with) == 1 && len(with[0].Ranks) == f.Ranks
}

// used reports whether a node uses a network.
func used(f *facts.Facts, network string) bool {
	for _, n := range f.Nodes {
		for _, v := range n.Networks {
			if v.Text == network {
				return true
			}
		}
	}
	return false
}

// rdmaTransport reports whether a text names one of UCX's transports over RDMA, or a device of it.
func rdmaTransport(transports string) bool {
	for name := range strings.FieldsFuncSeq(transports, func(r rune) bool {
		return strings.ContainsRune(" ()/:,;#", r)
	}) {
		for _, prefix := range [...]string{"rc", "dc", "ud", "ib", "mlx5", "gga", "srd"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// findOnlyTCP finds UCX with no transport but TCP and shared memory, although somebody waits for
// RDMA: ucx_info or the configuration of an endpoint shows it.
func findOnlyTCP(f *facts.Facts) []Finding {
	var lines []*evidence.Event
	for e := range f.Store.Of(evidence.UCXTransports) {
		if rdmaTransport(e.Fields["transports"]) {
			return nil
		}
		if strings.Contains(e.Fields["transports"], "tcp") {
			lines = append(lines, e)
		}
	}
	if len(lines) == 0 || len(of(f, evidence.UCXNoDevice)) > 0 {
		return nil
	}
	c := &candidates{}
	c.add("missing-library", "UCX of this image was built or shipped without its InfiniBand modules", common).
		supports(strong, "its transports are "+lines[0].Fields["transports"]+" only", lines[0].Place).
		todo("ucx_info -d in the container; ldd of libuct_ib.so", "install rdma-core before UCX is built").
		from("ai-dynamo/dynamo#1314", "ai-dynamo/dynamo#2163")
	c.add("no-device-node", "the container has no RDMA device", usual).
		todo("ls -l /dev/infiniband in the container", "a device plugin's resource")
	c.add("sockets-used", "TCP is used where RDMA was meant", rare).
		todo("UCX_TLS, UCX_NET_DEVICES", "the right devices")
	return []Finding{{What: "UCX uses TCP only", Events: lines, Causes: c.causes()}}
}

func noDeviceCauses(f *facts.Facts, c *candidates, library *evidence.Event, named []*facts.Failure) {
	refused := firstOf(f, evidence.NCCLVerb, "call", "ibv_open_device", "ibv_query_device")
	provider := firstOf(f, evidence.Symptom, "line", "no-userspace-driver", "driver-private", "driver-undefined",
		"config-directory")
	ofCard := missingProvider(f)
	down, listed := portNotActive(f), decisive
	if down != nil {
		listed = hint
	}
	title := "the image has no libibverbs (rdma-core), or a program without support for it"
	remedy := "install rdma-core and its providers (ibverbs-providers) where the program runs; with UCX, build it " +
		"with them"
	if ofCard != nil {
		remedy = "install the provider (ibverbs-providers, rdma-core) of the release of libibverbs in the image"
		title = "the image has no provider of libibverbs for the card (rdma-core), or none that can be loaded"
	}
	c.add("missing-library", title, usual).
		supportsIf(ofCard != nil, strong, "libibverbs could not load the provider of a card", placeOf(ofCard)...).
		supportsIf(library != nil, decisive, "libibverbs can't be opened", placeOf(library)...).
		supportsIf(onlyTCP(named), listed,
			"UCX lists only TCP devices: built or shipped without its InfiniBand modules, or no port is active",
			places(named)...).
		opposesIf(onlyTCP(named) && down != nil, strong+usual, "a command of libibverbs lists a device",
			placeOf(down)...).
		supportsIf(provider != nil, strong, "libibverbs has no provider for a device of the kernel",
			placeOf(provider)...).
		opposesIf(refused != nil, strong, "the library was there: it could not open a device", placeOf(refused)...).
		todo("ibv_devices in the container; ldconfig -p | grep -e ibverbs -e rdmav; ucx_info -d", remedy).
		from("sgl-project/sglang#1427", "ai-dynamo/dynamo#1314")
	node := common
	if name := missingDevice(named); name != "" { // a device without a device file is listed all the same
		node = rare
		c.add("environment-differs", "no device of this node is called "+name+": another name (udev's persistent "+
			"names), another node, or no provider for it", common).
			todo("ibv_devices; rdma link", "the name on this node (ibp…, rocep…), or the provider of the device")
	}
	container := c.add("no-device-node", "the container has no /dev/infiniband, or no permission for it", node).
		supportsIf(refused != nil, strong, "a device was seen and could not be opened", placeOf(refused)...).
		opposesIf(library != nil, usual, "the library is missing already", placeOf(library)...).
		todo("ls -l /dev/infiniband in the container; rdmactl detect",
			"give the container the devices: a device plugin's resource, --device=/dev/infiniband")
	container.from("vllm-project/vllm#6610", "getainode/ainode#87")
	containerDevices(f, container)
	if len(named) > 0 && !onlyTCP(named) && named[0].Event.Fields["available"] != "" {
		c.add("wrong-device",
			"UCX_NET_DEVICES names a device that this node doesn't have, though others are there", common).
			supports(strong, "UCX lists other devices: "+named[0].Event.Fields["available"], places(named)...).
			todo("env | grep UCX_NET_DEVICES against ucx_info -d on each node; rdmactl env lint",
				"a name of the list, with the port (mlx5_0:1); it can differ between nodes")
	}
	if len(named) == 0 {
		hcaCause(f, c)
	}
	portCauses(c, down)
	driver := rare
	if len(named) > 0 && named[0].Event.Kind == evidence.PerftestDevice && missingDevice(named) == "" {
		driver = usual
	}
	c.add("module-missing", "the card's RDMA driver isn't loaded, or the node has no such card", driver).
		opposesIf(down != nil, strong, "the device is there", placeOf(down)...).
		opposesIf(provider != nil, strong, "the kernel has a device, or had one", placeOf(provider)...).
		todo("lspci -nnk: the driver in use; lsmod | grep -E 'mlx5_ib|bnxt_re|irdma|efa'; rdma link",
			"modprobe the driver (mlx5_ib, bnxt_re, irdma, efa) and ib_uverbs")
}

// pluginDemanded adds the cause that NCCL_NET names a plugin that isn't there, for other networks
// than NCCL's own.
func pluginDemanded(c *candidates, noNetwork *evidence.Event) {
	if noNetwork == nil || noNetwork.Fields["network"] == "" || noNetwork.Fields["network"] == "IB" {
		return
	}
	name := noNetwork.Fields["network"]
	c.add("external-plugin", "the plugin with the network "+name+" isn't found, or failed to start", usual).
		supports(decisive, name+" is no network of NCCL itself", noNetwork.Place).
		todo("NCCL_DEBUG=INFO: the lines NET/Plugin; ls of the folders in LD_LIBRARY_PATH for libnccl-net*.so",
			"the plugin in the image and its folder in LD_LIBRARY_PATH, NCCL_NET_PLUGIN with its name; or no NCCL_NET").
		from("NVIDIA/nccl, src/plugin/net.cc")
}

// missingDevice returns the name of a device that perftest was told to use and didn't find.
func missingDevice(list []*facts.Failure) string {
	for _, x := range list {
		if x.Event.Kind == evidence.PerftestDevice && x.Event.Fields["device"] != "" {
			return x.Event.Fields["device"]
		}
	}
	return ""
}

// onlyTCP reports whether the list of devices of UCX has only those of TCP.
func onlyTCP(list []*facts.Failure) bool {
	for _, x := range list {
		if a := x.Event.Fields["available"]; a != "" {
			for word := range strings.FieldsSeq(a) {
				if !strings.Contains(word, "(tcp)") {
					return false
				}
			}
			return true
		}
	}
	return false
}

// pluginsDiffer reports nodes of which some have an external network plugin and others none, unless
// something failed that says more.
func pluginsDiffer(f *facts.Facts) []Finding {
	d, ok := difference(f, "network plugin")
	if !ok || slices.ContainsFunc(f.Failures, func(x *facts.Failure) bool { return !x.Weak() }) {
		return nil
	}
	var lines []*evidence.Event
	for e := range f.Store.Of(evidence.NCCLPlugin) {
		lines = append(lines, e)
	}
	c := &candidates{}
	c.add("networks-mixed", "one node uses an external network plugin, another one NCCL's own transport", common).
		supports(strong, values(d)).
		todo("compare the lines NET/Plugin of all nodes; LD_LIBRARY_PATH",
			"the same plugin on all nodes, or NCCL_NET_PLUGIN=none").
		from("NVIDIA/nccl#1634")
	return []Finding{{
		What:   "the nodes of this job use different network plugins",
		Events: lines[:min(len(lines), 4)], Causes: c.causes(),
	}}
}

func findMixed(f *facts.Facts) []Finding {
	list := of(f, evidence.NCCLSocketType)
	merge := of(f, evidence.NCCLMerge)
	d, differs := difference(f, "network")
	if len(list)+len(merge) == 0 && !differs {
		return pluginsDiffer(f)
	}
	if len(merge) > 0 && len(list) == 0 && !differs {
		x := merge[0]
		c := &candidates{}
		c.add("networks-mixed", "ports of InfiniBand and RoCE are used together", common+strong).
			proves("the line names ports of both kinds", x.Event.Place).
			todo("the lists of devices of all nodes", "NCCL_IB_HCA with ports of one kind, the same on all nodes")
		return []Finding{
			{
				What:    "ports of different link layers can't be connected",
				Failure: x,
				Events:  events(merge),
				Causes:  c.causes(),
			},
		}
	}
	c := &candidates{}
	m := c.add("networks-mixed", "one node uses InfiniBand or RoCE, another one TCP", common+strong)
	for _, x := range list {
		peer, own := x.Event.Fields["peer"], x.Event.Fields["own"]
		if (peer == "3" && own == "4") || (peer == "4" && own == "3") {
			m.supports(
				decisive,
				fmt.Sprintf(
					"the peer's connection has type %s, this node expects %s: 3 is TCP, 4 InfiniBand or RoCE",
					peer,
					own,
				),
				x.Event.Place,
			)
			break
		}
	}
	if differs {
		m.supports(strong, values(d))
	}
	for _, n := range f.Nodes {
		if len(n.NoDevice) > 0 {
			m.supports(hint, n.Name+" found no RDMA device", n.NoDevice[0])
		}
	}
	m.todo("compare the lines \"Using network\" of all nodes; rdmactl detect on the node with TCP",
		"the same devices, plugin and environment on all nodes").from("NVIDIA/nccl-tests#188", "NVIDIA/nccl#234")
	finding := Finding{What: "the nodes of this job use different networks", Events: events(list), Causes: c.causes()}
	if len(list) > 0 {
		finding.Failure = list[0]
	} else {
		for _, v := range d.Values {
			for range v.Places[:min(1, len(v.Places))] {
				if e := firstOf(f, evidence.NCCLNetwork, "network", v.Text); e != nil {
					finding.Events = append(finding.Events, e)
				}
			}
		}
	}
	return []Finding{finding}
}

func findVersions(f *facts.Facts) []Finding {
	family := of(f, evidence.NCCLFamily)
	truncated := of(f, evidence.NCCLTruncated)
	mismatch := of(f, evidence.NCCLMismatch)
	list := append(append(mismatch, family...), truncated...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	v := c.add("version-mismatch", "the nodes run different versions of the library", usual)
	if len(mismatch) > 0 {
		m := mismatch[0].Event
		v.proves(fmt.Sprintf("rank %s has version %s, rank %s has %s", m.Fields["rank"], m.Fields["version"],
			m.Fields["peerRank"], m.Fields["peerVersion"]), m.Place)
	}
	v.supportsIf(len(family) > 0, strong,
		"an address without family can be that of another version, or never written", places(family)...).
		supportsIf(versionsDiffer(f), strong, "versions differ").
		todo("compare the version lines of all nodes; python -c 'import torch; print(torch.cuda.nccl.version())'",
			"the same version on all nodes").
		from("NVIDIA/nccl#1267")
	e := c.add("environment-differs", "the ranks differ in NCCL_PROTO, NCCL_ALGO or another variable", rare)
	for _, d := range f.Differences {
		if strings.HasPrefix(d.What, "NCCL_") {
			e.supports(strong, d.What+": "+values(d))
		}
	}
	bootstrap := len(truncated) > 0 && strings.Contains(truncated[0].Event.Fields["source"], "bootstrap.cc")
	if bootstrap {
		c.add("library-defect", "a defect of this release of NCCL mixes up messages of its bootstrap", usual).
			supportsIf(true, hint, "the bootstrap exchanges sizes of its own, whatever the settings",
				places(truncated)...).
			todo("the same with another release of NCCL", "another release: NCCL 2.19 had it, 2.18.6 had not").
			from("NVIDIA/nccl#1176")
	}
	e.supportsIf(len(truncated) > 0 && !bootstrap, usual, "sizes differ").
		todo("rdmactl env consensus", "the same environment on all nodes").from("NVIDIA/nccl#626")
	if ifname, p, set := variable(f, "NCCL_SOCKET_IFNAME"); set && len(family) > 0 && len(mismatch) == 0 {
		found := false
		for _, n := range f.Nodes {
			found = found || len(n.Bootstrap) > 0 && !f.OtherJob(n)
		}
		c.add("interface-choice", "NCCL_SOCKET_IFNAME names an interface that a node doesn't have", common).
			supportsIf(!found, strong+hint, "NCCL_SOCKET_IFNAME="+ifname+", and no interface was chosen", p...).
			opposesIf(found, usual, "an interface was found").
			todo("ip -br address on each node; rdmactl env lint", "the name of an interface that each node has").
			from("NVIDIA/nccl, src/misc/socket.cc")
	}
	c.add("program-fault", "the ranks call collectives with different sizes, or make communicators in different orders",
		rare).
		supportsIf(len(truncated) > 0, usual, "sizes differ").
		todo("TORCH_DISTRIBUTED_DEBUG=DETAIL", "the program")
	return []Finding{
		{What: "the ends of a connection misread each other", Failure: x, Events: events(list), Causes: c.causes()},
	}
}
