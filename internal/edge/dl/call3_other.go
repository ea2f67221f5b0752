//go:build linux && !android && !nodl && !amd64 && !arm64

package dl

import "github.com/ebitengine/purego"

// call3 calls the C function at addr.
func call3(addr, a, b, c uintptr) uintptr {
	ret, _, _ := purego.SyscallN(addr, a, b, c)
	return ret
}
