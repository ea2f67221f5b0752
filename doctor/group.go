package doctor

// Group is the part of a node that a check is about: the sections of a report.
type Group string

// The groups, named as in the catalogue.
const (
	GroupInventory  Group = "inventory and driver"
	GroupLink       Group = "link quality"
	GroupTransport  Group = "RDMA transport"
	GroupQoS        Group = "flow control and priorities"
	GroupAddressing Group = "addresses and routes"
	GroupHost       Group = "host, PCI Express and GPUs"
)

// Groups returns all groups, in the order of a report.
func Groups() []Group {
	return []Group{GroupInventory, GroupLink, GroupTransport, GroupQoS, GroupAddressing, GroupHost}
}
