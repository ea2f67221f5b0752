package checks_test

// addressingCases are those of addresses and routes.
func addressingCases() []numberCase {
	return []numberCase{}
}
