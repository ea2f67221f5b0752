//go:build !linux

// Command guestd runs inside the guest and answers the harness on virtio
// serial ports. It is of no use anywhere else.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "guestd: runs in the Linux guest only")
	os.Exit(2)
}
