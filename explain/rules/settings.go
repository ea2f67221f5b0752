package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// remedies are those of causes in the settings of programs, by the first part of the kind of a
// failure. The rules themselves name the settings of NCCL.
var remedies = map[string]map[string]string{
	"mooncake": {
		"gid-index": "MC_GID_INDEX with the index of the routable RoCE v2 GID, on both sides; its log lists " +
			"\"RDMA device: …, GID: (GID_Index …)\"",
		"gid-moved": "unset MC_GID_INDEX, or set the present index, and restart",
		"gid-empty": "give the interface an address, or leave the port out of device_name",
		"rails-not-connected": "MC_ENABLE_DEST_DEVICE_AFFINITY=1, or device_name (--disaggregation-ib-device) with " +
			"devices of one network",
		"foreign-device": "host networking or the rail's interface in the pod, or device_name with the pod's own " +
			"devices",
		"mtu-differs":   "MC_MTU with the smaller MTU on both sides: Mooncake doesn't agree on one",
		"bad-nic":       "take the card out of device_name, check cable and firmware",
		"traffic-class": "the class that the switches protect: MC_IB_TC",
	},
	"nvshmem": {
		"gid-index":           "NVSHMEM_IB_GID_INDEX with the index of the routable RoCE v2 GID on each node",
		"rails-not-connected": "NVSHMEM_HCA_LIST with ports of one network",
	},
	"perftest": {
		"gid-index":           "-x with the index of the routable RoCE v2 GID on both sides, or -R",
		"rails-not-connected": "-d with ports that are connected",
	},
	"verbs": {
		"gid-index": "the index of the routable RoCE v2 GID on both sides",
	},
	"ucx": {
		"gid-index":           "UCX_IB_GID_INDEX=auto, or the index of the routable RoCE v2 GID",
		"gid-moved":           "UCX_IB_GID_INDEX=auto, or the present index",
		"gid-empty":           "give the interface an address, or leave the port out of UCX_NET_DEVICES",
		"rails-not-connected": "UCX_NET_DEVICES with ports of one network; UCX_IB_ROCE_REACHABILITY_MODE=local_subnet",
		"foreign-device":      "the rail's interface in the pod, or UCX_NET_DEVICES with the pod's own devices",
		"bad-nic":             "take the card out of UCX_NET_DEVICES, check cable and firmware",
		"traffic-class":       "UCX_IB_TRAFFIC_CLASS with the class that the switches protect",
	},
}

// plain are remedies without a setting, for programs that have none for the cause.
var plain = map[string]string{
	"bad-nic":             "use another card, check cable and firmware",
	"foreign-device":      "the rail's interface in the pod, or the pod's own devices",
	"gid-empty":           "give the interface an address, or use another port",
	"gid-moved":           "the present index of the routable RoCE v2 GID",
	"link-flap":           "repair or replace the link; longer timeouts only ride over short interruptions",
	"rails-not-connected": "ports of one network on both sides",
	"traffic-class":       "the class that the switches protect",
}

// family returns the first part of the kind of a failure: the program that saw it.
func family(x *facts.Failure) string {
	name, _, _ := strings.Cut(string(x.Event.Kind), ".")
	return name
}

// gidVariable returns the variable that forces a GID index on the program that saw a failure.
func gidVariable(x *facts.Failure) string {
	switch family(x) {
	case "mooncake":
		return "MC_GID_INDEX"
	case "ucx":
		return "UCX_IB_GID_INDEX"
	case "nvshmem":
		return "NVSHMEM_IB_GID_INDEX"
	}
	return "NCCL_IB_GID_INDEX"
}

// inOwnSettings puts remedies that name settings of NCCL in those of the program that failed.
func inOwnSettings(finding *Finding) {
	if finding.Failure == nil {
		return
	}
	own, known := remedies[family(finding.Failure)]
	for i := range finding.Causes {
		c := &finding.Causes[i]
		if !strings.Contains(c.Remedy, "NCCL_") && c.Slug != "gid-index" {
			continue
		}
		if text, ok := own[c.Slug]; ok {
			c.Remedy = text
		} else if text, ok := plain[c.Slug]; ok && known {
			c.Remedy = text
		}
	}
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
