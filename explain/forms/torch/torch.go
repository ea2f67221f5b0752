// Package torch has the forms of lines of PyTorch and of what runs jobs of it: Gloo, Ray, vLLM,
// torchrun, Python.
//
//	matcher := forms.NewMatcher(torch.Table())
//
// Sources are the files of the repositories that the rows name.
package torch

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
	"github.com/rdmakit/rdmakit/explain/symptoms"
)

// Table returns the forms.
func Table() forms.Table {
	return forms.Table{
		Program: "PyTorch and its launchers",
		Markers: []string{
			"ProcessGroupNCCL", "ProcessGroupWrapper", "ProcessGroupGloo", "Watchdog caught", "watchdog got stuck",
			"torch.distributed", "connectFullMesh", "gloo/transport", "timed out connecting: SO_ERROR",
			"ray.exceptions.", "ActorDiedError", "shared memory broadcast block", "ncclInternalError",
			"ncclSystemError", "ncclRemoteError", "ncclUnhandledCudaError", "ncclInvalidUsage", "ncclInvalidArgument",
			"SIGKILL",
			"NCCL operation nccl",
			"exited on signal ", "DistBackendError", "DistNetworkError", "DistStoreError",
			"between collectives on ranks", "PyTorch version: ", "client socket has ", "exits with return code = -9",
			"shutting down executor", "Worker proc ", "scheduler is dead", "NCCL operations have failed",
			"by watchdog at work", "GLOBAL_RANK: ", " processes registered.",
			"eartbeat monitor timed out", "failed (exitcode: -9)",
		},
		Forms: forms.Rows("torch", rows(), rankOf),
	}
}

// group is where the watchdog is.
const group = "pytorch/pytorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"

