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
	runtime.GC() // what a sync.Pool held is gone after the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
