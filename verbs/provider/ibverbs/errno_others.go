//go:build !linux

package ibverbs

import "strconv"

// Drivers can't be called on this system, so these functions are never called with a driver's
// errno.

func errnoName(int) string { return "" }

func errnoText(errno int) string { return "errno " + strconv.Itoa(errno) }
