package ibsim_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ibsim"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

const ft2 = "../../../fabric/testdata/ft2/net"

// nodeInfoRequest is a directed-route SubnGet(NodeInfo), in the bytes of the specification.
func nodeInfoRequest(tid uint32, path ...byte) ibsim.Packet {
	p := ibsim.Packet{DLID: ibsim.LIDPermissive, SLID: ibsim.LIDPermissive}
	copy(p.MAD[:], []byte{1, 0x81, 1, 1, 0, 0, 0, byte(len(path))})
	binary.BigEndian.PutUint32(p.MAD[12:], tid)
	binary.BigEndian.PutUint16(p.MAD[16:], 0x11)
	copy(p.MAD[32:], []byte{0xff, 0xff, 0xff, 0xff})
	copy(p.MAD[129:], path)
	return p
}

func dial(t *testing.T, c ibsim.Config) *ibsim.Conn {
	t.Helper()
	conn, err := ibsim.Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func exchange(t *testing.T, conn *ibsim.Conn, request ibsim.Packet) ibsim.Packet {
	t.Helper()
	if n, err := conn.Send([]ibsim.Packet{request}); n != 1 || err != nil {
		t.Fatalf("Send = %d, %v, want 1 packet", n, err)
	}
	var got [4]ibsim.Packet
	n, err := conn.Receive(t.Context(), got[:], time.Now().Add(5*time.Second))
	if n != 1 || err != nil {
		t.Fatalf("Receive = %d, %v, want 1 packet", n, err)
	}
	return got[0]
}

func TestNodeInfo(t *testing.T) {
	sim := ibsimtest.Start(t, ft2)
	conn := dial(t, sim.Config("host3"))
	if conn.Node() != "host3" {
		t.Errorf("Node() = %q, want host3", conn.Node())
	}
	for _, test := range []struct {
		name     string
		path     []byte
		nodeType byte
	}{
		{"own node", nil, 1}, {"leaf switch", []byte{1}, 2}, {"another host", []byte{1, 1}, 1},
	} {
		answer := exchange(t, conn, nodeInfoRequest(7, test.path...))
		if answer.Status != 0 || answer.MAD[3] != 0x81 || binary.BigEndian.Uint32(answer.MAD[12:]) != 7 {
			t.Errorf("%s: answer has status %d, method 0x%x, tid %x",
				test.name, answer.Status, answer.MAD[3], answer.MAD[8:16])
		}
		if got := answer.MAD[64+2]; got != test.nodeType {
			t.Errorf("%s: node type = %d, want %d", test.name, got, test.nodeType)
		}
	}
	if answer := exchange(t, conn, nodeInfoRequest(8, 1, 60)); answer.Status != ibsim.StatusTimeout {
		t.Errorf("path out of a port without a cable: status %d, want %d", answer.Status, ibsim.StatusTimeout)
	}
}

func TestSendFillsTheQueueWithoutWaiting(t *testing.T) {
	sim := ibsimtest.Start(t, ft2)
	conn := dial(t, sim.Config("host0"))
	const total = 2000
	batch := make([]ibsim.Packet, total)
	for i := range batch {
		batch[i] = nodeInfoRequest(uint32(i), 1)
	}
	sent, received, pauses := 0, 0, 0
	answers := make([]ibsim.Packet, 64)
	for received < total {
		n, err := conn.Send(batch[sent:])
		if err != nil {
			t.Fatal(err)
		}
		sent += n
		if sent < total {
			pauses++
		}
		n, err = conn.Receive(t.Context(), answers, time.Now().Add(5*time.Second))
		if err != nil || n == 0 {
			t.Fatalf("Receive = %d, %v after %d of %d", n, err, received, total)
		}
		received += n
	}
	if pauses == 0 {
		t.Errorf("the simulator accepted %d packets at once: nothing was tested", total)
	}
}

func TestReceiveEnds(t *testing.T) {
	sim := ibsimtest.Start(t, ft2)
	conn := dial(t, sim.Config("host0"))
	var p [1]ibsim.Packet
	if n, err := conn.Receive(t.Context(), p[:], time.Now().Add(10*time.Millisecond)); n != 0 || err != nil {
		t.Errorf("Receive at its deadline = %d, %v, want 0 and no error", n, err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := conn.Receive(ctx, p[:], time.Time{}); !errors.Is(err, why) {
		t.Errorf("Receive, cancelled = %v, want %v", err, why)
	}
	other := dial(t, sim.Config("host0"))
	time.AfterFunc(10*time.Millisecond, func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := other.Receive(t.Context(), p[:], time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Receive, closed = %v, want net.ErrClosed", err)
	}
}

func TestUDP(t *testing.T) {
	sim := ibsimtest.StartUDP(t, ft2, freePorts(t, 11))
	conn := dial(t, sim.Config("host1"))
	if got := exchange(t, conn, nodeInfoRequest(1)); got.MAD[64+2] != 1 {
		t.Errorf("node type over UDP = %d, want 1", got.MAD[64+2])
	}
}

// freePorts returns the first of n consecutive unused UDP ports, below those that the kernel
// assigns.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for first := 20000; first < 32000; first += n {
		if portsFree(t, first, n) {
			return first
		}
	}
	t.Fatalf("no %d free UDP ports in a row", n)
	return 0
}

func portsFree(t *testing.T, first, n int) bool {
	t.Helper()
	for port := first; port < first+n; port++ {
		l, err := net.ListenUDP("udp4", &net.UDPAddr{Port: port})
		if err != nil {
			return false
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

func TestDialErrors(t *testing.T) {
	sim := ibsimtest.Start(t, ft2)
	for _, test := range []struct {
		config ibsim.Config
		want   string
		match  error
	}{
		{
			ibsim.Config{SocketName: "rdmakit-nobody"},
			"join ibsim socket @rdmakit-nobody: no simulator with that name", syscall.ECONNREFUSED,
		},
		{sim.Config("host99"), `as "host99": connect: the simulator refused`, nil},
		{ibsim.Config{Node: strings.Repeat("x", 32)}, "longer than 31 bytes", nil},
		{ibsim.Config{SocketName: strings.Repeat("x", 200)}, "longer than 90 bytes", nil},
	} {
		_, err := ibsim.Dial(t.Context(), test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) || test.match != nil && !errors.Is(err, test.match) {
			t.Errorf("Dial(%+v) = %v, want %q", test.config, err, test.want)
		}
	}
}

func TestConfigFromEnv(t *testing.T) {
	env := map[string]string{
		"SIM_HOST": "host1", "SIM_SET_ISSM": "0", "IBSIM_SOCKNAME": "lab",
		"IBSIM_SERVER_NAME": "localhost", "IBSIM_SERVER_PORT": "7100",
	}
	got, err := ibsim.ConfigFromEnv(func(k string) string { return env[k] })
	want := ibsim.Config{Node: "host1", IsSM: true, SocketName: "lab", Server: "localhost", ServerPort: 7100}
	if err != nil || got != want {
		t.Errorf("ConfigFromEnv = %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"x", "0", "-1", "65535", "99999"} {
		if _, err := ibsim.ConfigFromEnv(
			func(k string) string { return map[string]string{"IBSIM_SERVER_PORT": bad}[k] }); err == nil {
			t.Errorf("ConfigFromEnv accepts port %s", bad)
		}
	}
}

// TestDialGivesUp ends joins at every moment of the handshake, and checks that the simulator keeps
// working and that all its places are free again.
func TestDialGivesUp(t *testing.T) {
	sim := ibsimtest.Start(t, ft2)
	gaveUp := 0
	for i := range 400 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%40)*10*time.Microsecond)
		conn, err := ibsim.Dial(ctx, sim.Config("host1"))
		switch {
		case err == nil:
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		case errors.Is(err, context.DeadlineExceeded):
			gaveUp++
		default:
			t.Fatalf("Dial, given up = %v after %d others, want the context's cause", err, i)
		}
		cancel()
	}
	if gaveUp == 0 {
		t.Error("each join got its response in time: nothing was tested")
	}
	for range 10 { // all places of the simulator
		exchange(t, dial(t, sim.Config("host1")), nodeInfoRequest(1))
	}
}

// TestSilentSimulator joins a simulator that receives messages and doesn't respond.
func TestSilentSimulator(t *testing.T) {
	t.Parallel()
	const name = "rdmakit-silent"
	server, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@" + name + ":ctl\x00", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, err = ibsim.Dial(t.Context(), ibsim.Config{SocketName: name})
	if want := "join ibsim socket @rdmakit-silent: connect: the simulator didn't respond within 5s"; err == nil ||
		err.Error() != want || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Dial = %v, want %s", err, want)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := ibsim.Dial(ctx, ibsim.Config{SocketName: name}); !errors.Is(err, context.DeadlineExceeded) ||
		time.Since(start) > 3*time.Second {
		t.Errorf("Dial, given up = %v after %v, want the context's cause within a second or two",
			err, time.Since(start))
	}
}
