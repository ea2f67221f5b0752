package umad

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// fake simulates the kernel: it records what is written, and returns prepared data.
type fake struct {
	requests  []uintptr
	arguments [][]byte
	old       bool
	nextID    uint32
	written   [][]byte
	writeErr  error
	queue     [][]byte
	readErr   error
	closed    bool
	short     []int // lengths of buffers that were too short
}

func (f *fake) ioctl(request uintptr, argument []byte) error {
	f.requests = append(f.requests, request)
	f.arguments = append(f.arguments, slices.Clone(argument))
	if request == IB_USER_MAD_ENABLE_PKEY {
		return nil
	}
	if f.old && request == IB_USER_MAD_REGISTER_AGENT2 {
		return syscall.ENOTTY
	}
	f.nextID++
	binary.NativeEndian.PutUint32(argument, f.nextID)
	return nil
}

func (f *fake) write(b []byte) error {
	if f.writeErr != nil {
		return f.writeErr
	}
	f.written = append(f.written, slices.Clone(b))
	return nil
}

func (f *fake) read(_ context.Context, _ time.Time, try func(func([]byte) (int, error)) bool) error {
	done := try(func(b []byte) (int, error) {
		if len(f.queue) == 0 {
			if f.readErr != nil {
				return 0, f.readErr
			}
			return 0, syscall.EAGAIN
		}
		if len(b) < len(f.queue[0]) {
			copy(b, f.queue[0])
			f.short = append(f.short, len(b))
			return 0, syscall.ENOSPC
		}
		n := copy(b, f.queue[0])
		f.queue = f.queue[1:]
		return n, nil
	})
	if done {
		return nil
	}
	return os.ErrDeadlineExceeded
}

func (f *fake) close() error { f.closed = true; return nil }

// TestRegister checks the arguments byte by byte against the layouts of ib_user_mad.h on amd64.
func TestRegister(t *testing.T) {
	agent := Agent{Class: 0x32, ClassVersion: 1, QPN: 1, OUI: 0x001405, Methods: []uint8{1, 65}}
	t.Run("agent2", func(t *testing.T) {
		f := &fake{}
		id, err := newConn(Port{}, f).Register(agent)
		if err != nil || id != 1 {
			t.Fatalf("Register = %d, %v", id, err)
		}
		want := []byte{
			0, 0, 0, 0, 1, 0, 0, 0, 0x32, 1, 0, 0, 0, 0, 0, 0,
			2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x05, 0x14, 0, 0, 0, 0, 0, 0,
		}
		if diff := cmp.Diff([][]byte{want}, f.arguments); diff != "" {
			t.Errorf("argument (-want +got):\n%s", diff)
		}
	})
	t.Run("old kernel", func(t *testing.T) {
		f := &fake{old: true}
		c := newConn(Port{}, f)
		for want := range uint32(2) {
			if id, err := c.Register(agent); err != nil || id != want+1 {
				t.Fatalf("Register = %d, %v", id, err)
			}
		}
		wantRequests := []uintptr{
			IB_USER_MAD_REGISTER_AGENT2, IB_USER_MAD_ENABLE_PKEY, IB_USER_MAD_REGISTER_AGENT,
			IB_USER_MAD_REGISTER_AGENT,
		}
		if diff := cmp.Diff(wantRequests, f.requests); diff != "" {
			t.Errorf("ioctls (-want +got):\n%s", diff)
		}
		want := []byte{0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0x32, 1, 0x00, 0x14, 0x05, 0, 0}
		if diff := cmp.Diff(want, f.arguments[2]); diff != "" {
			t.Errorf("argument (-want +got):\n%s", diff)
		}
	})
	t.Run("rmpp", func(t *testing.T) {
		for _, old := range []bool{false, true} {
			f := &fake{old: old}
			agent := Agent{Class: 3, ClassVersion: 2, QPN: 1, RMPPVersion: 1}
			if _, err := newConn(Port{}, f).Register(agent); err != nil {
				t.Fatal(err)
			}
			last := f.arguments[len(f.arguments)-1]
			if at := map[bool]int{false: 36, true: 26}[old]; last[at] != 1 { // rmpp_version in ib_user_mad.h
				t.Errorf("old %v: argument %x, want 1 at %d", old, last, at)
			}
		}
	})
	t.Run("errors", func(t *testing.T) {
		c := newConn(Port{}, &fake{})
		if _, err := c.Register(Agent{Methods: []uint8{0x81}}); err == nil {
			t.Error("the method of a response was registered")
		}
		for range MaxAgents {
			if _, err := c.Register(agent); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Register(agent); err == nil {
			t.Errorf("agent %d was registered", MaxAgents+1)
		}
	})
}

func packet() Packet {
	p := Packet{
		AgentID: 3, Timeout: 1500 * time.Microsecond, Retries: 2, QPN: 1, QKey: 0x80010000, LID: 0x1234, SL: 5,
		PathBits: 6, PKeyIndex: 7, HasGRH: true, GIDIndex: 8, HopLimit: 9, TrafficClass: 10,
		GID: [16]byte{0xfe, 0x80, 15: 1}, FlowLabel: 0x12345,
	}
	for i := range p.MAD {
		p.MAD[i] = byte(i)
	}
	return p
}

func TestSend(t *testing.T) {
	f := &fake{}
	c := newConn(Port{}, f)
	p := packet()
	if n, err := c.Send([]Packet{p, p}); n != 2 || err != nil {
		t.Fatalf("Send = %d, %v", n, err)
	}
	want := []byte{
		3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, // id, status, ms, retries, length
		0, 0, 0, 1, 0x80, 1, 0, 0, 0x12, 0x34, 5, 6, 1, 8, 9, 10, // qpn … traffic class
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x23, 0x45, 7, 0, 0, 0, 0, 0, 0, 0,
	}
	if diff := cmp.Diff(want, f.written[0][:headerLen]); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if len(f.written[0]) != headerLen+MADLen || f.written[0][headerLen+9] != 9 {
		t.Errorf("written %d bytes", len(f.written[0]))
	}
	f.writeErr = syscall.EAGAIN
	if n, err := c.Send([]Packet{p}); n != 0 || err != nil {
		t.Errorf("Send, full = %d, %v, want 0 and no error", n, err)
	}
	f.writeErr = syscall.ENODEV
	if _, err := c.Send([]Packet{p}); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("Send, device gone = %v", err)
	}
}

