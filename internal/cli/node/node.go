// Package node contains the commands about one node: detect, status, show, doctor, env, exec and
// snapshot, one file each, with their text output in NAME_text.go.
//
// A command reads its node through [cli.App.OpenNode] or [cli.App.Scan], so that --root and --from
// work with all of them, passes the snapshot to inventory, doctor or launch, and prints the result.
package node

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/nodes"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupNode, Build: newDetectCommand},
		{Group: cli.GroupNode, Build: newStatusCommand},
		{Group: cli.GroupNode, Build: newShowCommand},
		{Group: cli.GroupNode, Build: newDoctorCommand},
		{Group: cli.GroupNode, Build: newEnvCommand},
		{Group: cli.GroupNode, Build: newExecCommand},
		{Group: cli.GroupNode, Build: newSnapshotCommand},
	}
}

// Schemas returns an empty value of each document that the commands print with -o json, by the name
// in its field "schema".
func Schemas() map[string]any {
	return map[string]any{
		inventory.Schema: inventory.Snapshot{}, // the field node of detect
		detectSchema:     DetectReport{},
		statusSchema:     statusReport{},
		showSchema:       showReport{},
		doctor.Schema:    doctor.Report{},
		nodes.Schema:     nodes.Report{}, // printed by doctor with several --from
		launch.Schema:    launch.Plan{},  // printed by env
		consensus.Schema: consensus.Report{},
		lint.Schema:      lint.Report{}, // printed by env lint
		execSchema:       execReport{},  // printed by exec --dry-run
	}
}
