package verdict

import "math"

// blameConfidence returns how certain a blame is: it grows with the partners that agree.
func blameConfidence(b blame) float64 {
	if b.or >= 0 {
		return 0.45 // one of two ends, or the way between
	}
	c := 0.95
	switch {
	case b.partners <= 1:
		c = 0.6
	case b.partners == 2:
		c = 0.85
	case b.partners == 3:
		c = 0.9
	}
	if b.confirmed > 0 {
		c = max(c, 0.9) + 0.02
	}
	return c
}

// rateConfidence returns how certain it is that a card is slow, and the p-value of that.
func (v *view) rateConfidence(c int32) (confidence, p float64) {
	r := &v.rate
	z, n, repeats, partners := 0.0, 0, 0, 0
	for d := range 2 {
		if !r.slow[d][c] {
			continue
		}
		k, _ := v.repeats(c, d)
		z, n, repeats = max(z, r.z[d][c]), max(n, int(r.count[d][c])), max(repeats, k)
		if r.only[d][c] == several {
			partners = 2
		}
	}
	confidence = 0.92
	switch {
	case partners < 2:
		confidence = 0.6
	case n < 3:
		confidence = 0.8
	case z < 6:
		confidence = 0.85
	}
	if repeats > 0 {
		confidence = min(confidence+0.05, 0.97)
	}
	if r.ref[v.cards[c].class].byLine {
		confidence = min(confidence, 0.7)
	}
	return confidence, math.Max(tail(z), 1e-300)
}

func oversubscribedConfidence(leaves int, lost float64) float64 {
	switch {
	case leaves < 3:
		return 0.6 // one leaf with too few uplinks looks the same
	case leaves < 4 || lost < 0.35:
		return 0.8
	}
	return 0.92
}

func incastConfidence(receivers int, share, discards, pause float64) float64 {
	c := 0.75
	if receivers >= 4 {
		c += 0.07
	}
	if share < 0.5 {
		c += 0.05
	}
	if discards > 0 && pause == 0 {
		c += 0.08
	}
	return c
}
