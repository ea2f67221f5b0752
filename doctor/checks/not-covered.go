package checks

// NotCovered returns what no check covers: the numbers of the catalogue without a check, with the
// reason, and what is not about one node at all.
func NotCovered() []string {
	var all []string
	for _, e := range Catalogue() {
		if e.Uncovered != "" {
			all = append(all, e.What+" ("+e.Uncovered+")")
		}
	}
	return append(all, "switches and cables (rdmactl fabric)", "bandwidth (rdmactl bench)")
}
