package rocev2

import "github.com/rdmakit/rdmakit/wire/ib"

// flowLabelMask are the bits of a flow label.
const flowLabelMask = 1<<20 - 1

// FlowLabel returns the flow label of a connection whose path has none, from the two queue pair
// numbers (kernel: rdma_calc_flow_label in include/rdma/ib_verbs.h).
func FlowLabel(local, remote ib.QPN) uint32 {
	v := uint64(local) * uint64(remote)
	v ^= v >> 20
	v ^= v >> 40
	return uint32(v & flowLabelMask)
}

// SourcePort returns the UDP source port of packets with a flow label, 0xc000 to 0xffff, by which
// switches with several paths and receivers with several queues tell flows apart (RoCE v2, annex
// A17.9.2; C twin: ibv_flow_label_to_udp_sport).
func SourcePort(flowLabel uint32) uint16 {
	flowLabel &= flowLabelMask
	return 0xc000 | uint16(flowLabel&0x3fff^flowLabel>>14)
}
