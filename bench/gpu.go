package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rdmakit/rdmakit/internal/edge/gpu"
	"github.com/rdmakit/rdmakit/verbs"
)

// GPUKind is a kind of GPU.
type GPUKind = gpu.Kind

// Kinds of GPUs.
const (
	GPUCUDA GPUKind = gpu.CUDA // NVIDIA
	GPUROCm GPUKind = gpu.ROCm // AMD
)

// GPU is a GPU whose memory a test uses.
type GPU struct {
	Kind  GPUKind
	Index int // in the order of the driver, counted from 0

	drivers gpu.Drivers // the zero value stands for the usual ones
	root    fs.FS       // of the machine; nil for this one
}

// checkGPU rejects what memory of a GPU can't be used for, as perftest does.
func (c *Config) checkGPU() error {
	switch {
	case c.GPU == nil:
		return nil
	case c.GPU.Kind != GPUCUDA && c.GPU.Kind != GPUROCm:
		return fmt.Errorf("unknown kind of GPU %v", c.GPU.Kind)
	case c.GPU.Index < 0:
		return fmt.Errorf("index %d of a GPU is negative", c.GPU.Index)
	case c.Test == WriteLat:
		return errors.New("write_lat polls the last byte of a message, which the CPU can't do in memory of a GPU: " +
			"use send_lat or read_lat")
	case c.HugePages:
		return errors.New("huge pages are memory of the host: not with memory of a GPU")
	case c.Inline > 0:
		return errors.New("the CPU copies inline data: not with memory of a GPU")
	}
	c.Inline = -1
	return nil
}

// GPUAccessError is the error for a device that can't access memory of GPUs. It matches
// [verbs.ErrNotSupported].
type GPUAccessError struct {
	Device string
	Reason string
}

// Error implements error.
func (e *GPUAccessError) Error() string {
	return fmt.Sprintf("register memory of a GPU on %s: %s: %v", e.Device, e.Reason, verbs.ErrNotSupported)
}

// Unwrap returns the cause.
func (e *GPUAccessError) Unwrap() error { return verbs.ErrNotSupported }

// Hints returns which devices can.
func (e *GPUAccessError) Hints() []string {
	return []string{"cards whose driver in the kernel has dma-buf can, such as mlx5_0: -d selects the device"}
}

// ScatterVariable is the environment variable with which libmlx5, the driver of ConnectX cards in
// user space, doesn't let the CPU copy short messages to where they were received, if it is
// ScatterOff. C reads the environment at any time: a program sets the variable before it opens the
// first device.
const ScatterVariable = "MLX5_SCATTER_TO_CQE"

// ScatterOff is the value of [ScatterVariable] for memory of a GPU.
const ScatterOff = "0"

// vendorMellanox is the vendor ID of ConnectX cards.
const vendorMellanox = 0x02c9

// ScatterError is the error for memory of a GPU on a ConnectX card in a process without
// [ScatterVariable]: the CPU can't write to that memory.
type ScatterError struct{ Device string }

// Error implements error.
func (e *ScatterError) Error() string {
	return fmt.Sprintf("memory of a GPU on %s: %s=%s is not in the environment", e.Device, ScatterVariable, ScatterOff)
}

// Hints returns what to do.
func (e *ScatterError) Hints() []string {
	return []string{"set it before the program opens a device: the driver would copy short messages with the CPU"}
}

// gpuMemory is memory of a GPU.
type gpuMemory struct {
	gpu    *GPU
	buf    *gpu.Buffer
	device *verbs.Device
	module string // registered by address, with this kernel module; "": as dma-buf
}

// allocateGPU allocates n bytes on the GPU of a configuration.
func allocateGPU(device *verbs.Device, g *GPU, n int) (*gpuMemory, error) {
	caps := device.Capabilities()
	if !caps.Has(verbs.CapDMABuf) && !caps.Has(verbs.CapRegisterAddress) {
		const reason = "it is an engine in user space, which accesses memory of the host only"
		return nil, &GPUAccessError{device.Name(), reason}
	}
	if device.Attributes().VendorID == vendorMellanox && os.Getenv(ScatterVariable) != ScatterOff {
		return nil, &ScatterError{device.Name()}
	}
	buf, err := g.drivers.Allocate(g.Kind, g.Index, uint64(n))
	if err != nil {
		return nil, err
	}
	return &gpuMemory{gpu: g, buf: buf, device: device}, nil
}

// register implements [memory]. The addresses of the region are those of the GPU, whichever way it
// is registered.
func (m *gpuMemory) register(
	pd *verbs.ProtectionDomain, at, length int, options verbs.MemoryOptions,
) (*verbs.MemoryRegion, error) {
	err := error(&GPUAccessError{m.device.Name(), "the device or its driver has no dma-buf"})
	if m.device.Capabilities().Has(verbs.CapDMABuf) {
		var fd int
		var offset uint64
		if fd, offset, err = m.buf.DMABuf(); err == nil {
			options.Address = m.buf.Addr() + uint64(at)
			return pd.RegisterDMABuf(fd, offset+uint64(at), uint64(length), options)
		}
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	root := m.gpu.root
	if root == nil {
		root = os.DirFS("/")
	}
	if m.module = gpu.PeerMemory(root, m.gpu.Kind); m.module == "" {
		return nil, err
	}
	return pd.RegisterAddress(uintptr(m.buf.Addr())+uintptr(at), uint64(length), options)
}

// describe implements [memory].
func (m *gpuMemory) describe() string {
	way := "as dma-buf"
	if m.module != "" {
		way = "by its address, with " + m.module
	}
	return fmt.Sprintf("%v GPU %d (%s), registered %s", m.gpu.Kind, m.gpu.Index, m.buf.Name(), way)
}

// free implements [memory].
func (m *gpuMemory) free() error { return m.buf.Close() }
