package roce

import "testing"

// TestIdentification checks sequences of identifications from each kind of sender.
func TestIdentification(t *testing.T) {
	type step struct {
		found uint16
		k     int // index within the batch that it arrived in
		want  bool
	}
	tests := []struct {
		name  string
		steps []step
	}{
		{"constant zero", []step{{0, 0, true}, {0, 0, true}}},
		{"place in a batch", []step{{0, 0, true}, {1, 1, true}, {63, 0, true}, {0, 0, true}}},
		{"counting", []step{{0x65cd, 0, true}, {0x65ce, 0, true}, {0x66ff, 0, true}}},
		{"counting with a jump at once", []step{{5000, 0, true}, {5300, 0, true}, {5301, 0, true}}},
		{"counting past zero with a jump", []step{
			{65530, 0, true}, {0, 0, true}, {9, 0, true}, {100, 0, true}, {300, 0, true},
		}},
		{"counting from a low number", []step{{62, 0, true}, {63, 0, true}, {64, 0, true}, {65, 0, true}}},
		{"counting, overtaken", []step{
			{1000, 0, true},
			{1002, 0, true},
			{1001, 0, true},
			{1003, 0, true},
			{1064, 0, true},
			{1000, 0, true},
			{30, 0, false},
		}},
		{"damage of a counting sender", []step{{1000, 0, true}, {40000, 0, false}, {1001, 0, true}}},
		{"long silence of a counting sender", []step{
			{1000, 0, true}, {40000, 0, false}, {40003, 0, true}, {40004, 0, true},
		}},
		{"damage of a sender of zeros", []step{{0, 0, true}, {777, 0, false}, {0, 0, true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var id identification
			for i, s := range tt.steps {
				// verifyICRC tries the expected value first.
				expected := uint16(s.k)
				if id.counting {
					expected = id.last + 1
				}
				got := true
				if s.found == expected {
					id.accept(s.found)
				} else {
					got = id.valid(s.found, s.k)
				}
				if got != s.want {
					t.Fatalf("step %d: valid(%d, %d) = %v, want %v", i, s.found, s.k, got, s.want)
				}
			}
		})
	}
}
