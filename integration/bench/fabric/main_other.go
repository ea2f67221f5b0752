//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "fabric: ibsim and the C tools need Linux")
	os.Exit(1)
}
