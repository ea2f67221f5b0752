package umad

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// card simulates one device: a registered agent gets its own packets back.
type card struct {
	refuse  error // of registering an agent
	agents  uint32
	queue   chan []byte
	written int
}

func (c *card) ioctl(_ uintptr, argument []byte) error {
	if c.refuse != nil {
		return c.refuse
	}
	binary.NativeEndian.PutUint32(argument, c.agents)
	c.agents++
	return nil
}

func (c *card) write(b []byte) error {
	c.written++
	c.queue <- slices.Clone(b)
	return nil
}

func (c *card) read(ctx context.Context, deadline time.Time, try func(func([]byte) (int, error)) bool) error {
	var first []byte
	read := func(b []byte) (int, error) {
		if first != nil {
			n := copy(b, first)
			first = nil
			return n, nil
		}
		select {
		case p := <-c.queue:
			return copy(b, p), nil
		default:
			return 0, syscall.EAGAIN
		}
	}
	if try(read) {
		return nil
	}
	var alarm <-chan time.Time
	if !deadline.IsZero() {
		alarm = time.After(time.Until(deadline))
	}
	select {
	case first = <-c.queue:
		try(read)
		return nil
	case <-ctx.Done():
		return os.ErrDeadlineExceeded
	case <-alarm:
		return os.ErrDeadlineExceeded
	}
}

func (c *card) close() error { close(c.queue); return nil }

// xdr opens the devices of the XDR node, or returns the error of those that may not open.
func xdr(t *testing.T, device string, broken ...string) (*PairConn, map[string]*card, error) {
	t.Helper()
	ports, err := Ports(t.Context(), tree(t, "xdr_cx8_smi_live").FS())
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := Choose(ports, device, 0)
	if err != nil {
		t.Fatal(err)
	}
	cards := map[string]*card{}
	c, err := openPair(ports, chosen, func(p Port) (*Conn, error) {
		if slices.Contains(broken, p.Device) {
			return nil, &os.PathError{Op: "open", Path: p.Path, Err: syscall.ENOENT}
		}
		cards[p.Device] = &card{queue: make(chan []byte, 100)}
		return newConn(p, cards[p.Device]), nil
	})
	return c, cards, err
}

func smpAgent() Agent { return Agent{Class: 0x81, ClassVersion: 1} }

func gmpAgent() Agent { return Agent{Class: 4, ClassVersion: 1, QPN: 1} }

