package checks

import "github.com/rdmakit/rdmakit/doctor"

// qosChecks are those of flow control and priorities.
func qosChecks() []doctor.Check {
	return []doctor.Check{
		globalPause(),
		roceTrust(),
		dscpLossless(),
		pfcPriority(),
		roceECN(),
		cnpClass(),
		rdmaCMClass(),
		trafficClass(),
		pfcBuffer(),
		ccAlgorithm(),
		dcbxPeer(),
	}
}
