// Package k8s holds the commands about the objects that bring RDMA to pods: rdmactl k8s plan,
// lint and impact. The packages below k8s of the module decide; here are flags, the files to
// read, and text.
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

// Schemas returns the documents that they print with -o json, by the name in their field "schema":
// an empty value of each.
func Schemas() map[string]any {
	return map[string]any{
		lint.Schema:       lint.Report{},
		impact.Schema:     impact.Report{},
		plan.Schema:       plan.Plan{}, // printed by k8s plan
		k8sPlanDiffSchema: k8sPlanDiff{},
	}
}
