package cpus

import (
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	for _, tt := range []struct {
		text string
		list []int
	}{
		{"", nil},
		{"0", []int{0}},
		{"0-3,8", []int{0, 1, 2, 3, 8}},
		{"1,3-4,6", []int{1, 3, 4, 6}},
	} {
		got, err := ParseList(tt.text + "\n")
		if err != nil || !slices.Equal(got, tt.list) {
			t.Errorf("ParseList(%q) = %v, %v, want %v", tt.text, got, err, tt.list)
		}
		if back := FormatList(tt.list); back != tt.text {
			t.Errorf("FormatList(%v) = %q, want %q", tt.list, back, tt.text)
		}
	}
	for _, bad := range []string{"x", "3-1", "1-", "-1", "0-99999", "1,,2"} {
		if got, err := ParseList(bad); err == nil {
			t.Errorf("ParseList(%q) = %v, want an error", bad, got)
		}
	}
}

func TestParseTimes(t *testing.T) {
	got, err := ParseTimes([]byte("cpu  100 5 30 4000 7 0 1 0 0 0\ncpu0 50 2 15 2000 3 0 0 0 0 0\n"))
	if want := (Times{User: 100, Idle: 4000}); err != nil || got != want {
		t.Errorf("ParseTimes = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "cpu 1 2\n", "cpu0 1 2 3 4 5\n", "cpu x 2 3 4 5\n", "cpu 1 2 3 y 5\n"} {
		if got, err := ParseTimes([]byte(bad)); err == nil {
			t.Errorf("ParseTimes(%q) = %+v, want an error", bad, got)
		}
	}
}
