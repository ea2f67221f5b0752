// Package anonmem takes large buffers from the operating system in a way that can
// fail: where make ends the program for want of memory, [Alloc] returns an error.
//
//	buf, err := anonmem.Alloc(8 << 30)
//	if err != nil {
//		return err // cannot allocate memory
//	}
//	defer anonmem.Free(buf)
//
// The garbage collector knows nothing of a buffer: who still uses it after [Free]
// crashes.
package anonmem
