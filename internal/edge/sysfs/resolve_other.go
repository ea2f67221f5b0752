//go:build !linux

package sysfs

// resolveDir returns false, so that Resolve follows the links one by one.
func (r *Root) resolveDir(string) (resolved string, ok bool) { return "", false }
