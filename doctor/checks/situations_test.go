package checks_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// situation is a node and what a check must make of it.
type situation struct {
	name   string
	tree   string
	change change
	want   []string // "outcome object", in order
	says   []string // words that one finding of the check must have, all of them
}

func runSituations(t *testing.T, id string, situations []situation) {
	t.Helper()
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			r := runCheck(t, id, scan(t, load(t, s.tree, whole, s.change)))
			if diff := cmp.Diff(s.want, brief(r)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\n%+v", id, diff, r.Findings)
			}
			for _, f := range r.Findings {
				checkFinding(t, check(t, id), f)
			}
			says := func(f doctor.Finding) bool { return saysAll(check(t, id), f, s.says) }
			if !slices.ContainsFunc(r.Findings, says) {
				t.Errorf("%s: no finding has all of %q:\n%s", id, s.says, allText(r.Findings))
			}
		})
	}
}

// saysAll reports whether a finding of the check has all words, in what it says of this node: the
// explanation that all findings of the check share doesn't count.
func saysAll(c doctor.Check, f doctor.Finding, words []string) bool {
	if f.Explanation == c.Explanation {
		f.Explanation = ""
	}
	missing := func(word string) bool { return !strings.Contains(text(f)+"\n", word) }
	return f.CheckID == c.ID && !slices.ContainsFunc(words, missing)
}

func allText(findings []doctor.Finding) string {
	var out strings.Builder
	for _, f := range findings {
		out.WriteString(text(f) + "\n")
	}
	return out.String()
}

// repeat returns "outcome object" for ports 1 of the devices mlx5_0 to mlx5_7.
func repeat(outcome string) []string {
	var out []string
	for i := range 8 {
		out = append(out, fmt.Sprintf("%s mlx5_%d:1", outcome, i))
	}
	return out
}

// eight applies a change to port 1 of eight devices.
func eight(file, value string) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		for i := range 8 {
			port(fmt.Sprintf("mlx5_%d", i), file, value)(t, tree)
		}
	}
}

func state(dev, st, phys string) change {
	return all(port(dev, "state", st), port(dev, "phys_state", phys))
}

