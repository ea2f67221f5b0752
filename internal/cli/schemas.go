package cli

import (
	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/inventory"
	k8simpact "github.com/rdmakit/rdmakit/k8s/impact"
	k8slint "github.com/rdmakit/rdmakit/k8s/lint"
	"github.com/rdmakit/rdmakit/k8s/plan"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/launch/consensus"
	"github.com/rdmakit/rdmakit/launch/lint"
)

// Schemas returns the documents that commands print with -o json, by the name in
// their field "schema": an empty value of each. internal/cli/gendocs derives the
// files of docs/schema from their types.
func Schemas() map[string]any {
	return map[string]any{
		inventory.Schema:     inventory.Snapshot{}, // the field node of detect
		detectSchema:         detectReport{},
		statusSchema:         statusReport{},
		showSchema:           showReport{},
		doctor.Schema:        doctor.Report{},
		launch.Schema:        launch.Plan{}, // printed by env
		consensus.Schema:     consensus.Report{},
		lint.Schema:          lint.Report{}, // printed by env lint
		execSchema:           execReport{},  // printed by exec --dry-run
		demoSchema:           demoReport{},
		configSchema:         configReport{},
		appletsSchema:        appletsReport{},
		bench.Schema:         bench.Result{},
		fabric.Schema:        fabric.Document{}, // printed by fabric topology, read by --from
		fabricSMSchema:       managersReport{},
		fabricSwitchesSchema: switchesReport{},
		fabricHostsSchema:    hostsReport{},
		fabricLinksSchema:    linksReport{},
		fabricTraceSchema:    traceReport{},
		fabricErrorsSchema:   errorsReport{},
		fabricPingSchema:     pingReport{},
		k8slint.Schema:       k8slint.Report{},
		k8simpact.Schema:     k8simpact.Report{},
		plan.Schema:          plan.Plan{}, // printed by k8s plan
		k8sPlanDiffSchema:    k8sPlanDiff{},
	}
}
