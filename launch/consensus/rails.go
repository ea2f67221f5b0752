package consensus

// NumberedPort is a selected port with its rail.
type NumberedPort struct {
	Node   int    // index of the node in the argument of [Rails]
	Device string // RDMA device
	Port   int    // from 1
	Rail   int    // from 0
}

// Rails numbers the selected ports of nodes as [Compare] does, so that a number means the same rail
// on all nodes. Nodes without RDMA have none. The ports are in the order of the nodes' names.
func Rails(nodes []*Node) (Pairing, []NumberedPort) {
	index := make(map[*Node]int, len(nodes))
	for i, n := range nodes {
		index[n] = i
	}
	var members []*member
	for _, m := range nameNodes(nodes) {
		if m.hasRDMA() {
			members = append(members, m)
		}
	}
	pairing := pair(members)
	var ports []NumberedPort
	for _, m := range members {
		for i := range m.rails {
			r := &m.rails[i]
			ports = append(ports, NumberedPort{Node: index[m.Node], Device: r.device, Port: r.port, Rail: r.number})
		}
	}
	return pairing, ports
}
