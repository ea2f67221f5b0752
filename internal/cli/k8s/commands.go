// Package k8s contains the commands for the Kubernetes objects that give pods RDMA: rdmactl k8s
// plan, lint and impact. The module's packages below k8s do the work; this package parses flags,
// reads files and prints results.
package k8s

import (
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/k8s/impact"
	"github.com/rdmakit/rdmakit/k8s/lint"
	"github.com/rdmakit/rdmakit/k8s/plan"
)

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupK8s, Build: newK8sCommand},
	}
}

// Schemas returns an empty value of each document that the commands print with -o json, by the name
// in its field "schema".
func Schemas() map[string]any {
	return map[string]any{
		lint.Schema:       lint.Report{},
		impact.Schema:     impact.Report{},
		plan.Schema:       plan.Plan{}, // printed by k8s plan
		k8sPlanDiffSchema: k8sPlanDiff{},
	}
}
