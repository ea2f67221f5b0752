package rules

import (
	"cmp"
	"fmt"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// comparisonWitnesses are env consensus, the lints, and the fabric, by check, rule and fault.
func comparisonWitnesses() []witness {
	return []witness{
		{evidence.OwnConsensus, "check", map[string][]string{
			"no-rdma": {"no-device"}, "hca-set": {"environment-differs"}, "mtu": {"mtu-differs", "mtu-too-small"},
			"rail-swapped": {"rails-not-connected"}, "subnet": {"rails-not-connected"}, "rate": {"bad-nic"},
			"gid-index": {"gid-index"}, "pkey-limited": {"partition"}, "duplicate-gid": {"duplicate-address"},
			"duplicate-lid": {"subnet-manager"}, "socket": {"interface-choice"},
		}},
		{evidence.OwnLint, "rule", map[string][]string{
			"gid-index-unusable": {"gid-index", "gid-empty"}, "gid-index-v1": {"gid-index", "roce-version-differs"},
			"gid-index-pinned": {"gid-index", "gid-moved"}, "gid-index-infiniband": {"gid-index"},
			"gid-range": {"gid-index"}, "gid-range-empty": {"gid-empty"}, "hca-none": {"no-device"},
			"hca-unknown": {"environment-differs"}, "hca-down": {"port-down"}, "ib-disabled": {"ib-disabled"},
			"host-address": {"loopback-address"}, "master-loopback": {"loopback-address"},
			"socket-unknown": {"interface-choice"}, "socket-down": {"interface-choice"},
			"socket-local": {"interface-choice"}, "tc-differs": {"traffic-class"}, "tc-host": {"traffic-class"},
		}},
		{evidence.OwnFabric, "fault", map[string][]string{
			"SymbolErrorCounter": {"cable", "bad-nic"}, "LinkErrorRecoveryCounter": {"cable", "link-flap"},
			"LinkDownedCounter": {"link-flap", "cable"}, "PortRcvErrors": {"cable"},
			"LocalLinkIntegrityErrors": {"cable"}, "ExcessiveBufferOverrunErrors": {"congestion"},
			"PortXmitDiscards": {"congestion"}, "loop": {"subnet-manager"}, "black-hole": {"subnet-manager"},
			"stray": {"subnet-manager"},
		}},
	}
}

// comparisonRules are about what env consensus, the lints and the fabric commands have named.
func comparisonRules() []Rule {
	return []Rule{
		{
			ID: "RDX-204", Name: "rdmactl-consensus", Title: "rdmactl env consensus found a difference",
			Explanation: "Nodes of a job must agree on these values. Differences that only slow jobs speak for " +
				"causes of other findings.",
			Sources: []string{"docs/consensus.md"},
			Find:    findOwn(evidence.OwnConsensus, "check", "breaks", "rdmactl env consensus found a difference"),
		},
		{
			ID: "RDX-205", Name: "rdmactl-lint", Title: "rdmactl env lint or k8s lint found an error",
			Explanation: "With this setting or object jobs fail, hang or don't use RDMA. Warnings speak for " +
				"causes of other findings.",
			Sources: []string{"docs/lint.md", "docs/k8s-lint.md"},
			Find:    findOwn(evidence.OwnLint, "rule", "error", "rdmactl lint found an error"),
		},
		{
			ID: "RDX-206", Name: "rdmactl-fabric", Title: "rdmactl fabric errors or trace named a fault",
			Explanation: "A counter of a port is above its threshold, or a path through the subnet doesn't arrive.",
			Sources:     []string{"docs/fabric.md"},
			Find:        findOwn(evidence.OwnFabric, "fault", "", "rdmactl fabric found a fault"),
		},
	}
}

// findOwn returns the search for events of a command, one finding for each value of the field. A
// severity that isn't "" is that of findings.
func findOwn(kind evidence.Kind, field, severity, what string) func(f *facts.Facts) []Finding {
	return func(f *facts.Facts) []Finding {
		var out []Finding
		at := map[string]int{}
		for e := range f.Store.Of(kind) {
			value := e.Fields[field]
			if severity != "" && e.Fields["severity"] != severity {
				continue
			}
			if i, found := at[value]; found {
				out[i].Events = append(out[i].Events, e)
				continue
			}
			at[value] = len(out)
			out = append(out, Finding{
				What: what + ": " + e.Text, Events: []*evidence.Event{e},
				Causes: []Cause{{
					Slug: slugOf(kind, value), Title: e.Text, Confidence: Likely, Weight: strong,
					Remedy: e.Fields["remedy"],
					For: []Evidence{{
						Text: fmt.Sprintf("%s %s", field, value), Places: []evidence.Place{e.Place},
					}},
				}},
			})
		}
		return out
	}
}

// slugOf returns the cause that a value of a command stands for: the first of its witnesses, or the
// value itself.
func slugOf(kind evidence.Kind, value string) string {
	for _, w := range witnesses() {
		if list := w.causes[value]; w.kind == kind && len(list) > 0 {
			return list[0]
		}
	}
	return cmp.Or(value, "unnamed")
}
