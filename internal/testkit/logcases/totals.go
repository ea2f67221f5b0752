package logcases

// Cases returns the number of cases.
func (t Totals) Cases() int { return t.First.all }

// Percents returns how often the cause comes first, is within the first three, and stands below a
// trap, in percent of the cases, rounded down; the last one is of the cases with a trap.
func (t Totals) Percents() (first, three, traps int) {
	return t.First.percent(), t.FirstThree.percent(), t.Traps.percent()
}

func (s share) percent() int {
	if s.all == 0 {
		return 0
	}
	return 100 * s.hits / s.all
}
