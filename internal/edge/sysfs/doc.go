// Package sysfs reads the kernel's file trees: it opens a root, reads attributes below
// it, and collects the errors of files that could not be read.
//
// All paths are relative to a root that the caller passes, so the same code reads the
// running machine, a folder with a recorded tree, and a tree in memory:
//
//	root, err := sysfs.OpenRoot("/")
//	if err != nil { … }
//	defer root.Close()
//	r := sysfs.NewReader(root, ctx.Err)
//	dev, ok := r.Dir("sys/class/infiniband/mlx5_0")
//	desc, ok := dev.Text("node_desc")
//
// A missing value is not an error: for a file that doesn't exist, or for which the kernel
// has no value (EINVAL, EOPNOTSUPP), ok is false. Any other error is recorded with its
// path, and reading continues. Only one goroutine may use a [Reader]; a [Root] is safe for
// concurrent use. Names are relative and use slashes, as in io/fs.
package sysfs
