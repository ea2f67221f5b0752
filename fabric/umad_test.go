package fabric

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/internal/edge/umad"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fakeConn records the agents and the packets.
type fakeConn struct {
	pair   umad.Pair
	refuse error
	agents []umad.Agent
	sent   []umad.Packet
}

func (f *fakeConn) Pair() umad.Pair { return f.pair }

func (f *fakeConn) Register(a umad.Agent) (uint32, error) {
	if f.refuse != nil {
		return 0, f.refuse
	}
	f.agents = append(f.agents, a)
	return uint32(len(f.agents)), nil
}

func (f *fakeConn) Send(packets []umad.Packet) (int, error) {
	f.sent = append(f.sent, packets...)
	return len(packets), nil
}

func (f *fakeConn) Receive(context.Context, []umad.Packet, time.Time) (int, error) { return 0, nil }

func (f *fakeConn) Close() error { return nil }

// demanding is a port that requires a global route header, as rdma_check_ah_attr of the kernel
// checks it.
type demanding struct{ fakeConn }

func (f *demanding) Send(packets []umad.Packet) (int, error) {
	for i := range packets {
		if !packets[i].HasGRH {
			return i, os.NewSyscallError("write", syscall.EINVAL)
		}
		f.sent = append(f.sent, packets[i])
	}
	return len(packets), nil
}

// TestRequiredHeader checks that a GMP goes out with a header after the kernel has refused it
// without, that later ones have it from the start, and how it is written.
func TestRequiredHeader(t *testing.T) {
	port := umad.Port{Device: "mlx5_0", Number: 1, LinkLayer: "InfiniBand"}
	f := &demanding{fakeConn{pair: umad.Pair{SMI: port, GSI: port}}}
	u := &UMAD{conn: f, port: port, agents: map[mad.Class]uint32{}}
	u.address.PKeys = []ib.PKey{0x8001, 0xffff}
	gid := ib.GID{0: 0xfe, 1: 0x80, 15: 1}
	client := Client{Transport: u, Timeout: time.Millisecond, Retries: -1}
	for k := range 2 {
		d := Datagram{Address: Address{LID: 7, QPN: 1, QKey: QKeyGSI, GID: gid}}
		d.MAD[1] = uint8(mad.ClassPerformance)
		if err := client.Call(t.Context(), &d); !errors.Is(err, ErrNoAnswer) {
			t.Fatalf("call %d: %v, want no answer", k, err)
		}
		const usual = 64
		p := f.sent[len(f.sent)-1]
		if len(f.sent) != k+1 || !p.HasGRH || p.GID != gid || p.HopLimit != usual || p.PKeyIndex != 1 || p.LID != 7 {
			t.Errorf("call %d: %d packets, the last one %+v", k, len(f.sent), p)
		}
	}
	d := Datagram{Address: Address{LID: 9, QPN: 1, QKey: QKeyGSI}}
	d.MAD[1] = uint8(mad.ClassPerformance)
	if err := client.Call(t.Context(), &d); !errors.Is(err, ErrRefused) || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("to a LID without a known GID: %v, want a refusal", err)
	}
}

func smpTo(class mad.Class) Datagram {
	d := Datagram{Address: Address{LID: 7}}
	d.MAD[1] = uint8(class)
	return d
}

// TestLIDRoutedSMP checks that a LID-routed SMP is refused at a multi-plane card, after the
// datagrams before it, and sent at others.
func TestLIDRoutedSMP(t *testing.T) {
	batch := []Datagram{smpTo(mad.ClassSubnetDirected), smpTo(mad.ClassSubnet), smpTo(mad.ClassSubnetDirected)}
	main, smi := umad.Port{Device: "mlx5_0"}, umad.Port{Device: "smi1"}
	f := &fakeConn{pair: umad.Pair{SMI: smi, GSI: main}}
	u := &UMAD{conn: f, agents: map[mad.Class]uint32{}}
	n, err := u.Send(batch)
	if n != 1 || len(f.sent) != 1 || !errors.Is(err, ErrRefused) || !errors.Is(err, ErrNotDirected) {
		t.Errorf("Send = %d, %v with %d packets, want 1 and ErrNotDirected", n, err, len(f.sent))
	}
	if n, err := u.Send(batch[2:]); n != 1 || err != nil {
		t.Errorf("Send of the rest = %d, %v", n, err)
	}
	f = &fakeConn{pair: umad.Pair{SMI: main, GSI: main}}
	u = &UMAD{conn: f, agents: map[mad.Class]uint32{}}
	if n, err := u.Send(batch); n != 3 || err != nil || len(f.agents) != 2 {
		t.Errorf("Send at a card of one plane = %d, %v with %d agents", n, err, len(f.agents))
	}
}