func TestPortActive(t *testing.T) {
	roceDown := state("mlx5_2", "1: DOWN", "3: Disabled")
	runSituations(t, "port-active", []situation{
		{"all well", "01_ib_8hca", nil, []string{"pass node"}, []string{"8 of 8 ports active", "state = 4: ACTIVE"}},
		{
			"one waits for the subnet manager", "01_ib_8hca", state("mlx5_4", "2: INIT", "5: LinkUp"),
			[]string{"warn mlx5_4:1"},
			[]string{"no subnet manager", "sminfo", "ibstat mlx5_4 1", "ports/1/sm_lid = 0x1"},
		},
		{
			"all wait for the subnet manager", "01_ib_8hca", all(eight("state", "2: INIT")),
			repeat("fail"),
			[]string{"no subnet manager", "systemctl enable --now opensm"},
		},
		{
			"no signal", "01_ib_8hca", state("mlx5_4", "1: DOWN", "2: Polling"),
			[]string{"fail mlx5_4:1"},
			[]string{"no signal", "mlxlink -d 0000:9a:00.0 -p 1 --show_module", "phys_state = 2: Polling"},
		},
		{
			"switched off", "01_ib_8hca", state("mlx5_4", "1: DOWN", "3: Disabled"),
			[]string{"fail mlx5_4:1"},
			[]string{"switched off", "mlxlink -d 0000:9a:00.0 -p 1 --port_state UP"},
		},
		{
			"network device down", "02_rocev2_8hca",
			all(roceDown, set("sys/class/net/ens2np0/flags", "0x1002"), set("sys/class/net/ens2np0/operstate", "down")),
			[]string{"fail mlx5_2:1"},
			[]string{"ens2np0 is switched off", "ip link set dev ens2np0 up", "net/ens2np0/operstate = down"},
		},
		{
			"neither flags nor carrier recorded", "02_rocev2_8hca",
			all(roceDown, remove("sys/class/net/ens2np0/flags"), remove("sys/class/net/ens2np0/carrier"),
				set("sys/class/net/ens2np0/operstate", "down")),
			[]string{"fail mlx5_2:1"},
			[]string{"ens2np0 has no link or is switched off"},
		},
		{
			"no carrier", "02_rocev2_8hca", all(roceDown, set("sys/class/net/ens2np0/carrier", "0")),
			[]string{"fail mlx5_2:1"},
			[]string{"no carrier", "ethtool ens2np0", "net/ens2np0/carrier = 0"},
		},
		{
			"in a pod the host must act", "02_rocev2_8hca",
			all(pod, roceDown, set("sys/class/net/ens2np0/flags", "0x1002")),
			[]string{"fail mlx5_2:1"},
			[]string{"not in this container", "ip link set dev ens2np0 up"},
		},
		{
			"a virtual function in a pod", "07_sriov_vf_pod", all(pod, state("mlx5_9", "1: DOWN", "3: Disabled")),
			[]string{"fail mlx5_9:1"},
			[]string{"virtual function", "ip link set dev YOUR_PF_NETDEV vf YOUR_VF_INDEX state auto"},
		},
		{
			"most cards use one port only", "09_multiport", all(
				state("mlx5_1", "1: DOWN", "2: Polling"), set("sys/class/net/p1p1/carrier", "0"),
				state("mlx5_0", "1: DOWN", "2: Polling"), set("sys/class/net/p0p1/carrier", "0"),
			),
			[]string{"pass node", "info mlx5_0:1", "info mlx5_1:1"},
			[]string{"4 of 6 ports active"},
		},
		{
			"the other cards use both ports", "09_multiport", set("sys/class/net/p0p1/carrier", "0"),
			[]string{"fail mlx5_0:1"},
			[]string{"no carrier"},
		},
		{
			"nothing active", "02_rocev2_8hca", all(eight("state", "1: DOWN"), eight("phys_state", "3: Disabled")),
			repeat("fail"), nil,
		},
		{
			"an unknown state", "01_ib_8hca", port("mlx5_0", "state", "0: NOP"),
			[]string{"unknown mlx5_0:1"},
			[]string{"NOP"},
		},
		{
			"an unreadable state", "01_ib_8hca", fail("sys/class/infiniband/mlx5_3/ports/1/state", syscall.EIO),
			[]string{"pass node", "unknown mlx5_3:1"},
			[]string{"7 of 8"},
		},
		{"no RDMA", "06_none", nil, []string{"not-applicable node"}, []string{"no RDMA device"}},
	})
}

// gids replaces the GID table of a port by these addresses, all of one type.
func gids(dev, typ string, addresses ...string) change {
	return func(t *testing.T, tree *nodetree.Tree) {
		t.Helper()
		dir := "sys/class/infiniband/" + dev + "/ports/1/"
		entries, err := fs.ReadDir(tree.FS(), dir+"gids")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			set(dir+"gids/"+e.Name(), "0000:0000:0000:0000:0000:0000:0000:0000")(t, tree)
			fail(dir+"gid_attrs/types/"+e.Name(), syscall.EINVAL)(t, tree)
			fail(dir+"gid_attrs/ndevs/"+e.Name(), syscall.EINVAL)(t, tree)
		}
		for i, a := range addresses {
			set(fmt.Sprintf("%sgids/%d", dir, i), a)(t, tree)
			if typ != "" {
				set(fmt.Sprintf("%sgid_attrs/types/%d", dir, i), typ)(t, tree)
			}
		}
	}
}

