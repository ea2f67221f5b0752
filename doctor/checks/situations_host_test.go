package checks_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// hostSituation is a node and what a check of the host must say.
type hostSituation struct {
	name   string
	check  string
	tree   string
	change change
	want   []string
	says   string
}

// TestHostSituations tries the edges of the rules.
func TestHostSituations(t *testing.T) {
	const version = "proc/driver/nvidia/version"
	const gpu = "proc/driver/nvidia/gpus/0000:%s:00.0/information"
	model := func(name string) change {
		var changes []change
		for a := range strings.FieldsSeq("17 18 4b 4c 7f 80 b3 b4") {
			changes = append(changes, set(fmt.Sprintf(gpu, a), "Model: \t\t "+name))
		}
		return all(changes...)
	}
	group := func(addr, domain string) change {
		return set("sys/bus/pci/devices/0000:"+addr+":00.0/iommu_group/type", domain)
	}
	card := func(e facts.PCIExpress, others ...facts.PCIFunction) change {
		return recorded(pciOf(append(others, facts.PCIFunction{Address: "0000:15:00.0", Express: &e})...))
	}
	arm := set("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41")
	mode := set("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
	for _, s := range []hostSituation{
		{"open modules alone", "gpudirect", switches, noPeermem, []string{"pass node"}, "dma-buf"},
		{"Linux 5.12", "gpudirect", switches, all(noPeermem, release("5.12.0")), []string{"pass node"}, ""},
		{"Linux 5.11", "gpudirect", switches, all(noPeermem, release("5.11.22")), []string{"fail node"}, "5.12"},
		{
			"a distribution's 4.18", "gpudirect", switches,
			all(noPeermem, release("4.18.0-553.el8_10.x86_64")),
			[]string{"warn node"},
			"distribution",
		},
		{
			"module alone", "gpudirect", switches,
			all(peermem, set(version, proprietary), release("5.15.0")),
			[]string{"pass node", "info nvidia_peermem"},
			"only",
		},
		{
			"module of a listed client", "gpudirect", switches,
			all(peermem, set(version, proprietary), set("sys/kernel/mm/memory_peers/nv_mem/version", "1")),
			[]string{"pass node", "info nvidia_peermem"},
			"",
		},
		{"both", "gpudirect", switches, nil, []string{"pass node", "info nvidia_peermem"}, "without it"},
		{
			"GeForce", "gpudirect", switches,
			all(noPeermem, set(version, proprietary), model("NVIDIA GeForce RTX 4090")),
			[]string{"not-applicable node"},
			"GeForce",
		},
		{"DGX Spark", "gpudirect", switches, model("NVIDIA GB10"), []string{"not-applicable node"}, "GB10"},
		{"no GPU", "gpudirect", "40_pf_vfs", nil, []string{"not-applicable node"}, "no GPU"},
		{"driver not loaded", "gpudirect", switches, remove(version), []string{"not-applicable node"}, "version"},

		{"identity", "iommu", switches, group("15", "identity"), []string{"pass node"}, ""},
		{
			"a GPU alone", "iommu", switches,
			all(group("15", "identity"), group("17", "DMA")),
			[]string{"warn node"},
			"1 function",
		},
		{"no IOMMU", "iommu", switches, nil, []string{"not-applicable node"}, "IOMMU is off"},
		{
			"unprivileged", "iommu", switches,
			all(
				group("15", "DMA"),
				fail("sys/bus/pci/devices/0000:15:00.0/iommu_group/type", syscall.EACCES),
			),
			[]string{"needs-privilege node"},
			"",
		},
		{"arm64", "iommu", switches, all(arm, group("15", "DMA")), []string{"info node"}, "SMMU"},
		{
			"virtual machine", "iommu", switches,
			all(guest, group("15", "DMA")),
			[]string{"not-applicable node"},
			"hypervisor",
		},
		{
			"virtual machine by DMI", "iommu", switches,
			all(arm, set("sys/devices/virtual/dmi/id/sys_vendor", "QEMU"), group("15", "DMA")),
			[]string{"not-applicable node"},
			"QEMU",
		},
		{
			"bare metal of a cloud", "iommu", switches,
			all(host, set("sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2"), group("15", "DMA")),
			[]string{"warn node"},
			"",
		},

		{
			"512 bytes", "pcie-requests", switches,
			card(facts.PCIExpress{MaxPayload: 256, MaxReadRequest: 512}),
			[]string{"info 0000:15:00.0"},
			"at most 512 bytes",
		},
		{
			"4096 bytes", "pcie-requests", switches,
			card(facts.PCIExpress{MaxPayload: 256, MaxReadRequest: 4096}),
			[]string{"pass node"},
			"",
		},
		{
			"reserved value", "pcie-requests", switches,
			card(facts.PCIExpress{MaxPayload: 256}),
			[]string{"pass node"},
			"",
		},
		{
			"bridge accepts less", "pcie-requests", switches,
			card(
				facts.PCIExpress{MaxPayload: 512, MaxReadRequest: 4096},
				facts.PCIFunction{Address: "0000:12:00.0", Express: &facts.PCIExpress{MaxPayload: 256}},
			),
			[]string{"warn 0000:15:00.0"},
			"0000:12:00.0 above it accepts 256",
		},
		{
			"bridge accepts as much", "pcie-requests", switches,
			card(facts.PCIExpress{MaxPayload: 512, MaxReadRequest: 4096}, redirects("0000:12:00.0", 0)),
			[]string{"pass node"},
			"",
		},
		{"128 bytes suffice", "pcie-requests", switches, card(express(128, 32)), []string{"pass node"}, ""},
		{
			"128 bytes don't", "pcie-requests", "01_ib_8hca",
			express01(128),
			[]string{"warn 0000:18:00.0"},
			"with packets of 128 bytes",
		},
		{"256 bytes do", "pcie-requests", "01_ib_8hca", express01(256), []string{"pass node"}, ""},
		{
			"virtual machine", "pcie-requests", switches,
			all(guest, card(facts.PCIExpress{MaxReadRequest: 128})),
			[]string{"not-applicable node"},
			"host's registers",
		},
		{
			"denied", "pcie-requests", switches,
			recorded(facts.Facts{PCI: &facts.Datum[[]facts.PCIFunction]{Denied: "64 bytes"}}),
			[]string{"needs-privilege node"},
			"64 bytes",
		},

		{
			"bare metal", "relaxed-ordering", switches,
			all(host, card(facts.PCIExpress{})),
			[]string{"info 0000:15:00.0"},
			"",
		},
		{
			"virtual function in a virtual machine", "relaxed-ordering", switches,
			all(guest, set("sys/bus/pci/devices/0000:15:00.0/device", "0x101e"), card(facts.PCIExpress{})),
			[]string{"not-applicable node"},
			"virtual function",
		},

		{
			"narrow by design", "pcie-link", switches,
			all(width("0000:10:01.0", "4"), set("sys/bus/pci/devices/0000:10:01.0/max_link_width", "4")),
			[]string{"pass node"},
			"",
		},
		{
			"the other end can no more", "pcie-link", switches,
			all(width("0000:10:01.0", "4"), set("sys/bus/pci/devices/0000:11:00.0/max_link_width", "4")),
			[]string{"pass node"},
			"",
		},
		{
			"slower, but enough", "pcie-link", switches,
			set("sys/bus/pci/devices/0000:10:01.0/current_link_width", "16"),
			[]string{"pass node"},
			"",
		},
		{
			"link to the second switch", "pcie-link", switches, width("0000:12:00.0", "2"),
			[]string{"warn mlx5_0:1", "warn mlx5_1:1"},
			"bridge 0000:12:00.0",
		},
		{"a GPU's link", "pcie-link", switches, width("0000:12:01.0", "1"), []string{"pass node"}, ""},
		{
			"virtual bridges", "pcie-link", switches,
			all(guest, width("0000:10:01.0", "1")),
			[]string{"pass node"},
			"",
		},
		{
			"QEMU's bridge", "pcie-link", switches,
			all(set("sys/bus/pci/devices/0000:10:01.0/vendor", "0x1b36"), width("0000:10:01.0", "1")),
			[]string{"pass node"},
			"",
		},

		{
			"one card missing", "gpu-affinity", "01_ib_8hca",
			all(apart, numa("0000:19:00.0", "1")),
			[]string{"warn 0000:19:00.0"},
			"SYS",
		},
		{
			"fewer cards than GPUs", "gpu-affinity", "01_ib_8hca",
			all(apart, numa("0000:19:00.0", "1"), port("mlx5_7", "link_layer", "Ethernet")),
			[]string{"pass node", "info node"},
			"1 of 8 GPUs",
		},
		{"switches", "gpu-affinity", switches, nil, []string{"pass node"}, "8 of 8 GPUs"},

		{"tsc", "host-jitter", switches, all(host, set(clockSource, "tsc")), []string{"pass node"}, ""},
		{
			"acpi_pm", "host-jitter", switches,
			all(guest, set(clockSource, "acpi_pm")),
			[]string{"warn node"},
			"acpi_pm",
		},
		{
			"kvm-clock", "host-jitter", switches,
			all(guest, set(clockSource, "kvm-clock")),
			[]string{"pass node"},
			"",
		},
		{
			"defaults", "host-jitter", switches,
			all(host, set(clockSource, "tsc"), jitter("1", "powersave", "133")),
			[]string{"pass node", "info node"},
			"133 µs",
		},
		{"tuned", "host-jitter", switches, all(host, jitter("0", "performance", "100")), []string{"pass node"}, ""},
		{
			"tuned by the host", "host-jitter", switches,
			all(guest, jitter("0", "powersave", "133")),
			[]string{"pass node"},
			"",
		},
		{
			"card of no node", "host-jitter", switches,
			all(host, numa("0000:15:00.0", "-1"), set("sys/devices/system/node/online", "0-1")),
			[]string{"warn 0000:15:00.0"},
			"NUMA",
		},
		{
			"one node", "host-jitter", switches,
			all(
				host,
				set(clockSource, "tsc"),
				numa("0000:15:00.0", "-1"),
				set("sys/devices/system/node/online", "0"),
			),
			[]string{"pass node"},
			"",
		},
		{
			"in a virtual machine", "host-jitter", switches,
			all(
				guest,
				set(clockSource, "tsc"),
				numa("0000:15:00.0", "-1"),
				set("sys/devices/system/node/online", "0-1"),
			),
			[]string{"pass node"},
			"",
		},

		{
			"raised on demand", "memlock-jobs", "01_ib_8hca",
			daemons("slurmd", 8<<20, 0),
			[]string{"warn slurmd"},
			"unlimited if they ask",
		},
		{"1 GiB", "memlock-jobs", "01_ib_8hca", daemons("slurmd", 1<<30, 1<<30), []string{"warn slurmd"}, ""},
		{
			"just less", "memlock-jobs", "01_ib_8hca",
			daemons("slurmd", 1<<30-1, 1<<30-1),
			[]string{"fail slurmd"},
			"",
		},
		{
			"containers", "memlock-jobs", "01_ib_8hca",
			daemons("containerd", 8<<20, 8<<20),
			[]string{"info containerd"},
			"IPC_LOCK",
		},
		{
			"no daemon", "memlock-jobs", "01_ib_8hca",
			recorded(facts.Facts{Daemons: known([]facts.Daemon{})}),
			[]string{"not-applicable node"},
			"no daemon",
		},
		{
			"container", "memlock-jobs", "01_ib_8hca",
			all(docker, recorded(facts.Facts{Daemons: known([]facts.Daemon{})})),
			[]string{"not-applicable node"},
			"container",
		},

		{
			"no handle", "rdma-cgroup", "01_ib_8hca",
			all(set("proc/self/cgroup", "0::/job/step"), set(rdmaMax, "mlx5_1 hca_handle=0 hca_object=max")),
			[]string{"warn mlx5_1"},
			"hca_handle=0",
		},
		{
			"limit of the parent", "rdma-cgroup", "01_ib_8hca",
			all(
				set("proc/self/cgroup", "0::/job/step"),
				set("sys/fs/cgroup/job/rdma.max", "mlx5_1 hca_handle=max hca_object=5"),
			),
			[]string{"warn mlx5_1"},
			"/sys/fs/cgroup/job/rdma.max",
		},
		{
			"another's device", "rdma-cgroup", "01_ib_8hca",
			all(set("proc/self/cgroup", "0::/job/step"), set(rdmaMax, "mlx5_99 hca_handle=max hca_object=5")),
			[]string{"pass node"},
			"limits no device",
		},
		{
			"root group", "rdma-cgroup", "01_ib_8hca",
			all(set("proc/self/cgroup", "0::/"), set("sys/fs/cgroup/cgroup.controllers", "rdma")),
			[]string{"not-applicable node"},
			"not enabled",
		},
		{
			"version 1", "rdma-cgroup", "01_ib_8hca",
			set("proc/self/cgroup", "4:rdma:/job"),
			[]string{"not-applicable node"},
			"",
		},

		{
			"Docker's default", "shared-memory", "01_ib_8hca",
			all(docker, shm(64<<20, 64<<20)),
			[]string{"warn /dev/shm"},
			"--shm-size",
		},
		{"full", "shared-memory", "01_ib_8hca", shm(64<<30, 100<<20), []string{"warn /dev/shm"}, "nearly full"},
		{
			"few files", "shared-memory", "01_ib_8hca",
			all(openFiles("1024", "4096"), shm(1<<30, 1<<30)),
			[]string{"warn node"},
			"4096 files",
		},
		{
			"files that can be raised", "shared-memory", "01_ib_8hca",
			all(openFiles("1024", "8192"), shm(1<<30, 1<<30)),
			[]string{"pass node"},
			"shared memory and open files suffice",
		},
		{
			"files, but no size of /dev/shm", "shared-memory", "01_ib_8hca",
			openFiles("8192", "8192"),
			[]string{"not-applicable /dev/shm"},
			"Max open files = 8192, at most 8192",
		},
		{
			"few files, and no size of /dev/shm", "shared-memory", "01_ib_8hca",
			openFiles("1024", "4096"),
			[]string{"warn node", "not-applicable /dev/shm"},
			"4096 files",
		},
		{
			"/dev/shm, but no limit of files", "shared-memory", "01_ib_8hca",
			shm(1<<30, 1<<30),
			[]string{"pass node"},
			"shared memory suffices",
		},
		{
			"huge pages off", "shared-memory", "01_ib_8hca",
			all(mode, shm(1<<30, 1<<30)),
			[]string{"pass node", "info node"},
			"huge pages are off",
		},
		{"nothing known", "shared-memory", "01_ib_8hca", nil, []string{"not-applicable node"}, ""},
	} {
		t.Run(s.check+" "+s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.check)
			wantBrief(t, r, s.want)
			if !strings.Contains(allText(r.Findings), s.says) {
				t.Errorf("no finding says %q:\n%s", s.says, allText(r.Findings))
			}
		})
	}
}

