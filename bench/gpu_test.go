//go:build linux && (amd64 || arm64) && !nodl

package bench_test

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/internal/edge/gpu"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// gpuAddr is the address of all memory of the stand-in GPU; the program has no such address.
const gpuAddr = 0x9000000000010000

// gpuCard is a card for memory of GPUs: an engine that has memory of its own for each registration.
type gpuCard struct {
	provider.Device
	caps   provider.Capabilities
	vendor uint32

	mu         sync.Mutex
	registered []string
}

func (c *gpuCard) Capabilities() provider.Capabilities { return c.Device.Capabilities() | c.caps }

func (c *gpuCard) Attributes() provider.DeviceAttributes {
	a := c.Device.Attributes()
	a.VendorID = c.vendor
	return a
}

func (c *gpuCard) AllocatePD() (provider.ProtectionDomain, error) {
	pd, err := c.Device.AllocatePD()
	return &gpuDomain{pd, c}, err
}

type gpuDomain struct {
	provider.ProtectionDomain
	card *gpuCard
}

func (d *gpuDomain) RegisterDMABuf(
	fd int, offset, length uint64, o provider.MemoryOptions,
) (provider.MemoryRegion, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	return d.register(fmt.Sprintf("dma-buf %d+%d at %#x", offset, length, o.Address), length, o)
}

func (d *gpuDomain) RegisterAddress(
	addr uintptr, length uint64, o provider.MemoryOptions,
) (provider.MemoryRegion, error) {
	text := fmt.Sprintf("address %#x+%d", addr, length)
	o.Address = uint64(addr)
	return d.register(text, length, o)
}

func (d *gpuDomain) register(text string, length uint64, o provider.MemoryOptions) (provider.MemoryRegion, error) {
	d.card.mu.Lock()
	defer d.card.mu.Unlock()
	d.card.registered = append(d.card.registered, text)
	return d.RegisterMemory(make([]byte, length), o)
}

// cards is a provider with gpuCards.
type cards struct {
	caps provider.Capabilities
	last *gpuCard
}

func (*cards) Name() string { return "cards" }

func (*cards) Devices(context.Context) ([]provider.DeviceInfo, error) { return nil, nil }

func (p *cards) Open(ctx context.Context, name string) (provider.Device, error) {
	for _, engines := range builtin.All() {
		if d, err := engines.Open(ctx, name); err == nil {
			p.last = &gpuCard{Device: d, caps: p.caps}
			return p.last, nil
		}
	}
	return nil, fs.ErrNotExist
}

// openCard opens a card with capabilities, on an address.
func openCard(t *testing.T, address string, caps provider.Capabilities) (*verbs.Device, *gpuCard) {
	t.Helper()
	p := &cards{caps: caps}
	d, err := verbs.Open(t.Context(), "roce@"+address, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, p.last
}

// cc compiles a library.
func cc(t *testing.T, source string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libstandin.so")
	args := slices.Concat(flags, []string{"-shared", "-fPIC", "-o", path, source})
	if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return path
}

const gpuSource = "../internal/edge/gpu/testdata/standin.c"

// standInGPU returns a stand-in GPU. At the end of the test all of its memory must have been freed.
func standInGPU(t *testing.T, root fs.FS, flags ...string) *bench.GPU {
	t.Helper()
	path := cc(t, gpuSource, append(flags, "-DCUDA")...)
	t.Cleanup(func() {
		buf, err := gpu.Drivers{CUDA: path}.Allocate(gpu.CUDA, 0, 1)
		if err != nil {
			t.Errorf("memory of the GPU was not freed: %v", err)
			return
		}
		if err := buf.Close(); err != nil {
			t.Error(err)
		}
	})
	return bench.GPU{Kind: bench.GPUCUDA}.WithDrivers(gpu.Drivers{CUDA: path}, root)
}

// TestGPU measures from memory of a GPU to memory of the host.
func TestGPU(t *testing.T) {
	const way = "CUDA GPU 0 (Stand-in 0), registered "
	peer := fstest.MapFS{"sys/module/nvidia_peermem/version": {}}
	for _, c := range []struct {
		name   string
		caps   provider.Capabilities
		flags  []string // of the compiler
		cfg    bench.Config
		want   []string
		memory string
	}{
		{
			"dma-buf", provider.CapDMABuf, nil,
			bench.Config{Test: bench.WriteBW, Size: 8192},
			[]string{"dma-buf 0+16384 at 0x9000000000010000"},
			way + "as dma-buf",
		},
		{
			"a region for each queue pair", provider.CapDMABuf, nil,
			bench.Config{Test: bench.WriteBW, Size: 8192, QueuePairs: 2, MRPerQP: true},
			[]string{"dma-buf 0+16384 at 0x9000000000010000", "dma-buf 16384+16384 at 0x9000000000014000"},
			way + "as dma-buf",
		},
		{
			"latency", provider.CapDMABuf | provider.CapRegisterAddress, nil,
			bench.Config{Test: bench.SendLat, Size: 2},
			[]string{"dma-buf 0+8192 at 0x9000000000010000"},
			way + "as dma-buf",
		},
		{
			"an old driver", provider.CapDMABuf | provider.CapRegisterAddress,
			[]string{"-DOLD"},
			bench.Config{Test: bench.ReadLat, Size: 2},
			[]string{"address 0x9000000000010000+8192"},
			way + "by its address, with nvidia_peermem",
		},
		{
			"a card without dma-buf", provider.CapRegisterAddress, nil,
			bench.Config{Test: bench.ReadBW, Size: 2},
			[]string{"address 0x9000000000010000+8192"},
			way + "by its address, with nvidia_peermem",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, card := openCard(t, "127.0.1.23", c.caps)
			server, _ := openCard(t, "127.0.1.24", c.caps)
			c.cfg.Iterations = 20
			c.cfg.GPU = standInGPU(t, peer, c.flags...)
			own := c.cfg
			// The stand-in library has one allocation: the server needs another.
			own.GPU = standInGPU(t, peer, c.flags...)
			a, b := bothWith(t, client, server, c.cfg, own)
			check(t, c.cfg, a, true)
			if a.Memory != c.memory || b.Memory != c.memory || !slices.Contains(a.Notes, "the memory is on "+c.memory) {
				t.Errorf("memory %q and %q, notes %q, want %q", a.Memory, b.Memory, a.Notes, c.memory)
			}
			if !slices.Equal(card.registered, c.want) || a.Local[0].Addr < gpuAddr {
				t.Errorf("registered %q, and told the peer %#x; want %q", card.registered, a.Local[0].Addr, c.want)
			}
		})
	}
}

