package cli

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// nodeCommands are the commands of this package, in the order of the help.
func nodeCommands() []Entry {
	return []Entry{
		{Group: GroupNode, Build: newDetectCommand},
		{Group: GroupNode, Build: newStatusCommand},
		{Group: GroupNode, Build: newShowCommand},
		{Group: GroupNode, Build: newDoctorCommand},
		{Group: GroupNode, Build: newEnvCommand},
		{Group: GroupNode, Build: newExecCommand},
		{Group: GroupNode, Build: newSnapshotCommand},
	}
}

// nodeSchemas are the documents that they print with -o json, by the name in their field "schema": an empty
// value of each.
func nodeSchemas() map[string]any {
	return map[string]any{
		inventory.Schema: inventory.Snapshot{}, // the field node of detect
		detectSchema:     detectReport{},
		statusSchema:     statusReport{},
		showSchema:       showReport{},
		doctor.Schema:    doctor.Report{},
		launch.Schema:    launch.Plan{}, // printed by env
		consensus.Schema: consensus.Report{},
		lint.Schema:      lint.Report{}, // printed by env lint
		execSchema:       execReport{},  // printed by exec --dry-run
	}
}
