// Package recording represents what a verbs library reports about the devices of one node, as plain
// data: a bundle contains it as JSON, and reports are made from it on other machines. The package
// contains the parts that only queries need, not the data path: the library, names and transports
// of the devices, and the queries that failed. The attributes of devices and ports, which programs
// with a data path use too, are in [github.com/rdmakit/rdmakit/verbs/provider].
//
//	library, err := ibverbs.Load()
//	r, err := library.Describe(ctx)      // what succeeded, and the joined errors
//	for _, d := range r.Devices {
//		if d.Attributes != nil {
//			fmt.Println(d.Name, d.Attributes.Firmware, d.Attributes.MaxQP)
//		}
//	}
//
// Numbers, including flags and enumerations, are kept as the driver reported them, so that flags
// unknown to this package are not lost. [Decode] reads the JSON form of a [Recording]. A
// [QueryError] is the same on the node and after Decode, and matches the errors of packages fs,
// errors and context.
//
// The types have no locks: several goroutines may read a value concurrently, but not change it.
package recording
