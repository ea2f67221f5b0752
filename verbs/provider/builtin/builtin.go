// Package builtin is the one list of the providers that rdmakit comes with.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
package builtin

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// All returns the providers in the order in which they are asked for a name.
func All() []provider.Provider {
	return []provider.Provider{roce.Provider{}}
}
