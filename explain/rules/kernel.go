package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// driverRules are about lines of the kernel's drivers whose meaning depends on a number in them.
func driverRules() []Rule {
	return []Rule{
		one(
			"RDX-600", "gpu-xid", "the NVIDIA driver reported an error of a GPU (Xid)",
			"The number says what happened. For a network job it means that the rank on that GPU ends or hangs; "+
				"what the other ranks report follows.",
			evidence.KernelGPU, []string{"NVIDIA, XID errors"}, xidCauses,
		),
		one(
			"RDX-601", "card-command", "a card's firmware refused a command of its driver, or didn't answer",
			"The status says how: with limits exceeded no objects are left, with bad parameter firmware and driver "+
				"disagree about an attribute, and after a timeout the firmware hangs. The syndrome is the vendor's.",
			evidence.KernelCommand, []string{
				"Linux, drivers/net/ethernet/mellanox/mlx5/core/cmd.c",
				"openucx/ucx#6264", "openucx/ucx#9488",
			},
			commandCauses,
		),
		{
			ID: "RDX-602", Name: "queue-pair-event", Title: "the kernel reports an error of a queue pair",
			Explanation: "The program has the status of the completion, which says more.",
			Sources: []string{
				"Linux, drivers/infiniband/hw/mlx5/qp.c",
				"Linux, drivers/infiniband/hw/irdma/hw.c",
			},
			Find: findQueuePair,
		},
		one(
			"RDX-603", "iommu-fault", "the IOMMU refused an access of a device",
			"A device read or wrote an address that isn't mapped for it: memory that was freed too early, or traffic "+
				"between two devices that the IOMMU doesn't map.",
			evidence.KernelIOMMU, []string{"Linux, drivers/iommu", "NVIDIA/nccl#304"},
			func(c *candidates, x *facts.Failure) {
				c.add("acs", "the IOMMU redirects and refuses traffic between devices, such as a GPU and a card",
					common).
					supports(usual, x.Event.Text, x.Event.Place).
					todo("rdmactl doctor --only acs; lspci -s of the device in the line",
						"iommu=pt; ACS off between GPU and card; ATS in a VM")
				c.add("memory-freed",
					"memory was freed or unmapped while the device still used it: a driver or program", usual).
					todo("what ended at that time: dmesg, the program's log",
						"a newer driver; keep memory registered until its requests have completed")
			},
		),
	}
}

// xid is what an Xid means.
type xid struct{ slug, title, decide, remedy string }

// What decides and what to do about errors of GPUs.
const (
	gpuReset = "drain the node; nvidia-smi --gpu-reset or a reboot; replace the GPU if it comes back " +
		"(dcgmi diag -r 3)"
	gpuLook    = "nvidia-smi -q; dcgmi diag; dmesg around"
	programFix = "the program: run it with compute-sanitizer; another release of the library whose kernel it is"
)

// xidMeaning returns the meaning of an Xid by its number.
func xidMeaning(n string) xid {
	switch n {
	case "13", "31", "39", "41", "43", "68", "69":
		return xid{
			"gpu-kernel-fault", "Xid " + n + ": a kernel of the program failed: an access out of bounds, or an " +
				"invalid instruction",
			"which rank and kernel: the program's log, CUDA_LAUNCH_BLOCKING=1", programFix,
		}
	case "45":
		return xid{
			"dead-peer", "Xid 45: the driver cleaned up after a process that was ended or had failed before",
			"the Xid before it; the log of that rank", "what ended the process",
		}
	case "48", "63", "64", "92", "94", "95", "140", "160", "171", "172":
		return xid{
			"gpu-hardware", "Xid " + n + ": errors of the GPU's memory (ECC, row remapping)",
			"nvidia-smi -q -d ECC,ROW_REMAPPER", gpuReset,
		}
	case "121":
		return xid{
			"gpu-hardware", "Xid 121: errors of the link between CPU and GPU (NVLink-C2C) that were corrected",
			"nvidia-smi nvlink -e; how often it comes", "nothing at once; reset the GPU if it comes often",
		}
	case "74", "144", "145", "146", "147", "148", "149", "150":
		return xid{
			"gpu-hardware", "Xid " + n + ": an NVLink of the GPU failed",
			"nvidia-smi nvlink -e; the fabric manager's log; the peers' Xids", gpuReset,
		}
	case "137":
		return xid{
			"gpu-kernel-fault", "Xid 137: an access over NVLink was refused: the peer's memory was freed, or " +
				"IMEX doesn't allow it",
			"the peers' logs; nvidia-imex-ctl -N", "the program's order of freeing; IMEX on all nodes",
		}
	case "79":
		return xid{
			"gpu-hardware", "Xid 79: the GPU has fallen off the bus: PCIe, power or heat",
			"dmesg: AER; the BMC's log; lspci", gpuReset,
		}
	case "119", "120":
		return xid{
			"gpu-hardware", "Xid " + n + ": the GPU's system processor (GSP) doesn't answer the driver", gpuLook,
			"reset the GPU; a newer driver; NVreg_EnableGpuFirmware=0 where the GPU allows it",
		}
	case "61", "62", "109", "110":
		return xid{"gpu-hardware", "Xid " + n + ": the GPU stopped or doesn't switch contexts", gpuLook, gpuReset}
	}
	return xid{"gpu-hardware", "Xid " + n + " of the GPU's driver", "NVIDIA's list of Xids", gpuReset}
}

