package checks

import "github.com/rdmakit/rdmakit/doctor"

// addressingChecks are those of addresses and routes.
func addressingChecks() []doctor.Check {
	return []doctor.Check{
		gidIndex(),
		rpFilter(),
		railRoute(),
		verbsMTU(),
		pathMTU(),
		duplicateAddress(),
		neighbourTable(),
		packetFilter(),
		rocePeer(),
		hostName(),
		socketInterface(),
		pkey(),
		subnetManager(),
		rdmaBond(),
	}
}
