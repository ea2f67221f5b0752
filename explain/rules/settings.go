package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// gidRemedy says how the program of a failure is told the right GID.
func gidRemedy(x *facts.Failure) string {
	const index = "the index of the routable RoCE v2 GID on each node"
	switch program(x) {
	case "nccl":
		return "with NCCL 2.21 or later unset NCCL_IB_GID_INDEX; else set " + index
	case "ucx":
		return "UCX_IB_GID_INDEX=auto, or " + index
	case "mooncake":
		return "MC_GID_INDEX with " + index
	case "nvshmem", "deepep":
		return "NVSHMEM_IB_GID_INDEX with " + index
	case "perftest":
		return "-x with " + index + ", or -R"
	}
	return "the program's setting of the GID index, with " + index
}

// railRemedy says how the program of a failure is kept to ports that are connected.
func railRemedy(x *facts.Failure) string {
	switch program(x) {
	case "nccl":
		return "NCCL_CROSS_NIC=0 on rail-only fabrics; NCCL_IB_HCA with the ports that are connected"
	case "ucx":
		return "UCX_NET_DEVICES with the ports that are connected"
	case "mooncake":
		return "the device names of the transfer engine with one rail, or a topology (MC_CUSTOM_TOPO_JSON) by rail"
	}
	return "only the ports that are connected, or a route between the rails"
}

// peerDevice returns the device of the peer that a failure names, "" if it names none: Mooncake's
// lines have HOST@DEVICE.
func peerDevice(x *facts.Failure) string {
	if x.Event.Kind != evidence.MooncakeFailed {
		return ""
	}
	_, device, _ := strings.Cut(x.Event.Fields["peer"], "@")
	return device
}

// program returns the program of a failure: the first part of its event's kind.
func program(x *facts.Failure) string {
	name, _, _ := strings.Cut(string(x.Event.Kind), ".")
	return name
}
