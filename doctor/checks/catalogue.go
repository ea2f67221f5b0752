package checks

import "github.com/rdmakit/rdmakit/doctor"

// Entry is a number of the catalogue of node checks.
type Entry struct {
	Number int          `json:"number"` // from 1; other documents refer to it
	Group  doctor.Group `json:"group"`  // part of the node
	What   string       `json:"what"`   // what is checked
	// Uncovered says why no check covers the number; "" if one does.
	Uncovered string `json:"uncovered,omitempty"`
}

const notYet = "not written yet"

const noAlgorithm = "no file and no netlink message tells the algorithm: on NVIDIA's cards it is in the firmware " +
	"(register PPCC, mlxreg), on Broadcom's in configfs folders that only niccli creates"

// Catalogue returns what the checks of a node are to cover, by number. The numbers never change.
func Catalogue() []Entry {
	return []Entry{
		{1, doctor.GroupInventory, "RDMA devices of cards", notYet},
		{2, doctor.GroupInventory, "driver of a card", notYet},
		{3, doctor.GroupInventory, "number of devices, compared", ""},
		{4, doctor.GroupInventory, "logical state of a port", notYet},
		{5, doctor.GroupInventory, "physical state of a port", notYet},
		{6, doctor.GroupInventory, "rate of a port, compared", ""},
		{7, doctor.GroupInventory, "link layer, compared", ""},
		{8, doctor.GroupInventory, "state and carrier of a network device", notYet},
		{9, doctor.GroupInventory, "firmware by board, compared", ""},
		{10, doctor.GroupInventory, "driver, kernel and OFED, compared", ""},
		{11, doctor.GroupInventory, "duplicate node and system image GUIDs", ""},
		{12, doctor.GroupInventory, "virtual functions against the setting", notYet},
		{13, doctor.GroupInventory, "character devices of verbs, rdma_cm and MADs", notYet},
		{14, doctor.GroupInventory, "modules of RDMA", notYet},
		{15, doctor.GroupInventory, "libibverbs' provider and the kernel's ABI", notYet},
		{16, doctor.GroupInventory, "device names, persistent and equal", ""},
		{17, doctor.GroupInventory, "health reporters of devlink", notYet},
		{18, doctor.GroupInventory, "messages of the kernel about a card", notYet},
		{19, doctor.GroupInventory, "network namespace mode of RDMA", notYet},
		{20, doctor.GroupLink, "links that went down", notYet},
		{21, doctor.GroupLink, "carrier changes and cumulative downtime", notYet},
		{22, doctor.GroupLink, "symbol errors", notYet},
		{23, doctor.GroupLink, "link error recoveries", notYet},
		{24, doctor.GroupLink, "local link integrity errors", notYet},
		{25, doctor.GroupLink, "excessive buffer overruns", notYet},
		{26, doctor.GroupLink, "received errors, also of remote cause", notYet},
		{27, doctor.GroupLink, "dropped VL15 packets and constraint errors", notYet},
		{28, doctor.GroupLink, "saturated counters", notYet},
		{29, doctor.GroupLink, "bit errors before FEC", notYet},
		{30, doctor.GroupLink, "symbol errors after FEC", notYet},
		{31, doctor.GroupLink, "errors of single lanes", notYet},
		{32, doctor.GroupLink, "FEC, equal at both ends", ""},
		{33, doctor.GroupLink, "temperature, voltage and power of a module", notYet},
		{34, doctor.GroupLink, "cables and transceivers, compared", ""},
		{35, doctor.GroupLink, "link width and speed below what the port can", notYet},
		{36, doctor.GroupTransport, "exhausted transport retries", notYet},
		{37, doctor.GroupTransport, "exhausted RNR retries", notYet},
		{38, doctor.GroupTransport, "local ACK timeouts", notYet},
		{39, doctor.GroupTransport, "receivers that are not ready", notYet},
		{40, doctor.GroupTransport, "packets out of sequence", notYet},
		{41, doctor.GroupTransport, "implied NAKs and duplicate requests", notYet},
		{42, doctor.GroupTransport, "RoCE slow restarts and adaptive retransmission", notYet},
		{43, doctor.GroupTransport, "RoCE packets with a wrong ICRC", notYet},
		{44, doctor.GroupTransport, "completion and access errors", notYet},
		{45, doctor.GroupTransport, "ignored congestion notifications", notYet},
		{46, doctor.GroupTransport, "marks without congestion notifications", notYet},
		{47, doctor.GroupTransport, "lifespan of counters", notYet},
		{48, doctor.GroupQoS, "trust in DSCP", ""},
		{49, doctor.GroupQoS, "DSCP's priority is lossless", ""},
		{50, doctor.GroupQoS, "PFC on exactly one priority, compared", ""},
		{51, doctor.GroupQoS, "global pause beside PFC", notYet},
		{52, doctor.GroupQoS, "ECN for RoCE", ""},
		{53, doctor.GroupQoS, "DSCP and priority of congestion notifications", ""},
		{54, doctor.GroupQoS, "type of service and mode of rdma_cm", ""},
		{55, doctor.GroupQoS, "traffic class of the device against the job's", ""},
		{56, doctor.GroupQoS, "pause frames and storms", notYet},
		{57, doctor.GroupQoS, "discards on a lossless priority", notYet},
		{58, doctor.GroupQoS, "receive buffer for lossless priorities", ""},
		{59, doctor.GroupQoS, "congestion control algorithm, compared", noAlgorithm},
		{60, doctor.GroupQoS, "the switch's DCBX settings", ""},
		{61, doctor.GroupAddressing, "a GID that routes", notYet},
		{62, doctor.GroupAddressing, "GID index, compared and since the last run", ""},
		{63, doctor.GroupAddressing, "MTU of the network device, compared", ""},
		{64, doctor.GroupAddressing, "active MTU of verbs", notYet},
		{65, doctor.GroupAddressing, "path MTU to a peer", notYet},
		{66, doctor.GroupAddressing, "several rails in one subnet", notYet},
		{67, doctor.GroupAddressing, "reverse path filter", notYet},
		{68, doctor.GroupAddressing, "a rule and a route for each rail", notYet},
		{69, doctor.GroupAddressing, "duplicate addresses", notYet},
		{70, doctor.GroupAddressing, "size of the neighbour table", notYet},
		{71, doctor.GroupAddressing, "packet filter on RoCE's port", notYet},
		{72, doctor.GroupAddressing, "addresses of the host's name; bootstrap interface", notYet},
		{73, doctor.GroupAddressing, "partition keys", ""},
		{74, doctor.GroupAddressing, "subnet manager, prefix and LID", ""},
		{75, doctor.GroupAddressing, "RDMA over VLAN, bond and LAG", notYet},
		{76, doctor.GroupHost, "PCI Express link up to the root", notYet},
		{77, doctor.GroupHost, "MaxReadReq and MaxPayload", notYet},
		{78, doctor.GroupHost, "ACS between GPU and card", notYet},
		{79, doctor.GroupHost, "relaxed ordering", notYet},
		{80, doctor.GroupHost, "PCI Express errors (AER)", notYet},
		{81, doctor.GroupHost, "PCI Express stalls of a card", notYet},
		{82, doctor.GroupHost, "IOMMU", notYet},
		{83, doctor.GroupHost, "GPUDirect RDMA: dma-buf or peermem", notYet},
		{84, doctor.GroupHost, "affinity of GPU and card", ""},
		{85, doctor.GroupHost, "NUMA, interrupts and CPU frequency", ""},
		{86, doctor.GroupHost, "locked memory and rdma.max", notYet},
		{87, doctor.GroupHost, "huge pages, shared memory, open files", notYet},
		{88, doctor.GroupHost, "environment of NCCL and UCX; time", ""},
	}
}
