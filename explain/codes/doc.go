// Package codes says what single values in the logs of RDMA programs mean: completion statuses,
// vendor codes, error numbers, dumps of completions, events and the enumerations of verbs and NCCL.
//
//	e, err := codes.Lookup("status=12 vendor=129 driver=mlx5")
//	fmt.Println(e.Title, e.Meaning, e.Causes)
//
// A value is explained as far as a public source explains it; each table names its source. Where a
// number has two readings (decimal or hexadecimal, requester or responder, one driver or another)
// all are returned, the fitting one first. The functions keep no state and can be called
// concurrently. They read no files and know nothing of the log around a value.
package codes