func TestGIDRoutable(t *testing.T) {
	const (
		linkLocal = "fe80:0000:0000:0000:ba3f:d2ff:fea5:1000"
		ipv4      = "0000:0000:0000:0000:0000:ffff:0a00:0001"
		autoIP    = "0000:0000:0000:0000:0000:ffff:a9fe:0001"
		ula       = "fd00:0000:0000:0001:0000:0000:0000:0011"
	)
	bnxt := all(
		remove("sys/bus/pci/drivers/mlx5_core"),
		func(t *testing.T, tree *nodetree.Tree) {
			t.Helper()
			dir := "sys/class/infiniband/mlx5_0/device/"
			set("sys/bus/pci/drivers/bnxt_en/module/version", "1")(t, tree)
			remove(dir+"driver")(t, tree)
			if err := tree.Link("sys/devices/pci0000:10/0000:10:01.0/0000:18:00.0/driver",
				"../../../../bus/pci/drivers/bnxt_en"); err != nil {
				t.Fatal(err)
			}
		},
	)
	runSituations(t, "gid-routable", []situation{
		{"all well", "02_rocev2_8hca", nil, []string{"pass node"}, []string{"8 of 8", "gid_attrs/types/3 = RoCE v2"}},
		{"sparse table in a pod", "07_sriov_vf_pod", pod, []string{"pass node"}, nil},
		{
			"link-local only", "02_rocev2_8hca", gids("mlx5_0", "RoCE v2", linkLocal),
			[]string{"fail mlx5_0:1"},
			[]string{"all link-local", "ip addr add YOUR_ADDRESS/YOUR_PREFIX dev ens0np0", "gids/0 = " + linkLocal},
		},
		{
			"RoCE v1 only", "02_rocev2_8hca", gids("mlx5_0", "IB/RoCE v1", linkLocal, ipv4),
			[]string{"warn mlx5_0:1"},
			[]string{"RoCE v1", "NCCL_IB_ROCE_VERSION_NUM=1", "gid_attrs/types/1 = IB/RoCE v1"},
		},
		{
			"self-assigned address", "02_rocev2_8hca", gids("mlx5_0", "RoCE v2", linkLocal, autoIP),
			[]string{"warn mlx5_0:1"},
			[]string{"169.254.0.1"},
		},
		{
			"type not reported", "02_rocev2_8hca", gids("mlx5_0", "", ipv4),
			[]string{"unknown mlx5_0:1"},
			[]string{"does not report the type"},
		},
		{
			"IPv6 only", "13_ipv6_only_roce", nil,
			[]string{"warn mlx5_0:1", "warn mlx5_1:1", "warn mlx5_2:1", "warn mlx5_3:1"},
			[]string{"IPv6 only", "NCCL_IB_ADDR_FAMILY=AF_INET6"},
		},
		{
			"unique local IPv6 on bnxt", "02_rocev2_8hca", all(bnxt, gids("mlx5_0", "RoCE v2", linkLocal, ula)),
			[]string{"warn mlx5_0:1"},
			[]string{"NCCL_IB_ADDR_FAMILY=AF_INET6"},
		},
		{
			"not in this namespace", "07_sriov_vf_pod",
			all(pod, gids("mlx5_4", "RoCE v2"), remove("sys/class/net/net1")),
			[]string{"pass node"}, // it belongs to another pod; the check role reports it
			[]string{"3 of 3"},
		},
		{
			"storage ports need none", "10_mixed_ib_storage_roce", nil,
			[]string{"pass node", "info mlx5_7:1", "info mlx5_8:1"},
			[]string{"2 of 4"},
		},
		{
			"a port that is down has no addresses to check",
			"02_rocev2_8hca", all(state("mlx5_0", "1: DOWN", "3: Disabled"), gids("mlx5_0", "")),
			[]string{"pass node"},
			[]string{"7 of 7"},
		},
		{
			"garbage in the table", "02_rocev2_8hca", all(gids("mlx5_0", "RoCE v2", "garbage")),
			[]string{"pass node", "unknown mlx5_0:1"},
			nil,
		},
		{"InfiniBand", "01_ib_8hca", nil, []string{"not-applicable node"}, []string{"no RoCE port"}},
		{"iWARP", "04_iwarp", nil, []string{"not-applicable node"}, []string{"no RoCE port"}},
	})
}

