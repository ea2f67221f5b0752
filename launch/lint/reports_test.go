package lint

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/inventory"
)

// userReport is the environment of a thread in which someone was hit, on a node like theirs.
type userReport struct {
	thread string
	on     string
	edit   func(*inventory.Snapshot)
	env    []string
	rule   string // that must report it
	on1    string // the variable that must be named
	fix    string // NAME=value or -NAME that must be among the fixes; "" for any
}

func userReports() []userReport {
	const roce, pod, ib, gpu = "02_rocev2_8hca", "07_sriov_vf_pod", "01_ib_8hca", "47_gpu_switches"
	// move shifts the GIDs of the first device by one, as after a VLAN or a flap.
	move := func(s *inventory.Snapshot) {
		for i := range s.Devices[0].Ports[0].GIDs {
			s.Devices[0].Ports[0].GIDs[i].Index += 4
		}
	}
	return []userReport{
		{thread: "NVIDIA/nccl#236", on: pod, env: []string{"NCCL_IB_HCA=mlx5_1"}, rule: "hca-prefix"},
		{
			thread: "NVIDIA/nccl#426", on: roce, env: []string{"NCCL_IB_GID_INDEX=0"}, rule: "gid-index-unusable",
			fix: "-NCCL_IB_GID_INDEX",
		},
		{
			thread: "NVIDIA/nccl#769", on: roce, env: []string{"NCCL_IB_GID_INDEX=1"}, rule: "gid-index-unusable",
			fix: "-NCCL_IB_GID_INDEX",
		},
		{
			thread: "NVIDIA/nccl#890", on: pod, env: []string{"NCCL_IB_GID_INDEX=3"}, rule: "gid-index-unusable",
			fix: "NCCL_IB_ADDR_RANGE=10.0.0.0/20",
		},
		{thread: "NVIDIA/nccl#1131", on: roce, env: []string{"NCCL_IB_GID_INDEX=2"}, rule: "gid-index-v1"},
		{
			thread: "NVIDIA/nccl#1333", on: roce, edit: move, env: []string{"NCCL_IB_GID_INDEX=3"},
			rule: "gid-index-unusable",
		},
		{thread: "NVIDIA/nccl#1333", on: roce, env: []string{"NCCL_IB_GID_INDEX=3"}, rule: "gid-index-pinned"},
		{
			thread: "NVIDIA/nccl#2157", on: roce, edit: move,
			env: []string{"NCCL_IB_HCA==mlx5_0:1,mlx5_1:1", "NCCL_IB_GID_INDEX=3"}, rule: "gid-index-unusable",
		},
		{thread: "NVIDIA/nccl#1573", on: pod, env: []string{"NCCL_IB_GID_INDEX=0"}, rule: "gid-index-unusable"},
		{thread: "NVIDIA/nccl PR#1587", on: pod, env: []string{"NCCL_IB_GID_INDEX=6"}, rule: "gid-index-unusable"},
		{
			thread: "NVIDIA/nccl#451", on: roce, env: []string{"NCCL_IB_DISABLE=1", "NCCL_IB_HCA=mlx5_0"},
			rule: "ib-disabled", fix: "-NCCL_IB_DISABLE",
		},
		{thread: "NVIDIA/nccl#941", on: "06_none", env: []string{"NCCL_IB_HCA=mlx5_0,mlx5_1"}, rule: "hca-unknown"},
		{
			thread: "NVIDIA/nccl#2428", on: "20_states", env: []string{"NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_3"},
			rule: "hca-down", fix: "NCCL_IB_HCA==mlx5_0:1",
		},
		{thread: "NVIDIA/nccl#2428", on: roce, env: []string{"NCCL_IB_HCA==mlx5_0,mlx5_1"}, rule: "hca-left-out"},
		{
			thread: "NVIDIA/nccl#2097", on: roce,
			edit: func(s *inventory.Snapshot) { s.Devices[1].SystemGUID = s.Devices[0].SystemGUID },
			env:  []string{"NCCL_CROSS_NIC=0"}, rule: "cross-nic",
		},
		{
			thread: "NVIDIA/nccl#1796", on: "54_link_local_only", env: []string{"NCCL_IB_HCA=mlx5_0"},
			rule: "hca-unusable",
		},
		{thread: "NVIDIA/nccl#1412", on: gpu, env: []string{"NCCL_IB_HCA=mlx5"}, rule: "hca-role"},
		{
			thread: "NVIDIA/nccl-tests#150", on: roce, env: []string{"NCCL_IB_HCA==^mlx5_0,mlx5_1"},
			rule: "hca-syntax", fix: "NCCL_IB_HCA=^=mlx5_0,mlx5_1",
		},
		{
			thread: "k8snetworkplumbingwg/multus-cni#1100", on: pod, env: []string{"NCCL_IB_GID_INDEX=5"},
			rule: "gid-index-unusable",
		},
		{thread: "deepseek-ai/DeepEP#38", on: pod, env: []string{"NVSHMEM_IB_ADDR_RANGE=10.0.0.0"}, rule: "gid-range"},
		{
			thread: "deepseek-ai/DeepEP#17", on: "66_bnxt_counters",
			env: []string{"NVSHMEM_HCA_LIST=bnxt_re0,bnxt_re1"}, rule: "nvshmem-prefix",
			fix: "NVSHMEM_HCA_PREFIX=bnxt_re",
		},
		{
			thread: "deepseek-ai/DeepEP#139", on: roce, env: []string{"NVSHMEM_IB_GID_INDEX=0"},
			rule: "gid-index-unusable", fix: "-NVSHMEM_IB_GID_INDEX",
		},
		{thread: "uccl-project/uccl#301", on: pod, env: []string{"NCCL_IB_GID_INDEX=1"}, rule: "gid-index-unusable"},
		{
			thread: "uccl-project/uccl PR#803", on: "13_ipv6_only_roce", env: []string{"NCCL_IB_HCA=mlx5"},
			rule: "gid-choice", fix: "NCCL_IB_ADDR_FAMILY=AF_INET6",
		},
		{
			thread: "openucx/ucx PR#10939", on: "13_ipv6_only_roce", env: []string{"UCX_IB_GID_INDEX=0"},
			rule: "gid-index-unusable", fix: "-UCX_IB_GID_INDEX",
		},
		{
			thread: "openucx/ucx#11259", on: roce,
			env: []string{"VLLM_NIXL_SIDE_CHANNEL_HOST=10.0.0.11", "NCCL_IB_HCA==mlx5_0:1"}, rule: "nixl-nccl",
		},
		{
			thread: "kvcache-ai/Mooncake#2747", on: roce, env: []string{"MC_GID_INDEX=1"}, rule: "gid-index-unusable",
			fix: "MC_GID_INDEX=3",
		},
		{thread: "kvcache-ai/Mooncake#3868", on: "56_mtu_1500", env: []string{"MC_MTU=4096"}, rule: "mc-mtu"},
		{
			thread: "sgl-project/sglang PR#40641", on: gpu, env: []string{"UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1"},
			rule: "ucx-no-tcp", fix: "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1,eno1np0",
		},
		{
			thread: "aws-samples/aws-do-eks PR#51", on: "48_efa", env: []string{"GLOO_SOCKET_IFNAME=^lo,docker"},
			rule: "socket-pattern", fix: "GLOO_SOCKET_IFNAME=ens31",
		},
		{
			thread: "vllm-project/vllm#7074", on: gpu, env: []string{"GLOO_SOCKET_IFNAME=lo", "NNODES=2"},
			rule: "socket-local", fix: "GLOO_SOCKET_IFNAME=eno1np0",
		},
		{
			thread: "vllm-project/vllm#7074", on: gpu, env: []string{"MASTER_ADDR=127.0.0.1", "WORLD_SIZE=16"},
			rule: "master-loopback",
		},
		{
			thread: "LMCache/LMCache PR#1516", on: roce,
			env: []string{"LMCACHE_NIXL_ROLE=sender", "NCCL_IB_HCA==mlx5_0:1"}, rule: "nixl-nccl",
		},
		{
			thread: "opendatahub-io/kserve PR#885", on: "09_multiport",
			env: []string{"NVSHMEM_HCA_LIST=mlx5_0:3,mlx5_1:1"}, rule: "hca-port",
		},
		{
			thread: "IPoIB trap", on: "61_ib_vfs_host", edit: withIPoIB, env: []string{"NCCL_IB_HCA==mlx5_0:1"},
			rule: "ipoib-trap", on1: "NCCL_SOCKET_IFNAME", fix: "NCCL_SOCKET_IFNAME==eno1np0",
		},
		{
			thread: "KServe on an InfiniBand cluster", on: "10_mixed_ib_storage_roce",
			env: []string{"NCCL_IB_HCA=mlx5_1,mlx5_2,mlx5_7,mlx5_8", "NCCL_IB_GID_INDEX=3"}, rule: "hca-role",
		},
		{
			thread: "KServe and the VLAN at 11", on: "14_lexical_gid_order", env: []string{"NCCL_IB_GID_INDEX=11"},
			rule: "gid-index-pinned",
		},
		{
			thread: "a GID index on InfiniBand", on: ib, env: []string{"UCX_IB_GID_INDEX=3"},
			rule: "gid-index-infiniband",
		},
		{
			thread: "an address of another node", on: "60_pod_shared_netns", env: []string{"VLLM_HOST_IP=10.244.9.9"},
			rule: "host-address", fix: "VLLM_HOST_IP=10.244.3.17",
		},
	}
}

