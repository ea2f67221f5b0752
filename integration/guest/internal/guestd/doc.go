// Package guestd is the part of the guest harness that lives inside the
// guest: it answers one client at a time on one stream (a virtio serial port),
// running scripts and moving files. Several streams are served at once, each
// by its own call of [Server.Serve].
//
// It uses the standard library and package frame only, so that the harness can
// compile it from the copy of its source that it carries.
package guestd
