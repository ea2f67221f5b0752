//go:build !linux

package inventory

func localLive() LiveSource { return nil }
