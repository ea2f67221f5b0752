// Package lint checks the network variables of NCCL and RCCL, UCX, NVSHMEM, Gloo and PyTorch,
// Mooncake, vLLM, libfabric and Open MPI in an environment against a node.
//
//	env, err := lint.Parse("job.env", data, lint.FormAuto)
//	report := lint.Run(lint.Input{Snapshot: &snapshot, Environments: []lint.Environment{env}})
//
// A rule is a value with an ID, an explanation and a check; [Rules] lists all rules. A finding
// names the variable and its line, describes the consequence, with the files of the node that are
// the evidence, and contains the corrected value if it follows from the node: the value that
// [launch.Derive] sets.
//
// The rules describe the behaviour of NCCL 2.30.7, NVSHMEM 3.4.5, UCX of 2026 and Mooncake of 2026;
// if other versions differ, the rule says so. Unknown names are ignored, unless they look like a
// misspelt known name.
//
// [Run] is a pure function; all functions may be called concurrently.
package lint
