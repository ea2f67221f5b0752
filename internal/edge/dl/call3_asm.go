//go:build linux && !android && !nodl && (amd64 || arm64)

package dl

import "unsafe"

// call3Frame is what the assembly code reads and writes; it knows the offsets.
type call3Frame struct {
	fn      uintptr
	a, b, c uintptr
	ret     uintptr
}

// call3Code is the address of the assembly code, which is not a Go function.
var call3Code uintptr

// cgocall calls fn on the thread's system stack, while the scheduler may run other goroutines. It
// works without cgo because purego sets up what runtime/cgo would. The frame may stay on the
// goroutine's stack, which doesn't move during the call, as in the code that cgo generates.
//
//go:noescape
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, frame unsafe.Pointer) int32

// call3 calls the C function at addr.
func call3(addr, a, b, c uintptr) uintptr {
	frame := call3Frame{fn: addr, a: a, b: b, c: c}
	cgocall(call3Code, unsafe.Pointer(&frame))
	return frame.ret
}
