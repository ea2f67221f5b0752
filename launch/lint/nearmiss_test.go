package lint

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// miss is an environment that looks like a rule's fault and is none.
type miss struct {
	on   string
	env  []string
	why  string
	edit func(*inventory.Snapshot)
}

// setHostClass writes the traffic class of mlx5_0 as MLNX_OFED's driver shows it.
func setHostClass(t testing.TB, tree *nodetree.Tree, class string) {
	t.Helper()
	if err := tree.Set("sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass="+class+"\n"); err != nil {
		t.Fatal(err)
	}
}

func nearMisses() map[string][]miss {
	const roce, ib, pod, mixed, gpu = "02_rocev2_8hca", "01_ib_8hca", "07_sriov_vf_pod", "10_mixed_ib_storage_roce",
		"47_gpu_switches"
	one := func(on, why string, env ...string) []miss { return []miss{{on: on, env: env, why: why}} }
	return map[string][]miss{
		"hca-syntax": {
			{on: roce, env: []string{"NCCL_IB_HCA=^=mlx5_0,mlx5_1", "NVSHMEM_HCA_LIST=^mlx5_0"}, why: "right order"},
			{on: roce, env: []string{"UCX_NET_DEVICES=mlx5_[0-3]:1"}, why: "UCX knows ranges"},
		},
		"hca-unknown": {
			{on: roce, env: []string{"NCCL_IB_HCA=mlx5"}, why: "the beginning of a name"},
			{on: gpu, env: []string{"UCX_NET_DEVICES=mlx5_[0-3]:1,eno1np0"}, why: "a range, and a network device"},
			{on: gpu, env: []string{"UCX_NET_DEVICES=all"}, why: "a word"},
		},
		"hca-prefix": {
			{on: roce, env: []string{"NCCL_IB_HCA=mlx5_1"}, why: "there is no mlx5_10"},
			{on: pod, env: []string{"NCCL_IB_HCA=mlx5"}, why: "the whole family"},
			{on: pod, env: []string{"NCCL_IB_HCA=mlx5_1,mlx5_12,mlx5_15"}, why: "all that match are named"},
		},
		"hca-none":     one(ib, "one is left", "NCCL_IB_HCA=^=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6"),
		"hca-limit":    one(roce, "32", "NCCL_IB_HCA=="+strings.TrimSuffix(strings.Repeat("mlx5_0,", 32), ",")),
		"hca-port":     one("09_multiport", "the second port is there", "NCCL_IB_HCA==mlx5_0:2", "MC_IB_PORT=2"),
		"hca-down":     one("20_states", "the name of the family brings in what is active only", "NCCL_IB_HCA=mlx5"),
		"hca-iwarp":    one("51_rxe_siw", "rxe is RoCE", "NCCL_IB_HCA==rxe0"),
		"hca-role":     one("09_multiport", "of unknown role, and the node has no better", "NCCL_IB_HCA==mlx5_1:1"),
		"hca-unusable": one("50_roce_v1_only", "RoCE v1 is usable", "NCCL_IB_HCA==mlx4_0"),
		"hca-mixed":    one(mixed, "only InfiniBand", "NCCL_IB_HCA==mlx5_0,mlx5_3,mlx5_4"),
		"hca-left-out": one(gpu, "what is left out is storage", "NCCL_IB_HCA=^=mlx5_8,mlx5_9,mlx5_10,mlx5_11"),
		"hca-unset": {
			{on: roce, env: []string{"NCCL_DEBUG=INFO"}, why: "all ports are for jobs"},
			{on: gpu, env: []string{"UCX_TLS=^tcp"}, why: "no variable of NCCL"},
			{on: gpu, env: []string{"NCCL_NET=Socket"}, why: "NCCL doesn't use RDMA"},
			{on: gpu, env: []string{"NCCL_DEBUG=INFO", "NCCL_IB_DISABLE=1"}, why: "NCCL doesn't use RDMA"},
			{on: gpu, env: []string{"NCCL_DEBUG=INFO", "NCCL_IB_HCA=mlx5_1"}, why: "a list"},
		},
		"ucx-no-tcp": {
			{on: gpu, env: []string{"UCX_NET_DEVICES=^mlx5_10:1"}, why: "all but one"},
			{on: gpu, env: []string{"UCX_NET_DEVICES=eno1np0"}, why: "TCP alone"},
		},
		"ucx-tls": one(gpu, "excludes", "UCX_TLS=^tcp", "UCX_NET_DEVICES=mlx5_0:1"),
		"ucx-tls-no-rdma": {
			{on: gpu, env: []string{"UCX_TLS=all"}, why: "everything"},
			{on: "06_none", env: []string{"UCX_TLS=tcp"}, why: "no RDMA here"},
		},
		"gid-index-unusable": {
			{on: roce, env: []string{"NCCL_IB_GID_INDEX=3"}, why: "a good index"},
			{on: ib, env: []string{"NCCL_IB_GID_INDEX=3"}, why: "ignored on InfiniBand"},
			{
				on: pod, env: []string{"NCCL_IB_GID_INDEX=3", "NCCL_IB_HCA==mlx5_4,mlx5_9"},
				why: "good on the ports in use",
			},
		},
		"gid-index-v1": one("50_roce_v1_only", "the node has nothing better", "NCCL_IB_GID_INDEX=2"),
		"gid-index-infiniband": {
			{on: ib, env: []string{"UCX_IB_GID_INDEX=0"}, why: "the port's own"},
			{on: roce, env: []string{"UCX_IB_GID_INDEX=3"}, why: "RoCE"},
		},
		"gid-index-pinned": one(ib, "no RoCE port", "NCCL_IB_GID_INDEX=0"),
		"gid-choice": {
			{on: "14_lexical_gid_order", env: []string{"NCCL_IB_HCA=mlx5"}, why: "NCCL finds 3"},
			{on: "50_roce_v1_only", env: []string{"NCCL_IB_ROCE_VERSION_NUM=1"}, why: "v1 is all there is"},
		},
		"gid-range":        one(roce, "its own default", "NVSHMEM_IB_ADDR_RANGE=::/0"),
		"gid-range-empty":  one(pod, "covers all", "NCCL_IB_ADDR_RANGE=10.0.0.0/8"),
		"gid-index-beside": one(roce, "-1 is no index", "NCCL_IB_GID_INDEX=-1", "NCCL_IB_ADDR_FAMILY=AF_INET"),
		"ucx-gid-subnets": one(roce, "auto is no index", "UCX_IB_GID_INDEX=auto",
			"UCX_IB_ROCE_SUBNETS=10.0.0.0/8"),
		"tc-differs":     one(roce, "-1 leaves it to the library", "NCCL_IB_TC=-1", "UCX_IB_TRAFFIC_CLASS=106"),
		"tc-ecn":         one(roce, "capable of ECN", "NCCL_IB_TC=106", "UCX_IB_TRAFFIC_CLASS=105"),
		"tc-host":        one(roce, "the host sets no class", "NCCL_IB_TC=96"),
		"socket-pattern": one(gpu, "NCCL knows patterns", "NCCL_SOCKET_IFNAME=^lo,docker"),
		"socket-unknown": {
			{on: gpu, env: []string{"NCCL_SOCKET_IFNAME=eno"}, why: "a beginning"},
			{on: gpu, env: []string{"OMPI_MCA_btl_tcp_if_include=10.0.0.0/8"}, why: "a network"},
		},
		"socket-long":   one(gpu, "15 characters", "NCCL_SOCKET_IFNAME=enp129s0f0np123"),
		"socket-prefix": one("67_subfunction", "whole names", "NCCL_SOCKET_IFNAME==ens1np0"),
		"socket-ipoib":  one("61_ib_vfs_host", "excluded", "NCCL_SOCKET_IFNAME=^ib"),
		"ipoib-trap": {
			{on: "61_ib_vfs_host", env: []string{"UCX_TLS=all"}, why: "no sign of NCCL", edit: withIPoIB},
			{on: "61_ib_vfs_host", env: []string{"NCCL_DEBUG=INFO"}, why: "IPoIB without addresses"},
			{on: roce, env: []string{"NCCL_DEBUG=INFO"}, why: "no IPoIB"},
		},
		"socket-local": one("46_usb_thunderbolt", "excluded", "NCCL_SOCKET_IFNAME=^docker0,lo"),
		"socket-down":  one("46_usb_thunderbolt", "up", "NCCL_SOCKET_IFNAME==wlp0s20f3"),
		"socket-no-address": {
			{on: "01_ib_8hca", env: []string{"NCCL_SOCKET_IFNAME==ib0"}, why: "addresses were not recorded"},
			{on: "61_ib_vfs_host", env: []string{"NCCL_SOCKET_IFNAME=ib,eno1np0"}, why: "one has an address"},
		},
		"socket-rail": one("49_bond", "the default route is there", "NCCL_SOCKET_IFNAME==bond0"),
		"host-address": {
			{on: "01_ib_8hca", env: []string{"VLLM_HOST_IP=10.9.8.7"}, why: "addresses were not recorded"},
			{on: "60_pod_shared_netns", env: []string{"VLLM_HOST_IP=node7.example"}, why: "a name"},
		},
		"master-loopback": {
			{on: gpu, env: []string{"MASTER_ADDR=127.0.0.1", "WORLD_SIZE=8"}, why: "eight GPUs, one node"},
			{
				on: gpu, env: []string{"MASTER_ADDR=localhost", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"},
				why: "one node",
			},
		},
		"ib-disabled": {
			{on: "06_none", env: []string{"NCCL_IB_DISABLE=1"}, why: "no RDMA here"},
			{on: roce, env: []string{"NCCL_IB_DISABLE=0"}, why: "not disabled"},
		},
		"nccl-net": {
			{on: "06_none", env: []string{"NCCL_NET=Socket"}, why: "no RDMA here"},
			{on: "48_efa", env: []string{"NCCL_NET=AWS Libfabric"}, why: "a plugin"},
		},
		"nvshmem-rivals": one(roce, "the list alone", "NVSHMEM_HCA_LIST=mlx5_0:1"),
		"nvshmem-prefix": {
			{on: roce, env: []string{"NVSHMEM_HCA_LIST=mlx5_0:1"}, why: "mlx5"},
			{on: "66_bnxt_counters", env: []string{"NCCL_IB_HCA=bnxt_re0"}, why: "no sign of NVSHMEM"},
		},
		"efa-verbs":   one(roce, "no EFA", "NCCL_IB_HCA==mlx5_0"),
		"efa-nvshmem": one(roce, "no EFA", "NVSHMEM_REMOTE_TRANSPORT=ibrc"),
		"fi-provider": {
			{on: "48_efa", env: []string{"FI_PROVIDER=efa"}, why: "EFA"},
			{on: roce, env: []string{"FI_PROVIDER=^efa"}, why: "excludes"},
		},
		"nixl-nccl":    one(roce, "no sign of NIXL", "NCCL_IB_HCA==mlx5_0"),
		"cross-nic":    one("52_xdr", "a card each", "NCCL_CROSS_NIC=0"),
		"mc-mtu":       one(roce, "the MTU isn't known", "MC_MTU=4096"),
		"value-quotes": one(roce, "a quote within", `NCCL_NET=it's`),
		"value-space":  one(roce, "text", "NCCL_NET=AWS Libfabric"),
		"value-comma":  one(roce, "full", "NCCL_IB_HCA=mlx5_0,mlx5_1"),
		"value-empty":  one(roce, "of another program", "PAGER="),
		"value-type": {{on: roce, env: []string{
			"UCX_IB_GID_INDEX=auto", "NCCL_NET_GDR_LEVEL=3", "NCCL_IB_TC=0x6a", "NCCL_NET_GDR_LEVEL=PHB",
		}, why: "old numbers, hexadecimal, words"}},
		"value-range": one(roce, "just within", "NCCL_IB_TIMEOUT=31", "NCCL_IB_RETRY_CNT=7", "NCCL_IB_SL=15",
			"NCCL_IB_TC=255", "NCCL_IB_QPS_PER_CONNECTION=128", "NCCL_CROSS_NIC=2"),
		"name-misspelt": one(roce, "known, though near", "NCCL_IB_SL=3", "NCCL_MIN_CTAS=4", "NCCL_MAX_CTAS=4",
			"UCX_RC_SL=1", "NCCL_IB_RETURN_ASYNC_EVENTS=1", "MC_SKIN=dark", "NCCL_MY_OWN=1"),
		"name-retired": one(roce, "current", "NCCL_NET_GDR_LEVEL=SYS"),
		"duplicate":    one(roce, "of other programs", "LANG=C", "LANG=de"),
	}
}
