// Package facts holds what checks need to know of a node beside its inventory: files of sysfs and
// procfs, and answers of the kernel that no file has (ethtool, DCB, devlink, routes, its log).
//
//	f := facts.New(node.Root)
//	f.Gather(ctx, &snapshot, collectors, facts.KindRoutes, facts.KindDCB)
//	most, err := f.Files.Text("proc/sys/net/core/rmem_max")
//	if err := f.State(facts.KindRoutes); err != nil { … } // absent, denied, failed or not gathered
//
// The package is a model: it queries no kernel. Collectors are passed to [Facts.Gather]; those of
// the running kernel are internal. A [Facts] is plain data that a bundle records and replays, so
// that a check gives the same answer on the machine and on its recording.
package facts
