// Package guestd is the part of the guest harness that runs inside the guest: on one stream (a
// virtio serial port) it serves one client at a time, runs scripts and copies files. Several
// streams can be served concurrently, each by a separate call of [Server.Serve].
//
// It uses only the standard library and package frame, so that the harness can compile it from its
// embedded copy of the source.
package guestd
