package checks_test

// qosCases are those of flow control and priorities.
func qosCases() []numberCase {
	return []numberCase{}
}
