package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

// symbol is a function to find. An optional one may be absent, and is then not OK.
type symbol struct {
	name     string
	f        *dl.Func
	optional bool
}

// load opens the first of some libraries that is installed, and finds functions in it. The error
// is that of the last one.
func load(packages string, names []string, symbols []symbol) error {
	var lib *dl.Library
	var err error
	for _, name := range names {
		lib, err = dl.Open(dl.Spec{Name: name, Packages: packages})
		if e, ok := errors.AsType[*dl.Error](err); !ok || !e.Absent() {
			break
		}
	}
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if *s.f, err = lib.Func(s.name); err != nil && !s.optional {
			return cmp.Or(err, lib.Close()) // nothing of it has run
		}
	}
	return nil
}

// call calls a function that returns a status, 0 for success.
//
//go:uintptrescapes
func call(f dl.Func, args ...uintptr) int32 {
	status, _ := f.CallErrno(args...)
	return int32(status)
}

// maxText is the limit of texts from C in bytes.
const maxText = 256

// textOf copies a C string of at most maxText bytes; nil is "".
func textOf(p *byte) string {
	n := 0
	for p != nil && n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// fixedText returns a C string in a buffer.
func fixedText(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// pointer is the address of b, which is not empty, for the arguments of a C call.
func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

// statusError is the error of a function of a driver library.
type statusError struct {
	function string
	code     int32
	text     string // the library's description, or ""
}

// Error implements error.
func (e *statusError) Error() string {
	if e.text == "" {
		return fmt.Sprintf("%s: error %d", e.function, e.code)
	}
	return fmt.Sprintf("%s: %s (%d)", e.function, e.text, e.code)
}

// remedy returns what to do about an error, or "".
func remedy(kind Kind, err error) string {
	e, isLibrary := errors.AsType[*dl.Error](err)
	switch {
	case isLibrary:
		return e.Remedy
	case errors.Is(err, ErrNoGPU) && kind == CUDA:
		return "nvidia-smi -L lists the GPUs; a container needs --gpus, and CUDA_VISIBLE_DEVICES hides GPUs and " +
			"renumbers the others"
	case errors.Is(err, ErrNoGPU):
		return "rocminfo lists the GPUs; a container needs /dev/kfd and /dev/dri, and HIP_VISIBLE_DEVICES hides GPUs " +
			"and renumbers the others"
	case errors.Is(err, ErrNoDMABuf) && kind == CUDA:
		return "install NVIDIA's open kernel modules with CUDA 11.7 or newer on Linux 5.12 or newer, for dma-buf; or " +
			"load nvidia_peermem (modprobe nvidia_peermem)"
	case errors.Is(err, ErrNoDMABuf):
		return "install ROCm 5.6 or newer, on a kernel with CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA"
	}
	return ""
}
