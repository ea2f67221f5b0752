package gpu

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

// Constants of hip_runtime_api.h.
const (
	hipNoDevice = 100 // hipErrorNoDevice
	hipToDevice = 1   // hipMemcpyHostToDevice
	hipToHost   = 2   // hipMemcpyDeviceToHost
)

// rocmGPU implements [device] with the HIP runtime, and the HSA runtime for dma-buf.
type rocmGPU struct {
	count, setDevice, getName, synchronize dl.Func
	alloc, freeMemory, copy, errorString   dl.Func
	exportDMABuf                           dl.Func // since ROCm 5.6
	noExport                               error   // reason why there is no exportDMABuf
	index                                  int
	label                                  string
}

// rocmPackages are those that contain libamdhip64 and libhsa-runtime64.
const rocmPackages = "ROCm's runtime: hip-runtime-amd and hsa-rocr from AMD's repository, or libamdhip64-5 and " +
	"libhsa-runtime64-1 (Debian, Ubuntu); with /opt/rocm/lib in ld.so.conf or LD_LIBRARY_PATH"

func openROCm(hip, hsa string, index int) (device, error) {
	g := &rocmGPU{index: index}
	// The soname has the major version of ROCm.
	names := []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}
	if hip != "" {
		names = []string{hip}
	}
	if err := load(rocmPackages, names, g.symbols()); err != nil {
		return nil, err
	}
	var n int32
	if status := call(g.count, uintptr(unsafe.Pointer(&n))); status != 0 {
		return nil, g.failed("hipGetDeviceCount", status)
	}
	if index >= int(n) {
		return nil, fmt.Errorf("%w: the driver has %d", ErrNoGPU, n)
	}
	label := make([]byte, maxText)
	if status := call(g.getName, uintptr(pointer(label)), uintptr(len(label)), uintptr(index)); status != 0 {
		return nil, g.failed("hipDeviceGetName", status)
	}
	g.label = fixedText(label)
	if hsa == "" {
		hsa = "libhsa-runtime64.so.1"
	}
	export := []symbol{{"hsa_amd_portable_export_dmabuf", &g.exportDMABuf, false}}
	g.noExport = load(rocmPackages, []string{hsa}, export)
	return g, nil
}

func (g *rocmGPU) symbols() []symbol {
	return []symbol{
		{"hipGetDeviceCount", &g.count, false},
		{"hipSetDevice", &g.setDevice, false},
		{"hipDeviceGetName", &g.getName, false},
		{"hipDeviceSynchronize", &g.synchronize, false},
		{"hipMalloc", &g.alloc, false},
		{"hipFree", &g.freeMemory, false},
		{"hipMemcpy", &g.copy, false},
		{"hipGetErrorString", &g.errorString, false},
	}
}

// failed returns the error of a function of HIP.
func (g *rocmGPU) failed(function string, status int32) error {
	text, _ := g.errorString.CallErrno(uintptr(status))
	err := error(&statusError{function, status, textOf(*(**byte)(unsafe.Pointer(&text)))})
	if status == hipNoDevice {
		err = fmt.Errorf("%w: %w", ErrNoGPU, err)
	}
	return err
}

// current runs f on a thread whose device is the GPU.
func (g *rocmGPU) current(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := call(g.setDevice, uintptr(g.index)); status != 0 {
		return g.failed("hipSetDevice", status)
	}
	return f()
}

func (g *rocmGPU) name() string { return g.label }

func (g *rocmGPU) malloc(length uint64) (addr uint64, err error) {
	err = g.current(func() error {
		if status := call(g.alloc, uintptr(unsafe.Pointer(&addr)), uintptr(length)); status != 0 {
			return g.failed("hipMalloc", status)
		}
		return nil
	})
	return addr, err
}

func (g *rocmGPU) free(addr uint64) error {
	return g.current(func() error {
		if status := call(g.freeMemory, uintptr(addr)); status != 0 {
			return g.failed("hipFree", status)
		}
		return nil
	})
}

func (g *rocmGPU) export(addr, length uint64) (fd int, offset uint64, err error) {
	if g.noExport != nil {
		return -1, 0, fmt.Errorf("%w: %w", ErrNoDMABuf, g.noExport)
	}
	handle := int32(-1)
	status := call(
		g.exportDMABuf, uintptr(addr), uintptr(length), uintptr(unsafe.Pointer(&handle)),
		uintptr(unsafe.Pointer(&offset)))
	if status != 0 { // the runtime has one error for a kernel without dma-buf and for others
		return -1, 0, fmt.Errorf("%w: %w", ErrNoDMABuf, &statusError{"hsa_amd_portable_export_dmabuf", status, ""})
	}
	return int(handle), offset, nil
}

func (g *rocmGPU) write(addr uint64, from []byte) error {
	return g.current(func() error {
		status := call(g.copy, uintptr(addr), uintptr(pointer(from)), uintptr(len(from)), hipToDevice)
		if status != 0 {
			return g.failed("hipMemcpy", status)
		}
		if status := call(g.synchronize); status != 0 {
			return g.failed("hipDeviceSynchronize", status)
		}
		return nil
	})
}

func (g *rocmGPU) read(to []byte, addr uint64) error {
	return g.current(func() error {
		status := call(g.copy, uintptr(pointer(to)), uintptr(addr), uintptr(len(to)), hipToHost)
		if status != 0 {
			return g.failed("hipMemcpy", status)
		}
		return nil
	})
}

func (g *rocmGPU) close() error { return nil }
