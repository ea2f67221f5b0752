package logcases

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows are the confirmed threads: each must have a case of that ID. A letter after the ID (A36b)
// marks a further case of the same thread.
var rows = map[string]string{
	"A01": "NVIDIA/nccl#426", "A02": "pytorch/pytorch#81628", "A04": "NVIDIA/nccl#769", "A06": "NVIDIA/nccl#925",
	"A07": "NVIDIA/nccl#799", "A09": "NVIDIA/nccl#304", "A10": "NVIDIA/nccl#928", "A11": "NVIDIA/nccl#905",
	"A12": "NVIDIA/nccl#902", "A13": "NVIDIA/nccl#1015", "A14": "NVIDIA/nccl#1267", "A15": "NVIDIA/nccl#1524",
	"A16": "NVIDIA/nccl#1819", "A17": "NVIDIA/nccl#2157", "A18": "NVIDIA/nccl#1957", "A19": "NVIDIA/nccl#2237",
	"A20": "NVIDIA/nccl#2383", "A21": "NVIDIA/nccl#2353", "A23": "sgl-project/sglang#33289", "A24": "NVIDIA/nccl#2389",
	"A25": "NVIDIA/nccl#234", "A26": "NVIDIA/nccl-tests#206", "A27": "NVIDIA/nccl-tests#227",
	"A28": "NVIDIA/nccl-tests#14", "A29": "NVIDIA/nccl-tests#188", "A30": "ROCm/rccl#328",
	"A32": "ROCm/rocm-systems#11174", "A33": "ROCm/rocm-systems#9417", "A34": "getainode/ainode#87",
	"A35": "getainode/ainode#89", "A36": "luxingcom/aicad-nccl-optimization#1",
	"A37": "tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark#40",
	"A38": "tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark#38",
	"A39": "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#172",
	"A40": "MiaAI-Lab/DeepSeek-v4-Flash-DSpark-2x-DGX-Spark#10", "A41": "autoscriptlabs/nccl-mesh-plugin#12",
	"B01": "vllm-project/vllm#6610", "B02": "vllm-project/vllm#6599", "B03": "sgl-project/sglang#1427",
	"B04": "sgl-project/sglang#12533", "B06": "deepseek-ai/DeepEP#553", "B07": "deepseek-ai/DeepEP#707",
	"B08": "NVIDIA-NeMo/RL#4027", "B09": "NVIDIA-NeMo/Automodel#3967", "B11": "deepseek-ai/DeepEP#36",
	"B12": "deepseek-ai/DeepEP#649", "B13": "NVIDIA/nvshmem#21", "B14": "NVIDIA/nvshmem#45",
	"B15": "aws-samples/aws-do-eks#69", "B17": "flashinfer-ai/flashinfer#3279", "B18": "vllm-project/vllm#48720",
	"B19": "uccl-project/uccl#803",
	"C01": "openucx/ucx#2434", "C02": "openucx/ucx#1878", "C03": "openucx/ucx#2501", "C04": "openucx/ucx#7785",
	"C05": "openucx/ucx#4619", "C07": "openucx/ucx#8229", "C08": "ai4d-iasc/trixie#81", "C09": "NVIDIA/cudf-spark#7632",
	"C10": "NVIDIA/nvidia-container-toolkit#2037", "C11": "ai-dynamo/dynamo#1314", "C12": "ai-dynamo/dynamo#2163",
	"C13": "ai-dynamo/dynamo#3343", "C15": "PrimeIntellect-ai/prime-rl#2761", "C16": "kvcache-ai/Mooncake#3868",
	"C17": "kvcache-ai/Mooncake#721",
	"D01": "linux-rdma/perftest#44", "D02": "linux-rdma/perftest#393", "D04": "linux-rdma/perftest#262",
	"D06": "Mellanox/nv_peer_memory#79", "D07": "Mellanox/nv_peer_memory#84",
	"D08": "Mellanox/gpu_direct_rdma_access#5", "D09": "chimera-nas/libevpl#89", "D11": "charmplusplus/charm#2635",
	"D12": "ydb-platform/nbs#5790", "D13": "ydb-platform/nbs#3375", "D14": "open-mpi/ompi#180",
	"D15": "open-mpi/ompi#6795", "D16": "linux-rdma/opensm#38", "D17": "linux-rdma/opensm#43", "D18": "spdk/spdk#961",
	"D19": "spdk/spdk#1387", "D20": "Juniper/warp17#81", "D21": "FDio/csit#3988",
	"E01": "akash-network/provider#424", "E02": "k8snetworkplumbingwg/sriov-network-device-plugin#422",
	"E03": "Mellanox/k8s-rdma-sriov-dev-plugin#18", "E04": "Mellanox/k8s-rdma-shared-dev-plugin#84",
	"E05": "Mellanox/k8s-rdma-shared-dev-plugin#87", "E07": "openshift/sriov-network-operator#243",
	"E08": "openshift/sriov-network-device-plugin#20",
	"A50": "NVIDIA/nccl#1573", "A51": "NVIDIA/nccl#2013", "A52": "NVIDIA/nccl#622", "A53": "NVIDIA/nccl#626",
	"A54": "marin-community/marin#7344", "B50": "PaddlePaddle/Paddle#37951", "B51": "sgl-project/sglang#29127",
	"C50": "openucx/ucx#10298", "C51": "openucx/ucx#5351", "D50": "Mellanox/nv_peer_memory#36",
	"D51": "linux-rdma/perftest#346", "D52": "pmem/rpma#1142",
	"E50": "k8snetworkplumbingwg/sriov-network-device-plugin#269",
	"E51": "k8snetworkplumbingwg/sriov-network-operator#548",
	"A55": "NVIDIA/nccl#969", "A56": "NVIDIA/nccl#529", "A57": "NVIDIA/nccl#525", "A58": "ROCm/rocm-systems#9083",
	"A59": "NVIDIA/nccl-tests#287", "A60": "NVIDIA/nccl#1837", "A61": "aws/aws-ofi-nccl#584",
	"A62": "awslabs/awsome-distributed-ai#278", "A63": "NVIDIA/nccl#1372", "A64": "NVIDIA/nccl#1488",
	"A65": "NVIDIA/nccl#328", "A66": "NVIDIA/nccl#496", "A67": "NVIDIA/nccl-tests#264",
	"A70": "aws/aws-ofi-nccl#1020", "A80": "awslabs/awsome-distributed-ai#647", "A81": "NVIDIA/nccl#1176",
	"A82": "NVIDIA/cloudai#720", "A71": "NVIDIA/nccl#1726", "A72": "EvolvingLMMs-Lab/open-r1-multimodal#7",
	"A73": "aws/aws-ofi-nccl#803", "A74": "NVIDIA/nccl#1050", "A75": "NVIDIA/nccl-tests#213",
	"A76": "NVIDIA/nccl#957", "A77": "goodfire-ai/spd#957", "A78": "ROCm/rocm-systems#2805",
	"A79": "NVIDIA/nccl-tests#54",
	"A68": "ROCm/rccl-tests#16", "A69": "pytorch/ci-infra#490", "B52": "pytorch/pytorch#137695",
	"B53": "vllm-project/vllm#3069", "B54": "aarora79/agentic-coding-harness-benchmarks#173",
	"B55": "vllm-project/vllm#6295", "B56": "aws-samples/aws-do-eks#50", "B57": "deepseek-ai/DeepEP#336",
	"B58": "pytorch/pytorch#15592", "B59": "pytorch/pytorch#177472", "B60": "rllm-org/rllm#10",
	"B61": "opea-project/GenAIInfra#612", "B62": "vllm-project/vllm#1726", "B63": "eugr/spark-vllm-docker#227",
	"B64": "NVIDIA/TensorRT-LLM#1131", "B65": "haotian-liu/LLaVA#447", "B66": "stanford-futuredata/ColBERT#318",
	"B67": "kubeflow/pytorch-operator#125", "B68": "hpcac/2023-APAC-HPC-AI#1", "B69": "vllm-project/vllm#56193",
	"B70": "deepspeedai/DeepSpeed#4571", "B71": "sgl-project/sglang#25172", "B72": "LargeWorldModel/LWM#44",
	"B73": "Lightning-AI/pytorch-lightning#8707", "B74": "jax-ml/jax#39167", "B75": "msr-fiddle/pipedream#76",
	"B76": "pytorch/pytorch#112950",
	"C52": "UCL-ARC/rcps-buildscripts#337", "C53": "open-mpi/ompi#3573", "C54": "openucx/ucx#3545",
	"C55": "openucx/ucx#1037", "C56": "openucx/ucx#6695", "C57": "ofiwg/libfabric#975",
	"C58": "ofiwg/libfabric#7368", "C59": "NVIDIA/cudf-spark#6572", "C60": "awslabs/awsome-distributed-ai#647",
	"C61": "LMCache/LMCache#839", "C62": "openucx/ucc#567", "C63": "vllm-project/vllm#27083",
	"C64": "kvcache-ai/Mooncake#640", "C65": "pmodels/mpich#4710", "C66": "horovod/horovod#209",
	"C67": "horovod/horovod#195", "C68": "openucx/ucx#10568", "C69": "open-mpi/ompi#12913", "C70": "open-mpi/ompi#4848",
	"C71": "openpmix/openpmix#1115", "C72": "pmodels/mpich#6924", "C73": "open-mpi/ompi#7246",
	"C74": "openucx/ucx#2963",
	"D53": "axboe/fio#159", "D54": "linux-rdma/rdma-core#413",
	"D55": "linux-rdma/rdma-core#393", "D56": "Mellanox/libvma#31", "D57": "pocopico/rp-ext#129",
	"D58": "openzfs/zfs#6795", "D59": "linux-nvme/nvme-cli#867", "D60": "Mellanox/nv_peer_memory#39",
	"D61": "SoftRoCE/rxe-dev#65", "D62": "spdk/spdk#2965", "D63": "spdk/spdk#1089",
	"D64": "Mellanox/nv_peer_memory#8", "D65": "ovis-hpc/ldms#124", "D66": "ceph/ceph#27022",
	"D67": "linux-rdma/rdma-core#1170", "D68": "linux-nvme/nvme-cli#622", "D69": "linux-rdma/perftest#336",
	"D70": "linux-rdma/perftest#395", "D71": "F-Stack/f-stack#531", "D72": "charmplusplus/charm#2712",
	"D73": "microsoft/lisa#1159", "D74": "openshift/cluster-node-tuning-operator#1249",
	"D75": "Mellanox/doca-driver-build#65", "D76": "spdk/spdk#1747", "D77": "chaos/diod#107",
	"D78": "clustervision/trinity#219", "D79": "CESNET/ipfixprobe#243", "D80": "cifsd-team/ksmbd#574",
	"D81": "spdk/spdk#900", "D82": "pkoutoupis/rapiddisk#145", "D83": "apache/brpc#2298",
	"D84": "PeterSuh-Q3/tinycore-redpill#9",
	"E52": "Mellanox/docker-sriov-plugin#15", "E53": "hustcat/k8s-rdma-device-plugin#19",
	"E54": "k8snetworkplumbingwg/sriov-cni#35", "E55": "k8snetworkplumbingwg/sriov-network-device-plugin#127",
	"E56": "k8snetworkplumbingwg/sriov-network-device-plugin#189",
	"E57": "k8snetworkplumbingwg/sriov-network-device-plugin#153", "E58": "openucx/ucx#4511",
	"E59": "aws/aws-ofi-nccl#1020", "E60": "kubernetes-csi/csi-driver-nvmf#34",
	"E61": "aws-samples/aws-do-eks#54", "E62": "Mellanox/k8s-rdma-shared-dev-plugin#94",
	"E63": "openucx/ucx#6906", "E64": "NVIDIA/pyxis#41", "E65": "NVIDIA/enroot#13", "E66": "volcano-sh/volcano#968",
	"E67": "awslabs/awsome-distributed-ai#292", "E68": "ComputeCanada/puppet-magic_castle#27",
	"E69": "kubernetes/kubernetes#107928", "E70": "containernetworking/plugins#320",
	"E71": "NVIDIA/k8s-device-plugin#23", "E72": "k8snetworkplumbingwg/multus-cni#641", "E73": "rook/rook#9653",
	"E74": "NVIDIA/nvidia-docker#1155",
	"E75": "NVIDIA/nvidia-container-toolkit#210", "E76": "NVIDIA/k8s-device-plugin#231",
	"E77": "kubernetes/kubernetes#111591", "E78": "SlinkyProject/containers#1", "E79": "NVIDIA/pyxis#6",
}

