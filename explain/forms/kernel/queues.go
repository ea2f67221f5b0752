package kernel

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/ucx"
)

// drivers is the folder of the RDMA drivers in the kernel's source.
const drivers = "Linux, drivers/infiniband/hw/"

// queueRows are queue pairs, completions and commands of the RDMA drivers that failed.
func queueRows() []forms.Row {
	return []forms.Row{
		{
			// The three numbers are the vendor's syndrome, and type and number of the hardware's.
			// The text is that of the status with the number of the syndrome, which is wrong.
			Name: "qp-error", Kind: evidence.KernelQP, Anchor: " error: ", Source: drivers + "mlx5/qp.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				port, qpn, ok := strings.Cut(before, ": QP ")
				words := strings.Fields(port)
				if !ok || len(words) == 0 {
					return false
				}
				f["device"], f["port"], _ = strings.Cut(words[len(words)-1], "/")
				f["qpn"], f["text"] = strings.TrimSpace(qpn), forms.Between(m, " error: ", " (0x")
				f["vendor"] = hexNumber(forms.Word(m, "(0x"))
				return f["port"] != ""
			},
		},
		{
			Name: "qp-event", Kind: evidence.KernelQP, Anchor: "abnormal ae_id = ", Source: drivers + "irdma/hw.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["qpn"], f["text"] = forms.Word(m, "qp_id = "), "ae "+forms.Word(m, "ae_id = ")
				return ofInfiniband(before, f)
			},
		},
		{
			Name: "wc-error", Kind: evidence.KernelCQE, Anchor: "WC error: ", Source: drivers + "mlx5/cq.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["status"] = forms.Word(m, "WC error: ")
				return f["status"] != "" && ofInfiniband(before, f)
			},
		},
		{
			Name: "cqe-syndrome", Kind: evidence.KernelCQE, Anchor: ": syndrome 0x", Source: drivers + "mlx5/cq.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				n, err := strconv.ParseUint(forms.Word(m, "syndrome 0x"), 16, 8)
				if err != nil || !strings.Contains(m, ", vendor syndrome 0x") {
					return false
				}
				f["status"] = strconv.Itoa(ucx.StatusOfSyndrome(byte(n)))
				f["vendor"] = hexNumber(forms.Word(m, "vendor syndrome 0x"))
				return ofInfiniband(before, f)
			},
		},
		{
			Name: "modify-hw", Kind: evidence.KernelCommand, Anchor: "Failed to modify HW QP",
			Source: drivers + "bnxt_re/ib_verbs.c",
			Parse: func(_, before string, f evidence.Fields) bool {
				f["command"] = "modify QP"
				return ofInfiniband(before, f) || device("", before, f)
			},
		},
		{
			Name: "qplib", Kind: evidence.KernelCommand, Anchor: "cmdq[0x", Source: drivers + "bnxt_re/qplib_rcfw.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				_, rest, _ := strings.Cut(m, "]=")
				f["command"], f["status"], _ = strings.Cut(rest, " ")
				return strings.Contains(before, "bnxt_en") && device(m, before, f)
			},
		},
		{
			Name: "efa-command", Kind: evidence.KernelCommand, Anchor: "Failed to process command ",
			Source: drivers + "efa/efa_com.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["command"], f["status"] = forms.Word(m, "command "), forms.Word(m, "comp_status ")
				f["errno"] = forms.Word(m, "err -")
				return ofInfiniband(before, f)
			},
		},
		{
			Name: "command-timeout", Kind: evidence.KernelCommand, Anchor: ") timeout. Will cause a leak of a command",
			Source: mlx5 + "cmd.c",
			Parse: func(m, before string, f evidence.Fields) bool {
				words := strings.Fields(before)
				f["command"], _, _ = strings.Cut(words[len(words)-1], "(")
				f["status"] = "timeout"
				return device(m, before, f)
			},
		},
	}
}

// hexNumber returns the decimal form of a hexadecimal number, "" if it isn't one.
func hexNumber(s string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 32)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// ofInfiniband takes the device of a line of the RDMA subsystem: "infiniband mlx5_0: …".
func ofInfiniband(before string, f evidence.Fields) bool {
	_, rest, ok := strings.Cut(before, "infiniband ")
	if ok {
		f["device"], _, _ = strings.Cut(rest, ":")
	}
	return ok
}
