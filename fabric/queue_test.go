package fabric

import (
	"testing"
	"time"
)

// TestAgendaLimits checks how many requests to one node may be outstanding.
func TestAgendaLimits(t *testing.T) {
	for _, tt := range []struct {
		overdue bool
		want    int
	}{{false, 8}, {true, 1}} {
		a := agenda{perNode: 8}
		n := &nodeState{node: new(Node)}
		n.peer.overdue = tt.overdue
		for port := range uint16(20) {
			a.add(task{owner: n, kind: kindPort, arg: port})
		}
		got := 0
		for _, ok := a.next(); ok; _, ok = a.next() {
			got++
		}
		if got != tt.want || a.pending != 20-tt.want {
			t.Errorf("overdue %v: %d requests, %d pending, want %d", tt.overdue, got, a.pending, tt.want)
		}
		n.peer.answered(time.Millisecond)
		a.done(task{owner: n, kind: kindPort, arg: 0})
		if _, ok := a.next(); !ok {
			t.Errorf("overdue %v: no request after an answer", tt.overdue)
		}
	}
}
