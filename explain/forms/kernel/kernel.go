// Package kernel has the forms of lines of the Linux kernel about RDMA: drivers of cards, the RDMA
// subsystem, and what ends processes or cuts off devices.
//
//	matcher := forms.NewMatcher(kernel.Table())
//
// Time stamps and names of dmesg and the journal are taken off before, by package logline.
package kernel

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Table returns the forms.
func Table() forms.Table {
	return forms.Table{
		Program: "Linux kernel",
		Trouble: []string{"failed", "Failed", ": error"},
		Markers: []string{
			"mlx5_cmd_", "mlx5_core ", "mlx5_core: ", "mlx5_core.", "mlx5_ib", "mlx4_core ", "mlx4_ib", "mlx4_en",
			"infiniband mlx", "infiniband roce", "infiniband ib", "infiniband rdma", "infiniband bnxt_re",
			"infiniband irdma", "infiniband rxe", "infiniband siw", "infiniband efa", "infiniband hns",
			"bnxt_re", "irdma 0000:", "irdma: ", "irdma_", "rdma_rxe", "siw: ", "hns_roce", "ionic_rdma", "ionic_",
			"efa 0000:", "bnxt_en 0000:", "ice 0000:", "hns3 0000:", "ionic 0000:", "qede 0000:",
			"nv_peer_mem", "nvidia_peermem", "nvidia-peermem", "ib_register_peer_memory_client",
			"NVRM: Xid", "DMAR: [DMA", "DMAR: [INTR", "AMD-Vi: Event", "PCIe Bus Error: severity=Uncorrect",
			"AER: Uncorrect", "AER: Multiple Uncorrect",
			"Out of memory: Killed process", "out of memory: Killed process",
			"/1: QP ", "/2: QP ", "ib_core: ",
			"could not insert 'ib_", "could not insert 'mlx", "could not insert 'rdma",
		},
		Forms: forms.Rows("kernel", append(queueRows(), rows()...), nil),
	}
}

// mlx5 is the folder of the driver in the kernel's source.
const mlx5 = "Linux, drivers/net/ethernet/mellanox/mlx5/core/"