var update = flag.Bool("update", false, "rewrite SLUGS.md")

var (
	sourceURL = regexp.MustCompile(`^https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)$`)
	caseID    = regexp.MustCompile(`^([A-EFH]\d\d)([a-z]?)$`)
)

func load(t *testing.T) []Case {
	t.Helper()
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestRows checks that each confirmed thread has its case, and that there are enough others.
func TestRows(t *testing.T) {
	found, unproven, healthy, herrings := map[string]bool{}, 0, 0, 0
	for _, c := range load(t) {
		m := caseID.FindStringSubmatch(c.ID)
		if m == nil {
			t.Errorf("%s: not an ID", c.ID)
			continue
		}
		if c.Herring != "" && (c.proven() || c.statement()) {
			herrings++
		}
		switch c.Family {
		case FamilyUnproven:
			unproven++
		case FamilyHealthy:
			healthy++
		default:
			found[m[1]] = true
			if _, ok := rows[m[1]]; !ok {
				t.Errorf("%s: no row of that ID", c.ID)
			}
		}
		if u := sourceURL.FindStringSubmatch(c.Source); u == nil {
			if c.Source != "" || c.Family != FamilyHealthy {
				t.Errorf("%s: source %q isn't the URL of a thread", c.ID, c.Source)
			}
		} else if want := rows[m[1]]; want != "" && u[1]+"#"+u[2] != want {
			t.Errorf("%s: source is %s#%s, want %s", c.ID, u[1], u[2], want)
		}
	}
	for id := range rows {
		if !found[id] {
			t.Errorf("no case of row %s", id)
		}
	}
	if unproven < 60 || healthy < 10 || herrings < 10 {
		t.Errorf("%d unproven, %d healthy cases, %d with a red herring; want 60, 10 and 10", unproven, healthy,
			herrings)
	}
}

// TestSlugNames checks that each slug is there once.
func TestSlugNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Slugs() {
		if seen[s.Name] {
			t.Errorf("slug %s is there twice", s.Name)
		}
		seen[s.Name] = true
	}
}