// TestInventorySituations tries the edges of the rules about devices and drivers.
func TestInventorySituations(t *testing.T) {
	const modules = "rdma_ucm 1 0 - Live 0x0\nib_uverbs 200704 1 mlx5_ib, Live 0x0"
	vfs := func(count string, addrs ...string) change {
		var changes []change
		for _, a := range addrs {
			changes = append(changes, set("sys/bus/pci/devices/0000:"+a+":00.0/sriov_numvfs", count))
		}
		return all(changes...)
	}
	abi := func(v string) change { return set("sys/class/infiniband_verbs/uverbs0/abi_version", v) }
	rest := []string{"16", "49", "4a", "7d", "7e", "b1", "b2"}
	for _, s := range []hostSituation{
		{
			"no ib_umad on InfiniBand", "rdma-modules", "01_ib_8hca",
			all(whole, set("proc/modules", modules)),
			[]string{"pass node", "info ib_umad"},
			"ib_umad",
		},
		{
			"no ib_umad on RoCE", "rdma-modules", "02_rocev2_8hca",
			all(whole, set("proc/modules", modules)),
			[]string{"pass node"},
			"",
		},
		{
			"in a container", "rdma-modules", "01_ib_8hca",
			all(docker, set("proc/modules", "x 1 0 - Live 0x0")),
			[]string{"not-applicable node"},
			"host's",
		},
		{"one card with virtual functions", "vf-count", switches, vfs("8", "15"), []string{"pass node"}, ""},
		{
			"some more than the others", "vf-count", switches,
			all(vfs("8", rest...), vfs("16", "15")),
			[]string{"pass node"},
			"",
		},
		{
			"some fewer than the others", "vf-count", switches,
			all(vfs("8", rest...), vfs("4", "15")),
			[]string{"warn mlx5_0"},
			"7 others of its model have 8 each",
		},
		{"half of the cards", "vf-count", switches, vfs("8", "15", "16", "49", "4a"), []string{"pass node"}, ""},
		{"version 0", "verbs-abi", switches, abi("0"), []string{"warn mlx5_0"}, "supports 1 to 1"},
		{
			"class version 7", "verbs-abi", switches,
			set("sys/class/infiniband_verbs/abi_version", "7"),
			[]string{"warn node"},
			"supports 3 to 6",
		},
		{
			"virtual functions in a container", "netns-mode", "61_ib_vfs_host",
			docker,
			[]string{"pass node"},
			"shared",
		},
		{"no virtual function", "netns-mode", switches, nil, []string{"pass node"}, "shared"},
	} {
		t.Run(s.check+" "+s.name, func(t *testing.T) {
			r := diagnose(t, load(t, s.tree, s.change), s.check)
			wantBrief(t, r, s.want)
			if !strings.Contains(allText(r.Findings), s.says) {
				t.Errorf("no finding says %q:\n%s", s.says, allText(r.Findings))
			}
		})
	}
}