func TestMTU(t *testing.T) {
	mtu := func(value string) change { return set("sys/class/net/ens2np0/mtu", value) }
	runSituations(t, "mtu", []situation{
		{"all well", "02_rocev2_8hca", nil, []string{"pass node"}, []string{"8 RoCE ports"}},
		{"the least", "02_rocev2_8hca", mtu("4192"), []string{"pass node"}, nil},
		{
			"one less", "02_rocev2_8hca", mtu("4191"),
			[]string{"warn mlx5_2:1"},
			[]string{
				"active MTU 2048", "4096 needs 4192", "net/ens2np0/mtu = 4191", "ip link set dev ens2np0 mtu 9000",
			},
		},
		{"the usual", "02_rocev2_8hca", mtu("1500"), []string{"warn mlx5_2:1"}, []string{"active MTU 1024"}},
		{"too small for RDMA", "02_rocev2_8hca", mtu("300"), []string{"warn mlx5_2:1"}, []string{"active MTU none"}},
		{
			"in a pod", "07_sriov_vf_pod", all(pod, set("sys/class/net/net2/mtu", "1500")),
			[]string{"warn mlx5_9:1"},
			[]string{"SriovNetworkNodePolicy"},
		},
		{
			"not in this namespace", "07_sriov_vf_pod", all(pod, gids("mlx5_4", ""), remove("sys/class/net/net1")),
			[]string{"pass node"},
			[]string{"3 RoCE ports"},
		},
		{
			"unreadable", "02_rocev2_8hca", fail("sys/class/net/ens2np0/mtu", syscall.EIO),
			[]string{"pass node", "not-applicable node", "unknown ens2np0"},
			nil,
		},
		{
			"bond", "02_rocev2_8hca", all(mtu("1500"), set("sys/class/net/bond0/bonding/mode", "802.3ad 4"), func(
				t *testing.T, tree *nodetree.Tree,
			) {
				t.Helper()
				set("sys/class/net/bond0/mtu", "1500")(t, tree)
				if err := tree.Link("sys/class/net/ens2np0/master", "../../../../../../class/net/bond0"); err != nil {
					t.Fatal(err)
				}
			}),
			[]string{"warn mlx5_2:1"}, // still the only port of its GPU
			nil,
		},
		{"InfiniBand", "01_ib_8hca", nil, []string{"not-applicable node"}, []string{"subnet manager"}},
	})
}

func TestRailRate(t *testing.T) {
	rate := func(dev, value string) change { return port(dev, "rate", value) }
	half := "200 Gb/sec (4X HDR)"
	runSituations(t, "rail-rate", []situation{
		{"all well", "01_ib_8hca", nil, []string{"pass node"}, []string{
			"8 InfiniBand rails, each at 400 Gb/s", "rate = 400 Gb/sec (4X NDR)",
		}},
		{
			"one trained down", "01_ib_8hca", rate("mlx5_5", half),
			[]string{"fail mlx5_5:1"},
			[]string{"most rails run at 400 Gb/s", "rate = 200 Gb/sec (4X HDR)", "mlxlink -d 0000:ab:00.0"},
		},
		{
			"lanes lost", "01_ib_8hca", rate("mlx5_5", "100 Gb/sec (1X NDR)"),
			[]string{"fail mlx5_5:1"},
			[]string{"1 of 4 lanes"},
		},
		{
			"the PCI link is narrow too", "01_ib_8hca",
			all(rate("mlx5_5", half), set("sys/class/infiniband/mlx5_5/device/current_link_width", "8")),
			[]string{"fail mlx5_5:1"},
			[]string{"current_link_width = 8", "max_link_width = 16"},
		},
		{
			"one faster", "02_rocev2_8hca", rate("mlx5_5", "800 Gb/sec (4X XDR)"),
			[]string{"warn mlx5_5:1"},
			[]string{"faster than the others"},
		},
		{
			"no majority", "01_ib_8hca",
			all(rate("mlx5_0", half), rate("mlx5_1", half), rate("mlx5_2", half), rate("mlx5_3", half)),
			[]string{"fail mlx5_0:1", "fail mlx5_1:1", "fail mlx5_2:1", "fail mlx5_3:1"},
			[]string{"the fastest rails run at 400 Gb/s"},
		},
		{
			"a different model", "01_ib_8hca",
			all(rate("mlx5_5", half), set("sys/class/infiniband/mlx5_5/board_id", "MT_0000000999")),
			[]string{"warn mlx5_5:1"},
			[]string{"a different model"},
		},
		{"storage at its own rate", "10_mixed_ib_storage_roce", nil, []string{"pass node"}, nil},
		{"a port that is down reports no rate", "01_ib_8hca", all(state("mlx5_5", "1: DOWN", "2: Polling"),
			rate("mlx5_5", "2.5 Gb/sec (1X SDR)")), []string{"pass node"}, []string{"7 InfiniBand rails"}},
		{
			"unreadable", "01_ib_8hca", fail("sys/class/infiniband/mlx5_5/ports/1/rate", syscall.EIO),
			[]string{"pass node", "unknown mlx5_5:1"},
			nil,
		},
		{"no RDMA", "06_none", nil, []string{"not-applicable node"}, nil},
	})
}

