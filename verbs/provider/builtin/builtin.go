// Package builtin lists the providers that rdmakit includes.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//
// The only one is package [roce]: RoCE v2 in user space. The provider for hardware devices and the
// kernel's rxe, verbs/provider/ibverbs, was never run on a card and is not in the list: programs
// that want it pass ibverbs.Provider{} to verbs.Open.
//
// Each call of [All] returns a new list, which the caller may change; All may be called
// concurrently.
package builtin

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// All returns the providers in the order in which verbs.Open tries them.
func All() []provider.Provider {
	return []provider.Provider{roce.Provider{}}
}
