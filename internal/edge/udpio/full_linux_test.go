package udpio

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFullSendBuffer fills a socket's send buffer: packets to a neighbour that doesn't answer ARP
// requests wait in the kernel, until it gives up after three seconds. Write returns what has no
// space, and WaitWritable returns when there is space again.
func TestFullSendBuffer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		fillSendBuffer(t)
	}()
	<-done
}

func fillSendBuffer(t *testing.T) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	const setup = "ip link add v0 type veth peer name v1 && ip address add 10.99.0.1/24 dev v0 && " +
		"ip link set v0 up && ip link set v1 up"
	if out, err := exec.CommandContext(ctx, "sh", "-c", setup).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
		return
	}
	c, err := Listen(netip.MustParseAddrPort("10.99.0.1:4791"), Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 16<<10) })
	if err != nil {
		t.Error(err)
		return
	}
	to := netip.MustParseAddrPort("10.99.0.2:4791")
	// The kernel doesn't segment the second entry, so it is sent in part.
	const whole = 60_000
	list := []Outbound{
		{Data: make([]byte, 700), To: to},
		{Data: make([]byte, whole), Segment: 500, To: to},
		{Data: make([]byte, 900), To: to},
	}
	start := time.Now()
	rest, err := c.Write(list)
	if err != nil || len(rest) != 2 || time.Since(start) > time.Second {
		t.Errorf("Write leaves %d of %d entries (%v) after %v, want 2 at once", len(rest), len(list), err,
			time.Since(start))
		return
	}
	if left := len(rest[0].Data); left == 0 || left >= whole || left%500 != 0 {
		t.Errorf("%d of %d bytes are left, want some datagrams of 500", left, whole)
	}
	if again, err := c.Write(rest); err != nil || len(again) != len(rest) {
		t.Errorf("Write to the full socket leaves %d of %d entries (%v), want all", len(again), len(rest), err)
	}
	waited := make(chan error, 1)
	go func() { waited <- c.WaitWritable() }()
	select {
	case err := <-waited:
		t.Errorf("WaitWritable = %v before there is space", err)
	case <-time.After(100 * time.Millisecond):
	}
	other := netip.MustParseAddrPort("10.99.0.1:4791")
	select {
	case err := <-waited: // the kernel has given up, and there is space
		if err != nil {
			t.Errorf("WaitWritable: %v", err)
		}
		if left, err := c.Write([]Outbound{{Data: []byte{1}, To: other}}); err != nil || len(left) != 0 {
			t.Errorf("Write afterwards leaves %d entries (%v), want none", len(left), err)
		}
	case <-time.After(20 * time.Second):
		t.Error("WaitWritable doesn't return")
	}
}