// TestGPURefused checks the errors before the other end waits.
func TestGPURefused(t *testing.T) {
	both := provider.CapDMABuf | provider.CapRegisterAddress
	library := gpu.Drivers{CUDA: "libno-such-gpu.so.1"}
	for _, c := range []struct {
		caps  provider.Capabilities
		gpu   *bench.GPU
		cfg   bench.Config
		match error
		want  string
	}{
		{0, standInGPU(t, nil), bench.Config{}, verbs.ErrNotSupported, "is an engine in user space"},
		{
			provider.CapRegisterAddress, standInGPU(t, fstest.MapFS{}),
			bench.Config{},
			verbs.ErrNotSupported,
			"the device or its driver has no dma-buf",
		},
		{
			both, standInGPU(t, fstest.MapFS{}, "-DOLD"),
			bench.Config{},
			gpu.ErrNoDMABuf,
			"no cuMemGetHandleForAddressRange",
		},
		{
			both, bench.GPU{}.WithDrivers(library, nil),
			bench.Config{},
			errors.ErrUnsupported,
			"open libno-such-gpu.so.1",
		},
		{both, &bench.GPU{Index: -1}, bench.Config{}, nil, "index -1 of a GPU is negative"},
		{both, &bench.GPU{Kind: 9}, bench.Config{}, nil, "unknown kind of GPU Kind(9)"},
		{both, &bench.GPU{}, bench.Config{Test: bench.WriteLat}, nil, "write_lat polls the last byte"},
		{both, &bench.GPU{}, bench.Config{HugePages: true}, nil, "huge pages are memory of the host"},
		{both, &bench.GPU{}, bench.Config{Inline: 1}, nil, "the CPU copies inline data"},
	} {
		t.Run(c.want, func(t *testing.T) {
			d, _ := openCard(t, "127.0.1.23", c.caps)
			c.cfg.GPU = c.gpu
			err := bench.Check(t.Context(), d, c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.match != nil && !errors.Is(err, c.match) {
				t.Errorf("Check = %v, want %q that matches %v", err, c.want, c.match)
			}
		})
	}
}

// TestGPUScatter needs an environment in which the driver of ConnectX cards leaves memory of a GPU
// alone: the library doesn't change it.
func TestGPUScatter(t *testing.T) {
	for _, c := range []struct {
		vendor uint32
		value  string
		ok     bool
	}{{0x02c9, "", false}, {0x02c9, "1", false}, {0x02c9, "0", true}, {0, "", true}} {
		t.Setenv(bench.ScatterVariable, c.value)
		d, card := openCard(t, "127.0.1.25", provider.CapDMABuf)
		card.vendor = c.vendor
		err := bench.Check(t.Context(), d, bench.Config{Test: bench.WriteBW, GPU: standInGPU(t, nil)})
		if _, missing := errors.AsType[*bench.ScatterError](err); missing == c.ok || c.ok && err != nil {
			t.Errorf("Check on vendor %#x with %q = %v, want success: %t", c.vendor, c.value, err, c.ok)
		}
		if got := os.Getenv(bench.ScatterVariable); got != c.value {
			t.Errorf("%s=%q, want it unchanged: %q", bench.ScatterVariable, got, c.value)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGPUOnDevice registers memory of a GPU with libibverbs, and frees it first of all.
func TestGPUOnDevice(t *testing.T) {
	dir := "../verbs/provider/ibverbs/testdata"
	library := cc(t, filepath.Join(dir, "fake.c"), "-DDATAPATH")
	d, err := verbs.Open(t.Context(), "good0", ibverbs.Provider{Library: library})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !d.Capabilities().Has(verbs.CapDMABuf) {
		t.Fatal("the stand-in for libibverbs has no dma-buf")
	}
	cfg := bench.Config{Test: bench.WriteBW, GPU: standInGPU(t, nil)}
	if err := bench.Check(t.Context(), d, cfg); err != nil {
		t.Errorf("Check = %v", err)
	}
	lib, err := dl.Open(dl.Spec{Name: library})
	if err != nil {
		t.Fatal(err)
	}
	live, err := lib.Func("fake_live")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := live.CallErrno(1); n != 0 {
		t.Errorf("%d regions are still registered", n)
	}
}

// TestGPUNeverInline checks that no message in memory of a GPU is copied by the CPU.
func TestGPUNeverInline(t *testing.T) {
	cfg := bench.Config{Test: bench.SendLat, GPU: &bench.GPU{}}
	if n, err := bench.InlineOf(cfg); n != -1 || err != nil {
		t.Errorf("inline bytes = %d, %v, want -1: none", n, err)
	}
}
