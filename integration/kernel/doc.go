// Package kernel holds the tests that compare rdmakit with the real kernel and
// the C tools, in the guest of package integration/guest. They carry the build
// tag kernel:
//
//	go test -tags kernel ./integration/kernel/...
//
// Without a guest they fail and report what is missing; they are never skipped.
package kernel
