package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Source files of the kernel.
const (
	knICE  = "Linux, drivers/net/ethernet/intel/ice"
	knUCMA = "Linux, drivers/infiniband/core"
)

// kernelUsers are about users of the RDMA core and what it forbids them.
func kernelUsers() []Symptom {
	return []Symptom{
		{
			ID: "RDX-827", Name: "rdma-holds-interface",
			Title: "the driver refuses a change of the interface while RDMA uses it",
			Explanation: "irdma holds vectors and queues of the Ethernet function: channels, and some modes, can't " +
				"be changed while it is active.",
			Sources: []string{
				knICE + "/ice_ethtool.c", "openshift/cluster-node-tuning-operator#1249",
				"firedancer-io/firedancer#11071",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "ice-channels", knICE+"/ice_ethtool.c", "Cannot change channels when RDMA is active").
					decides("rdma-active"),
				says(Kernel, "ice-rdma-active", knICE, "RDMA is active").any("annot ", "an't ").
					decides("rdma-active"),
			},
			Causes: []Cause{
				maybe(
					Common,
					"rdma-active",
					"RDMA is active on this interface: its driver (irdma) holds the queues",
					"rdma link; lsmod | grep irdma",
					"where RDMA isn't used, keep irdma from loading (module_blacklist=irdma) or devlink dev param set "+
						"pci/ADDRESS name enable_roce value false cmode runtime (enable_iwarp where it is iWARP); "+
						"else change channels before irdma loads",
				),
			},
		},
		{
			ID: "RDX-828", Name: "rdma-security-context",
			Title: "a process changed its user after it had opened an RDMA device",
			Explanation: "The kernel refuses calls on files of rdma_cm and uverbs by other credentials than those " +
				"that opened them. The program gets EACCES, or an error without number.",
			Sources: []string{knUCMA + "/ucma.c", "chaos/diod#107"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "ucma-context", knUCMA+"/ucma.c",
					"changed security contexts after opening file descriptor").decides("program-usage"),
			},
			Causes: []Cause{
				maybe(
					Common,
					"program-usage",
					"the program opens RDMA as one user and uses it as another (setuid, or passed to another process)",
					"the name and number of the process in the line; its options for a user",
					"open RDMA after the change of user, or run the program as that user: a newer release, or no "+
						"change",
				),
			},
		},
		{
			ID: "RDX-829", Name: "irdma-reset", Title: "irdma asked for a reset of the Intel card",
			Explanation: "Host memory cache errors and events that the control queue doesn't answer end in a reset " +
				"of the whole function: its Ethernet interface goes down, too.",
			Sources: []string{
				"Linux, drivers/infiniband/hw/irdma/hw.c", "intel/ethernet-linux-ice#12",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				says(
					Kernel,
					"irdma-hmc",
					"Linux, drivers/infiniband/hw/irdma/hw.c",
					"HMC Error ",
				).any("irdma", "ice "),
				says(Kernel, "ice-oicr", "intel/ethernet-linux-ice", "OICR event notification: oicr"),
			},
			Causes: []Cause{
				maybe(Usual, "driver-firmware", "driver and firmware (NVM) of the card don't fit, or have a defect",
					"ethtool -i INTERFACE; modinfo ice irdma",
					"NVM and the ice and irdma drivers of one release; without RDMA: keep irdma from loading"),
				maybe(Usual, "card-firmware", "the card's RDMA engine stopped: a request it can't handle",
					"dmesg before the line: AE, Flush", "what the first event names; fewer queue pairs and regions"),
			},
		},
	}
}