func TestMemlock(t *testing.T) {
	runSituations(t, "memlock", []situation{
		{"unlimited", "02_rocev2_8hca", nil, []string{"pass node"}, []string{
			"/proc/self/limits:Max locked memory = unlimited\n",
		}},
		{
			"64 KiB on a host", "02_rocev2_8hca", limits("65536", "65536"),
			[]string{"fail node"},
			[]string{"64 KiB", "/etc/security/limits.d", "LimitMEMLOCK=infinity", "bit 14 (CAP_IPC_LOCK) is clear"},
		},
		{"8 MiB", "02_rocev2_8hca", limits("8388608", "8388608"), []string{"fail node"}, []string{"8 MiB"}},
		{
			"odd", "02_rocev2_8hca", limits("2046152704", "18446744073709551615"),
			[]string{"warn node"},
			[]string{
				"can lock 1.9 GiB of memory: enough to start",
				"Max locked memory = 1.9 GiB, which a process can raise to unlimited\n",
			},
		},
		{
			"unlimited as a number", "02_rocev2_8hca", limits("18446744073709551615", "18446744073709551615"),
			[]string{"pass node"},
			[]string{"locked memory is unlimited"},
		},
		{
			"may be raised here", "02_rocev2_8hca", limits("8388608", "unlimited"),
			[]string{"fail node"},
			[]string{"ulimit -l unlimited"},
		},
		{
			"large but finite", "02_rocev2_8hca", limits("68719476736", "68719476736"),
			[]string{"warn node"},
			[]string{"64 GiB"},
		},
		{
			"the capability lifts it", "02_rocev2_8hca", all(limits("65536", "65536"), ipcLock),
			[]string{"pass node"},
			[]string{"CAP_IPC_LOCK is effective"},
		},
		{
			"in docker", "02_rocev2_8hca", all(docker, limits("8388608", "8388608")),
			[]string{"fail node"},
			[]string{"docker run --ulimit memlock=-1:-1"},
		},
		{
			"in a pod", "02_rocev2_8hca", all(pod, limits("8388608", "8388608")),
			[]string{"fail node"},
			[]string{`add: ["IPC_LOCK"]`, "does not run as root IPC_LOCK has no effect", "systemctl edit containerd"},
		},
		{
			"not recorded", "02_rocev2_8hca", remove("proc/self/limits"),
			[]string{"not-applicable node"},
			[]string{"/proc/self/limits"},
		},
		{"garbage", "02_rocev2_8hca", limits("lots", "more"), []string{"unknown node"}, []string{"/proc/self/limits"}},
		{"no RDMA", "06_none", limits("65536", "65536"), []string{"not-applicable node"}, []string{"no RDMA device"}},
	})
}

