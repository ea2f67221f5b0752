// Package builtin lists the providers that rdmakit includes.
//
//	device, err := verbs.Open(ctx, "roce@192.0.2.1", builtin.All()...)
//
// They are package [roce], which is RoCE v2 in user space (roce@192.0.2.1, roce@eth0), and package
// [ibverbs], which opens the devices of the kernel (mlx5_0, rxe0) through libibverbs. The latter
// was run on the kernel's rxe and siw only, never on a card. If libibverbs is not installed, or the
// program was built with the tag nodl, ibverbs has no devices, and its errors say why.
//
// Each call of [All] returns a new list, which the caller may change; All may be called
// concurrently.
package builtin

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// All returns the providers in the order in which verbs.Open tries them.
func All() []provider.Provider {
	return []provider.Provider{roce.Provider{}, ibverbs.Provider{}}
}
