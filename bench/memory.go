package bench

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Memory of a test: for each queue pair a slot to send from (or read into), and one that the peer
// writes to (or reads from). In one region, all of the former come before all of the latter; with
// a region for each queue pair, each has both. Both as in perftest.

// checkMemory checks that the slots of a test don't need too much memory.
func checkMemory(what string, queuePairs, slot int) error {
	if need := 2 * int64(queuePairs) * int64(slot); need > maxMemory {
		return fmt.Errorf("%s need %d bytes of memory, more than %d", what, need, int64(maxMemory))
	}
	return nil
}

// memory is where the slots are. A test registers parts of it, and frees it after their regions are
// closed.
type memory interface {
	register(pd *verbs.ProtectionDomain, at, length int, options verbs.MemoryOptions) (*verbs.MemoryRegion, error)
	// describe returns where it is and how it was registered, "" for memory of the host.
	describe() string
	free() error
}

// hostMemory is memory of the host.
type hostMemory []byte

func (m hostMemory) register(
	pd *verbs.ProtectionDomain, at, length int, options verbs.MemoryOptions,
) (*verbs.MemoryRegion, error) {
	return pd.RegisterMemory(m[at:at+length], options)
}

func (m hostMemory) describe() string { return "" }

func (m hostMemory) free() error { return anonmem.Free(m) }

// allocate allocates n bytes for the slots of queue pairs.
func allocate(device *verbs.Device, cfg *Config, slot, n int) (memory, error) {
	if cfg.GPU != nil {
		m, err := allocateGPU(device, cfg.GPU, n)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := allocateHost(cfg, slot, n)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func allocateHost(cfg *Config, slot, n int) (hostMemory, error) {
	alloc, pages := anonmem.Alloc, ""
	if cfg.HugePages {
		alloc, pages = anonmem.AllocHuge, " in huge pages"
	}
	m, err := alloc(n)
	if err == nil {
		return m, nil
	}
	err = fmt.Errorf("allocate %s%s for %s of %s: %w", english.Bytes(int64(n)), pages,
		english.Count(cfg.QueuePairs, "queue pair"), english.Bytes(int64(slot)), err)
	if cfg.HugePages {
		err = &HugePagesError{Pages: (n + anonmem.HugePage - 1) / anonmem.HugePage, Err: err}
	}
	return nil, err
}

// HugePagesError is the error for memory in huge pages that the system doesn't have.
type HugePagesError struct {
	Pages int // of 2 MiB, that the test needs
	Err   error
}

// Error implements error.
func (e *HugePagesError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HugePagesError) Unwrap() error { return e.Err }

// Hints returns how to reserve huge pages.
func (e *HugePagesError) Hints() []string {
	return []string{fmt.Sprintf("huge pages of 2 MiB that must be free: %d; root reserves them with sysctl "+
		"vm.nr_hugepages=%d, and HugePages_Free in /proc/meminfo counts the free ones", e.Pages, e.Pages)}
}

// register allocates the memory of a test and registers it.
func (r *rig) register() (err error) {
	if err := checkMemory(fmt.Sprintf("slots of %d bytes", r.slot), r.cfg.QueuePairs, r.slot); err != nil {
		return err
	}
	all := 2 * r.cfg.QueuePairs * r.slot
	if r.memory, err = allocate(r.device, &r.cfg, r.slot, all); err != nil {
		return err
	}
	options := verbs.MemoryOptions{Access: r.memoryAccess()}
	each := all
	if r.cfg.MRPerQP {
		each = 2 * r.slot
	}
	for at := 0; at+each <= all || at == 0; at += each {
		mr, err := r.memory.register(r.pd, at, each, options)
		if err != nil {
			return err
		}
		r.mrs = append(r.mrs, mr)
	}
	return nil
}

// region returns the region of queue pair i.
func (r *rig) region(i int) *verbs.MemoryRegion {
	if r.cfg.MRPerQP {
		return r.mrs[i]
	}
	return r.mrs[0]
}

// source and target are the offsets of the slots of queue pair i in its region.
func (r *rig) source(i int) int {
	if r.cfg.MRPerQP {
		return 0
	}
	return i * r.slot
}

func (r *rig) target(i int) int {
	if r.cfg.MRPerQP {
		return r.slot
	}
	return (r.cfg.QueuePairs + i) * r.slot
}

// received is the segment for a message of size bytes to queue pair i. A datagram follows its
// Global Route Header, which lies before a cache line, as in perftest.
func (r *rig) received(i, size int) verbs.Segment {
	at := r.target(i)
	if r.cfg.QPType == verbs.QPTypeUD {
		at += headroom - ib.GRHLen
		size += ib.GRHLen
	}
	return r.region(i).Segment(at, size)
}

// headroom is the room for the Global Route Header at the start of a slot of type UD, in bytes.
const headroom = 64

// release frees the memory. If a region can't be closed, the memory is leaked, because the device
// may still write to it.
func (r *rig) release() error {
	var errs []error
	for _, mr := range r.mrs {
		errs = append(errs, mr.Close())
	}
	if err := errors.Join(errs...); err != nil || r.memory == nil {
		return err
	}
	return r.memory.free()
}
