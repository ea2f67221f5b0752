package checks_test

// transportCases are those of the RDMA transport.
func transportCases() []numberCase {
	return []numberCase{}
}
