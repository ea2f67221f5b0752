package checks_test

// linkCases are those of link quality.
func linkCases() []numberCase {
	return []numberCase{}
}
