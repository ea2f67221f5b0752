// Package gpu allocates memory on a GPU, for a network card to read and write.
//
//	buf, err := gpu.Allocate(gpu.CUDA, 0, 1<<20)
//	if err != nil { ... }          // *gpu.Error, with a Remedy
//	defer buf.Close()
//	fd, offset, err := buf.DMABuf()
//	mr, err := pd.RegisterDMABuf(fd, offset, buf.Length(), verbs.MemoryOptions{Address: buf.Addr(), ...})
//
// The driver libraries, libcuda.so.1 for NVIDIA, and libamdhip64 with libhsa-runtime64 for AMD, are
// opened at run time. They stay loaded, because they have threads of their own.
//
// A Buffer may be used concurrently, except for Close. The current context of CUDA and the current
// device of HIP belong to a thread: each call sets it on the thread that it runs on.
//
// The package was never tried on a GPU, only with stand-ins for the libraries.
package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// Kind is a kind of GPU.
type Kind uint8

// Kinds of GPUs.
const (
	CUDA Kind = iota // NVIDIA
	ROCm             // AMD
)

// String returns "CUDA" or "ROCm".
func (k Kind) String() string {
	switch k {
	case CUDA:
		return "CUDA"
	case ROCm:
		return "ROCm"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Error is the error of an operation on a GPU.
type Error struct {
	Kind  Kind
	Index int    // of the GPU
	Op    string // "allocate 65536 bytes", or "" for opening it
	Err   error
	// Remedy is what to install or to load, or "".
	Remedy string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Op == "" {
		return fmt.Sprintf("%v GPU %d: %v", e.Kind, e.Index, e.Err)
	}
	return fmt.Sprintf("%v GPU %d: %s: %v", e.Kind, e.Index, e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hints returns the remedy.
func (e *Error) Hints() []string {
	if e.Remedy == "" {
		return nil
	}
	return []string{e.Remedy}
}

// Errors that [Error] wraps.
var (
	// ErrNoGPU is matched by the error for a GPU that is not there; it matches [fs.ErrNotExist].
	ErrNoGPU error = &sentinel{"no such GPU", fs.ErrNotExist}
	// ErrNoDMABuf is matched by the error for a GPU or a driver that exports no memory; it matches
	// [errors.ErrUnsupported].
	ErrNoDMABuf error = &sentinel{"no dma-buf", errors.ErrUnsupported}
)

// sentinel is an error that matches a more general one.
type sentinel struct {
	text   string
	target error
}

func (e *sentinel) Error() string { return e.text }

// Is matches the general error.
func (e *sentinel) Is(target error) bool { return target == e.target }

// Drivers are the file names with which driver libraries are opened. The zero value has the usual
// ones.
type Drivers struct {
	CUDA, HIP, HSA string
}

// Allocate allocates length bytes of zeros on the GPU with an index, counted from 0 in the order of
// the driver, as the drivers in the usual places do. The error is an [*Error].
func Allocate(kind Kind, index int, length uint64) (*Buffer, error) {
	return Drivers{}.Allocate(kind, index, length)
}

// device is a GPU as its driver library shows it. An operation other than close may be called
// concurrently with itself and others.
type device interface {
	name() string
	malloc(length uint64) (addr uint64, err error)
	free(addr uint64) error
	// export returns a new file descriptor. addr and length are multiples of the page size.
	export(addr, length uint64) (fd int, offset uint64, err error)
	write(addr uint64, from []byte) error
	read(to []byte, addr uint64) error
	close() error
}

// Allocate is like the function [Allocate].
func (d Drivers) Allocate(kind Kind, index int, length uint64) (*Buffer, error) {
	fail := func(op string, err error) (*Buffer, error) {
		return nil, &Error{Kind: kind, Index: index, Op: op, Err: err, Remedy: remedy(kind, err)}
	}
	if length == 0 || length > 1<<46 || index < 0 {
		return fail("allocate", fmt.Errorf("%d bytes on GPU %d: out of range", length, index))
	}
	gpu, err := d.open(kind, index)
	if err != nil {
		return fail("", err)
	}
	b := &Buffer{kind: kind, index: index, gpu: gpu, length: length, size: roundUp(length, granule), fd: -1}
	if b.addr, err = gpu.malloc(b.size); err != nil {
		return fail(fmt.Sprintf("allocate %d bytes", b.size), errors.Join(err, gpu.close()))
	}
	if err := b.clear(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (d Drivers) open(kind Kind, index int) (device, error) {
	switch kind {
	case CUDA:
		return openCUDA(d.CUDA, index)
	case ROCm:
		return openROCm(d.HIP, d.HSA, index)
	}
	return nil, fmt.Errorf("%v: %w", kind, errors.ErrUnsupported)
}

// granule is the page size of GPUs in bytes.
const granule = 64 << 10

func roundUp(n, to uint64) uint64 { return (n + to - 1) / to * to }

// PeerMemory returns the name of the kernel module through which a card can access memory of a GPU
// without dma-buf, by its address, or "" if none is loaded on the node whose files root has.
func PeerMemory(root fs.FS, kind Kind) string {
	if kind != CUDA {
		return ""
	}
	for _, module := range []string{"nvidia_peermem", "nv_peer_mem"} {
		if _, err := fs.Stat(root, sysfs.ModuleDir+"/"+module); err == nil {
			return module
		}
	}
	return ""
}

// pageSize is the host's, in bytes.
func pageSize() uint64 { return uint64(os.Getpagesize()) }
