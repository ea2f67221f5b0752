package checks_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

const switches = "47_gpu_switches" // its first switch has the GPUs 17 and 18, and a switch with two cards

// hostCases are those of the host, PCI Express and GPUs.
func hostCases() []numberCase {
	clock := func(d facts.ClockDiscipline) change { return recorded(facts.Facts{Clock: known(d)}) }
	card := func(e facts.PCIExpress) change {
		return recorded(facts.Facts{PCI: known([]facts.PCIFunction{{Address: "0000:15:00.0", Express: &e}})})
	}
	bridge := func(control uint16) change { return recorded(bridgesOf(redirects("0000:12:01.0", control))) }
	noPCI := recorded(facts.Facts{PCI: failed[[]facts.PCIFunction]()})
	group := "sys/bus/pci/devices/0000:15:00.0/iommu_group/type"
	const version = "proc/driver/nvidia/version"
	return []numberCase{
		{
			76, "pcie-link", switches, nil, nil, width("0000:10:01.0", "4"),
			fail("sys/bus/pci/devices/0000:15:00.0/current_link_width", syscall.EIO),
			doctor.OutcomeWarn, "mlx5_0:1", doctor.OutcomeUnknown,
		},
		{
			77, "pcie-requests", switches, nil,
			card(facts.PCIExpress{MaxPayload: 256, MaxReadRequest: 4096}),
			card(facts.PCIExpress{MaxPayload: 256, MaxReadRequest: 256}), noPCI,
			doctor.OutcomeWarn, "0000:15:00.0", doctor.OutcomeUnknown,
		},
		{
			78, "acs", switches, nil, bridge(facts.ACSSourceValidation), bridge(0x1d), noPCI,
			doctor.OutcomeWarn, "0000:12:01.0", doctor.OutcomeUnknown,
		},
		{
			79, "relaxed-ordering", switches, guest,
			card(facts.PCIExpress{RelaxedOrdering: true}), card(facts.PCIExpress{}), noPCI,
			doctor.OutcomeWarn, "0000:15:00.0", doctor.OutcomeUnknown,
		},
		{
			82, "iommu", switches, set(group, "identity"), nil, set(group, "DMA-FQ"), fail(group, syscall.EIO),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			83, "gpudirect", switches, noPeermem, nil, set(version, proprietary),
			fail(version, syscall.EIO),
			doctor.OutcomeFail, "node", doctor.OutcomeUnknown,
		},
		{
			84, "gpu-affinity", "01_ib_8hca", apart, nil, set("sys/bus/pci/devices/0000:19:00.0/numa_node", "1"),
			fail("sys/bus/pci/devices/0000:19:00.0/numa_node", syscall.EIO),
			doctor.OutcomeWarn, "0000:19:00.0", doctor.OutcomeUnknown,
		},
		{
			85, "host-jitter", switches, nil, set(clockSource, "tsc"), set(clockSource, "hpet"),
			fail(clockSource, syscall.EIO),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			86, "memlock", "01_ib_8hca", nil, limits("unlimited", "unlimited"), limits("8388608", "8388608"),
			all(limits("unlimited", "unlimited"), fail("proc/self/limits", syscall.EIO)),
			doctor.OutcomeFail, "node", doctor.OutcomeUnknown,
		},
		{
			86, "memlock-jobs", "01_ib_8hca", nil, daemons("slurmd", 0, 0), daemons("slurmd", 65536, 65536),
			recorded(facts.Facts{Daemons: failed[[]facts.Daemon]()}),
			doctor.OutcomeFail, "slurmd", doctor.OutcomeUnknown,
		},
		{
			86, "rdma-cgroup", "01_ib_8hca", set("proc/self/cgroup", "0::/job/step"),
			set(rdmaMax, "mlx5_0 hca_handle=max hca_object=1000"), set(rdmaMax, "mlx5_0 hca_handle=max hca_object=999"),
			all(set(rdmaMax, ""), fail(rdmaMax, syscall.EIO)),
			doctor.OutcomeWarn, "mlx5_0", doctor.OutcomeUnknown,
		},
		{
			87, "shared-memory", "01_ib_8hca", nil, shm(1<<30, 1<<30), shm(64<<20, 64<<20),
			recorded(facts.Facts{Shm: failed[facts.FileSystem]()}),
			doctor.OutcomeWarn, "/dev/shm", doctor.OutcomeUnknown,
		},
		{
			88, "clock-sync", "01_ib_8hca", nil,
			clock(facts.ClockDiscipline{Synchronized: true, Offset: 900 * time.Microsecond}),
			clock(facts.ClockDiscipline{Synchronized: true, Offset: -1100 * time.Microsecond}),
			recorded(facts.Facts{Clock: failed[facts.ClockDiscipline]()}),
			doctor.OutcomeWarn, "node", doctor.OutcomeUnknown,
		},
		{
			88, "job-environment", "02_rocev2_8hca", nil,
			variables("NCCL_IB_HCA", "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"),
			variables("NCCL_IB_HCA", "=mlx5_8,mlx5_9"),
			recorded(facts.Facts{Environment: failed[map[string]string]()}),
			doctor.OutcomeFail, "NCCL_IB_HCA", doctor.OutcomeUnknown,
		},
	}
}