func rows() []forms.Row { //nolint:funlen // a table
	return []forms.Row{
		{
			Name: "mlx5-health", Kind: evidence.KernelHealth, Anchor: "health compromised", Source: mlx5 + "health.c",
			Parse: device,
		},
		{
			Name: "mlx5-synd", Kind: evidence.KernelHealth, Anchor: ": synd 0x", Source: mlx5 + "health.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["syndrome"] = hexNumber(forms.Word(m, "synd "))
				f["text"] = forms.Between(m[len(": synd "):], ": ", "")
				return f["syndrome"] != "" && f["syndrome"] != "0" && device(m, before, f)
			},
		},
		{
			Name: "mlx5-fatal", Kind: evidence.KernelHealth, Anchor: "Fatal error ", Source: mlx5 + "health.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				return strings.Contains(before, "mlx5_core") && device(m, before, f)
			},
		},
		{
			Name:   "power",
			Kind:   evidence.KernelHardware,
			Anchor: "insufficient power on the PCIe slot",
			Source: mlx5 + "events.c",
			Parse:  what("power"),
		},
		{
			Name: "temperature", Kind: evidence.KernelHardware, Anchor: "High Temperature", Source: mlx5 + "events.c",
			Parse: what("temperature"),
		},
		{
			Name:   "module-event",
			Kind:   evidence.KernelHardware,
			Anchor: "Port module event[error]",
			Source: mlx5 + "events.c",
			Parse:  what("module"),
		},
		{
			Name:   "aer",
			Kind:   evidence.KernelHardware,
			Anchor: "PCIe Bus Error: severity=Uncorrect",
			Source: "Linux, drivers/pci/pcie/aer.c",
			Parse:  what("pcie"),
		},
		{
			Name: "aer-port", Kind: evidence.KernelHardware, Anchor: "AER: ", Source: "Linux, drivers/pci/pcie/aer.c",
			Parse: func(m, _ string, f evidence.Fields) bool { // "AER: Multiple Uncorrectable (Fatal) error …"
				f["what"] = "pcie"
				return strings.Contains(m, "Uncorrect") && strings.Contains(m, "(Fatal) error")
			},
		},
		{
			Name: "command", Kind: evidence.KernelCommand, Anchor: "mlx5_cmd_", Source: mlx5 + "cmd.c",
			Parse: func(m, before string, f evidence.Fields) bool { // mlx5_cmd_check before Linux 6.0
				f["command"], f["status"] = forms.Word(m, "): "), forms.Between(m, "status ", "(")
				f["syndrome"], f["errno"] = forms.Word(m, "syndrome ("), forms.Word(m, "err(-")
				return strings.Contains(m, " op_mod(0x") && f["status"] != "" && device(m, before, f)
			},
		},
		{
			Name: "symbol", Kind: evidence.KernelSymbol, Anchor: "nknown symbol ", Source: "Linux, kernel/module",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["symbol"] = forms.Word(m, "nknown symbol ")
				f["module"], _, _ = strings.Cut(strings.TrimSpace(before), ":")
				return strings.HasPrefix(f["symbol"], "ib_") || strings.HasPrefix(f["symbol"], "rdma_")
			},
		},
		{
			Name:   "disagrees",
			Kind:   evidence.KernelSymbol,
			Anchor: "disagrees about version of symbol ",
			Source: "Linux, kernel/module",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["symbol"] = forms.Word(m, "of symbol ")
				f["module"], _, _ = strings.Cut(strings.TrimSpace(before), ":")
				return strings.HasPrefix(f["symbol"], "ib_") || strings.HasPrefix(f["symbol"], "rdma_")
			},
		},
		{
			Name: "insert", Kind: evidence.KernelModule, Anchor: "could not insert ", Source: "kmod, modprobe",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["module"] = strings.Trim(forms.Word(m, "could not insert "), "'")
				return strings.Contains(f["module"], "peer") || strings.Contains(f["module"], "ib_") ||
					strings.Contains(f["module"], "mlx")
			},
		},
		{
			Name: "link-down", Kind: evidence.KernelLink, Anchor: "Link down", Source: mlx5 + "en_main.c",
			Parse: link("down"),
		},
		{
			Name: "link-up", Kind: evidence.KernelLink, Anchor: "Link up", Info: true, Source: mlx5 + "en_main.c",
			Parse: link("up"),
		},
		{
			Name:   "link-down-nic",
			Kind:   evidence.KernelLink,
			Anchor: "NIC Link is Down",
			Source: "Linux, drivers/net/ethernet/broadcom/bnxt",
			Parse:  link("down"),
		},
		{
			Name:   "iommu-intel",
			Kind:   evidence.KernelIOMMU,
			Anchor: "DMAR: [DMA ",
			Source: "Linux, drivers/iommu/intel",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["device"] = forms.Word(m, "device [")
				return strings.Contains(m, "fault")
			},
		},
		{
			Name: "iommu-amd", Kind: evidence.KernelIOMMU, Anchor: "Event logged [IO_PAGE_FAULT ",
			Source: "Linux, drivers/iommu/amd/iommu.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["device"] = strings.TrimPrefix(forms.Word(m, "device="), "0000:")
				return device(m, before, f)
			},
		},
		{
			Name:   "oom",
			Kind:   evidence.KernelOOM,
			Anchor: "Out of memory: Killed process ",
			Source: "Linux, mm/oom_kill.c",
			Parse:  forms.Words("process", "Killed process "),
		},
		{
			Name:   "oom-cgroup",
			Kind:   evidence.KernelOOM,
			Anchor: "Memory cgroup out of memory: Killed process ",
			Source: "Linux, mm/oom_kill.c",
			Parse:  forms.Words("process", "Killed process "),
		},
		{
			Name: "xid", Kind: evidence.KernelGPU, Anchor: "NVRM: Xid ", Source: "NVIDIA, XID errors",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["gpu"], f["xid"] = forms.Word(m, "(PCI:"), forms.Word(m, "): ")
				return true
			},
		},
		{
			Name: "rxe", Kind: evidence.KernelOther, Anchor: "rdma_rxe: ", Info: true,
			Source: "Linux, drivers/infiniband/sw/rxe", Parse: forms.Fixed("driver", "rxe"),
		},
	}
}

// device reads "mlx5_core 0000:5e:00.0: …", with or without the name of the interface.
func device(_, before string, f evidence.Fields) bool {
	for word := range strings.FieldsSeq(before) {
		word = strings.TrimRight(word, ":")
		if strings.Count(word, ":") == 2 && strings.Contains(word, ".") {
			f["pci"] = word
			break
		}
	}
	return true
}

func what(text string) func(m, before string, f evidence.Fields) bool {
	return func(m, before string, f evidence.Fields) bool {
		f["what"] = text
		return device(m, before, f)
	}
}

// link reads "mlx5_core 0000:5e:00.0 eth2: Link down".
func link(state string) func(m, before string, f evidence.Fields) bool {
	return func(m, before string, f evidence.Fields) bool {
		f["state"] = state
		words := strings.Fields(before)
		if len(words) == 0 {
			return false
		}
		f["netdev"] = strings.TrimRight(words[len(words)-1], ":")
		return device(m, before, f)
	}
}
