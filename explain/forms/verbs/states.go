package verbs

import "strings"

// nextState returns the state that a queue pair was to get, by a text such as "RTR -> RTS", "to
// RTR" or "INIT to RTR": INIT, RTR or RTS; "" if the text names none. Of two states it is the later
// one, whatever their order.
func nextState(text string) string {
	states := [...]string{"INIT", "RTR", "RTS"}
	latest, last := -1, ""
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) {
		for i, state := range states {
			// A function's name can begin with init.
			if strings.EqualFold(word, state) && (i > 0 || word == state || last == "to") {
				latest = max(latest, i)
			}
		}
		last = word
	}
	if latest < 0 {
		return ""
	}
	return states[latest]
}
