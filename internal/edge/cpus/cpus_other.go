//go:build !linux

package cpus

import "errors"

// Pin is not supported.
func Pin([]int) (restore func(), err error) { return nil, errors.ErrUnsupported }

// Allowed is not supported.
func Allowed() ([]int, error) { return nil, errors.ErrUnsupported }

// Now is not supported.
func Now() (Times, error) { return Times{}, errors.ErrUnsupported }
