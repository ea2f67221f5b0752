package node

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// TestAskPeer asks engines on loopback addresses: one without listeners, one whose program listens
// on the port, and an address that nobody has.
func TestAskPeer(t *testing.T) {
	open := func(addr string) *verbs.Device {
		t.Helper()
		device, err := verbs.Open(t.Context(), roce.Prefix+addr, roce.Provider{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := device.Close(); err != nil {
				t.Errorf("Close of %s = %v: an object is left", addr, err)
			}
		})
		return device
	}
	source, idle, busy := netip.MustParseAddr("127.0.19.1"), "127.0.19.2", "127.0.19.3"
	device := open(source.String())
	open(idle)
	listener, err := open(busy).Listen(t.Context(), netip.AddrPortFrom(netip.MustParseAddr(busy), rocev2.Port),
		verbs.ListenOptions{PortSpace: verbs.PortSpaceUDP})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if r, err := listener.Next(t.Context()); err == nil {
			_ = r.Reject(nil)
		}
	}()
	for _, peer := range []string{idle, busy} {
		answered, err := askThrough(t.Context(), device, source, netip.MustParseAddr(peer))
		if !answered || err != nil {
			t.Errorf("ask %s = %t, %v, want an answer", peer, answered, err)
		}
	}
	answered, err := askThrough(t.Context(), device, source, netip.MustParseAddr("127.0.19.4"))
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	if answered || !ok || !timeout.Timeout() {
		t.Errorf("ask an address without an engine = %t, %v, want a timeout", answered, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answered, err = askThrough(ctx, device, source, netip.MustParseAddr(idle))
	if answered || !errors.Is(err, ctx.Err()) {
		t.Errorf("ask after the end = %t, %v", answered, err)
	}
	if answered, err := askPeer(t.Context(), "nonesuch0", source, source); answered || err == nil {
		t.Errorf("ask through a device that isn't there = %t, %v", answered, err)
	}
}
