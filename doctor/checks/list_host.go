package checks

import "github.com/rdmakit/rdmakit/doctor"

// hostChecks are those of the host, PCI Express and GPUs.
func hostChecks() []doctor.Check {
	return []doctor.Check{
		clockSync(),
		jobEnvironment(),
		gpudirect(),
		gpuAffinity(),
		acs(),
		iommu(),
		pcieRequests(),
		relaxedOrdering(),
		hostJitter(),
		memlockJobs(),
		rdmaCgroup(),
		sharedMemory(),
		receiveBuffer(),
	}
}
