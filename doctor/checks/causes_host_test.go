package checks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
)

// TestHostCauses makes nodes after reports of users whose cause was found, and wants a check to
// name it.
func TestHostCauses(t *testing.T) {
	broken := func(addrs ...string) change { // SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+
		var all []facts.PCIFunction
		for _, a := range addrs {
			all = append(all, redirects(a, 0x1d))
		}
		return recorded(pciOf(all...))
	}
	for _, c := range []struct {
		report string
		tree   *nodetree.Tree
		check  string
		want   string // "outcome object"
		says   []string
	}{
		{ // crash with GPUDirect RDMA; ACSCtl of all ports of the PLX switches redirected
			"nccl#304", load(t, switches, host, broken("0000:12:00.0", "0000:12:01.0", "0000:12:02.0")), "acs",
			"warn 0000:12:01.0",
			[]string{"ReqRedir+", "setpci -s 0000:12:01.0 ECAP_ACS+6.w=0000:000c"},
		},
		{ // two GPUs at root ports of an EPYC without a card, ACSCtl 0x001d, IOMMU on
			"nccl#2079", epyc(t), "acs",
			"warn node",
			[]string{"2 root ports", "setpci -s 0000:40:01.1 ECAP_ACS+6.w=0000:000c", "iommu=pt"},
		},
		{ // "GDRDMA issues are usually due to ACS not being disabled and the Linux IOMMU settings"
			"nccl#1737", load(t, switches, host, set("sys/bus/pci/devices/0000:15:00.0/iommu_group/type", "DMA")),
			"iommu",
			"warn node",
			[]string{"iommu=pt", "iommu_group/type = DMA"},
		},
		{ // Linux 6.6.43, driver 555.42.02, nvidia_peermem loaded: "GPU Direct RDMA Disabled"
			"nccl#1537", load(t, switches, peermem, set("proc/driver/nvidia/version", proprietary),
				set("proc/sys/kernel/osrelease", "6.6.43")), "gpudirect",
			"warn node",
			[]string{"NCCL before 2.23", "memory_peers = does not exist", "nvidia-open"},
		},
		{ // neither the module nor dma-buf
			"nccl#897", load(t, switches, noPeermem, set("proc/driver/nvidia/version", proprietary)), "gpudirect",
			"fail node",
			[]string{"can't access GPU memory", "modprobe nvidia_peermem"},
		},
		{ // loaded, but not registered
			"nccl#1939", load(t, switches, peermem, set("proc/driver/nvidia/version", proprietary),
				set("proc/sys/kernel/osrelease", "5.15.0-91-generic"),
				set("sys/kernel/mm/memory_peers/other/version", "1")),
			"gpudirect", "fail node",
			[]string{"not registered with ib_core"},
		},
		{ // limits.conf was changed, ulimit -l still says 8192 (kB)
			"nccl-tests#206", load(t, "01_ib_8hca", whole, limits("8388608", "8388608")), "memlock",
			"fail node",
			[]string{"8 MiB", "limits.d"},
		},
		{ // "RDMA transports are disabled because max locked memory limit (64 kbytes) is too low"
			"ucx#7930", load(t, "01_ib_8hca", daemons("slurmd", 65536, 65536,
				facts.DaemonSetting{Path: "/etc/security/limits.conf", Value: "* hard memlock unlimited"})),
			"memlock-jobs",
			"fail slurmd",
			[]string{"64 KiB", "LimitMEMLOCK=infinity", "limits.conf = * hard memlock unlimited"},
		},
		{ // half the bandwidth with one node: the link of a card trained at a lower speed
			"nccl-tests#106", load(t, switches, set("sys/bus/pci/devices/0000:15:00.0/current_link_speed",
				"8.0 GT/s PCIe")),
			"pcie-link", "warn mlx5_0:1",
			[]string{"126 Gb/s", "x16 at 8 GT/s instead of x16 at 32 GT/s"},
		},
		{ // and one bridge further up
			"nccl-tests#106", load(t, switches, width("0000:10:01.0", "4")),
			"pcie-link", "warn mlx5_1:1",
			[]string{"bridge 0000:10:01.0", "x4 at 32 GT/s instead of x16"},
		},
		{ // four rails among other cards, mlx5_0 3 5 8 on this node
			"nccl#1277", realNode(t, "h100_four_rails_among_25g"), "role",
			"info mlx5_1:1",
			[]string{"=mlx5_0:1,mlx5_3:1,mlx5_5:1,mlx5_8:1"},
		},
		{ // a container without /dev/infiniband: "Unable to open device mlx5_bond_0"
			"nccl#451", realNode(t, "docker_hgx_no_dev_infiniband"), "uverbs",
			"fail mlx5_0",
			[]string{"/dev/infiniband does not exist", "--device=/dev/infiniband"},
		},
		{ // the container sees two devices and may open one
			"nccl#2428", load(t, "02_rocev2_8hca", whole, docker, remove("dev/infiniband/uverbs1")), "uverbs",
			"info mlx5_1",
			[]string{"not given to this container", "uverbs1 does not exist"},
		},
	} {
		t.Run(c.report+" "+c.check, func(t *testing.T) {
			r := diagnose(t, c.tree, c.check)
			named := slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
				return string(f.Outcome)+" "+f.Object == c.want && saysAll(check(t, c.check), f, c.says)
			})
			if !named {
				t.Errorf("%s: want %s that says %q, got\n%v\n%s", c.report, c.want, c.says, summaries(r),
					allText(r.Findings))
			}
		})
	}
}

func realNode(t *testing.T, name string) *nodetree.Tree {
	t.Helper()
	n, err := realnodes.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return n.Tree
}

// peermem loads nvidia_peermem.
func peermem(t *testing.T, tree *nodetree.Tree) {
	t.Helper()
	set("proc/modules", "nvidia_peermem 16384 0 - Live 0x0\nmlx5_core 1 0 - Live 0x0\nib_uverbs 1 0 - Live 0x0")(t,
		tree)
}

// epyc returns a machine with two GPUs at root ports of two root complexes, and no card.
func epyc(t *testing.T) *nodetree.Tree {
	t.Helper()
	tree := nodetree.New()
	host(t, tree)
	var functions []facts.PCIFunction
	for _, g := range []struct{ root, port, gpu string }{
		{"pci0000:40", "0000:40:01.1", "0000:41:00.0"}, {"pci0000:60", "0000:60:03.1", "0000:61:00.0"},
	} {
		dir := fmt.Sprintf("devices/%s/%s/%s", g.root, g.port, g.gpu)
		for file, text := range map[string]string{
			"class": "0x030000", "vendor": "0x10de", "device": "0x26b2", "iommu_group/type": "DMA-FQ",
		} {
			set("sys/"+dir+"/"+file, text)(t, tree)
		}
		for name, target := range map[string]string{
			"sys/bus/pci/devices/" + g.gpu: "../../../" + dir,
			"sys/" + dir + "/driver":       "../../../../bus/pci/drivers/nvidia",
		} {
			if err := tree.Link(name, target); err != nil {
				t.Fatal(err)
			}
		}
		functions = append(functions, redirects(g.port, 0x1d))
	}
	if err := tree.Mkdir("sys/bus/pci/drivers/nvidia"); err != nil {
		t.Fatal(err)
	}
	recorded(pciOf(functions...))(t, tree)
	return tree
}
