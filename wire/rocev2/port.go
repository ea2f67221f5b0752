package rocev2

import "github.com/rdmakit/rdmakit/wire/ib"

// Port is the UDP destination port of RoCE v2.
const Port = 4791

// SourcePort returns the UDP source port of a connection, from 0xc000 to 0xffff,
// by its flow label; without one (0) by the two queue pair numbers (C twin:
// rdma_get_udp_sport). Routers spread flows over equal paths by it.
func SourcePort(flowLabel uint32, local, remote ib.QPN) uint16 {
	if flowLabel &= 0xfffff; flowLabel == 0 {
		v := uint64(local) * uint64(remote)
		v ^= v >> 20
		v ^= v >> 40
		flowLabel = uint32(v & 0xfffff)
	}
	return uint16(flowLabel&0x3fff^flowLabel>>14) | 0xc000
}
