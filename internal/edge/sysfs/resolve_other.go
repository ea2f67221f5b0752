//go:build !linux

package sysfs

// resolveDir leaves it to Resolve to follow the links one by one.
func (r *Root) resolveDir(string) (resolved string, ok bool) { return "", false }
