// Command probe opens the C library and calls a function of it that fails.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
)

func main() {
	if err := run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run() error {
	lib, err := dl.Open(dl.Spec{Name: "libc.so.6"})
	if !dl.Available {
		fmt.Printf("available=false unsupported=%v\n", errors.Is(err, errors.ErrUnsupported))
		return nil
	}
	if err != nil {
		return err
	}
	unlink, err := lib.Func("unlink")
	if err != nil {
		return err
	}
	name := append([]byte("/does/not/exist"), 0)
	ret, errno := unlink.CallErrno(uintptr(unsafe.Pointer(&name[0])))
	runtime.KeepAlive(name)
	_, err = lib.Func("no_such_function")
	e, ok := errors.AsType[*dl.Error](err)
	symbol := ok && e.Symbol == "no_such_function" && e.Library == "libc.so.6" && e.Remedy != "" && errors.Is(err, errors.ErrUnsupported)
	path := strings.Contains(lib.PathOf(unlink), "/libc")
	fmt.Printf("available=true ret=%d errno=%s symbol=%v path=%v close=%v\n", int32(ret), unix.ErrnoName(errno), symbol, path, lib.Close())
	return nil
}
