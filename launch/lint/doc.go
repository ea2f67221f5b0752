// Package lint checks the network variables of an environment against a node: those
// of NCCL and RCCL, UCX, NVSHMEM, Gloo and PyTorch, Mooncake, vLLM, libfabric and
// Open MPI.
//
//	env, err := lint.Parse("job.env", data, lint.FormAuto)
//	report := lint.Run(lint.Input{Snapshot: &snapshot, Environments: []lint.Environment{env}})
//
// A rule is a value with an ID, an explanation and a check; [Rules] lists them all. A
// finding names the variable and its line, says what happens because of it, with the
// files of the node that tell, and holds the corrected value where one follows from
// the node: what [launch.Derive] would set.
//
// What a variable means is what NCCL 2.30.7, NVSHMEM 3.4.5, UCX of 2026 and Mooncake
// of 2026 do with it; where other versions differ, the rule says so. A name that is
// not known is passed over in silence, unless it looks like a known one misspelt.
//
// [Run] is a pure function; all functions may be called concurrently.
package lint
