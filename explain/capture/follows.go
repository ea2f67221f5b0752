package capture

// relate finds what follows from other findings about the same connection: packets are sent again
// because of what happened to them, and the responder misses, or doesn't answer, a packet that is
// too large for the path.
func (a *analysis) relate(all []*flow) {
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Flow < 0 {
			continue
		}
		switch f.Name {
		case NameRetransmission:
			f.Follows = a.origin(f, NameRNR, NameMTU, NameOneWay, NameNoAnswer, NameLoss, NameAnswersLost,
				NameReordering)
		case NameNoAnswer:
			f.Follows = a.origin(f, NameMTU)
		case NameLoss:
			if asksForUnanswered(all[f.Flow]) {
				f.Follows = a.origin(f, NameMTU)
			}
		}
	}
}

// asksForUnanswered reports whether all NAKs for lost packets of a flow ask for the first one
// without an answer, and nothing else is missing.
func asksForUnanswered(f *flow) bool {
	if f.partner == nil || f.Requests.Missing.Count > 0 || !f.hasAcked {
		return false
	}
	e := f.partner.Responses.LostBehind
	next := f.acked.Add(1)
	return e.Count > 0 && e.First.PSN == next && e.Last.PSN == next
}

// origin returns the index of the finding with the first of the names that the connection of a
// finding has, -1 if there is none.
func (a *analysis) origin(f *Finding, names ...Name) int {
	for _, n := range names {
		for i := range a.Findings {
			g := &a.Findings[i]
			if g.Name == n && g.Flow >= 0 && (g.Flow == f.Flow || g.Flow == f.Other) {
				return i
			}
		}
	}
	return -1
}
