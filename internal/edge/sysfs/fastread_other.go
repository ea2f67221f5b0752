//go:build !linux

package sysfs

import "os"

// readPlain leaves reading to os.Root: only Linux has trees large enough to matter.
func readPlain(*os.File, string, bool) (b []byte, ok bool, err error) { return nil, false, nil }