// TestExpectations checks that slugs are known and that expectations don't contradict each other.
func TestExpectations(t *testing.T) {
	for _, c := range load(t) {
		for _, slug := range slices.Concat(c.Causes, c.Traps, c.Candidates, c.Allowed) {
			if _, ok := slugOf(slug); !ok {
				t.Errorf("%s: unknown slug %q", c.ID, slug)
			}
		}
		for _, slug := range slices.Concat(c.Causes, c.Candidates) {
			if slices.Contains(c.Traps, slug) {
				t.Errorf("%s: %s is right and a trap", c.ID, slug)
			}
		}
		for _, by := range c.By {
			if !slices.Contains([]string{
				ByReporter, BySecond, ByFix, ByExperiment, ByMaintainer, ByVector,
			}, by) {
				t.Errorf("%s: confirmed by %q", c.ID, by)
			}
		}
		if c.Title == "" {
			t.Errorf("%s: no title", c.ID)
		}
		lintFamily(t, &c)
	}
}

// lintFamily checks what a family needs.
func lintFamily(t *testing.T, c *Case) {
	t.Helper()
	switch c.Family {
	case FamilyUnproven:
		if len(c.Causes)+len(c.By) > 0 || len(c.Candidates) == 0 || len(c.Traps) == 0 {
			t.Errorf("%s: an unproven case has candidates and traps, but no cause", c.ID)
		}
	case FamilyHealthy:
		if len(c.Causes)+len(c.By)+len(c.Candidates) > 0 {
			t.Errorf("%s: a healthy case has no cause and no candidates", c.ID)
		}
	default:
		if c.vector() {
			if len(c.Causes) > 0 || len(c.Facts.Decoded) == 0 {
				t.Errorf("%s: a value to decode has a decoded fact, but no cause", c.ID)
			}
			return
		}
		if len(c.Causes) == 0 || len(c.By) == 0 || len(c.Traps) == 0 {
			t.Errorf("%s: want a cause, how it was confirmed, and a trap", c.ID)
		}
	}
}

