package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// devicesDiffer returns the cause that nodes have different network cards.
func devicesDiffer() Cause {
	return Cause{
		Slug: "devices-differ", Title: "nodes or ranks see different network cards", Weight: Usual,
		Decide: "rdmactl cluster verify; rdmactl detect on each node; NCCL_IB_HCA",
		Remedy: "the same cards for all ranks: NCCL_IB_HCA with the compute cards, the extra card excluded (^mlx5_3)",
	}
}

// topologyView returns the cause that NCCL sees a PCI topology that is hidden or made up.
func topologyView(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug: "topology-view", Title: "the VM or container shows a PCI topology that is hidden, incomplete or odd",
		Weight: w, Clues: clues,
		Decide: "ls -l /sys/class/pci_bus /sys/bus/pci/devices in the container; lspci -tv; " +
			"NCCL_TOPO_DUMP_FILE=topo.xml",
		Remedy: "mount the host's /sys; the NCCL_TOPO_FILE of the cloud or VM; a newer NCCL",
	}
}

// topologyFile returns the cause that a file of the user describes the topology wrongly.
func topologyFile(w Weight, clues ...Clue) Cause {
	return Cause{
		Slug:   "topology-file",
		Title:  "NCCL_TOPO_FILE or NCCL_GRAPH_FILE names a file that is missing, broken or of another machine",
		Weight: w,
		Clues: append([]Clue{
			{Weight: Strong, Variable: "NCCL_TOPO_FILE"}, {Weight: Strong, Variable: "NCCL_GRAPH_FILE"},
		}, clues...),
		Decide: "env | grep -e NCCL_TOPO -e NCCL_GRAPH; /etc/nccl.conf; xmllint FILE; rdmactl env lint",
		Remedy: "unset it, or the file of this machine type",
	}
}

