package umad

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns a connection over one end of a socket pair, which preserves message boundaries like
// umadN, and the other end.
func pair(t *testing.T) (*Conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[0]), "umad")
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[1]); file.Close() }) //nolint:errcheck // a test's end
	return newConn(Port{}, &charDevice{file: file, raw: raw}), fds[1]
}

// TestReceiveAtDeadline checks that Receive returns available packets even after the deadline.
func TestReceiveAtDeadline(t *testing.T) {
	c, peer := pair(t)
	p := packet()
	if _, err := unix.Write(peer, p.appendTo(nil)); err != nil {
		t.Fatal(err)
	}
	var got [2]Packet
	if n, err := c.Receive(t.Context(), got[:], time.Now().Add(-time.Second)); n != 1 || err != nil {
		t.Errorf("Receive after its deadline = %d, %v, want the available packet", n, err)
	}
	if n, err := c.Receive(t.Context(), got[:], time.Now().Add(time.Millisecond)); n != 0 || err != nil {
		t.Errorf("Receive of nothing = %d, %v", n, err)
	}
}

// TestCloseEndsReceive checks the error that the doc comment of Close specifies.
func TestCloseEndsReceive(t *testing.T) {
	c, _ := pair(t)
	ended := make(chan error)
	go func() {
		var got [1]Packet
		_, err := c.Receive(t.Context(), got[:], time.Time{})
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Receive, closed while it waits = %v, want os.ErrClosed", err)
	}
	var got [1]Packet
	if _, err := c.Receive(t.Context(), got[:], time.Time{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Receive after Close = %v, want os.ErrClosed", err)
	}
	if _, err := c.Send([]Packet{packet()}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Send after Close = %v, want os.ErrClosed", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close = %v, want nil", err)
	}
}

// TestPairConnOfFiles receives from two devices whose packets arrive at random times: none is lost,
// and no Receive ends before its deadline without a packet.
func TestPairConnOfFiles(t *testing.T) {
	smi, smiPeer := pair(t)
	gsi, gsiPeer := pair(t)
	smi.agents, gsi.agents = 1, 1
	c := &PairConn{pair: Pair{SMI: Port{Device: "smi1"}, GSI: Port{Device: "mlx5_0"}}, smi: smi, gsi: gsi}
	const each = 3000
	for i, peer := range []int{smiPeer, gsiPeer} {
		go func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for k := 0; k < each; {
				switch _, err := unix.Write(peer, (&Packet{}).appendTo(nil)); {
				case err == nil:
					k++
				case !errors.Is(err, unix.EAGAIN):
					return // the test reports what is missing
				}
				time.Sleep(time.Duration(random.IntN(50)) * time.Microsecond)
			}
		}()
	}
	var got [3]Packet
	received := map[uint32]int{}
	deadline := time.Now().Add(time.Minute)
	for received[0]+received[ofGSI] < 2*each {
		n, err := c.Receive(t.Context(), got[:], deadline)
		if n == 0 || err != nil {
			t.Fatalf("Receive = %d, %v, %v before its deadline, after %v", n, err, time.Until(deadline), received)
		}
		for i := range n {
			received[got[i].AgentID]++
		}
	}
	if received[0] != each || received[ofGSI] != each {
		t.Errorf("received %v, want %d of each device", received, each)
	}
	time.AfterFunc(20*time.Millisecond, func() { c.Close() }) //nolint:errcheck // Receive reports it
	if n, err := c.Receive(t.Context(), got[:], time.Time{}); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Receive, closed while it waits = %d, %v, want os.ErrClosed", n, err)
	}
}
