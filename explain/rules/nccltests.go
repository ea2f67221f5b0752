package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// testsRules are about the output of nccl-tests.
func testsRules() []Rule {
	return []Rule{{
		ID: "RDX-721", Name: "nccl-tests-alone", Title: "each process of nccl-tests is a job of its own",
		Explanation: "Several processes print that they are rank 0: they don't know of each other. nccl-tests was " +
			"built without MPI, or mpirun is of another MPI than the one it was built with.",
		Sources: []string{"NVIDIA/nccl-tests#213", "NVIDIA/nccl-tests#254", "NVIDIA/nccl-tests, README.md"},
		Find:    findTestsAlone,
	}, {
		ID: "RDX-357", Name: "nccl-tests-silent", Title: "nccl-tests named its devices and printed no result",
		Explanation: "Nothing failed, and the first operation never ended, or the log is cut off there. Within a " +
			"node the first suspect is peer to peer between the GPUs, between nodes the network.",
		Sources: []string{"NVIDIA/nccl#257", "NVIDIA/nccl-tests, src/common.cu"},
		Find:    findTestsSilent,
	}}
}

// testsHosts returns the hosts of the ranks of nccl-tests, and the first line that names one.
func testsHosts(f *facts.Facts) (hosts map[string]bool, ranks int, first *evidence.Event) {
	hosts = map[string]bool{}
	for e := range f.Store.Of(evidence.NCCLTestsRank) {
		hosts[e.Fields["host"]] = true
		ranks++
		if first == nil {
			first = e
		}
	}
	return hosts, ranks, first
}

// firstRanks returns a line of each process of a job that says that it has rank 0: a process after
// a result is of a later job.
func firstRanks(f *facts.Facts) []*evidence.Event {
	var list []*evidence.Event
	seen := map[string]bool{}
	for e := range f.Store.Of(evidence.NCCLTestsRank) {
		process := e.Fields["host"] + " " + e.Fields["pid"]
		if e.Fields["rank"] == "0" && e.Fields["group"] == "0" && e.Fields["pid"] != "" && !seen[process] {
			seen[process] = true
			if len(list) == 0 || !resultBetween(f, list[0], e) {
				list = append(list, e)
			}
		}
	}
	return list
}

// resultBetween reports whether nccl-tests printed a result between two lines of a file.
func resultBetween(f *facts.Facts, first, last *evidence.Event) bool {
	for e := range f.Store.Of(evidence.NCCLTestsResult) {
		p, from, to := e.Place, first.Place, last.Place
		if p.File == from.File && from.File == to.File && from.Line < p.Line && p.Line < to.Line {
			return true
		}
	}
	return false
}

// secondHead returns the second of two heads of nccl-tests that stand together, nil if there is
// none: a job has one.
func secondHead(f *facts.Facts) *evidence.Event {
	var first *evidence.Event
	for e := range f.Store.Of(evidence.NCCLTestsHead) {
		if first == nil {
			first = e
			continue
		}
		if e.Place.File == first.Place.File && e.Place.Line-first.Place.Line <= nearHead {
			return e
		}
	}
	return nil
}

// nearHead is how far the heads of processes that mpirun starts together are apart: runs after each
// other have results in between.
const nearHead = 4

func findTestsAlone(f *facts.Facts) []Finding {
	ranks, head := firstRanks(f), secondHead(f)
	if len(ranks) < 2 && head == nil {
		return nil
	}
	lines := ranks
	if len(lines) < 2 {
		lines = []*evidence.Event{head}
	}
	c := &candidates{}
	c.add("launcher-ranks", "nccl-tests was built without MPI, or mpirun is of another MPI than the build", common).
		supportsIf(len(ranks) > 1, strong, fmt.Sprintf("%d processes say that they are rank 0", len(ranks)),
			linePlaces(ranks)...).
		supportsIf(len(ranks) < 2, hint, "two processes begin with \"Using devices\", each for itself",
			placeOf(head)...).
		todo("ldd all_reduce_perf | grep -i mpi; mpirun --version; mpirun -np 2 hostname",
			"make MPI=1 MPI_HOME=… with the MPI whose mpirun starts it; with srun, --mpi=pmix").
		from("NVIDIA/nccl-tests#213", "NVIDIA/nccl-tests#254")
	c.add("launcher", "batch system and MPI don't share a process manager", rare).
		todo("srun --mpi=list", "srun --mpi=pmix, or mpirun")
	return []Finding{{
		What:   "the processes of nccl-tests don't know of each other: each is a job of its own",
		Events: lines, Causes: c.causes(),
	}}
}

