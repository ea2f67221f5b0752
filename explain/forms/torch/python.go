package torch

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Exceptions returns the forms of exceptions that a program of a rank raised itself, and of the
// lines with which launchers say that a process has ended. Exceptions of processes without a rank
// aren't counted as recognized: they can be of any program.
func Exceptions() []forms.Table {
	form := func(ranked bool) evidence.Form {
		return evidence.Form{
			Name: "python/exception", Kind: evidence.PythonException, Anchor: "Error",
			Source: "Python, built-in exceptions",
			Parse: func(l *evidence.Line, _ int, e *evidence.Event) bool {
				e.Text, e.Severity, e.Standing = strings.TrimSpace(l.Text), evidence.Error, evidence.Failed
				e.Fields["exception"] = ownException(e.Text)
				return e.Fields["exception"] != "" && (l.Process.Rank != evidence.NoRank) == ranked
			},
		}
	}
	launchers := forms.Rows("launcher", []forms.Row{
		{
			Name: "elastic", Kind: evidence.ProgramExit, Anchor: "failed (exitcode: ",
			Source: "pytorch/pytorch, torch/distributed/elastic",
			Parse:  forms.Words("code", "failed (exitcode: ", "localRank", "local_rank: "),
		},
		{
			Name: "srun", Kind: evidence.ProgramExit, Anchor: ": Exited with exit code ", Source: "SchedMD/slurm, srun",
			Parse: func(m, before string, f evidence.Fields) bool { // "srun: error: n2: task 3: Exited with …"
				host, tasks, ok := strings.Cut(strings.TrimPrefix(before, "srun: error: "), ": task")
				f["host"], f["tasks"] = host, strings.TrimLeft(tasks, "s ")
				f["code"] = forms.Word(m, "exit code ")
				return ok && strings.HasPrefix(before, "srun: error: ")
			},
		},
		{
			Name: "child-failed", Kind: evidence.ProgramExit, Anchor: "multiprocessing.errors.ChildFailedError",
			Source: "pytorch/pytorch, torch/distributed/elastic",
		},
	}, nil)
	return []forms.Table{
		{
			Program: "PyTorch and its launchers", Strict: true, Forms: append(launchers, form(true)),
			Markers: []string{"failed (exitcode: ", ": Exited with exit code ", "ChildFailedError", "Error"},
		},
		{
			Strict: true, Forms: append(progress(), form(false)),
			Markers: []string{
				"Error", "Application startup complete", "init engine (profile", "Graph capturing finished",
				"Avg generation throughput: ",
			},
		},
	}
}

// progress returns the forms of lines with which vLLM says that it went on. They aren't counted as
// recognized, since other programs print some of them.
func progress() []evidence.Form {
	var rows []forms.Row
	for _, text := range [...]string{
		"Application startup complete", "init engine (profile", "Graph capturing finished",
	} {
		rows = append(rows, forms.Row{Name: "progress", Kind: evidence.ProgramProgress, Anchor: text, Info: true})
	}
	rows = append(rows, forms.Row{
		Name: "throughput", Kind: evidence.ProgramProgress, Anchor: "Avg generation throughput: ", Info: true,
		Parse: func(m, _ string, _ evidence.Fields) bool { // an engine that hangs reports 0.0
			return forms.Word(m, "throughput: ") != "0.0"
		},
	})
	return forms.Rows("vllm", rows, nil)
}

// programExceptions are the exceptions that a program raises by itself, whatever the network does.
var programExceptions = []string{
	"ValueError", "KeyError", "TypeError", "AttributeError", "IndexError", "AssertionError", "NameError",
	"ModuleNotFoundError", "ImportError", "FileNotFoundError", "ZeroDivisionError", "UnboundLocalError",
	"NotImplementedError", "UnicodeDecodeError", "JSONDecodeError", "RecursionError", "OverflowError",
}

// ownException returns the class of an exception that is about the program itself, "" for other
// lines and for exceptions that speak of what connects the ranks.
func ownException(text string) string {
	name, _, _ := strings.Cut(text, ":")
	name = name[strings.LastIndexByte(name, '.')+1:]
	if !slices.Contains(programExceptions, name) {
		return ""
	}
	lower := strings.ToLower(text)
	for _, word := range [...]string{
		"nccl", "rccl", "gloo", "process group", "processgroup", "torch.distributed", "world size", "world_size",
		"cuda",
		"gpu", "rdma", "ibv_", "infiniband", "mlx5", "ucx", "nixl", "nvshmem", "deepep", "deep_ep", ".so", "engine",
		"worker", "memory", "socket", "address", "connect", "master_", "timeout", "timed out", "rendezvous",
	} {
		if strings.Contains(lower, word) {
			return ""
		}
	}
	return name
}
