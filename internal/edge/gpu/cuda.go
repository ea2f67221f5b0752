package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

// Constants of cuda.h.
const (
	cuNoDevice        = 100 // CUDA_ERROR_NO_DEVICE
	cuNotSupported    = 801 // CUDA_ERROR_NOT_SUPPORTED
	cuAttributeDMABuf = 124 // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
	cuHandleDMABuf    = 1   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
)

// cudaGPU implements [device] with the CUDA driver library, and the primary context of the GPU.
type cudaGPU struct {
	init, count, get, getName, attribute     dl.Func
	retain, release, setCurrent, synchronize dl.Func
	alloc, freeMemory, toDevice, toHost      dl.Func
	rangeHandle                              dl.Func // since CUDA 11.7; may be absent
	errorString                              dl.Func
	ordinal                                  int32   // CUdevice
	context                                  uintptr // CUcontext
	label                                    string
}

// cudaPackages are those that contain libcuda.so.1.
const cudaPackages = "NVIDIA's driver: libcuda1 (Debian), libnvidia-compute-VERSION (Ubuntu), " +
	"nvidia-driver-cuda-libs (RHEL); in a container, the NVIDIA Container Toolkit provides it"

func openCUDA(name string, index int) (device, error) {
	c := &cudaGPU{}
	if err := load(cudaPackages, []string{cmp.Or(name, "libcuda.so.1")}, c.symbols()); err != nil {
		return nil, err
	}
	if status := call(c.init, 0); status != 0 {
		return nil, c.failed("cuInit", status)
	}
	var n int32
	if status := call(c.count, uintptr(unsafe.Pointer(&n))); status != 0 {
		return nil, c.failed("cuDeviceGetCount", status)
	}
	if index >= int(n) {
		return nil, fmt.Errorf("%w: the driver has %d", ErrNoGPU, n)
	}
	if status := call(c.get, uintptr(unsafe.Pointer(&c.ordinal)), uintptr(index)); status != 0 {
		return nil, c.failed("cuDeviceGet", status)
	}
	label := make([]byte, maxText)
	if status := call(c.getName, uintptr(pointer(label)), uintptr(len(label)), uintptr(c.ordinal)); status != 0 {
		return nil, c.failed("cuDeviceGetName", status)
	}
	c.label = fixedText(label)
	if status := call(c.retain, uintptr(unsafe.Pointer(&c.context)), uintptr(c.ordinal)); status != 0 {
		return nil, c.failed("cuDevicePrimaryCtxRetain", status)
	}
	return c, nil
}

// symbols names the functions with the versions that cuda.h selects.
func (c *cudaGPU) symbols() []symbol {
	return []symbol{
		{"cuInit", &c.init, false},
		{"cuDeviceGetCount", &c.count, false},
		{"cuDeviceGet", &c.get, false},
		{"cuDeviceGetName", &c.getName, false},
		{"cuDeviceGetAttribute", &c.attribute, false},
		{"cuDevicePrimaryCtxRetain", &c.retain, false},
		{"cuDevicePrimaryCtxRelease_v2", &c.release, false},
		{"cuCtxSetCurrent", &c.setCurrent, false},
		{"cuCtxSynchronize", &c.synchronize, false},
		{"cuMemAlloc_v2", &c.alloc, false},
		{"cuMemFree_v2", &c.freeMemory, false},
		{"cuMemcpyHtoD_v2", &c.toDevice, false},
		{"cuMemcpyDtoH_v2", &c.toHost, false},
		{"cuMemGetHandleForAddressRange", &c.rangeHandle, true},
		{"cuGetErrorString", &c.errorString, false},
	}
}

// failed returns the error of a function.
func (c *cudaGPU) failed(function string, status int32) error {
	var text *byte
	if call(c.errorString, uintptr(status), uintptr(unsafe.Pointer(&text))) != 0 {
		text = nil
	}
	err := error(&statusError{function, status, textOf(text)})
	switch status {
	case cuNoDevice:
		err = fmt.Errorf("%w: %w", ErrNoGPU, err)
	case cuNotSupported:
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// current runs f on a thread on which the GPU's context is current.
func (c *cudaGPU) current(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := call(c.setCurrent, c.context); status != 0 {
		return c.failed("cuCtxSetCurrent", status)
	}
	err := f()
	if status := call(c.setCurrent, 0); status != 0 {
		err = errors.Join(err, c.failed("cuCtxSetCurrent", status))
	}
	return err
}

func (c *cudaGPU) name() string { return c.label }

func (c *cudaGPU) malloc(length uint64) (addr uint64, err error) {
	err = c.current(func() error {
		if status := call(c.alloc, uintptr(unsafe.Pointer(&addr)), uintptr(length)); status != 0 {
			return c.failed("cuMemAlloc", status)
		}
		return nil
	})
	return addr, err
}

func (c *cudaGPU) free(addr uint64) error {
	return c.current(func() error {
		if status := call(c.freeMemory, uintptr(addr)); status != 0 {
			return c.failed("cuMemFree", status)
		}
		return nil
	})
}

func (c *cudaGPU) export(addr, length uint64) (fd int, offset uint64, err error) {
	var supported int32
	status := call(c.attribute, uintptr(unsafe.Pointer(&supported)), cuAttributeDMABuf, uintptr(c.ordinal))
	switch {
	case !c.rangeHandle.OK():
		return -1, 0, fmt.Errorf("%w: the driver has no cuMemGetHandleForAddressRange", ErrNoDMABuf)
	case status != 0: // an old driver doesn't know the attribute
		return -1, 0, fmt.Errorf("%w: %w", ErrNoDMABuf, c.failed("cuDeviceGetAttribute", status))
	case supported == 0:
		return -1, 0, fmt.Errorf("%w: %s exports no memory with this driver", ErrNoDMABuf, c.label)
	}
	handle := int32(-1)
	err = c.current(func() error {
		status := call(
			c.rangeHandle, uintptr(unsafe.Pointer(&handle)), uintptr(addr), uintptr(length), cuHandleDMABuf, 0)
		if status == 0 {
			return nil
		}
		err := c.failed("cuMemGetHandleForAddressRange", status)
		if status == cuNotSupported {
			err = fmt.Errorf("%w: %w", ErrNoDMABuf, err)
		}
		return err
	})
	return int(handle), 0, err
}

func (c *cudaGPU) write(addr uint64, from []byte) error {
	return c.current(func() error {
		if status := call(c.toDevice, uintptr(addr), uintptr(pointer(from)), uintptr(len(from))); status != 0 {
			return c.failed("cuMemcpyHtoD", status)
		}
		// The last part of memory that is not page-locked may still be on its way.
		if status := call(c.synchronize); status != 0 {
			return c.failed("cuCtxSynchronize", status)
		}
		return nil
	})
}

func (c *cudaGPU) read(to []byte, addr uint64) error {
	return c.current(func() error {
		if status := call(c.toHost, uintptr(pointer(to)), uintptr(addr), uintptr(len(to))); status != 0 {
			return c.failed("cuMemcpyDtoH", status)
		}
		return nil
	})
}

func (c *cudaGPU) close() error {
	if status := call(c.release, uintptr(c.ordinal)); status != 0 {
		return c.failed("cuDevicePrimaryCtxRelease", status)
	}
	return nil
}