const (
	proprietary = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:34:27 UTC 2024"
	clockSource = "sys/devices/system/clocksource/clocksource0/current_clocksource"
	rdmaMax     = "sys/fs/cgroup/job/step/rdma.max"
)

// noPeermem unloads nvidia_peermem.
func noPeermem(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	_ = tree.Remove("sys/module/nvidia_peermem") // some trees have no folder
	set("proc/modules", "mlx5_core 1 0 - Live 0x0\nib_uverbs 1 0 - Live 0x0")(t, tree)
}

// guest makes the node a virtual machine, host one that is known to be none.
func guest(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm")(t, tree)
}

func host(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme lahf_lm")(t, tree)
}

// width sets the link width of a bridge and of the port at the other end of its link.
func width(bridge, lanes string) change {
	return set("sys/bus/pci/devices/"+bridge+"/current_link_width", lanes)
}

// redirects returns a downstream port with that ACS control register.
func redirects(addr string, control uint16) facts.PCIFunction {
	return facts.PCIFunction{
		Address: addr, Bridge: true, Express: &facts.PCIExpress{Type: facts.PCIDownstreamPort, MaxPayload: 512},
		ACS: &facts.ACS{Capability: 0x5f, Control: control},
	}
}

// bridgesOf returns functions, and bridges that redirect nothing: the others at which ways turn in
// the trees 47_gpu_switches and 01_ib_8hca.
func bridgesOf(functions ...facts.PCIFunction) facts.Facts {
	for addr := range strings.FieldsSeq(`10:01.0 11:01.0 12:00.0 12:01.0 12:02.0 20:01.0 30:01.0 44:01.0 46:00.0 46:01.0
		46:02.0 50:01.0 78:01.0 7a:00.0 7a:01.0 7a:02.0 90:01.0 a0:01.0 ac:01.0 ae:00.0 ae:01.0 ae:02.0 b0:01.0 d0:01.0`) {
		addr = "0000:" + addr
		if !slices.ContainsFunc(functions, func(f facts.PCIFunction) bool { return f.Address == addr }) {
			functions = append(functions, redirects(addr, 0))
		}
	}
	return pciOf(functions...)
}

func pciOf(functions ...facts.PCIFunction) facts.Facts { return facts.Facts{PCI: known(functions)} }

// daemons records one daemon with limits of locked memory in bytes, 0 for none.
func daemons(name string, soft, hard uint64, settings ...facts.DaemonSetting) change {
	limit := func(n uint64) inventory.Limit { return inventory.Limit{Bytes: n, Unlimited: n == 0} }
	d := facts.Daemon{
		Name: name, PID: 811, Settings: settings,
		Memlock: facts.Range{Soft: limit(soft), Hard: limit(hard)}, Files: facts.Range{
			Soft: limit(1024),
			Hard: limit(524288),
		},
	}
	return recorded(facts.Facts{Daemons: known([]facts.Daemon{d})})
}

func TestSharedMemoryWithoutLimit(t *testing.T) {
	for want, s := range map[doctor.Outcome]facts.FileSystem{
		doctor.OutcomePass: {Unlimited: true}, doctor.OutcomeUnknown: {}, doctor.OutcomeWarn: {Size: 1 << 30},
	} {
		r := diagnose(t, load(t, "01_ib_8hca", recorded(facts.Facts{Shm: known(s)})), "shared-memory")
		if got := r.Checks[0].Outcome; got != want {
			t.Errorf("/dev/shm %+v: %s, want %s:\n%s", s, got, want, allText(r.Findings))
		}
	}
}

func shm(size, free uint64) change {
	return recorded(facts.Facts{Shm: known(facts.FileSystem{Size: size, Free: free})})
}

