// Package facts holds what checks need to know of a node beside its inventory: files of sysfs and
// procfs, and answers of the kernel that no file has (ethtool, DCB, devlink, routes, its log).
//
//	f := facts.New(node.Root)
//	f.Gather(ctx, collectors, facts.KindRoutes, facts.KindDCB)
//	mtu, err := f.Files.Text("proc/sys/net/core/rmem_max")
//
// The package is a model: it queries no kernel. Collectors are passed to [Facts.Gather]; those of
// the running kernel are internal. A [Facts] is plain data that a bundle records and replays, so
// that a check gives the same answer on the machine and on its recording.
package facts