func TestUverbs(t *testing.T) {
	gone := func(n ...int) change {
		return func(t *testing.T, tree *nodetree.Tree) {
			t.Helper()
			for _, i := range n {
				remove(fmt.Sprintf("dev/infiniband/uverbs%d", i))(t, tree)
			}
		}
	}
	open := func(name, err string) change {
		return set("live.json", fmt.Sprintf(`{"chars": [{"name": %q, "error": %q}]}`, name, err))
	}
	noVerbs := func(t *testing.T, tree *nodetree.Tree) {
		for i := range 8 {
			remove(fmt.Sprintf("sys/class/infiniband_verbs/uverbs%d", i))(t, tree)
		}
		set("sys/class/infiniband_verbs/abi_version", "6")(t, tree)
	}
	var devices []string
	for _, f := range repeat("fail") {
		devices = append(devices, strings.TrimSuffix(f, ":1"))
	}
	runSituations(t, "uverbs", []situation{
		{"all well", "02_rocev2_8hca", nil, []string{"pass node"}, []string{
			"8 of 8 devices", "/dev/infiniband/uverbs0 = exists",
		}},
		{
			"opened", "02_rocev2_8hca", open("uverbs0", ""),
			[]string{"pass node"},
			[]string{"/dev/infiniband/uverbs0 = opened"},
		},
		{"one missing on a host", "02_rocev2_8hca", gone(3), []string{"fail mlx5_3"}, []string{
			"/dev/infiniband/uverbs3 = does not exist", "udevadm trigger",
		}},
		{
			"none in a pod", "02_rocev2_8hca", all(pod, remove("dev/infiniband")), devices,
			[]string{"/dev/infiniband does not exist, though the container sees the device", "rdma/YOUR_RESOURCE"},
		},
		{"none in docker", "02_rocev2_8hca", all(docker, remove("dev/infiniband")), devices, []string{
			"docker run --device=/dev/infiniband --ulimit",
		}},
		{"a share of them in a pod", "02_rocev2_8hca", all(pod, gone(0, 1, 2, 3, 4, 5)), []string{
			"pass node", "info mlx5_0", "info mlx5_1", "info mlx5_2", "info mlx5_3", "info mlx5_4", "info mlx5_5",
		}, []string{"2 of 8 devices"}},
		{
			"one of them in a pod", "07_sriov_vf_pod", all(pod, gone(0, 1, 2)),
			[]string{"pass node", "info mlx5_4", "info mlx5_9", "info mlx5_12"},
			[]string{"1 of 4 devices"},
		},
		{
			"no right on a host", "02_rocev2_8hca", open("uverbs0", "permission denied"),
			[]string{"fail mlx5_0"},
			[]string{"/dev/infiniband/uverbs0 = open: permission denied", "chmod 0666"},
		},
		{
			"forbidden by the device rules of a container",
			"02_rocev2_8hca", all(docker, open("uverbs0", "operation not permitted")),
			[]string{"fail mlx5_0"},
			[]string{"device rules", "--device=/dev/infiniband "},
		},
		{
			"broken", "02_rocev2_8hca", open("uverbs0", "no such device or address"),
			[]string{"fail mlx5_0"},
			[]string{"dmesg"},
		},
		{
			"module not loaded", "02_rocev2_8hca",
			all(remove("sys/class/infiniband_verbs"), remove("proc/modules"), set("sys/module/ib_core/refcnt", "1")),
			devices,
			[]string{"modprobe ib_uverbs", "/sys/module/ib_uverbs = does not exist"},
		},
		{
			"module loaded, and bound to no device", "02_rocev2_8hca", noVerbs,
			devices,
			[]string{"ib_uverbs is not loaded, or not bound to it", "/sys/class/infiniband_verbs = no entry"},
		},
		{
			"no rdma_cm", "02_rocev2_8hca", remove("dev/infiniband/rdma_cm"),
			[]string{"warn rdma_cm"},
			[]string{"modprobe rdma_ucm"},
		},
		{
			"not recorded", "02_rocev2_8hca", all(remove("dev"), remove("proc/sys")),
			[]string{"unknown node"},
			[]string{"no /dev"},
		},
		{"no RDMA", "06_none", nil, []string{"not-applicable node"}, nil},
	})
}

