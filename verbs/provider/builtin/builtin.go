// Package builtin is the one list of the providers that rdmakit comes with.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//
// Today that is package [roce] alone: RoCE v2 in user space. The provider of real devices,
// verbs/provider/ibverbs, has no data path yet and is not in the list.
//
// Each call makes a list of its own, so that callers may change it; [All] may be called from
// several goroutines.
package builtin

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// All returns the providers in the order in which they are asked for a name.
func All() []provider.Provider {
	return []provider.Provider{roce.Provider{}}
}
