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
// A file may hold several documents of YAML, several values of JSON, and Lists. A document that
// can't be read is a problem with an explanation, and the others are read all the same. Aliases and
// merge keys are resolved.
//
// What comes from outside is bounded: [MaxFile] bytes, [MaxObjects] objects, [MaxDepth] levels, and
// a number of values that grows with the size of the file, whatever aliases stand for. Nothing
// panics.
//
// A [Set] does not change after [Parse]; several goroutines may read it.
package manifest

// Bounds on a file.
const (
	MaxFile    = 64 << 20 // bytes
	MaxObjects = 20_000   // in a file
	MaxDepth   = 100      // levels of mappings and lists
)