func xidCauses(c *candidates, x *facts.Failure) {
	n := x.Event.Fields["xid"]
	m := xidMeaning(n)
	c.add(m.slug, m.title, common).supports(strong, x.Event.Text, x.Event.Place).todo(m.decide, m.remedy)
	if m.slug != "dead-peer" {
		c.add("dead-peer", "the process of that GPU ended: what other ranks report follows from it", usual).
			supports(strong, "the GPU's driver reported: "+x.Event.Text, x.Event.Place).
			todo("the log of the rank on that GPU", "what the Xid says")
	}
}

func commandCauses(c *candidates, x *facts.Failure) {
	status, command := x.Event.Fields["status"], x.Event.Fields["command"]
	limit := strings.Contains(status, "limits exceeded") || strings.Contains(status, "no resources")
	refused := strings.Contains(status, "bad param") || strings.Contains(status, "bad op")
	stopped := strings.Contains(status, "time") || strings.Contains(status, "internal error")
	transition := strings.Contains(command, "2RTS") || strings.Contains(command, "2RTR") ||
		strings.Contains(command, "2INIT")
	c.add("resource-limit", "the card has no more objects of that kind (memory keys, queues, pages)", rare).
		supportsIf(limit, decisive, "the status of "+command+" is "+status, x.Event.Place).
		todo("rdma resource show; cat /sys/kernel/debug/mlx5/*/mr_cache",
			"fewer and larger registrations and queues; end what holds them").
		from("openucx/ucx#6264", "kvcache-ai/Mooncake#1765")
	c.add("version-mismatch", "driver and firmware don't agree about "+command+": one of them is too old, or has "+
		"a defect", usual).
		supportsIf(refused && !transition, strong, "the status of "+command+" is "+status, x.Event.Place).
		supportsIf(refused && transition, hint, "the status of "+command+" is "+status, x.Event.Place).
		todo("ethtool -i INTERFACE: driver and firmware; the vendor's release notes for the syndrome",
			"newer firmware and driver (OFED)").
		from("openucx/ucx#9488")
	c.add("card-firmware", "the card's firmware hangs", usual).
		supportsIf(stopped, strong, "the command didn't end: "+status, x.Event.Place).
		todo("devlink health show; rdmactl doctor --only devlink-health", "reset the card, update its firmware")
	c.add("driver-refuses", "the program asked for an attribute that the card doesn't have, or for a value that is "+
		"out of range: a retry count above 7, say", rare).
		supportsIf(refused && transition, strong, "the command changes the state of a queue pair: its attributes "+
			"are the program's", x.Event.Place).
		supportsIf(refused && !transition && strings.Contains(command, "QP"), hint,
			"the command is about a queue pair", x.Event.Place).
		todo("the program's error of that time; strace or gdb: the attributes of ibv_modify_qp",
			"what the program asks for: MTU, retry counts, timers, GID; its newer release")
}

// findQueuePair reports errors of queue pairs if nothing else has failed: the program's own line
// says more.
func findQueuePair(f *facts.Facts) []Finding {
	list := of(f, evidence.KernelQP)
	if len(list) == 0 || len(list) < len(f.Failures) {
		return nil
	}
	c := &candidates{}
	c.add("dead-peer", "the peer ended, or refused an access: the program's completion has the status", usual).
		todo("the program's log at that time: the status of the completion", "what the status says")
	c.add("program-fault", "the program's request was wrong: key, address, length or rights", usual).
		todo("the status: 4 and 8 are local, 9 to 11 the remote side's", "the program")
	return []Finding{{
		What: where(list[0]) + ": a queue pair failed", Failure: list[0], Events: events(list), Causes: c.causes(),
	}}
}
