// Package provider is the contract between users of RDMA devices and what stands behind them. It
// begins with what a device says of itself: plain structs that a provider fills in, that go into
// a bundle as JSON, and that a report is made of on another machine.
//
//	library, err := ibverbs.Load()
//	recording, err := library.Describe(ctx)      // what succeeded, and the joined errors
//	for _, d := range recording.Devices {
//		if d.Attributes != nil {
//			fmt.Println(d.Name, d.Attributes.Firmware, d.Attributes.MaxQP)
//		}
//	}
//
// Numbers are kept as the driver gave them, flags and enumerations too, so that a reader who
// knows more flags than this package loses nothing. Fields have the units of the C struct that
// their comment names (rdma-core, libibverbs/verbs.h). GUIDs and GIDs are in network order.
//
// All types are values without locks: safe to read from several goroutines, not to change.
package provider