//nolint:funlen // a table
func ncclTopologySymptoms() []Symptom {
	return []Symptom{
		{
			ID: "RDX-331", Name: "topology", Title: "NCCL could not make sense of the machine's topology",
			Explanation: "NCCL reads in /sys how GPUs, network cards and CPUs are connected. VMs and containers " +
				"hide parts of it.",
			Sources: []string{
				"NVIDIA/nccl, src/graph/topo.cc", "NVIDIA/nccl, src/graph/xml.cc", "NVIDIA/nccl#573",
				"NVIDIA/nccl#379", "NVIDIA/nccl#326",
			},
			Lines: []Line{
				nccl("attribute", "graph/xml.h", "Attribute ", " of node ", "not found").not("NCCL INFO").
					speaks("topology-file"),
				nccl("real-path", "graph/xml.cc", "Could not find real path of /sys/").not("/class/net/").
					speaks("topology-view"),
				nccl(
					"real-path-call",
					"include/checks.h",
					"Call to realpath failed",
				).warning().
					speaks("topology-view"),
				nccl("cpu-near", "graph/paths.cc", "Error : could not find CPU close to GPU").speaks("topology-view"),
				nccl("cpu-numa", "graph/xml.cc", "could not find CPU numa ID").speaks("topology-view"),
				nccl("affinity-none", "graph/topo.cc", "Set CPU affinity : unable to find GPU/CPU for rank").
					speaks("topology-view"),
				nccl("topology-node", "graph/paths.cc", "Could not find node of type"),
				nccl("reverse-path", "graph/paths.cc", "Failed to find reverse path from remNode"),
				nccl("reverse-link", "graph/search.cc", "Could not find rev link for"),
				nccl("add-link", "graph/topo.cc", " error : could not find ").
					any("Add NVLink", "Add PCI Link", "Add C2c", "Add XGMI"),
				nccl("path-none", "graph/search.cc", "No path computed to go from"),
				nccl("net-path", "graph/topo.cc", "Could not find any local path from gpu"),
				nccl("nvls-nic", "graph/search.cc", "Could not find NIC for rank"),
				nccl("nic-busid", "graph/topo.cc", "Couldn't generate unique busId"),
				nccl("nic-required", "graph/search.cc", "but that NIC is not available for rank"),
				nccl("search-rank", "graph/search.cc", "Could not find gpu rank").warning(),
				nccl("search-net", "graph/search.cc", "Could not find net id").warning(),
				nccl("net-node", "graph/topo.h", "Could not find NET with id").warning(),
				nccl("ring-open", "graph/rings.cc", "Error : ring ", "does not"),
				nccl("nodes-many", "graph/topo.cc", "Error : tried to create too many nodes of type"),
				nccl("links-many", "graph/topo.cc", "Error : too many Topo links"),
				nccl("xml-many", "graph/xml.h", "Error : too many XML ").warning(),
				nccl("xml-limited", "graph/xml.cc", "Error : XML parser is limited to").warning(),
				nccl("host-hash", "graph/topo.cc", "not found in the list of system hostHashes"),
			},
			Causes: []Cause{
				topologyView(Usual),
				topologyFile(Rare),
				{
					Slug: "topology-defect", Title: "this release of the library doesn't know such a machine",
					Weight: Usual,
					Clues: []Clue{
						{Weight: Hint, Line: "xml-limited"},
						{Weight: Hint, Line: "xml-many"},
						{Weight: Hint, Line: "reverse-path"},
					},
					Decide: "NCCL_TOPO_DUMP_FILE=topo.xml; a newer release",
					Remedy: "a newer NCCL or RCCL; NCCL_IB_HCA with fewer cards",
				},
				devicesDiffer(),
			},
		},
		{
			ID: "RDX-328", Name: "topology-crash", Title: "NCCL crashed while it computed the topology",
			Explanation: "The backtrace ends in the search for rings and trees: an unusual or unequal set of GPUs " +
				"and network cards.",
			Sources:  []string{"NVIDIA/nccl, src/graph/search.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("trace-compute", "graph/search.cc", "ncclTopoCompute").any("0x").not("NCCL INFO"),
				nccl("trace-system", "graph/topo.cc", "ncclTopoGetSystem").any("0x").not("NCCL INFO"),
				nccl("trace-search", "graph/search.cc", "ncclTopoSearch").any("0x").not("NCCL INFO"),
			},
			Causes: []Cause{
				{
					Slug: "devices-differ", Title: "nodes have different network cards, or one with an extra card",
					Weight: Common,
					Decide: "rdmactl cluster verify; rdmactl detect on each node",
					Remedy: "NCCL_IB_HCA with the compute cards only, the extra one excluded",
				},
				{
					Slug: "topology-defect", Title: "this release of NCCL doesn't know such a machine", Weight: Usual,
					Decide: "NCCL_TOPO_DUMP_FILE=topo.xml; a newer release", Remedy: "a newer NCCL",
				},
				topologyView(Usual),
				topologyFile(Rare),
			},
		},
		{
			ID: "RDX-332", Name: "topology-file", Title: "a file with a topology or graph for NCCL is unusable",
			Explanation: "NCCL_TOPO_FILE, NCCL_GRAPH_FILE and RCCL's MSCCL files are XML of one machine type and " +
				"format version.",
			Sources: []string{"NVIDIA/nccl, src/graph/xml.cc"},
			Lines: []Line{
				nccl(
					"topo-open",
					"graph/xml.cc",
					"Could not open XML topology file",
				).warning().
					speaks("topology-file"),
				nccl("graph-open", "graph/xml.cc", "Could not open XML graph file").speaks("topology-file"),
				nccl("topo-version", "graph/xml.cc", "XML Topology has wrong version").speaks("topology-file"),
				nccl("graph-version", "graph/xml.cc", "XML Graph has wrong version").speaks("topology-file"),
				nccl("xml-parse", "graph/xml.cc", "XML Parse").warning().speaks("topology-file"),
				nccl("xml-mismatch", "graph/xml.cc", "XML Mismatch : ").warning().speaks("topology-file"),
				nccl("xml-import", "graph/search.cc", "XML Import Channel : ").speaks("topology-file"),
				nccl("xml-export", "graph/search.cc", "XML Export Channel : ").speaks("topology-file"),
				nccl("xml-system", "graph/topo.cc", "system node not found in XML").speaks("topology-file"),
				nccl("msccl-open", "", "Could not open MSCCL XML algorithm file").
					from("ROCm/rccl, src/misc/msccl/msccl_parser.cc").speaks("topology-file"),
			},
			Causes: []Cause{
				topologyFile(Common),
				topologyView(Rare),
			},
		},
		{
			ID: "RDX-333", Name: "nics-unequal", Title: "the ranks see different numbers of network cards",
			Explanation: "NCCL stops if ranks of a node, or nodes, have different numbers of devices: one can't " +
				"open a card, or a variable differs.",
			Sources:  []string{"NVIDIA/nccl, src/init.cc"},
			Standing: evidence.Origin,
			Lines: []Line{
				nccl("net-counts", "init.cc", "Detected mixed local Net device counts across ranks").
					not("Ignoring due"),
				nccl("collnet-counts", "init.cc", "Detected mixed local CollNet device counts across ranks").
					not("Ignoring due"),
				rcclLine("rome-models", "graph/rome_models.cc",
					"mismatched Rome preset topology model index across ranks"),
				nccl("split-networks", "init.cc", "Split shares resources, but parent comm netName"),
			},
			Causes: []Cause{
				devicesDiffer(),
				{
					Slug:   "environment-differs",
					Title:  "NCCL_IB_HCA, NCCL_NET or the containers differ between ranks",
					Weight: Usual,
					Decide: "rdmactl env consensus",
					Remedy: "the same environment on all nodes",
				},
				{
					Slug: "port-down", Title: "a port of one node is down", Weight: Usual,
					Decide: "rdmactl doctor --only port-active on each node",
					Remedy: "repair the port, or NCCL_IGNORE_NET_MISMATCH=1",
				},
			},
		},
		{
			ID: "RDX-330", Name: "no-transport", Title: "NCCL has no way from one rank to another",
			Explanation: "Between two ranks NCCL uses P2P, shared memory or a network. Each of them is off or " +
				"impossible here.",
			Sources: []string{"NVIDIA/nccl, src/transport.cc"},
			Lines: []Line{
				nccl("no-transport", "transport.cc", "No transport found for rank "),
				nccl("no-transport-old", "transport.cc", "No transport found !").warning(),
				nccl("proxy-transport", "proxy.cc", " has no transport for ", " on channel "),
				nccl("net-zero", "transport/net.cc", "Error : Network returned 0 device"),
			},
			Causes: []Cause{
				{
					Slug:  "setting-invalid",
					Title: "NCCL_P2P_DISABLE, NCCL_SHM_DISABLE or NCCL_NET switch all transports off", Weight: Usual,
					Clues: []Clue{
						{Weight: Strong, Variable: "NCCL_SHM_DISABLE", Values: []string{"1"}},
						{Weight: Hint, Variable: "NCCL_P2P_DISABLE", Values: []string{"1"}},
					},
					Decide: "env | grep NCCL_; rdmactl env lint", Remedy: "unset them",
				},
				{
					Slug: "networks-mixed", Title: "the two nodes use different networks", Weight: Usual,
					Decide: "the lines \"Using network\" of both nodes",
					Remedy: "the same devices, plugin and environment on all nodes",
				},
				{
					Slug: "interface-choice", Title: "no interface or device is left for the network", Weight: Usual,
					Decide: "NCCL_SOCKET_IFNAME, NCCL_IB_HCA against rdmactl detect",
					Remedy: "names that each node has",
				},
			},
		},
	}
}