func findTestsSilent(f *facts.Facts) []Finding {
	hosts, ranks, first := testsHosts(f)
	if len(firstRanks(f)) > 1 || secondHead(f) != nil {
		return nil // no hang of one job
	}
	if ranks < 2 || len(f.Failures) > 0 || firstOf(f, evidence.NCCLTestsResult, "") != nil {
		return nil
	}
	c := &candidates{}
	if len(hosts) == 1 {
		silentNode(f, c, first)
	} else {
		silentNodes(c)
	}
	what := fmt.Sprintf(
		"nccl-tests with %d ranks on %d node(s) printed no result: it stands still, or the log ends early",
		ranks, len(hosts))
	return []Finding{{What: what, Events: []*evidence.Event{first}, Causes: c.causes()}}
}

// silentNode adds the causes within a node.
func silentNode(f *facts.Facts, c *candidates, first *evidence.Event) {
	off, places, _ := variable(f, "NCCL_P2P_DISABLE")
	gpu := first.Fields["gpu"]
	consumer := strings.Contains(gpu, "GeForce") || strings.Contains(gpu, "RTX") || strings.Contains(gpu, "Radeon")
	c.add("gpu-p2p", "peer to peer between the GPUs goes through an IOMMU or ACS, and hangs", common).
		supportsIf(consumer, hint, gpu+": no NVLink, so peer to peer goes over PCIe", first.Place).
		opposesIf(off == "1", decisive, "peer to peer is off", places...).
		todo("NCCL_P2P_DISABLE=1 to test; cat /proc/cmdline; rdmactl doctor --only iommu,acs",
			"IOMMU off (intel_iommu=off, amd_iommu=off or iommu=pt) and ACS off, then reboot; else NCCL_P2P_DISABLE=1").
		from("NVIDIA/nccl#257")
	c.add("gpu-hardware", "a GPU or its driver hangs", rare).
		todo("nvidia-smi; dmesg | grep -i xid; the same with two other GPUs", "reset the GPU, or another driver")
	c.add("library-defect", "a defect of this release of NCCL", rare).
		todo("the same with another release", "the last release")
	c.add("cumem", "a layer between the program and CUDA (vGPU, shared GPUs) blocks allocations", rare).
		todo("LD_PRELOAD; NCCL_CUMEM_ENABLE=0 and NCCL_CUMEM_HOST_ENABLE=0", "without that layer")
}

// silentNodes adds the causes between nodes.
func silentNodes(c *candidates) {
	c.add("interface-choice", "the nodes use interfaces that don't reach each other", usual).
		todo("NCCL_DEBUG=INFO: the lines Bootstrap and NET; ip -br address", "NCCL_SOCKET_IFNAME, NCCL_IB_HCA")
	c.add("firewall", "a firewall or security group drops the ports", usual).
		todo("nc -vz ADDRESS PORT", "open the ports between the nodes")
	c.add("rails-not-connected", "ports of RDMA devices have no path to each other", usual).
		todo("rdmactl cluster verify --hosts NODE1,NODE2", "NCCL_IB_HCA with the ports that are connected")
	c.add("gpu-p2p", "peer to peer between GPUs of a node hangs", rare).
		todo("the test on each node alone", "IOMMU and ACS off")
}

// firstOperations is how many collectives a job begins with before its own: tests of the groups.
const firstOperations = 5

// nodeHang adds peer to peer between GPUs, which hangs without a message, to the causes of a job on
// one node; start reports that one of the first operations hangs.
func nodeHang(f *facts.Facts, c *candidates, start bool) {
	off, _, _ := variable(f, "NCCL_P2P_DISABLE")
	if !oneNode(f) || off == "1" {
		return
	}
	p2p := firstOf(f, evidence.NCCLChannel, "transport", "P2P")
	c.add("gpu-p2p", "peer to peer between the GPUs of the node hangs: an IOMMU or ACS is in the way", rare).
		supportsIf(p2p != nil, usual, "the ranks are on one node and use peer to peer: "+textOf(p2p), placeOf(p2p)...).
		supportsIf(start, usual, "one of the first operations hangs").
		todo("NCCL_P2P_DISABLE=1 to test; nvidia-smi topo -m; cat /proc/cmdline; rdmactl doctor --only iommu,acs",
			"IOMMU off (intel_iommu=off, amd_iommu=off or iommu=pt) and ACS off; else NCCL_P2P_DISABLE=1, and "+
				"--disable-custom-all-reduce for vLLM").
		from("vllm-project/vllm#33041", "NVIDIA/nccl#2079", "NVIDIA/nccl#631")
}