// TestFactsAreVisible checks that the logs show what the case expects a reader to find.
func TestFactsAreVisible(t *testing.T) {
	for _, c := range load(t) {
		text := ""
		for _, f := range c.Files {
			text += f.Name + "\n" + string(f.Data)
		}
		for _, v := range c.Facts.Versions {
			name, number, _ := strings.Cut(v, " ")
			if !strings.Contains(text, number) || !strings.Contains(strings.ToLower(text), mention(name)) {
				t.Errorf("%s: the logs don't show the version %s", c.ID, v)
			}
		}
		for _, h := range c.Facts.Hosts {
			if !strings.Contains(text, h) {
				t.Errorf("%s: the logs don't show the host %s", c.ID, h)
			}
		}
		for host, network := range c.Facts.Networks {
			if !strings.Contains(text, "Using network "+network) && !strings.Contains(text, "via NET/"+network) {
				t.Errorf("%s: the logs don't show the network %s of %s", c.ID, network, host)
			}
		}
		for _, nics := range c.Facts.NICs {
			for _, nic := range nics {
				if !strings.Contains(text, nic) {
					t.Errorf("%s: the logs don't show the device %s", c.ID, nic)
				}
			}
		}
		for _, gid := range c.Facts.GIDs {
			if !showsGID(text, netip.MustParseAddr(gid)) {
				t.Errorf("%s: the logs don't show the GID %s", c.ID, gid)
			}
		}
		if c.Facts.GDR != "" && !strings.Contains(text, "GDR") && !strings.Contains(text, "GPU Direct") &&
			!strings.Contains(text, "via NET/") {
			t.Errorf("%s: the logs don't show whether GPU Direct is used", c.ID)
		}
	}
}

