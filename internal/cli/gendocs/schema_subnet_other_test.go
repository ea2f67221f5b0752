//go:build !linux

package main

import "testing"

// pings returns nothing: ibsim runs only on Linux.
func pings(*testing.T) []map[string]any { return nil }

// adminRecords returns nothing, for the same reason.
func adminRecords(*testing.T) []map[string]any { return nil }

// registers returns nothing: ibsim runs only on Linux.
func registers(*testing.T) []map[string]any { return nil }
