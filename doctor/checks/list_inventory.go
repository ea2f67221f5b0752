package checks

import "github.com/rdmakit/rdmakit/doctor"

// inventoryChecks are those of inventory and drivers.
func inventoryChecks() []doctor.Check {
	return []doctor.Check{
		devlinkHealth(),
		kernelLog(),
		rdmaModules(),
		verbsABI(),
		vfCount(),
		netnsMode(),
		dpuMode(),
	}
}