// mention is how a log names a library.
func mention(name string) string {
	return map[string]string{"DeepEP": "deep_ep"}[name] + map[bool]string{true: strings.ToLower(name)}[name != "DeepEP"]
}

// showsGID reports whether a text has a GID in one of the forms of logs.
func showsGID(text string, gid netip.Addr) bool {
	b := gid.As16()
	var long []string
	for i := 0; i < 16; i += 2 {
		long = append(long, fmt.Sprintf("%02x%02x", b[i], b[i+1]))
	}
	return strings.Contains(text, gid.String()) || strings.Contains(text, halves(gid)) ||
		strings.Contains(text, strings.Join(long, ":"))
}

// TestSize checks that a log has a size that a reader can review and that the cut of a variant
// removes something.
func TestSize(t *testing.T) {
	for _, c := range load(t) {
		lines := 0
		for _, f := range c.Files {
			lines += strings.Count(string(f.Data), "\n")
			if strings.Contains(string(f.Data), "\n@") || strings.Contains(string(f.Data), "\n!") {
				t.Errorf("%s %s: a directive is left", c.ID, f.Name)
			}
		}
		least := 2
		if c.session != nil {
			least = 15
		}
		if lines < least || lines > 400 {
			t.Errorf("%s: %d lines, want %d to 400", c.ID, lines, least)
		}
	}
}

// TestSlugTable checks that SLUGS.md is the table of the code and the cases; -update writes it.
func TestSlugTable(t *testing.T) {
	want := "# Causes\n\nThe names of causes that cases and programs share, and the cases of testdata that accept " +
		"each.\n\n" + SlugTable(load(t))
	if *update {
		if err := os.WriteFile("SLUGS.md", []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("SLUGS.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("SLUGS.md is out of date: go test -run TestSlugTable -update")
	}
}
