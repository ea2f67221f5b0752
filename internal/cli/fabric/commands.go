// Package fabric holds the commands about the InfiniBand subnet: rdmactl fabric sm, switches,
// hosts, links, topology, ping, sa, trace, errors, cables and simulate, one file each.
//
// All commands except ping, sa and simulate work on a sweep, live or saved (--from), and print the
// same for both. This package parses flags, selects nodes and prints tables; the sweep is in the
// module's package fabric.
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

// Schemas returns an empty value of each document that the commands print with -o json, keyed by
// the name in its "schema" field.
func Schemas() map[string]any {
	return map[string]any{
		fabric.Schema:        fabric.Document{}, // printed by fabric topology, read by --from
		fabricSMSchema:       managersReport{},
		fabricSwitchesSchema: switchesReport{},
		fabricHostsSchema:    hostsReport{},
		fabricLinksSchema:    linksReport{},
		fabricTraceSchema:    traceReport{},
		fabricErrorsSchema:   errorsReport{},
		fabricBERSchema:      berReport{},
		fabricCablesSchema:   cablesReport{},
		fabricPingSchema:     pingReport{},
		fabricSASchema:       saReport{},
	}
}
