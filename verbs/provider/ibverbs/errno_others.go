//go:build !linux

package ibverbs

import "strconv"

// No call reaches a driver on this system, so no errno of one arrives here.

func errnoName(int) string { return "" }

func errnoText(errno int) string { return "errno " + strconv.Itoa(errno) }