// TestUserReports lints the environment of each report, and demands that the rule for it tells,
// with its correction.
func TestUserReports(t *testing.T) {
	for _, u := range userReports() {
		t.Run(u.thread+" "+u.rule, func(t *testing.T) {
			n := loadNode(t, u.on, nil)
			if u.edit != nil {
				u.edit(&n.snap)
			}
			found := findingsOf(runPairs(n, u.env...), u.rule)
			if len(found) == 0 {
				t.Fatalf("%s is silent about %q on %s", u.rule, u.env, u.on)
			}
			if u.on1 != "" && found[0].Variable != u.on1 {
				t.Errorf("variable = %s, want %s", found[0].Variable, u.on1)
			}
			var fixes []string
			for _, f := range found {
				for _, fix := range f.Fixes {
					if fix.Unset {
						fixes = append(fixes, "-"+fix.Name)
					} else {
						fixes = append(fixes, fix.Name+"="+fix.Value)
					}
				}
			}
			if u.fix != "" && !slices.Contains(fixes, u.fix) {
				t.Errorf("fixes = %q, want %q among them", fixes, u.fix)
			}
		})
	}
}

// TestReportsAreTested demands an environment from every report that a rule claims to go back to.
func TestReportsAreTested(t *testing.T) {
	for _, r := range Rules() {
		for _, thread := range r.Reports {
			if !slices.ContainsFunc(userReports(), func(u userReport) bool { return u.thread == thread }) {
				t.Errorf("%s names %s, which no test of reports has", r.ID, thread)
			}
		}
	}
}

