package checks

import (
	"context"
	"maps"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/launch/lint"
)

func jobEnvironment() doctor.Check {
	return doctor.Check{
		ID: "job-environment", Title: "variable of a collective library that does not fit this node",
		Severity: doctor.OutcomeFail, Group: doctor.GroupHost, Numbers: []int{88}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindEnvironment},
		Reads: []string{portFiles("state"), portFiles("gids/*"), netFiles("operstate")},
		Explanation: prose.Join(`
			NCCL, NVSHMEM, UCX and Gloo ignore most settings that they don't understand, and use other
			devices or TCP without an error: a device list with a name that this node doesn't have,
			NCCL_IB_DISABLE=1 of an old script, a misspelt name. The variables are those of the process that
			ran doctor or made the recording, so run it where the job would start. The rules are those of
			rdmactl env lint, which also reads files, manifests and other processes.`),
		Remedy: "Change the variable as the finding says; `rdmactl env` prints the settings of this node, and " +
			"`rdmactl env lint --explain RULE` describes the rule.",
		Sources: []string{"the rules of rdmactl env lint (docs/lint.md)"},
		Run:     runJobEnvironment,
	}
}

// lintedElsewhere are the rules about variables that other checks report, with more evidence:
// gid-index, socket-interface, role.
var lintedElsewhere = map[string][]string{
	"gid-index-unusable": gidIndexVariables, "gid-index-v1": gidIndexVariables, "gid-index-pinned": gidIndexVariables,
	"socket-unknown": bootstrapVariables, "socket-local": bootstrapVariables, "socket-down": bootstrapVariables,
	"socket-no-address": bootstrapVariables, "socket-pattern": bootstrapVariables,
	"hca-unset": {"NCCL_IB_HCA"},
}

// bootstrapVariables are those that the check socket-interface judges.
var bootstrapVariables = []string{"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}

func runJobEnvironment(_ context.Context, in *doctor.Input) []doctor.Finding {
	vars := in.Facts.Environment.Value
	names := slices.Sorted(maps.Keys(vars))
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, name+"="+vars[name])
	}
	report := lint.Run(lint.Input{
		Snapshot:     in.Snapshot,
		Environments: []lint.Environment{lint.FromPairs("environment", lint.FormEnviron, pairs)},
	})
	if report.Variables() == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"the environment of this process sets no variable of a collective library")}
	}
	var findings []doctor.Finding
	for _, f := range report.Findings {
		if !slices.Contains(lintedElsewhere[f.Rule], f.Variable) {
			findings = append(findings, lintFinding(f))
		}
	}
	if worst(findings).Compare(doctor.OutcomeInfo) > 0 {
		return findings
	}
	if len(report.Incomplete) > 0 {
		p := report.Incomplete[0]
		return append(findings, doctor.Unknown(doctor.ObjectNode, "no usable value in %s: %s", p.Path, p.Error))
	}
	pass := doctor.Passed(doctor.ObjectNode,
		english.Count(report.Variables(), "variable")+" of collective libraries fit this node")
	for _, name := range names {
		ev := doctor.Evidence{Path: "environment:" + name, Value: printable(vars[name])}
		pass.Evidence = append(pass.Evidence, ev)
	}
	return append([]doctor.Finding{pass}, findings...)
}

// lintFinding returns the finding of a rule about a variable; the variable is the object, and the
// rule is among the evidence.
func lintFinding(f lint.Finding) doctor.Finding {
	out := doctor.Finding{
		Outcome: map[lint.Severity]doctor.Outcome{
			lint.SeverityError: doctor.OutcomeFail, lint.SeverityWarn: doctor.OutcomeWarn,
		}[f.Severity],
		Object: printable(f.Variable), Kind: doctor.KindOther, Summary: printable(f.Summary),
		Evidence: []doctor.Evidence{{Path: "environment:" + f.Variable, Value: printable(f.Value)}},
	}
	if out.Outcome == "" {
		out.Outcome = doctor.OutcomeInfo
	}
	for _, e := range f.Evidence {
		out.Evidence = append(out.Evidence, doctor.Evidence{Path: e.Path, Value: e.Value})
	}
	out.Evidence = append(out.Evidence, doctor.Evidence{Path: "rdmactl env lint", Value: "rule " + f.Rule})
	if rule, ok := lint.FindRule(f.Rule); ok {
		out.Explanation = rule.Explanation
	}
	for _, fix := range f.Fixes {
		if fix.Unset {
			out.Actions = append(out.Actions, doctor.Shell("unset %s", quote(fix.Name)))
			continue
		}
		out.Actions = append(out.Actions, doctor.Shell("export %s=%s", quote(fix.Name), quote(fix.Value)))
	}
	if f.Remedy != "" || len(out.Actions) == 0 {
		out.Actions = append(out.Actions, doctor.Note("%s", printable(f.Remedy)))
	}
	return out
}
