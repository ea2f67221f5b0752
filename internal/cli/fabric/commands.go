// Package fabric holds the commands about the InfiniBand subnet: rdmactl fabric sm, switches,
// hosts, links, topology, ping, trace and errors, one file each.
//
// All but ping read a sweep, live or saved (--from), so they print the same of both. Package fabric
// of the module sweeps; here are flags, the choice of nodes, and tables.
package fabric

import (
	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
)

// Commands returns the commands of this package, in the order of the help.
func Commands() []cli.Entry {
	return []cli.Entry{
		{Group: cli.GroupFabric, Build: newFabricCommand},
	}
}

// Schemas returns the documents that they print with -o json, by the name in their field "schema":
// an empty value of each.
func Schemas() map[string]any {
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
