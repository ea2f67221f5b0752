// Package lint checks manifests of SR-IOV networks: each object by itself, all of them together,
// and against the nodes of a cluster.
//
//	set, err := manifest.Read([]string{"sriov/"}, os.Stdin)
//	cluster, err := source.Files{Names: []string{"nodestates.yaml"}}.Cluster(ctx)
//	report := lint.Run(lint.Input{Manifests: set, Cluster: cluster})
//	for _, f := range report.Findings { fmt.Println(f.Place(), f.Summary) }
//
// A [Rule] consists of a file rule_ID.go that declares one value, a line in the list of [Rules],
// and a directory testdata/ID with three manifests: one that the rule reports, one that is right,
// and a near miss that the rule must not report. A test requires all of them.
//
// The rules read the objects of the cluster but don't check them. An object in the manifests
// replaces the object of the same kind and name in the cluster. A rule reports nothing where it
// would have to guess. The report lists the rules that were skipped because they need nodes.
//
// [Run] depends on its input only, keeps no state and is safe for concurrent use.
package lint
