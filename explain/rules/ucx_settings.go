package rules

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// ucxProtocols is the variable that chooses the wire protocol of UCX: both ends must agree.
const ucxProtocols = "UCX_PROTO_ENABLE"

// ucxSettingRules are about settings of UCX that must be the same on both ends.
func ucxSettingRules() []Rule {
	return []Rule{{
		ID: "RDX-798", Name: "ucx-protocols-differ", Title: "the nodes have different protocols of UCX",
		Explanation: "UCX has two generations of protocols, which can't talk to each other: UCX_PROTO_ENABLE " +
			"chooses. Messages between nodes that differ in it hang or crash the program, often large ones only.",
		Sources: []string{"openucx/ucx#10568"},
		Find:    findUCXProtocols,
	}}
}

// findUCXProtocols compares the variables that processes of different hosts list. UCX lists all
// that are set, so one that isn't in the list has its default.
func findUCXProtocols(f *facts.Facts) []Finding {
	var seen []*evidence.Event
	values := map[string]bool{}
	for e := range f.Store.Of(evidence.UCXEnvironment) {
		value := protocolsOf(e.Fields["variables"])
		if !values[value] {
			values[value] = true
			seen = append(seen, e)
		}
	}
	if len(seen) < 2 || seen[0].Process.Host == "" || seen[1].Process.Host == "" ||
		seen[0].Process.Host == seen[1].Process.Host {
		return nil
	}
	c := &candidates{}
	text := fmt.Sprintf("%s has %s, %s has %s", seen[0].Process.Host, protocolsOf(seen[0].Fields["variables"]),
		seen[1].Process.Host, protocolsOf(seen[1].Fields["variables"]))
	c.add("environment-differs", ucxProtocols+" isn't the same on all nodes", usual).
		supports(decisive, text, seen[0].Place, seen[1].Place).
		todo("env | grep UCX_ on all nodes, in the job",
			"the same value on all nodes, or none: mpirun -x "+ucxProtocols).
		from("openucx/ucx#10568")
	return []Finding{{
		What:   "the nodes have different protocols of UCX: " + text,
		Events: seen[:2], Causes: c.causes(),
	}}
}

// protocolsOf returns the value of UCX_PROTO_ENABLE among variables.
func protocolsOf(variables string) string {
	for part := range strings.FieldsSeq(variables) {
		if value, ok := strings.CutPrefix(part, ucxProtocols+"="); ok {
			return ucxProtocols + "=" + value
		}
	}
	return "no " + ucxProtocols
}
