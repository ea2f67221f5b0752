package checks_test

import (
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/doctor"
)

// driverCases are those of cards, drivers and modules.
func driverCases() []numberCase {
	const card, abi = "sys/bus/pci/devices/0000:15:00.0", "sys/class/infiniband_verbs/uverbs0/abi_version"
	const modules = "ib_uverbs 200704 1 mlx5_ib, Live 0x0\nmlx5_ib 520192 0 - Live 0x0\nib_umad 40960 0 - Live 0x0"
	vfs := func(count string) change {
		var changes []change
		for addr := range strings.FieldsSeq("15 16 49 4a 7d 7e b1 b2") {
			changes = append(changes, set("sys/bus/pci/devices/0000:"+addr+":00.0/sriov_numvfs", "8"))
		}
		return all(append(changes, set(card+"/sriov_numvfs", count))...)
	}
	const ens2 = "sys/class/net/ens2np0/"
	switchedOff := all(state("mlx5_2", "1: DOWN", "3: Disabled"), set(ens2+"flags", "0x1002"), set(ens2+"operstate",
		"down"))
	return []numberCase{
		{
			1, "card-driver", switches, nil, nil, remove("sys/class/infiniband/mlx5_0"), fail(card+"/class",
				syscall.EIO),
			doctor.OutcomeFail, "0000:15:00.0", doctor.OutcomeUnknown,
		},
		{
			2, "card-driver", switches, nil, nil,
			all(remove("sys/class/infiniband/mlx5_0"), remove(card+"/driver")), fail(card+"/class", syscall.EIO),
			doctor.OutcomeFail, "0000:15:00.0", doctor.OutcomeUnknown,
		},
		{
			4, "port-active", "01_ib_8hca", nil, nil, state("mlx5_4", "2: INIT", "5: LinkUp"),
			fail("sys/class/infiniband/mlx5_4/ports/1/state", syscall.EIO),
			doctor.OutcomeWarn, "mlx5_4:1", doctor.OutcomeUnknown,
		},
		{
			5, "port-active", "01_ib_8hca", nil, nil, state("mlx5_4", "1: DOWN", "2: Polling"),
			fail("sys/class/infiniband/mlx5_4/ports/1/phys_state", syscall.EIO),
			doctor.OutcomeFail, "mlx5_4:1", doctor.OutcomeUnknown,
		},
		{
			8, "port-active", "02_rocev2_8hca", nil, nil, switchedOff, fail(ens2+"operstate", syscall.EIO),
			doctor.OutcomeFail, "mlx5_2:1", doctor.OutcomeUnknown,
		},
		{
			12, "vf-count", switches, nil, vfs("8"), vfs("0"), fail(card+"/sriov_numvfs", syscall.EIO),
			doctor.OutcomeWarn, "mlx5_0", doctor.OutcomeUnknown,
		},
		{
			13, "uverbs", switches, nil, nil, remove("sys/class/infiniband_verbs/uverbs0/ibdev"),
			fail("sys/class/infiniband_verbs/uverbs0/ibdev", syscall.EIO),
			doctor.OutcomeFail, "mlx5_0", doctor.OutcomeUnknown,
		},
		{
			14, "rdma-modules", "01_ib_8hca", nil, set("proc/modules", modules+"\nrdma_ucm 36864 0 - Live 0x0"),
			set("proc/modules", modules), all(set("proc/modules", ""), fail("proc/modules", syscall.EIO)),
			doctor.OutcomeWarn, "rdma_ucm", doctor.OutcomeUnknown,
		},
		{
			15, "verbs-abi", switches, nil, nil, set(abi, "6"), fail(abi, syscall.EIO),
			doctor.OutcomeWarn, "mlx5_0", doctor.OutcomeUnknown,
		},
		{
			19, "netns-mode", "61_ib_vfs_host", nil, live(`"shared"`, `"exclusive"`), nil,
			live(`"netnsMode": "shared",`, ""),
			doctor.OutcomeInfo, "node", doctor.OutcomeNotApplicable,
		},
		{
			19, "netns-mode", "61_ib_vfs_host", nil, live(`"shared"`, `"exclusive"`), nil,
			live(`"netnsMode": "shared",`, `"problems": [{"path": "rdma system", "error": "input/output error"}],`),
			doctor.OutcomeInfo, "node", doctor.OutcomeUnknown,
		},
	}
}