func TestReceive(t *testing.T) {
	p := packet()
	p.Timeout = 2 * time.Millisecond // whole milliseconds come back
	whole := p.appendTo(nil)
	lost := slices.Clone(whole[:headerLen+24])
	binary.NativeEndian.PutUint32(lost[4:], uint32(syscall.ETIMEDOUT))
	long := append(slices.Clone(whole), make([]byte, 2_000_000)...)
	long[len(long)-1] = 77
	binary.NativeEndian.PutUint32(long[16:], uint32(len(long)))
	f := &fake{queue: [][]byte{whole, lost, long}}
	c := newConn(Port{}, f)
	var got [8]Packet
	n, err := c.Receive(t.Context(), got[:], time.Time{})
	if n != 3 || err != nil {
		t.Fatalf("Receive = %d, %v, want 3", n, err)
	}
	p.Length = MADLen
	if diff := cmp.Diff(p, got[0]); diff != "" {
		t.Errorf("packet (-sent +received):\n%s", diff)
	}
	if got[1].Status != uint32(syscall.ETIMEDOUT) || got[1].MAD[23] != 23 || got[1].MAD[24] != 0 {
		t.Errorf("lost packet: status %d, MAD %x", got[1].Status, got[1].MAD[:32])
	}
	if got[1].Length != 24 || got[1].Rest != nil {
		t.Errorf("lost packet: %d bytes, rest %x", got[1].Length, got[1].Rest)
	}
	if got[2].MAD != p.MAD || got[2].Length != MADLen+2_000_000 || len(got[2].Rest) != 2_000_000 ||
		got[2].Rest[1_999_999] != 77 {
		t.Errorf("long message: %x, %d bytes, rest of %d", got[2].MAD, got[2].Length, len(got[2].Rest))
	}
	if len(f.short) != 1 {
		t.Errorf("buffers of %v bytes were too short, want one", f.short)
	}
	if n, err := c.Receive(t.Context(), got[:], time.Now()); n != 0 || err != nil {
		t.Errorf("Receive at its deadline = %d, %v", n, err)
	}
	f.readErr = syscall.EIO
	if _, err := c.Receive(t.Context(), got[:], time.Time{}); !errors.Is(err, syscall.EIO) {
		t.Errorf("Receive, device gone = %v", err)
	}
	f.readErr, f.queue = nil, [][]byte{whole[:headerLen-1]}
	if _, err := c.Receive(t.Context(), got[:], time.Time{}); !errors.Is(err, errShort) {
		t.Errorf("Receive of %d bytes = %v", headerLen-1, err)
	}
	if err := c.Close(); err != nil || !f.closed {
		t.Errorf("Close = %v, closed %v", err, f.closed)
	}
}

