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
		Markers: []string{
			"mlx5_core ",
			"mlx5_ib",
			"infiniband ",
			"mlx4_",
			"bnxt_en ",
			"bnxt_re",
			"irdma ",
			"ice ",
			"ionic ",
			"efa ",
			"rdma_rxe",
			"rxe",
			"siw",
			"hns3 ",
			"nv_peer_mem",
			"nvidia_peermem",
			"nvidia-peermem",
			"NVRM: Xid",
			"DMAR: ",
			"AMD-Vi: ",
			"oom-kill",
			"Out of memory: Killed", "out of memory: Killed",
			"pcieport ",
			"ib_register_peer_memory_client",
			"ib_core",
			"IPv6: ADDRCONF",
		},
		Forms: forms.Rows("kernel", rows(), nil),
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
			Name:   "mlx5-synd",
			Kind:   evidence.KernelHealth,
			Anchor: "irisc not responding",
			Source: mlx5 + "health.c",
			Parse:  device,
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
			Anchor: "PCIe Bus Error: severity=Uncorrected",
			Source: "Linux, drivers/pci/pcie/aer.c",
			Parse:  what("pcie"),
		},
		{
			Name: "command", Kind: evidence.KernelCommand, Anchor: "mlx5_cmd_out_err", Source: mlx5 + "cmd.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["command"], f["status"] = forms.Word(m, "): "), forms.Word(m, "status ")
				f["syndrome"] = forms.Word(m, "syndrome (")
				return device(m, before, f)
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
			Name:   "qp-error",
			Kind:   evidence.KernelQP,
			Anchor: " error: ",
			Source: "Linux, drivers/infiniband/hw/mlx5/cq.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				port, qpn, ok := strings.Cut(before, ": QP ")
				if !ok {
					return false
				}
				words := strings.Fields(port)
				f["device"], f["port"], _ = strings.Cut(words[len(words)-1], "/")
				f["qpn"] = strings.TrimSpace(qpn)
				f["syndrome"], f["vendor"] = forms.Word(m, "(0x"), ""
				return true
			},
		},
		{
			Name:   "wc-error",
			Kind:   evidence.KernelCQE,
			Anchor: "WC error: ",
			Source: "Linux, drivers/infiniband/hw/mlx5/cq.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["status"] = forms.Word(m, "WC error: ")
				if _, rest, ok := strings.Cut(before, "infiniband "); ok {
					f["device"], _, _ = strings.Cut(rest, ":")
				}
				return f["status"] != ""
			},
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
			Name: "iommu-amd", Kind: evidence.KernelIOMMU, Anchor: "IO_PAGE_FAULT",
			Source: "Linux, drivers/iommu/amd", Parse: forms.Fixed(),
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
			Name: "rxe", Kind: evidence.KernelOther, Anchor: "rxe", Info: true,
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
