// Command probe prints what the linker stamped, for TestStamp.
package main

import (
	"fmt"

	"github.com/rdmakit/rdmakit/internal/version"
)

func main() {
	b := version.Info()
	fmt.Printf("%s|%s|%s|%s\n", b.Version, b.Commit, b.Date, b.Build)
}
