package checks

import "github.com/rdmakit/rdmakit/doctor"

// transportChecks are those of the RDMA transport.
func transportChecks() []doctor.Check {
	return []doctor.Check{}
}