func release(name string) change { return set("proc/sys/kernel/osrelease", name) }

func numa(addr, node string) change { return set("sys/bus/pci/devices/"+addr+"/numa_node", node) }

// jitter sets the migration of pages, the governor, and the exit latency of an idle state in µs.
func jitter(balancing, governor, latency string) change {
	return all(
		set("proc/sys/kernel/numa_balancing", balancing),
		set("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor),
		set("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2"),
		set("sys/devices/system/cpu/cpu0/cpuidle/state3/latency", latency),
		set("sys/devices/system/cpu/cpu0/cpuidle/state3/disable", "0"),
		set("sys/devices/system/cpu/cpu0/cpuidle/state4/latency", "600"),
		set("sys/devices/system/cpu/cpu0/cpuidle/state4/disable", "1"),
	)
}

func openFiles(soft, hard string) change {
	return set("proc/self/limits", "Max open files            "+soft+"                 "+hard+"                 files")
}

// express returns a card with packets of that payload, and a link of 16 lanes.
func express(payload int, gts float64) facts.PCIExpress {
	return facts.PCIExpress{
		MaxPayload: payload, MaxPayloadSupported: 512, MaxReadRequest: 4096,
		Link: &inventory.PCILink{GTPerSecond: gts, Width: 16},
	}
}

// express01 is the first card of 01_ib_8hca, of 400 Gb/s, on a link that carries little more: 14
// lanes of 32 GT/s.
func express01(payload int) change {
	e := express(payload, 32)
	e.Link.Width = 14
	return recorded(pciOf(facts.PCIFunction{Address: "0000:18:00.0", Express: &e}))
}
