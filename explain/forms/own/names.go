package own

import "strings"

// Checks returns the IDs of the checks of rdmactl doctor, whose lines other programs don't print.
func Checks() []string {
	return strings.Fields(`
		card-driver uverbs port-active gid-routable memlock rail-rate pcie-link mtu firmware role rail-subnet
		devlink-health kernel-log rdma-modules verbs-abi vf-count netns-mode dpu-mode link-width fec module-health
		card-temperature receive-ring global-pause roce-trust dscp-lossless pfc-priority roce-ecn cnp-class
		rdma-cm-class traffic-class pfc-buffer cc-algorithm dcbx-peer gid-index rp-filter rail-route verbs-mtu
		path-mtu duplicate-address neighbour-table packet-filter roce-peer host-name socket-interface pkey
		subnet-manager rdma-bond clock-sync job-environment gpudirect gpu-affinity acs iommu pcie-requests
		relaxed-ordering host-jitter memlock-jobs rdma-cgroup shared-memory receive-buffer link-downed
		carrier-lost dropped-by-rule counter-saturated symbol-errors link-recoveries local-link-integrity
		buffer-overruns rcv-errors remote-physical-errors bit-errors uncorrected-errors lane-errors
		retries-exceeded rnr-retries-exceeded ack-timeouts unresponsive-peers receiver-not-ready packets-lost
		out-of-sequence repeated-requests completion-errors remote-access-errors counter-lifespan
		roce-slow-restart roce-retransmission-timeouts icrc-errors cnp-ignored cnp-missing pause-time pause-storm
		lossless-discards pcie-errors pcie-corrected-errors pcie-stalls pcie-overflows suppressions`)
}

// Counters returns the counters of fabric errors that show a fault of a link or of congestion.
func Counters() []string {
	return []string{
		"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors",
		"LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "PortXmitDiscards",
	}
}
