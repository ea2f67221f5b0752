// Package lint judges manifests of SR-IOV networks: each object by itself, all of them together,
// and against the nodes of a cluster.
//
//	set, err := manifest.Read([]string{"sriov/"}, os.Stdin)
//	cluster, err := source.Files{Names: []string{"nodestates.yaml"}}.Cluster(ctx)
//	report := lint.Run(lint.Input{Manifests: set, Cluster: cluster})
//	for _, f := range report.Findings { fmt.Println(f.Place(), f.Summary) }
//
// A [Rule] is a file rule_ID.go that declares one value, a line in the list of [Rules], and
// testdata/ID with a manifest that it tells, one that is right, and a near miss on which it must be
// silent; a test demands all of it.
//
// What the cluster has is known to the rules and not judged: an object in the manifests stands for
// the one of its name there. A rule that would have to guess is silent. Rules that need nodes and
// got none are listed in the report.
//
// [Run] is a function of its input, keeps nothing and may be called by several goroutines.
package lint
