package cli

import (
	"github.com/rdmakit/rdmakit/fabric"
)

// fabricCommands are the commands of this package, in the order of the help.
func fabricCommands() []Entry {
	return []Entry{
		{Group: GroupFabric, Build: newFabricCommand},
	}
}

// fabricSchemas are the documents that they print with -o json, by the name in their field "schema": an empty
// value of each.
func fabricSchemas() map[string]any {
	return map[string]any{
		fabric.Schema:        fabric.Document{}, // printed by fabric topology, read by --from
		fabricSMSchema:       managersReport{},
		fabricSwitchesSchema: switchesReport{},
		fabricHostsSchema:    hostsReport{},
		fabricLinksSchema:    linksReport{},
		fabricTraceSchema:    traceReport{},
		fabricErrorsSchema:   errorsReport{},
		fabricPingSchema:     pingReport{},
	}
}
