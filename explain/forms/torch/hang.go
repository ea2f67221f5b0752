package torch

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Hangs returns the forms of lines that say that a job makes no progress, and of the dumps of
// NCCL's RAS service.
func Hangs() forms.Table {
	return forms.Table{
		Program: "schedulers and NCCL RAS",
		Markers: []string{
			"DUE TO TIME LIMIT", "Watchdog timeout (self", "no progress for ", "ranks have launched up to operation",
			" operation counts",
		},
		Forms: forms.Rows("hang", []forms.Row{
			{
				Name:   "time-limit",
				Kind:   evidence.ProgramHang,
				Anchor: "DUE TO TIME LIMIT",
				Source: "SchedMD/slurm, slurmstepd",
				Parse:  forms.Fixed("what", "time limit"),
			},
			{
				Name:   "sglang",
				Kind:   evidence.ProgramHang,
				Anchor: "Watchdog timeout (self",
				Source: "sgl-project/sglang, scheduler.py",
				Parse:  forms.Fixed("what", "watchdog"),
			},
			{
				Name:   "no-progress",
				Kind:   evidence.ProgramHang,
				Anchor: "no progress for ",
				Source: "programs' own watchdogs",
				Parse:  forms.Fixed("what", "no progress"),
			},
			{
				Name:   "ras-differ",
				Kind:   evidence.NCCLRAS,
				Anchor: "ranks have different ",
				Info:   true,
				Source: "NVIDIA/nccl, src/ras/client_support.cc",
				Parse: func(m, _ string, f evidence.Fields) bool { // "different collective", or "AllGather"
					f["counts"] = "different"
					return strings.HasSuffix(strings.TrimSpace(m), "operation counts")
				},
			},
			{
				Name: "ras-equal", Kind: evidence.NCCLRAS, Anchor: "ranks have launched up to operation", Info: true,
				Source: "NVIDIA/nccl, src/ras/client_support.cc",
				Parse: func(_, before string, f evidence.Fields) bool {
					f["counts"] = "equal"
					return strings.HasSuffix(strings.TrimSpace(before), "all")
				},
			},
		}, nil),
	}
}
