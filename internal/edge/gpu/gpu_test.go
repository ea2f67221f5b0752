//go:build linux && (amd64 || arm64) && !nodl

package gpu

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

// standIn is a stand-in for a driver library, testdata/standin.c.
type standIn struct {
	path string
	lib  *dl.Library
}

func compile(t *testing.T, flags ...string) standIn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libstandin.so")
	args := slices.Concat(flags, []string{"-Wall", "-shared", "-fPIC", "-o", path, "testdata/standin.c"})
	if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	lib, err := dl.Open(dl.Spec{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	return standIn{path, lib}
}

// control calls one of the stand-in's own functions.
func (s standIn) control(t *testing.T, name string, args ...uintptr) uintptr {
	t.Helper()
	f, err := s.lib.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	ret, _ := f.CallErrno(args...)
	return ret
}

// fail lets a function return a status.
func (s standIn) fail(t *testing.T, name string, status int) {
	t.Helper()
	text := append([]byte(name), 0)
	f, err := s.lib.Func("fake_fail")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.CallErrno(uintptr(unsafe.Pointer(&text[0])), uintptr(status))
}

// calls returns the names of the functions that were called.
func (s standIn) calls(t *testing.T) []string {
	t.Helper()
	at := s.control(t, "fake_calls")
	p := *(**byte)(unsafe.Pointer(&at))
	var out []byte
	for i := 0; *(*byte)(unsafe.Add(unsafe.Pointer(p), i)) != 0; i++ {
		out = append(out, *(*byte)(unsafe.Add(unsafe.Pointer(p), i)))
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// drivers returns stand-ins for both kinds.
func drivers(t *testing.T, cudaFlags ...string) (d Drivers, cuda, hip, hsa standIn) {
	t.Helper()
	cuda, hip, hsa = compile(t, append(cudaFlags, "-DCUDA")...), compile(t, "-DHIP"), compile(t, "-DHSA")
	return Drivers{CUDA: cuda.path, HIP: hip.path, HSA: hsa.path}, cuda, hip, hsa
}

// TestBuffer allocates, copies from several threads, exports and frees.
func TestBuffer(t *testing.T) {
	d, cuda, hip, hsa := drivers(t)
	for kind, want := range map[Kind]uint64{CUDA: 0, ROCm: 8192} {
		t.Run(kind.String(), func(t *testing.T) {
			b, err := d.Allocate(kind, 1, 100_000)
			if err != nil {
				t.Fatal(err)
			}
			if b.Name() != "Stand-in 1" || b.Length() != 100_000 || b.Addr() != 0x9000000000010000 {
				t.Errorf("Buffer %q of %d bytes at %#x", b.Name(), b.Length(), b.Addr())
			}
			all := make([]byte, 100_000)
			if err := b.CopyTo(all, 0); err != nil || !bytes.Equal(all, make([]byte, 100_000)) {
				t.Errorf("CopyTo = %v, want zeros: the memory had other data", err)
			}
			copyConcurrently(t, b)
			checkExport(t, b, want)
			fd := b.fd
			if err := errors.Join(b.Close(), b.Close()); err != nil {
				t.Errorf("Close = %v", err)
			}
			var stat syscall.Stat_t
			if err := syscall.Fstat(fd, &stat); !errors.Is(err, syscall.EBADF) {
				t.Errorf("Fstat of the dma-buf after Close = %v, want %v", err, syscall.EBADF)
			}
			_, _, exportErr := b.DMABuf()
			for _, err := range []error{b.CopyTo(all, 0), b.CopyFrom(all, 0), exportErr} {
				if !errors.Is(err, os.ErrClosed) {
					t.Errorf("after Close: %v, want %v", err, os.ErrClosed)
				}
			}
		})
	}
	if n := cuda.control(t, "fake_threads"); n != 0 {
		t.Errorf("%d threads have still a context: other code of the program may run on them", n)
	}
	last := func(s standIn, n int) []string { c := s.calls(t); return c[len(c)-n:] }
	if diff := cmp.Diff([]string{"cuMemFree", "cuDevicePrimaryCtxRelease"}, last(cuda, 2)); diff != "" {
		t.Errorf("the last calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hipFree"}, last(hip, 1)); diff != "" {
		t.Errorf("the last call (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hsa_amd_portable_export_dmabuf"}, hsa.calls(t)); diff != "" {
		t.Errorf("calls of HSA (-want +got):\n%s", diff)
	}
}

// TestOffset exports memory that doesn't start at a page: whole pages are exported.
func TestOffset(t *testing.T) {
	d, _, _, _ := drivers(t, "-DODD")
	b, err := d.Allocate(CUDA, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	checkExport(t, b, 0x100)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func copyConcurrently(t *testing.T, b *Buffer) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			from, to := bytes.Repeat([]byte{byte(i + 1)}, 5000), make([]byte, 5000)
			at := uint64(i * 5000)
			if err := errors.Join(b.CopyFrom(from, at), b.CopyTo(to, at)); err != nil || !bytes.Equal(from, to) {
				t.Errorf("copy at %d: %v, starts with %x, want %x", at, err, to[:1], from[:1])
			}
		})
	}
	wg.Wait()
	for _, c := range []struct {
		at uint64
		n  int
	}{{99_999, 2}, {100_001, 0}, {1 << 63, 1 << 10}} {
		if err := b.CopyTo(make([]byte, c.n), c.at); err == nil {
			t.Errorf("CopyTo of %d bytes at %d succeeded", c.n, c.at)
		}
	}
}

func checkExport(t *testing.T, b *Buffer, want uint64) {
	t.Helper()
	fd, offset, err := b.DMABuf()
	again, _, _ := b.DMABuf()
	var stat syscall.Stat_t
	if err != nil || offset != want || again != fd || syscall.Fstat(fd, &stat) != nil {
		t.Errorf("DMABuf = %d, %d, %v and then %d, want one open file and offset %d", fd, offset, err, again, want)
	}
}

// TestFailures makes each function of the drivers fail.
func TestFailures(t *testing.T) {
	d, cuda, hip, hsa := drivers(t)
	for _, c := range []struct {
		kind     Kind
		lib      standIn
		function string
		status   int
		want     string
	}{
		{CUDA, cuda, "cuInit", 100, "cuInit: no CUDA-capable device is detected (100)"},
		{CUDA, cuda, "cuInit", 999, "cuInit: error 999"},
		{CUDA, cuda, "cuDeviceGetCount", 3, "cuDeviceGetCount: error 3"},
		{CUDA, cuda, "cuDeviceGet", 3, "cuDeviceGet: error 3"},
		{CUDA, cuda, "cuDeviceGetName", 3, "cuDeviceGetName: error 3"},
		{CUDA, cuda, "cuDevicePrimaryCtxRetain", 3, "cuDevicePrimaryCtxRetain: error 3"},
		{CUDA, cuda, "cuMemAlloc", 2, "allocate 65536 bytes: cuMemAlloc: out of memory (2)"},
		{CUDA, cuda, "cuMemcpyHtoD", 700, "copy to the GPU: cuMemcpyHtoD: error 700"},
		{CUDA, cuda, "cuCtxSynchronize", 700, "copy to the GPU: cuCtxSynchronize: error 700"},
		{CUDA, cuda, "cuMemcpyDtoH", 700, "copy from the GPU: cuMemcpyDtoH: error 700"},
		{CUDA, cuda, "cuDeviceGetAttribute", 1, "no dma-buf: cuDeviceGetAttribute: error 1"},
		{CUDA, cuda, "cuMemGetHandleForAddressRange", 801, "no dma-buf"},
		{ROCm, hip, "hipGetDeviceCount", 100, "no such GPU: hipGetDeviceCount: unknown error (100)"},
		{ROCm, hip, "hipDeviceGetName", 3, "hipDeviceGetName: unknown error (3)"},
		{ROCm, hip, "hipMalloc", 2, "allocate 65536 bytes: hipMalloc: out of memory (2)"},
		{ROCm, hip, "hipMemcpy to device", 3, "copy to the GPU: hipMemcpy: unknown error (3)"},
		{ROCm, hip, "hipDeviceSynchronize", 3, "copy to the GPU: hipDeviceSynchronize: unknown error (3)"},
		{ROCm, hip, "hipMemcpy to host", 3, "copy from the GPU: hipMemcpy: unknown error (3)"},
		{ROCm, hsa, "hsa_amd_portable_export_dmabuf", 0x1000, "hsa_amd_portable_export_dmabuf: error 4096"},
	} {
		t.Run(c.function, func(t *testing.T) {
			c.lib.fail(t, c.function, c.status)
			err := use(t, d, c.kind)
			c.lib.fail(t, "", 0)
			if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err := use(t, d, c.kind); err != nil {
				t.Errorf("after the failure: %v; something was not freed", err)
			}
		})
	}
}

// use allocates memory and does everything with it.
func use(t *testing.T, d Drivers, kind Kind) error {
	t.Helper()
	b, err := d.Allocate(kind, 1, 5)
	if err != nil {
		return err
	}
	_, _, exportErr := b.DMABuf()
	return errors.Join(exportErr, b.CopyTo(make([]byte, 5), 0), b.Close())
}

// TestAbsent checks the errors that name what to install or to load.
func TestAbsent(t *testing.T) {
	d, cuda, _, _ := drivers(t, "-DOLD")
	_, err := Drivers{CUDA: "libno-such-gpu.so.1"}.Allocate(CUDA, 0, 1)
	checkRemedy(t, err, errors.ErrUnsupported, "CUDA GPU 0: open libno-such-gpu.so.1", "install NVIDIA's driver")
	_, err = Drivers{HIP: "libno-such-gpu.so.1"}.Allocate(ROCm, 0, 1)
	checkRemedy(t, err, errors.ErrUnsupported, "ROCm GPU 0: open libno-such-gpu.so.1", "install ROCm's runtime")
	for _, kind := range []Kind{CUDA, ROCm} {
		_, err = d.Allocate(kind, 2, 1)
		checkRemedy(t, err, fs.ErrNotExist, kind.String()+" GPU 2: no such GPU", "lists the GPUs")
	}
	checkRemedy(t, use(t, d, CUDA), ErrNoDMABuf, "no cuMemGetHandleForAddressRange", "nvidia_peermem")
	cuda.control(t, "fake_dmabuf", 0)
	e := Drivers{HIP: d.HIP, HSA: "libno-such-gpu.so.1"}
	checkRemedy(t, use(t, e, ROCm), ErrNoDMABuf, "open libno-such-gpu.so.1", "install ROCm")
	d, cuda, _, _ = drivers(t)
	cuda.control(t, "fake_dmabuf", 0)
	checkRemedy(t, use(t, d, CUDA), ErrNoDMABuf, "Stand-in 1 exports no memory", "nvidia_peermem")
	for _, c := range []struct {
		index  int
		length uint64
	}{{-1, 1}, {0, 0}, {0, 1 << 60}} {
		if _, err := d.Allocate(CUDA, c.index, c.length); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("Allocate of %d bytes on GPU %d = %v", c.length, c.index, err)
		}
	}
	if _, err := d.Allocate(7, 0, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Allocate on %v = %v", Kind(7), err)
	}
}

func checkRemedy(t *testing.T, err, target error, text, remedy string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(err, target) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one that matches %v and says %q", err, target, text)
		return
	}
	if hints := e.Hints(); len(hints) != 1 || !strings.Contains(hints[0], remedy) {
		t.Errorf("hints of %v: %q, want %q", err, hints, remedy)
	}
}

// TestPeerMemory looks for the kernel module.
func TestPeerMemory(t *testing.T) {
	root := fstest.MapFS{"sys/module/nvidia_peermem/version": {}}
	if got := PeerMemory(root, CUDA); got != "nvidia_peermem" {
		t.Errorf("PeerMemory = %q", got)
	}
	if got := PeerMemory(root, ROCm) + PeerMemory(fstest.MapFS{}, CUDA); got != "" {
		t.Errorf("PeerMemory without a module = %q", got)
	}
}
