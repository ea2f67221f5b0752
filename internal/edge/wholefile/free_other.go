//go:build !linux

package wholefile

import "errors"

// Free is known on Linux only; elsewhere the error matches [errors.ErrUnsupported].
func Free(string) (uint64, error) { return 0, errors.ErrUnsupported }