// TestPairConn sends SMPs and GMPs, whose agents have the same number in both devices, and expects
// each back from its own device.
func TestPairConn(t *testing.T) {
	for _, device := range []string{"mlx5_0", "smi1"} {
		synctest.Test(t, func(t *testing.T) {
			c, cards, err := xdr(t, device)
			if err != nil {
				t.Fatal(err)
			}
			smp, err := c.Register(smpAgent())
			if err != nil {
				t.Fatal(err)
			}
			gmp, err := c.Register(gmpAgent())
			if err != nil || gmp == smp || cards["smi1"].agents != 1 || cards["mlx5_0"].agents != 1 {
				t.Fatalf("agents %d and %d, %v: %d at smi1, %d at mlx5_0",
					smp, gmp, err, cards["smi1"].agents, cards["mlx5_0"].agents)
			}
			if n, err := c.Send([]Packet{{AgentID: smp}, {AgentID: gmp}, {AgentID: gmp}}); n != 3 || err != nil {
				t.Fatalf("Send = %d, %v", n, err)
			}
			if cards["smi1"].written != 1 || cards["mlx5_0"].written != 2 {
				t.Errorf("written: %d at smi1, %d at mlx5_0, want 1 and 2",
					cards["smi1"].written, cards["mlx5_0"].written)
			}
			got := map[uint32]int{}
			var one [1]Packet // packets that don't fit are delivered later
			for range 3 {
				n, err := c.Receive(t.Context(), one[:], time.Now().Add(time.Second))
				if n != 1 || err != nil {
					t.Fatalf("Receive = %d, %v", n, err)
				}
				got[one[0].AgentID]++
			}
			if got[smp] != 1 || got[gmp] != 2 {
				t.Errorf("received %v, want one for agent %d and two for %d", got, smp, gmp)
			}
			start := time.Now()
			if n, err := c.Receive(t.Context(), one[:], start.Add(time.Second)); n != 0 || err != nil ||
				time.Since(start) != time.Second {
				t.Errorf("Receive = %d, %v after %v, want 0 at its deadline", n, err, time.Since(start))
			}
			for _, late := range []string{"smi1", "mlx5_0"} { // a packet at either device ends the wait
				time.AfterFunc(time.Minute, func() { cards[late].queue <- (&Packet{}).appendTo(nil) })
				if n, err := c.Receive(t.Context(), one[:], time.Time{}); n != 1 || err != nil {
					t.Errorf("Receive from %s = %d, %v", late, n, err)
				}
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			time.AfterFunc(time.Minute, func() { cancel(why) })
			if n, err := c.Receive(ctx, one[:], time.Time{}); n != 0 || !errors.Is(err, why) {
				t.Errorf("Receive, cancelled = %d, %v", n, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPairConnOneSide checks that only one of the two devices is needed for one kind of datagram.
func TestPairConnOneSide(t *testing.T) {
	c, _, err := xdr(t, "mlx5_0", "smi1")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := c.Register(gmpAgent()); err != nil {
		t.Errorf("Register for GMPs = %d, %v", id, err)
	} else if n, err := c.Send([]Packet{{AgentID: id}}); n != 1 || err != nil {
		t.Errorf("Send = %d, %v", n, err)
	}
	var in [1]Packet
	if n, err := c.Receive(t.Context(), in[:], time.Now()); n != 1 || err != nil || in[0].AgentID&ofGSI == 0 {
		t.Errorf("Receive = %d, %v, agent %#x", n, err, in[0].AgentID)
	}
	if _, err := c.Register(smpAgent()); !errors.Is(err, syscall.ENOENT) ||
		!strings.Contains(err.Error(), "/dev/infiniband/umad1") {
		t.Errorf("Register for SMPs = %v, want that umad1 of smi1 can't be opened", err)
	}
	if _, _, err := xdr(t, "smi1", "smi1"); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("a chosen port that can't be opened: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestNoQP0 checks the error of subnet management at a port without queue pair 0.
func TestNoQP0(t *testing.T) {
	vf := Port{Name: "umad0", Device: "mlx5_0", Number: 1, LinkLayer: "InfiniBand", Path: "/dev/infiniband/umad0"}
	for _, test := range []struct {
		name   string
		change func(*Port)
		others []Port
		kernel error
		want   string
	}{
		{
			"another card has it", func(p *Port) { p.SMDisabled = true },
			[]Port{{Device: "smi1", Number: 1, LinkLayer: "InfiniBand"}},
			nil,
			"mlx5_0 port 1 (/dev/infiniband/umad0) has no QP0: IsSMDisabled; use device smi1",
		},
		{
			"nobody has it", func(p *Port) { p.SMDisabled = true },
			[]Port{{Device: "mlx5_1", Number: 1, LinkLayer: "Ethernet"}},
			nil,
			"mlx5_0 port 1 (/dev/infiniband/umad0) has no QP0: IsSMDisabled",
		},
		{
			"the kernel refuses", func(*Port) {}, nil, os.NewSyscallError("ioctl", syscall.EPROTONOSUPPORT),
			"mlx5_0 port 1 (/dev/infiniband/umad0) has no QP0: " +
				"the kernel has none, which neither cap_mask nor has_smi says",
		},
	} {
		p := vf
		test.change(&p)
		c, err := openPair(append([]Port{p}, test.others...), p, func(p Port) (*Conn, error) {
			return newConn(p, &card{refuse: test.kernel, queue: make(chan []byte)}), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Register(smpAgent())
		no, ok := errors.AsType[*NoQP0Error](err)
		if !ok || no.Error() != test.want || !errors.Is(err, test.kernel) && test.kernel != nil {
			t.Errorf("%s: Register = %v, want %s", test.name, err, test.want)
		}
		if _, err := c.Register(gmpAgent()); test.kernel == nil && err != nil {
			t.Errorf("%s: Register for GMPs = %v", test.name, err)
		}
	}
}
