//go:build !linux

package main

import "time"

// threadTime returns -1: unknown.
func threadTime() time.Duration { return -1 }
