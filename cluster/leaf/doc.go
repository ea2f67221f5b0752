// Package leaf finds the leaf switches of the nodes of a cluster: from saved sweeps of InfiniBand
// subnets, from the output of lldpctl, and from the LLDP neighbours that workers have reported.
//
//	var s leaf.Sources
//	err := s.Read("sweep.json", file) // or gpu-001.json, the output of lldpctl -f json there
//	leaves, err := s.Find(cluster, nodes)
//	for i, name := range leaves.Nodes { … } // plan.Node.Leaf
//
// A sweep has the cards by the GUIDs of their ports, the output of lldpctl by the names of their
// network devices. Nodes whose cards are connected to the same switches have the same leaf: that
// covers leaves for all rails and leaves of each rail.
//
// The functions read no files and run no programs. A [Sources] is not safe for concurrent use.
package leaf
