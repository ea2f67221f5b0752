//go:build !linux

package tty

import (
	"errors"
	"fmt"
	"os"
)

// Keys are the keys that are pressed on a terminal; here there are none.
type Keys struct{}

// Open answers that it is unsupported.
func Open(file *os.File) (*Keys, error) {
	return nil, fmt.Errorf("read keys of %s: %w", file.Name(), errors.ErrUnsupported)
}

// C never gives a key.
func (k *Keys) C() <-chan byte { return nil }

// Close has nothing to restore.
func (k *Keys) Close() error { return nil }
