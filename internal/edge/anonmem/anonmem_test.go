package anonmem

import (
	"errors"
	"syscall"
	"testing"
)

func TestAlloc(t *testing.T) {
	for _, n := range []int{1, 4096, 1 << 20} {
		b, err := Alloc(n)
		if err != nil || len(b) != n {
			t.Fatalf("Alloc(%d) = %d bytes, %v", n, len(b), err)
		}
		if b[0] != 0 || b[n-1] != 0 {
			t.Errorf("Alloc(%d) is not zero", n)
		}
		b[n-1] = 1
		if err := Free(b); err != nil {
			t.Errorf("Free of %d bytes = %v", n, err)
		}
	}
}

func TestAllocErrors(t *testing.T) {
	for _, n := range []int{-1, 0} {
		if b, err := Alloc(n); err == nil {
			t.Errorf("Alloc(%d) = %d bytes, want an error", n, len(b))
		}
	}
}

// TestAllocHuge takes whole pages where some are reserved, and reports ENOMEM where none are.
func TestAllocHuge(t *testing.T) {
	b, err := AllocHuge(1)
	if err != nil {
		if !errors.Is(err, syscall.ENOMEM) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("AllocHuge(1) = %v, want ENOMEM: no pages are reserved", err)
		}
	} else if err := Free(b); len(b) != HugePage || err != nil {
		t.Errorf("AllocHuge(1) = %d bytes, want %d; Free = %v", len(b), HugePage, err)
	}
	if b, err := AllocHuge(0); err == nil {
		t.Errorf("AllocHuge(0) = %d bytes, want an error", len(b))
	}
}
