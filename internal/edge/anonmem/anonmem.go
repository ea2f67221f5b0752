// Package anonmem allocates large buffers from the operating system. If there isn't
// enough memory, [Alloc] returns an error, while make would end the program.
//
//	buf, err := anonmem.Alloc(8 << 30)
//	if err != nil {
//		return err // cannot allocate memory
//	}
//	defer anonmem.Free(buf)
//
// The garbage collector doesn't manage these buffers: using one after [Free] crashes the
// program.
package anonmem
