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

// reachable returns how many bytes are reachable.
func reachable() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection frees the items of sync.Pool
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
