// Package cluster holds the tests of cluster verifications by real processes: a leader and its
// workers on the nodes of package lab. They carry the build tag cluster:
//
//	go test -tags cluster ./integration/cluster
//
// They need root and the programs of the ring cluster of scripts/deps.sh; without these they fail.
package cluster
