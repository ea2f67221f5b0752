//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// spin is for Linux only.
func spin(syscall.RawConn, []byte) error { return errors.ErrUnsupported }
