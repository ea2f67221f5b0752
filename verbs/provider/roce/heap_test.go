package roce

import (
	"fmt"
	"net"
	"runtime"
	"syscall"
)

var (
	errSinkClosed = fmt.Errorf("sink: %w", net.ErrClosed)
	errAddrInUse  = syscall.EADDRINUSE
)

// heap returns how many bytes are reachable.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection frees the items of sync.Pool
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