// TestSeveralNodes holds what counts as a job of several nodes.
func TestSeveralNodes(t *testing.T) {
	tests := []struct {
		env  []string
		gpus int
		want bool
	}{
		{env: []string{"NNODES=2"}, want: true},
		{env: []string{"NNODES=1"}},
		{env: []string{"WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"}, want: true},
		{env: []string{"WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"}},
		{env: []string{"WORLD_SIZE=16"}, gpus: 8, want: true},
		{env: []string{"WORLD_SIZE=16"}},
		{env: []string{"WORLD_SIZE=x", "LOCAL_WORLD_SIZE=0"}, gpus: 8},
	}
	for _, tt := range tests {
		snap := inventory.Snapshot{GPUs: make([]inventory.GPU, tt.gpus)}
		l := newLinter(newNode(Input{Snapshot: &snap}), FromPairs("test", FormEnviron, tt.env))
		if got, why := l.severalNodes(); got != tt.want {
			t.Errorf("severalNodes(%q, %d GPUs) = %v (%s), want %v", tt.env, tt.gpus, got, why, tt.want)
		}
	}
}

// withIPoIB gives ib0 an IP address.
func withIPoIB(s *inventory.Snapshot) {
	s.Netdev("ib0").Addresses = []netip.Prefix{netip.MustParsePrefix("10.200.0.10/16")}
}
