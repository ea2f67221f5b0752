package gpu

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Buffer is memory of a GPU. Allocate it with [Allocate].
type Buffer struct {
	kind   Kind
	index  int
	gpu    device
	addr   uint64
	length uint64
	size   uint64 // allocated

	mu     sync.Mutex
	fd     int    // -1 until it is exported
	offset uint64 // of the buffer in the dma-buf
	closed bool
}

// Addr returns the address of the memory on the GPU, which is no address of the program.
func (b *Buffer) Addr() uint64 { return b.addr }

// Length returns the size in bytes.
func (b *Buffer) Length() uint64 { return b.length }

// Name returns the GPU's name, such as "NVIDIA H100 80GB HBM3".
func (b *Buffer) Name() string { return b.gpu.name() }

// DMABuf exports the memory: it returns a dma-buf and the offset of the memory in it, in bytes. The
// Buffer owns the file descriptor. The error matches [ErrNoDMABuf] if the GPU or its driver has no
// dma-buf.
func (b *Buffer) DMABuf() (fd int, offset uint64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const op = "export memory as dma-buf"
	switch {
	case b.closed:
		return -1, 0, b.fail(op, os.ErrClosed)
	case b.fd >= 0:
		return b.fd, b.offset, nil
	}
	page := pageSize()
	start := b.addr / page * page
	fd, offset, err = b.gpu.export(start, roundUp(b.addr+b.length, page)-start)
	if err != nil {
		return -1, 0, b.fail(op, err)
	}
	b.fd, b.offset = fd, offset+b.addr-start
	return b.fd, b.offset, nil
}

// CopyFrom copies from the host to the memory, from an offset on in bytes.
func (b *Buffer) CopyFrom(from []byte, offset uint64) error {
	const op = "copy to the GPU"
	if err := b.check(op, offset, len(from)); err != nil || len(from) == 0 {
		return err
	}
	return b.fail(op, b.gpu.write(b.addr+offset, from))
}

// CopyTo copies from the memory, from an offset on in bytes, to the host.
func (b *Buffer) CopyTo(to []byte, offset uint64) error {
	const op = "copy from the GPU"
	if err := b.check(op, offset, len(to)); err != nil || len(to) == 0 {
		return err
	}
	return b.fail(op, b.gpu.read(to, b.addr+offset))
}

// check returns an error unless n bytes at an offset are in the buffer, and the buffer is open.
func (b *Buffer) check(op string, offset uint64, n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return b.fail(op, os.ErrClosed)
	case offset > b.length || uint64(n) > b.length-offset:
		return b.fail(op, fmt.Errorf("%d bytes at offset %d of %d bytes", n, offset, b.length))
	}
	return nil
}

// clear fills the memory with zeros: it may hold data of another program, which a peer must not
// get.
func (b *Buffer) clear() error {
	zeros := make([]byte, min(b.length, 4<<20))
	for at := uint64(0); at < b.length; at += uint64(len(zeros)) {
		if err := b.CopyFrom(zeros[:min(uint64(len(zeros)), b.length-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the dma-buf and frees the memory. Close regions that are registered on it first. A
// second Close does nothing.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var errs []error
	if b.fd >= 0 {
		errs = append(errs, b.fail("close dma-buf", os.NewFile(uintptr(b.fd), "dma-buf").Close()))
	}
	return errors.Join(append(
		errs, b.fail("free memory", b.gpu.free(b.addr)), b.fail("release the GPU", b.gpu.close()))...)
}

// fail returns an [*Error], or nil without a cause.
func (b *Buffer) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: b.kind, Index: b.index, Op: op, Err: err, Remedy: remedy(b.kind, err)}
}
