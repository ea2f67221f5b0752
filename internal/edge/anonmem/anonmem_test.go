package anonmem

import "testing"

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
