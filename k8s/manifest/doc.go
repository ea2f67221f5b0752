// Package manifest reads Kubernetes objects from YAML and JSON and keeps the place of every key
// and value.
//
//	set := manifest.Parse("policy.yaml", data)
//	for _, problem := range set.Problems { … }   // syntax, duplicate keys
//	for _, obj := range set.Objects {
//		var policy k8s.SriovNetworkNodePolicy
//		misfits := obj.Decode(&policy)
//		at := obj.At("spec", "nicSelector", "pfNames", 0)
//	}
//
// A file may contain several YAML documents, several JSON values, and Lists. A document that can't
// be read is a [Problem] with an explanation; the other documents are still read. Aliases and merge
// keys are resolved.
//
// The input is limited to [MaxFile] bytes, [MaxObjects] objects, [MaxDepth] levels, and a number of
// values that is proportional to the size of the file, including those of aliases. The package
// never panics on input.
//
// A [Set] does not change after [Parse] and is safe for concurrent use.
package manifest

// Limits of a file.
const (
	MaxFile    = 64 << 20 // bytes
	MaxObjects = 20_000   // in a file
	MaxDepth   = 100      // levels of mappings and lists
)