func TestFirmware(t *testing.T) {
	fw := func(dev, v string) change { return set("sys/class/infiniband/"+dev+"/fw_ver", v) }
	runSituations(t, "firmware", []situation{
		{"all well", "02_rocev2_8hca", nil, []string{"pass node"}, []string{"8 cards of board MT_0000000838"}},
		{
			"one behind", "02_rocev2_8hca", fw("mlx5_6", "28.38.1002"),
			[]string{"warn mlx5_6"},
			[]string{
				"firmware 28.38.1002, but most cards", "have 28.39.2048", "mstflint -d 0000:ba:00.0",
				"mlx5_6/fw_ver = 28.38.1002", "mlx5_0/fw_ver = 28.39.2048",
			},
		},
		{
			"no majority", "02_rocev2_8hca",
			all(fw("mlx5_0", "1"), fw("mlx5_1", "1"), fw("mlx5_2", "1"), fw("mlx5_3", "1")),
			[]string{
				"warn mlx5_4", "warn mlx5_5", "warn mlx5_6", "warn mlx5_7", "warn mlx5_0", "warn mlx5_1",
				"warn mlx5_2", "warn mlx5_3",
			},
			[]string{"28.39.2048, 1"},
		},
		{"another board may differ", "02_rocev2_8hca", all(fw("mlx5_6", "28.38.1002"),
			set("sys/class/infiniband/mlx5_6/board_id", "MT_0000000999")), []string{"pass node"}, []string{"7 cards"}},
		{
			"unreadable", "02_rocev2_8hca", fail("sys/class/infiniband/mlx5_6/fw_ver", syscall.EIO),
			[]string{"pass node", "unknown mlx5_6"},
			nil,
		},
		{"no board reported", "04_iwarp", nil, []string{"not-applicable node"}, []string{"board_id"}},
	})
}

func TestRole(t *testing.T) {
	// Flags 3 (up, gateway), metric 100; addresses are words in the host's order.
	route := func(dev string) change {
		return set("proc/net/route",
			"Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"+
				dev+"\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0")
	}
	runSituations(t, "role", []situation{
		{"all well", "02_rocev2_8hca", nil, []string{"pass node"}, []string{"8 compute ports"}},
		{
			"storage beside compute", "10_mixed_ib_storage_roce", nil,
			[]string{"pass node", "info mlx5_1:1", "info mlx5_2:1", "info mlx5_7:1", "info mlx5_8:1"},
			[]string{"export NCCL_IB_HCA='=mlx5_0:1,mlx5_3:1,", "link_layer = Ethernet", "rdmactl env"},
		},
		{
			"the default route on an RDMA card", "02_rocev2_8hca", route("ens3np0"),
			[]string{"pass node", "info mlx5_3:1"},
			[]string{
				"the default route uses this compute port (ens3np0)",
				"/proc/net/route = default via 10.0.0.1 dev ens3np0 metric 100",
			},
		},
		{
			"a storage port that is down does no harm", "10_mixed_ib_storage_roce",
			all(state("mlx5_1", "1: DOWN", "3: Disabled"), state("mlx5_2", "1: DOWN", "3: Disabled"),
				state("mlx5_7", "1: DOWN", "3: Disabled"), state("mlx5_8", "1: DOWN", "3: Disabled")),
			[]string{"pass node"},
			nil,
		},
		{
			"two fabrics on one card", "09_multiport", nil,
			[]string{"pass node", "info mlx4_0:1"},
			[]string{"InfiniBand at 56 Gb/s"},
		},
		{"link layer unreadable", "02_rocev2_8hca", fail("sys/class/infiniband/mlx5_0/ports/1/link_layer",
			syscall.EIO), []string{"unknown mlx5_0:1"}, nil},
		{"no RDMA", "06_none", nil, []string{"not-applicable node"}, nil},
	})
}

// Names that a shell would take for more than names stay names.
func TestRemediesQuoteNames(t *testing.T) {
	const hostile = "x'$(reboot)`reboot`;\nreboot"
	snap := scan(t, load(t, "02_rocev2_8hca", whole, set("sys/class/net/ens2np0/mtu", "1500")))
	d := &snap.Devices[2]
	d.Ports[0].Netdev = hostile
	snap.Netdev("ens2np0").Name = hostile
	f := runCheck(t, "mtu", snap).Findings[0]
	const want = `# ip link set dev 'x'\''$(reboot)` + "`reboot`" + `;?reboot' mtu 9000`
	if got := f.Remedy[len(f.Remedy)-1]; got != want {
		t.Errorf("remedy = %s, want %s", got, want)
	}
	checkFinding(t, check(t, "mtu"), f)
}

func TestVerdictsDoNotDependOnOrder(t *testing.T) {
	snap := scan(t, load(t, "20_states", whole))
	first, second := runCheck(t, "port-active", snap), runCheck(t, "port-active", snap)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if first.Verdict != doctor.OutcomeFail {
		t.Errorf("verdict = %s, want fail", first.Verdict)
	}
}