// TestServeWithoutQP0 checks the error that the kernel's EPROTONOSUPPORT becomes.
func TestServeWithoutQP0(t *testing.T) {
	f := &fakeConn{refuse: &umad.NoQP0Error{
		Port: umad.Port{Device: "mlx5_0", Number: 1, Path: "/dev/infiniband/umad0"}, Reason: "IsSMDisabled",
		Use: "smi1", Cause: os.NewSyscallError("ioctl", syscall.EPROTONOSUPPORT),
	}}
	u := &UMAD{conn: f, agents: map[mad.Class]uint32{}}
	n, err := u.Send([]Datagram{smpTo(mad.ClassSubnetDirected)})
	const want = "no subnet management: mlx5_0 port 1 (/dev/infiniband/umad0) has no QP0: IsSMDisabled; use device smi1"
	if n != 0 || !errors.Is(err, ErrNoSubnetManagement) || !errors.Is(err, syscall.EPROTONOSUPPORT) ||
		err.Error() != want {
		t.Errorf("Send = %d, %v, want %s", n, err, want)
	}
}

// TestParents checks that only the parents of SMI devices count, by the type that nldev reports
// (RDMA_NLDEV_ATTR_DEV_TYPE; enum rdma_nl_dev_type has SMI as its first value).
func TestParents(t *testing.T) {
	const smi, other = 1, 2
	got := parentsOf([]rdmanl.Device{
		{Name: "mlx5_0"},
		{Name: "smi1", Type: new(uint8(smi)), Parent: "mlx5_0"},
		{Name: "sub2", Type: new(uint8(other)), Parent: "mlx5_0"},
	})
	if diff := gocmp.Diff(map[string]string{"smi1": "mlx5_0"}, got); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
}

// TestAgents: the kernel reassembles messages for the agent of subnet administration only.
func TestAgents(t *testing.T) {
	for class, want := range map[mad.Class]umad.Agent{
		mad.ClassSA:          {Class: 3, ClassVersion: 2, QPN: 1, RMPPVersion: 1},
		mad.ClassPerformance: {Class: 4, ClassVersion: 1, QPN: 1},
		mad.ClassSubnet:      {Class: 1, ClassVersion: 1},
		mad.ClassPing:        {Class: 0x32, ClassVersion: 1, QPN: 1, OUI: 0x001405, Methods: []uint8{1}},
	} {
		var methods []mad.Method
		if class == mad.ClassPing {
			methods = []mad.Method{mad.MethodGet}
		}
		if diff := gocmp.Diff(want, agentOf(class, mad.OUIPing(), methods)); diff != "" {
			t.Errorf("class 0x%02x (-want +got):\n%s", uint8(class), diff)
		}
		if got := new(UMAD).Reassembles(class); got != (want.RMPPVersion == 1) {
			t.Errorf("class 0x%02x: Reassembles = %v", uint8(class), got)
		}
	}
}

func TestReceivedPacket(t *testing.T) {
	p := umad.Packet{LID: 7, QPN: 1, SL: 3, PKeyIndex: 2, Status: 110, Length: 300, Rest: make([]byte, 44)}
	p.MAD[9] = 9
	want := Datagram{
		Address: Address{LID: 7, QPN: 1, SL: 3, PKeyIndex: 2}, Lost: true, MAD: p.MAD, Length: 300, Rest: p.Rest,
	}
	if diff := gocmp.Diff(want, datagramOf(&p)); diff != "" {
		t.Errorf("datagram (-want +got):\n%s", diff)
	}
}

// TestPortGUID: SMPs have the key of the port that they go through.
func TestPortGUID(t *testing.T) {
	main, smi := umad.Port{Device: "mlx5_0"}, umad.Port{Device: "smi1", GUID: ib.GUID{7: 9}}
	u := &UMAD{conn: &fakeConn{pair: umad.Pair{SMI: smi, GSI: main}}, port: main}
	if got := localGUID(u); got != smi.GUID {
		t.Errorf("GUID of the local port = %v, want %v", got, smi.GUID)
	}
}
