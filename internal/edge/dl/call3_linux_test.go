//go:build !android && !nodl

package dl

import (
	"runtime"
	"testing"
	"unsafe"
)

// libc returns a function of the C library.
func libc(tb testing.TB, name string) Func {
	tb.Helper()
	lib, err := Open(Spec{Name: "libc.so.6"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = lib.Close() })
	f, err := lib.Func(name)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestCall3 checks that each argument and all bits of the result arrive, on stacks of different
// depth, and that nothing is allocated.
func TestCall3(t *testing.T) {
	compare, move := libc(t, "memcmp"), libc(t, "memmove")
	buf := []byte("abcdefgh--------")
	pinner := runtime.Pinner{}
	pinner.Pin(&buf[0])
	defer pinner.Unpin()
	from, to := uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&buf[8]))
	var deep func(depth int)
	deep = func(depth int) {
		var pad [256]byte // grows the stack of the goroutine
		if depth > 0 {
			deep(depth - 1)
		}
		pad[depth] = byte(depth)
		copy(buf[8:], "--------")
		if got := move.Call3(to, from, uintptr(depth%8)); got != to {
			t.Errorf("memmove = %#x, want %#x", got, to)
		}
		want := "abcdefgh"[:depth%8] + "--------"[depth%8:]
		if got := string(buf[8:]); got != want {
			t.Errorf("memmove of %d bytes: %q, want %q", depth%8, got, want)
		}
		if got := int32(compare.Call3(from, to, uintptr(depth%8))); got != 0 || pad[depth] != byte(depth) {
			t.Errorf("memcmp of %d equal bytes = %d", depth%8, got)
		}
	}
	done := make(chan struct{})
	go func() { // with a stack of the initial size
		defer close(done)
		deep(100)
	}()
	<-done
	if n := testing.AllocsPerRun(100, func() { compare.Call3(from, to, 8) }); n != 0 &&
		(runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		t.Errorf("Call3: %v allocations, want 0", n)
	}
}

// BenchmarkCall compares the two ways to call a C function that returns at once.
func BenchmarkCall(b *testing.B) {
	abs := libc(b, "abs")
	b.Run("Call3", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			abs.Call3(1, 0, 0)
		}
	})
	b.Run("CallErrno", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = abs.CallErrno(1, 0, 0)
		}
	})
}

// TestSetenv checks that C libraries see what os.Setenv sets.
func TestSetenv(t *testing.T) {
	t.Setenv("DL_TEST_SETENV", "value")
	name := []byte("DL_TEST_SETENV\x00")
	get := libc(t, "getenv")
	at, _ := get.CallErrno(uintptr(unsafe.Pointer(&name[0])))
	if at == 0 {
		t.Fatal("getenv after os.Setenv = NULL")
	}
	if got := cString(*(**byte)(unsafe.Pointer(&at))); got != "value" {
		t.Errorf("getenv after os.Setenv = %q", got)
	}
}
