package cpus

import (
	"slices"
	"testing"
)

// TestPin restricts a goroutine to one CPU and gives it back the others.
func TestPin(t *testing.T) {
	before, err := Allowed()
	if err != nil || len(before) == 0 {
		t.Fatalf("Allowed = %v, %v", before, err)
	}
	last := before[len(before)-1:]
	restore, err := Pin(last)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Allowed(); err != nil || !slices.Equal(got, last) {
		t.Errorf("Allowed behind Pin(%v) = %v, %v", last, got, err)
	}
	restore()
	if got, err := Allowed(); err != nil || !slices.Equal(got, before) {
		t.Errorf("Allowed behind restore = %v, %v, want %v", got, err, before)
	}
	if _, err := Pin(nil); err == nil {
		t.Error("Pin without CPUs succeeded")
	}
}

func TestNow(t *testing.T) {
	got, err := Now()
	if err != nil || got.User+got.Idle == 0 {
		t.Errorf("Now = %+v, %v", got, err)
	}
}
