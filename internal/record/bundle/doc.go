// Package bundle records a node in a file that --from reads, and opens such files.
//
//	b, err := bundle.Record(ctx, bundle.Options{Sources: local.Sources, Origin: bundle.OriginMachine})
//	if err != nil { … }
//	err = b.Encode(file)
//	…
//	b, err = bundle.Open("node.tar.gz")
//	snapshot, err := inventory.Scan(ctx, b.Sources())
//
// A bundle is a tree of package nodetree: the files of the node under their own
// names with the errors that reading them gave, and a few documents at the top,
// which this package names ([ManifestFile] and those below it). What a recording
// knows by name only (a file that was listed and not read, a folder that was
// passed and not listed) answers ENODATA, so that a later program which wants
// more says so instead of taking it for empty.
//
// Recording reads and changes nothing. It runs the scan of package inventory, the
// reading of counters and the script of package launch on a file system that
// notes all that passes, then reads a fixed list of further small files. No file
// with a side effect is on that list, and none of another process.
//
// A [Bundle] is for one goroutine; its tree may be read by several.
package bundle
