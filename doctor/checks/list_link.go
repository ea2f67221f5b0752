package checks

import "github.com/rdmakit/rdmakit/doctor"

// linkChecks are those of link quality.
func linkChecks() []doctor.Check {
	return []doctor.Check{
		linkWidth(),
		fec(),
		moduleHealth(),
		cardTemperature(),
		receiveRing(),
	}
}
