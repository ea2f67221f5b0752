// Package recording is what a verbs library said of the devices of one node, as plain data: it goes
// into a bundle as JSON, and a report is made of it on another machine. What belongs here is what
// only those need who ask and never send: which library it was, how devices are called and
// connected, and which question failed how. What a device says of itself and of its ports, to
// programs too, stands in [github.com/rdmakit/rdmakit/verbs/provider].
//
//	library, err := ibverbs.Load()
//	r, err := library.Describe(ctx)      // what succeeded, and the joined errors
//	for _, d := range r.Devices {
//		if d.Attributes != nil {
//			fmt.Println(d.Name, d.Attributes.Firmware, d.Attributes.MaxQP)
//		}
//	}
//
// Numbers are kept as the driver gave them, flags and enumerations too, so that a reader who knows
// more flags than this package loses nothing. [Decode] reads the JSON form of a [Recording]; a
// [QueryError] is the same live and read back, and matches the errors of packages fs, errors and
// context.
//
// All types are values without locks: safe to read from several goroutines, not to change.
package recording
