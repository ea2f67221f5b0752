// Package sysfs is the edge to the kernel's file trees: it opens a root, reads
// attributes below it, and collects what could not be read.
//
// Everything hangs off an injected root, so the same code reads the running
// machine, a folder with a recorded tree, and a tree in memory:
//
//	root, err := sysfs.OpenRoot("/")
//	if err != nil { … }
//	defer root.Close()
//	r := sysfs.NewReader(root, ctx.Err)
//	dev, ok := r.Dir("sys/class/infiniband/mlx5_0")
//	desc, ok := dev.Text("node_desc")
//
// Absent is told apart from broken: a file that doesn't exist, or for which the
// kernel has no value (EINVAL, EOPNOTSUPP), gives ok = false and nothing else; any
// other error is kept with its path, and reading goes on. A [Reader] is for one
// goroutine; a [Root] may be shared. Names are relative and use slashes, as in io/fs.
package sysfs