// TestSendLength: a message may be longer or shorter than a MAD. The kernel takes the length of the
// write (user_mad.c, ib_umad_write).
func TestSendLength(t *testing.T) {
	for _, test := range []struct{ length, rest, want int }{
		{0, 0, MADLen},
		{0, 300, MADLen + 300},
		{MADLen, 0, MADLen},
		{56, 0, 56},
		{56, 300, 56},
		{MADLen + 100, 300, MADLen + 100},
		{1000, 300, MADLen + 300},
	} {
		p := packet()
		p.Length, p.Rest = test.length, bytes.Repeat([]byte{0xa5}, test.rest)
		f := &fake{}
		if n, err := newConn(Port{}, f).Send([]Packet{p}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		got := f.written[0]
		message := append(slices.Clone(p.MAD[:]), p.Rest...)[:test.want]
		if !bytes.Equal(got[headerLen:], message) || binary.NativeEndian.Uint32(got[16:]) != uint32(test.want) {
			t.Errorf("length %d, rest of %d: %d bytes, length %d in the header, want %d", test.length, test.rest,
				len(got)-headerLen, binary.NativeEndian.Uint32(got[16:]), test.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p := packet()
	f.Add(p.appendTo(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Packet
		if p.decode(b) != nil {
			return
		}
		if err := again.decode(p.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if p.Length+headerLen != len(b) || len(p.Rest) != max(0, p.Length-MADLen) {
			t.Errorf("decode of %d bytes: %d, rest of %d", len(b), p.Length, len(p.Rest))
		}
		if p.Length == 0 {
			p.Length = MADLen // append then writes a MAD
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("decode(append(p)) (-want +got):\n%s", diff)
		}
	})
}

func TestPorts(t *testing.T) {
	tree, err := testtrees.Load("63_switchdev_ports")
	if err != nil {
		t.Fatal(err)
	}
	ports, err := Ports(t.Context(), tree.FS())
	if err != nil || len(ports) < 2 {
		t.Fatalf("Ports = %v, %v", ports, err)
	}
	for _, p := range ports {
		if p.Device == "" || p.Number == 0 || !strings.HasSuffix(p.Path, "/dev/infiniband/"+p.Name) {
			t.Errorf("port = %+v", p)
		}
	}
}

// TestTables reads the tables of a port: the files are numbered from 0, and "10" sorts before "2".
func TestTables(t *testing.T) {
	const at = "sys/class/infiniband/mlx5_0/ports/1/"
	root := fstest.MapFS{
		at + "gids/0":   {Data: []byte("fe80:0000:0000:0000:0c42:a103:0005:1e2a\n")},
		at + "pkeys/0":  {Data: []byte("0x7fff\n")},
		at + "pkeys/10": {Data: []byte("0x8001\n")},
		at + "pkeys/2":  {Data: []byte("0xffff\n")},
		at + "pkeys/3":  {Data: []byte("unreadable\n")},
	}
	keys, gid := Tables(t.Context(), root, Port{Device: "mlx5_0", Number: 1})
	want := make([]ib.PKey, 11)
	want[0], want[2], want[10] = 0x7fff, 0xffff, 0x8001
	if diff := cmp.Diff(want, keys); diff != "" || gid.InterfaceID() != 0x0c42a10300051e2a {
		t.Errorf("gid %s, keys (-want +got):\n%s", gid, diff)
	}
	if keys, gid := Tables(t.Context(), root, Port{Device: "mlx5_1", Number: 1}); keys != nil || !gid.IsZero() {
		t.Errorf("tables of a port that doesn't exist: %v, %s", keys, gid)
	}
}

func TestChoose(t *testing.T) {
	ports := []Port{
		{Name: "umad0", Device: "mlx5_0", Number: 1, LinkLayer: "Ethernet", Active: true},
		{Name: "umad1", Device: "mlx5_1", Number: 1, LinkLayer: "InfiniBand"},
		{Name: "umad2", Device: "mlx5_1", Number: 2, LinkLayer: "InfiniBand", Active: true},
	}
	for _, test := range []struct {
		device string
		number int
		want   string
	}{
		{"", 0, "umad2"}, {"mlx5_0", 0, "umad0"}, {"mlx5_1", 0, "umad2"}, {"mlx5_1", 1, "umad1"}, {"", 1, "umad1"},
	} {
		if got, err := Choose(ports, test.device, test.number); err != nil || got.Name != test.want {
			t.Errorf("Choose(%q, %d) = %v, %v, want %s", test.device, test.number, got.Name, err, test.want)
		}
	}
	for _, test := range []struct {
		ports  []Port
		device string
		number int
		want   string
	}{
		{nil, "", 0, "choose any port: the kernel has no user MAD devices"},
		{ports, "mlx5_9", 0, "choose a port of mlx5_9: no such port with a user MAD device: available: " +
			"mlx5_0 port 1, mlx5_1 port 1, mlx5_1 port 2"},
		{ports, "mlx5_0", 2, "choose port 2 of mlx5_0"},
		{ports, "", 7, "choose port 7 of any device"},
	} {
		_, err := Choose(test.ports, test.device, test.number)
		if !errors.Is(err, ErrNoPort) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("Choose(%q, %d) = %v, want %s", test.device, test.number, err, test.want)
		}
	}
}
