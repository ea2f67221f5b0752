package lint

import "slices"

// Rule is something that can be wrong with an environment.
type Rule struct {
	// ID is kebab-case, unique and stable.
	ID string `json:"id"`
	// Title is what is wrong when the rule finds something.
	Title string `json:"title"`
	// Severity is the worst that a finding of the rule has.
	Severity Severity `json:"severity"`
	// Variables are the names that the rule judges; * stands for any text.
	Variables []string `json:"variables"`
	// Explanation tells what the libraries do with such a value, by version where
	// versions differ, and what becomes of the job.
	Explanation string `json:"explanation"`
	// Remedy tells in general what to do; findings hold the exact values.
	Remedy string `json:"remedy"`
	// Wrong and Right are settings, NAME=value, on the node that On names.
	On    string   `json:"on"`
	Wrong []string `json:"wrong"`
	Right []string `json:"right"`
	// Reports are the threads of users who were hit by it.
	Reports []string `json:"reports,omitempty"`
	// Sources are where the semantics were read.
	Sources []string `json:"sources"`

	check func(*linter)
}

//go:generate go run ./gendocs -o ../../docs/lint.md

// Rules returns all rules: about lists of devices, GIDs, traffic classes, network
// devices for TCP, contradictions, values, and names.
func Rules() []Rule {
	return slices.Concat(hcaRules(), ucxRules(), gidRules(), qosRules(), socketRules(), addressRules(), conflictRules(),
		valueRules(), nameRules())
}

// FindRule returns a rule by its ID.
func FindRule(id string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Versions that were read; Rule.Sources names them.
const (
	srcNCCL     = "NCCL 2.30.7, src/transport/net_ib"
	srcNCCLNet  = "NCCL 2.30.7, src/misc/socket.cc"
	srcNCCLTopo = "NCCL 2.30.7, src/graph"
	srcNCCLEnv  = "NCCL 2.30.7, src/misc/param.cc"
	srcNVSHMEM  = "NVSHMEM 3.4.5, src/modules/transport"
	srcUCX      = "UCX of 2026, src/ucp/core/ucp_context.c"
	srcUCXIB    = "UCX of 2026, src/uct/ib/base"
	srcMooncake = "Mooncake of 2026, mooncake-transfer-engine/src/config.cpp"
	srcOFI      = "aws-ofi-nccl, documentation"
	srcLaunch   = "rdmactl env, docs/env.md"
	srcKernel   = "Linux, include/uapi/linux/if.h"
)
