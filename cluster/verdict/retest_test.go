package verdict

import (
	"slices"
	"testing"
)

// TestRetest checks that a leader measures again what is suspect, once a node, with partners that
// are good.
func TestRetest(t *testing.T) {
	w := newWorld(3, 16, 4, 8)
	for _, r := range []int{1, 2} {
		w.tx[end(4, r)] = 0.6
	}
	w.lossRx[end(9, 0)] = 1e-4
	run := w.run(t)
	suspects, good := Retest(run)
	if want := []int32{4, 9}; !slices.Equal(suspects, want) {
		t.Errorf("suspects = %v, want %v", suspects, want)
	}
	if len(good) != 14 || slices.Contains(good, 4) || slices.Contains(good, 9) || !slices.Equal(good, Good(run)) {
		t.Errorf("good nodes = %v, want all others, as of Good: %v", good, Good(run))
	}
}