func rows() []forms.Row { //nolint:funlen // a table
	return []forms.Row{
		{
			Name:   "watchdog",
			Kind:   evidence.TorchWatchdog,
			Anchor: "caught collective operation timeout: ",
			Source: group,
			Parse: func(m, before string, f evidence.Fields) bool {
				f["seq"], f["op"] = forms.Between(m, "SeqNum=", ","), forms.Between(m, "OpType=", ",")
				f["timeoutMs"] = forms.Between(m, "Timeout(ms)=", ")")
				f["ranMs"] = forms.Word(m, "ran for ")
				f["group"] = forms.Between(before, "PG GUID ", " Rank")
				f["elements"] = forms.Between(m, "NumelIn=", ",")
				_, work, _ := strings.Cut(m, ": ")
				return f["op"] != "" || strings.TrimSpace(work) == "" // wrapped
			},
		},
		{
			Name: "stuck", Kind: evidence.TorchStuck, Anchor: "watchdog got stuck for ", Source: group,
			Parse: forms.Words("seconds", "got stuck for "),
		},
		{Name: "heartbeat", Kind: evidence.TorchStuck, Anchor: "eartbeat monitor timed out", Source: group},
		{
			Name:   "exception",
			Kind:   evidence.TorchException,
			Anchor: "detected by watchdog at work: ",
			Source: group,
			Parse: forms.Words(
				"seq",
				"at work: ",
				"enqueued",
				"last enqueued NCCL work: ",
				"completed",
				"last completed NCCL work: ",
			),
		},
		{
			Name: "timed-out", Kind: evidence.TorchWatchdog, Anchor: "Timeout at NCCL work: ", Source: group,
			Parse: forms.Words("seq", "at NCCL work: ", "enqueued", "last enqueued NCCL work: "),
		},
		{
			Name: "aborted", Kind: evidence.TorchException, Anchor: "Some NCCL operations have failed or timed out",
			Source: group,
		},
		{
			Name: "mismatch", Kind: evidence.TorchMismatch, Anchor: "Detected mismatch between collectives on ranks",
			Source: "pytorch/pytorch, ProcessGroupWrapper.cpp",
		},
		{
			Name:   "nccl-error",
			Kind:   evidence.TorchNCCLError,
			Anchor: "nccl",
			Source: "pytorch/pytorch, NCCLUtils.hpp",
			Parse: func(m, _ string, f evidence.Fields) bool {
				word, _, _ := strings.Cut(m, ":")
				switch word {
				case "ncclInternalError",
					"ncclSystemError",
					"ncclRemoteError",
					"ncclUnhandledCudaError",
					"ncclInvalidUsage",
					"ncclInvalidArgument":
					f["class"] = word
					return true
				}
				return false
			},
		},
		{
			Name: "backend-error", Kind: evidence.TorchNCCLError, Anchor: "DistBackendError",
			Source: "pytorch/pytorch, NCCLUtils.hpp",
		},
		{
			Name: "xla-error", Kind: evidence.TorchNCCLError, Anchor: "NCCL operation nccl",
			Source: "openxla/xla, xla/backends/gpu/collectives/nccl_errors.h",
			Parse:  func(m, _ string, _ evidence.Fields) bool { return strings.Contains(m, "failed: ") },
		},
		{
			Name:   "gloo",
			Kind:   evidence.GlooConnect,
			Anchor: "connectFullMesh failed",
			Source: "pytorch/gloo, gloo/transport/tcp/helpers.h",
			Parse:  parseGloo,
		},
		{
			Name: "gloo-pair", Kind: evidence.GlooConnect, Anchor: "timed out connecting: SO_ERROR",
			Source: "pytorch/gloo, gloo/transport/tcp/helpers.h", Parse: parseGloo,
		},
		{
			Name: "gloo-connect", Kind: evidence.GlooConnect, Anchor: "gloo/transport/tcp/pair.cc",
			Source: "pytorch/gloo, gloo/transport/tcp/pair.cc",
			Parse: func(m, _ string, f evidence.Fields) bool { // "… connect [127.0.1.1]:58641: Connection refused"
				_, rest, ok := strings.Cut(m, "] connect [")
				f["remote"], rest, _ = strings.Cut(rest, "]:")
				f["port"], _, _ = strings.Cut(rest, ":")
				f["errno"] = posix.Errno(m)
				return ok
			},
		},
		{
			Name: "gloo-closed", Kind: evidence.PythonTraceback, Anchor: "gloo/transport/tcp/pair.cc",
			Source: "pytorch/gloo, gloo/transport/tcp/pair.cc",
		},
		{
			Name: "gloo-address", Kind: evidence.NCCLFault, Anchor: "Unable to find address for",
			Source: "pytorch/gloo, transport/tcp/device.cc", Parse: forms.Fixed("what", "no-ip"),
		},
		{
			Name:   "store",
			Kind:   evidence.TorchStore,
			Anchor: "client socket has timed out after",
			Source: "pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["address"] = strings.Trim(forms.Word(m, "connect to ("), "()")
				return true
			},
		},
		{
			Name: "store-failed", Kind: evidence.TorchStore, Anchor: "client socket has failed to connect to ",
			Source: "pytorch/pytorch, torch/csrc/distributed/c10d/socket.cpp",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["address"], f["errno"] = forms.Word(m, " of ("), forms.Word(m, "(errno: ")
				return true
			},
		},
		{
			Name: "store-clients", Kind: evidence.TorchStore, Anchor: " seconds waiting for clients. ",
			Source: "pytorch/pytorch, torch/csrc/distributed/c10d/TCPStore.cpp",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["joined"] = forms.Word(m, "clients. ")
				return strings.Contains(m, "clients joined")
			},
		},
		{
			Name:   "broadcast",
			Kind:   evidence.VLLMBroadcast,
			Anchor: "No available shared memory broadcast block found in ",
			Source: "vllm-project/vllm, shm_broadcast.py",
			Parse:  forms.Words("seconds", "found in "),
		},
		{
			Name: "sigkill", Kind: evidence.ProgramKilled, Anchor: "Signal 9 (SIGKILL) received by PID",
			Source: "pytorch/pytorch, torch/distributed/elastic", Parse: forms.Fixed("signal", "9"),
		},
		{
			Name: "elastic-killed", Kind: evidence.ProgramKilled, Anchor: "failed (exitcode: -9)",
			Source: "pytorch/pytorch, torch/distributed/elastic", Parse: forms.Fixed("signal", "9"),
		},
		{
			Name: "sigkill-died", Kind: evidence.ProgramKilled, Anchor: "<Signals.SIGKILL: 9>",
			Source: "Python, subprocess", Parse: forms.Fixed("signal", "9"),
		},
		{
			Name: "spawn-killed", Kind: evidence.ProgramKilled, Anchor: "terminated with signal SIGKILL",
			Source: "pytorch/pytorch, torch/multiprocessing/spawn.py", Parse: forms.Fixed("signal", "9"),
		},
		{
			Name: "signal", Kind: evidence.ProgramKilled, Anchor: "on signal ", Source: "open-mpi/ompi, orterun",
			Parse: func(m, before string, f evidence.Fields) bool {
				f["signal"], f["host"] = forms.Word(m, "on signal "), forms.Word(before, "on node ")
				n, err := strconv.Atoi(f["signal"])
				return err == nil && n < 65 && strings.Contains(before, "exited")
			},
		},
		{
			Name:   "ray-died",
			Kind:   evidence.RayError,
			Anchor: "ActorDiedError",
			Source: "ray-project/ray, exceptions.py",
		},
		{
			Name: "ray-task", Kind: evidence.RayError, Anchor: "ray.exceptions.",
			Source: "ray-project/ray, exceptions.py",
		},
		{
			Name: "worker", Kind: evidence.PythonTraceback, Anchor: " died unexpectedly",
			Source: "vllm-project/vllm, v1/executor/multiproc_executor.py",
			Parse: func(m, before string, _ evidence.Fields) bool {
				return strings.Contains(m, "shutting down executor") || strings.Contains(before, "Worker proc ")
			},
		},
		{
			Name: "scheduler", Kind: evidence.PythonTraceback, Anchor: " scheduler is dead. Please check",
			Source: "sgl-project/sglang, entrypoints/engine.py",
		},
		{
			Name: "deepspeed", Kind: evidence.ProgramKilled, Anchor: "exits with return code = -9",
			Source: "deepspeedai/DeepSpeed, launcher/launch.py", Parse: forms.Fixed("signal", "9"),
		},
		{
			Name: "member", Kind: evidence.TorchMember, Anchor: "GLOBAL_RANK: ", Info: true,
			Source: "Lightning-AI/pytorch-lightning, fabric/utilities/distributed.py",
			Parse: func(m, _ string, f evidence.Fields) bool {
				f["rank"] = strings.TrimSuffix(forms.Word(m, "GLOBAL_RANK: "), ",")
				_, f["world"], _ = strings.Cut(forms.Word(m, "MEMBER: "), "/")
				return f["rank"] != "" && f["world"] != ""
			},
		},
		{
			Name: "registered", Kind: evidence.TorchMember, Anchor: " processes registered. Starting ", Info: true,
			Source: "Lightning-AI/pytorch-lightning, fabric/utilities/distributed.py",
			Parse:  forms.Fixed("registered", "yes"),
		},
		{
			Name: "version", Kind: evidence.TorchVersion, Anchor: "PyTorch version", Info: true,
			Source: "pytorch/pytorch, collect_env.py", Parse: forms.Words("version", "PyTorch version: "),
		},
	}
}

// rankOf takes the rank from "[Rank 3]" or "[rank3]" in the line.
func rankOf(text string, e *evidence.Event) {
	for _, mark := range [...]string{"[Rank ", "[rank", " Rank "} {
		_, rest, ok := strings.Cut(text, mark)
		if !ok {
			continue
		}
		end := 0
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(rest[:end]); err == nil {
			e.Process.Rank = n
			e.Fields["rank"] = rest[:end]
			return
		}
	}
}

// parseGloo reads "connectFullMesh failed with [… ] timed out connecting: SO_ERROR: Connection
// refused, remote=[127.0.0.1]:45321".
func parseGloo(m, before string, f evidence.Fields) bool {
	remote := forms.Between(m, "remote=", "")
	if strings.HasPrefix(remote, "[") {
		f["remote"] = forms.Between(remote, "[", "]")
		f["port"] = forms.Word(remote, "]:")
	}
	f["errno"] = posix.Errno(before + m)
	return true
}

// Symptoms returns the lines of PyTorch and of programs above it that package symptoms has.
func Symptoms() forms.Table { return forms.Symptoms(symptoms.Torch, rankOf) }
