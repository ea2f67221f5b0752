package kernel

import (
	"errors"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func TestSpace(t *testing.T) {
	s, err := space(t.TempDir())
	if err != nil || s.Size == 0 || s.Free > s.Size {
		t.Errorf("space of a folder = %+v, %v, want a size", s, err)
	}
	if _, err := space(t.TempDir() + "/none"); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("space of a folder that does not exist: %v, want an error that matches ErrAbsent", err)
	}
}