// apart moves each GPU to a host bridge of its own, and all GPUs and cards to NUMA node 0.
func apart(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	names, err := fs.Glob(tree.FS(), "sys/bus/pci/devices/*")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		class, err := fs.ReadFile(tree.FS(), name+"/class")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(class), "0x03") {
			set(name+"/numa_node", "0")(t, tree)
			continue
		}
		addr := strings.TrimPrefix(name, "sys/bus/pci/devices/")
		dir := fmt.Sprintf("devices/pci0001:%02x/0001:%02x:01.0/%s", i, i, addr)
		remove(name)(t, tree)
		set("sys/"+dir+"/class", "0x030200")(t, tree)
		set("sys/"+dir+"/vendor", "0x10de")(t, tree)
		set("sys/"+dir+"/device", "0x2330")(t, tree)
		set("sys/"+dir+"/numa_node", "0")(t, tree)
		if err := errors.Join(tree.Link(name, "../../../"+dir),
			tree.Mkdir("sys/bus/pci/drivers/nvidia"),
			tree.Link("sys/"+dir+"/driver", "../../../../bus/pci/drivers/nvidia")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACS tries the ways between GPUs and cards of one switch.
func TestACS(t *testing.T) {
	other := redirects("0000:12:00.0", 0)
	iommuOn := func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		set("sys/bus/pci/devices/0000:19:00.0/iommu_group/type", "DMA")(t, tree)
	}
	far := recorded(bridgesOf(redirects("0000:11:01.0", 0x1d)))
	for _, c := range []struct {
		name, tree string
		change     change
		want       []string
	}{
		{
			"the card's port redirects", switches, recorded(bridgesOf(redirects("0000:12:00.0", 0x1d))),
			[]string{"warn 0000:12:00.0"},
		},
		{
			"completions alone", switches, recorded(bridgesOf(redirects("0000:12:02.0", facts.ACSCompletionRedirect),
				other)),
			[]string{"warn 0000:12:02.0"},
		},
		{
			"requests alone", switches, recorded(bridgesOf(redirects("0000:12:02.0", facts.ACSRequestRedirect), other)),
			[]string{"warn 0000:12:02.0"},
		},
		{
			"both ends", switches, recorded(bridgesOf(redirects("0000:12:01.0", 0x1d),
				redirects("0000:12:00.0", 0x1d))),
			[]string{"warn 0000:12:00.0", "warn 0000:12:01.0"},
		},
		{
			"source validation and upstream forwarding", switches,
			recorded(bridgesOf(redirects("0000:12:01.0", facts.ACSSourceValidation|facts.ACSUpstreamForwarding))),
			[]string{"pass node"},
		},
		{
			"with direct translated requests", switches, recorded(bridgesOf(redirects("0000:12:01.0", 0x5d))),
			[]string{"info 0000:12:01.0"},
		},
		{
			"above the common switch, and below the cards' own", switches,
			recorded(bridgesOf(redirects("0000:10:01.0", 0x1d), redirects("0000:14:00.0", 0x1d), other)),
			[]string{"pass node"},
		},
		{"nothing about the bridges", switches, recorded(pciOf()), []string{"not-applicable node"}},
		{
			"only 256 bytes", switches, recorded(pciOf(facts.PCIFunction{Address: "0000:12:01.0", Partial: true})),
			[]string{"unknown node"},
		},
		{
			"without privilege", switches, recorded(facts.Facts{PCI: &facts.Datum[[]facts.PCIFunction]{Denied: "64 " +
				"bytes"}}),
			[]string{"needs-privilege node"},
		},
		{
			"in a virtual machine", switches, all(guest, recorded(bridgesOf(redirects("0000:12:01.0", 0x1d)))),
			[]string{"not-applicable node"},
		},
		{"a machine without GPUs", "58_two_ib_fabrics", recorded(pciOf()), []string{"not-applicable node"}},
		{"root ports of one root complex", "01_ib_8hca", all(twoPorts, far), []string{"pass node"}},
		{"and an IOMMU that translates", "01_ib_8hca", all(twoPorts, far, iommuOn), []string{"warn node"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantBrief(t, diagnose(t, load(t, c.tree, c.change), "acs"), c.want)
		})
	}
}

// twoPorts moves the first GPU to another root port of the first card's root complex.
func twoPorts(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	const name, dir = "sys/bus/pci/devices/0000:19:00.0", "devices/pci0000:10/0000:11:01.0/0000:19:00.0"
	remove(name)(t, tree)
	for file, text := range map[string]string{"class": "0x030200", "vendor": "0x10de", "device": "0x2330"} {
		set("sys/"+dir+"/"+file, text)(t, tree)
	}
	if err := errors.Join(tree.Link(name, "../../../"+dir), tree.Mkdir("sys/bus/pci/drivers/nvidia"),
		tree.Link("sys/"+dir+"/driver", "../../../../bus/pci/drivers/nvidia")); err != nil {
		t.Fatal(err)
	}
}

func wantBrief(t *testing.T, r doctor.Report, want []string) {
	t.Helper()
	if got := brief(r); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", summaries(r), want)
	}
	for _, f := range r.Findings {
		checkFinding(t, check(t, f.CheckID), f)
	}
}
