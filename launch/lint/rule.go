package lint

import "slices"

// Rule checks an environment for one kind of fault.
type Rule struct {
	// ID is kebab-case, unique and stable.
	ID string `json:"id"`
	// Title describes the fault that the rule finds.
	Title string `json:"title"`
	// Severity is the worst severity of the rule's findings.
	Severity Severity `json:"severity"`
	// Variables are the names that the rule checks; * matches any text.
	Variables []string `json:"variables"`
	// Explanation describes what the libraries do with such a value, by version if versions differ,
	// and what happens to the job.
	Explanation string `json:"explanation"`
	// Remedy describes the fix in general; findings contain the exact values.
	Remedy string `json:"remedy"`
	// Wrong and Right are examples of settings, NAME=value, on the node that On names.
	On    string   `json:"on"`
	Wrong []string `json:"wrong"`
	Right []string `json:"right"`
	// Reports are threads of users who had the fault.
	Reports []string `json:"reports,omitempty"`
	// Sources are the origin of the rule: source files, specifications, documentation.
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

// The versions that the rules describe, for Rule.Sources.
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
