//go:build !linux

package main

import "testing"

// pings returns nothing: ibsim runs only on Linux.
func pings(*testing.T) []map[string]any { return nil }
