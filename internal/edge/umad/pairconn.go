package umad

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// PairConn is the open devices of a [Pair]: one, or two on a multi-plane card. It has the methods
// of a [Conn]. Only one goroutine may use it at a time, but any goroutine may call Close.
type PairConn struct {
	pair     Pair
	smi, gsi *Conn // equal unless the card is multi-plane; nil if the device can't be opened
	// smiErr and gsiErr are the reasons why a device can't be opened.
	smiErr, gsiErr error
	// use is a device that has queue pair 0 if the pair has none; empty: none is known.
	use string

	spare [32]Packet // where the device of GMPs receives
	held  []Packet   // in spare, received and not delivered yet
	one   [1]Packet  // to be sent
}

// NoQP0Error is the error of registering an agent for subnet management at a port without queue
// pair 0.
type NoQP0Error struct {
	Port   Port
	Reason string // IsSMDisabled, …
	Use    string // a device that has queue pair 0; empty: none is known
	// Cause is the kernel's error, nil if it wasn't asked.
	Cause error
}

// Error implements error: "mlx5_0 port 1 (/dev/infiniband/umad0) has no QP0: IsSMDisabled; use
// device smi1".
func (e *NoQP0Error) Error() string {
	text := fmt.Sprintf("%s has no QP0: %s", e.Port, e.Reason)
	if e.Use != "" {
		text += "; use device " + e.Use
	}
	return text
}

// Unwrap returns the cause.
func (e *NoQP0Error) Unwrap() error { return e.Cause }

// OpenPair opens the devices of a port's pair, which may be the same. The port itself must open;
// the error of the other device is that of its first Register.
func OpenPair(ports []Port, p Port) (*PairConn, error) { return openPair(ports, p, Open) }

func openPair(ports []Port, p Port, open func(Port) (*Conn, error)) (*PairConn, error) {
	c := &PairConn{pair: PairOf(ports, p)}
	if smi, ok := first(ports, func(o Port) bool {
		return o.isInfiniBand() && o.Device != p.Device && o.WhyNoQP0() == ""
	}); ok && p.isInfiniBand() {
		c.use = smi.Device
	}
	own, err := open(p)
	switch {
	case err != nil:
		return nil, err
	case !c.pair.IsMultiPlane():
		c.smi, c.gsi = own, own
	case p.Device == c.pair.SMI.Device:
		c.smi = own
		c.gsi, c.gsiErr = open(c.pair.GSI)
	default:
		c.gsi = own
		c.smi, c.smiErr = open(c.pair.SMI)
	}
	return c, nil
}

// Pair returns the ports of the connection.
func (c *PairConn) Pair() Pair { return c.pair }

// ofGSI marks the agents of the second device: the kernel numbers agents from 0 in each.
const ofGSI = 1 << 31

// Register is [Conn.Register] at the device of the agent's queue pair. The error is a *[NoQP0Error]
// if the port has no queue pair 0.
func (c *PairConn) Register(a Agent) (uint32, error) {
	conn, port, failed := c.gsi, c.pair.GSI, c.gsiErr
	if a.QPN == 0 {
		conn, port, failed = c.smi, c.pair.SMI, c.smiErr
	}
	reason := port.WhyNoQP0()
	switch {
	case a.QPN == 0 && reason != "":
		return 0, &NoQP0Error{Port: port, Reason: reason, Use: c.use}
	case failed != nil:
		return 0, fmt.Errorf("register agent for class 0x%02x: %w", a.Class, failed)
	}
	id, err := conn.Register(a)
	switch {
	case a.QPN == 0 && errors.Is(err, syscall.EPROTONOSUPPORT):
		return 0, &NoQP0Error{
			Port: port, Reason: "the kernel has none, which neither cap_mask nor has_smi says", Use: c.use, Cause: err,
		}
	case err == nil && conn == c.gsi && c.gsi != c.smi:
		id |= ofGSI
	}
	return id, err
}

// Send is [Conn.Send]: each packet goes through the device of its agent.
func (c *PairConn) Send(packets []Packet) (int, error) {
	if c.smi == c.gsi {
		return c.smi.Send(packets)
	}
	for i := range packets {
		c.one[0] = packets[i]
		conn := c.smi
		if c.one[0].AgentID&ofGSI != 0 {
			c.one[0].AgentID &^= ofGSI
			conn = c.gsi
		}
		if n, err := conn.Send(c.one[:]); n == 0 || err != nil {
			return i, err
		}
	}
	return len(packets), nil
}

// errOther is the cause that ends a Receive because the other device has received something.
var errOther = errors.New("the other device has received a packet")

// Receive is [Conn.Receive] at both devices. Only a device with agents is read.
func (c *PairConn) Receive(ctx context.Context, packets []Packet, deadline time.Time) (int, error) {
	switch {
	case c.smi != nil && (c.gsi == nil || c.gsi == c.smi || c.gsi.agents == 0):
		return c.smi.Receive(ctx, packets, deadline)
	case c.smi == nil || c.smi.agents == 0:
		n, err := c.gsi.Receive(ctx, packets, deadline)
		return markGSI(packets[:n]), err
	}
	n := c.deliver(packets)
	if n > 0 {
		return n, nil
	}
	smi, stopSMI := context.WithCancelCause(ctx)
	gsi, stopGSI := context.WithCancelCause(ctx)
	defer stopSMI(nil)
	defer stopGSI(nil)
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		var k int
		k, err = c.gsi.Receive(gsi, c.spare[:], deadline)
		c.held = c.spare[:markGSI(c.spare[:k])]
		stopSMI(errOther)
	}()
	n, smiErr := c.smi.Receive(smi, packets, deadline)
	stopGSI(errOther)
	<-done
	n += c.deliver(packets[n:])
	if errors.Is(err, errOther) {
		err = nil
	}
	if errors.Is(smiErr, errOther) {
		smiErr = nil
	}
	if smiErr != nil {
		err = smiErr // both, if the context has ended
	}
	return n, err
}

// deliver moves packets that were received earlier into the batch.
func (c *PairConn) deliver(packets []Packet) int {
	n := copy(packets, c.held)
	c.held = c.held[n:]
	return n
}

// markGSI marks the agents of received packets, and returns how many they are.
func markGSI(packets []Packet) int {
	for i := range packets {
		packets[i].AgentID |= ofGSI
	}
	return len(packets)
}

// Close is [Conn.Close] of both devices.
func (c *PairConn) Close() error {
	var errs []error
	if c.smi != nil {
		errs = append(errs, c.smi.Close())
	}
	if c.gsi != nil && c.gsi != c.smi {
		errs = append(errs, c.gsi.Close())
	}
	return errors.Join(errs...)
}
