// Package bundle records a node in a file that --from reads, and opens such files.
//
//	b, err := bundle.Record(ctx, bundle.Options{Sources: local.Sources, Origin: bundle.OriginMachine})
//	if err != nil { … }
//	err = b.Encode(file)
//	…
//	b, err = bundle.Open("node.tar.gz")
//	snapshot, err := inventory.Scan(ctx, b.Sources())
//
// A bundle is a tree of package nodetree: the files of the node under their own names, with the
// errors that reading them returned, and a few documents at the root ([ManifestFile] and the
// constants below it). Entries of which only the name was recorded (a file that was listed but not
// read, a directory that was not listed) return ENODATA, so that a later program reports them as
// missing and does not treat them as empty.
//
// Recording only reads. It runs the scan of package inventory, the reading of counters and the
// script of package launch/kserve on a file system that records all accesses, then reads a fixed
// list of further small files. This list contains no files with side effects and no files of other
// processes.
//
// A [Bundle] must not be used by several goroutines at the same time; its tree may be.
package bundle
