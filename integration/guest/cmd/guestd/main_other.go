//go:build !linux

// Command guestd runs inside the guest and serves the harness on virtio serial ports. It is not
// useful elsewhere.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "guestd: runs in the Linux guest only")
	os.Exit(2)
}
