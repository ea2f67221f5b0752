package checks_test

// inventoryCases are those of inventory and drivers.
func inventoryCases() []numberCase {
	return []numberCase{}
}
