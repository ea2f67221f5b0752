package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/edge/umad"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// umadBatch is how many datagrams go through the kernel in one call of Send or Receive.
const umadBatch = 32

// UMAD is the transport through a port of this machine, /dev/infiniband/umadN. On a multi-plane
// card (XDR), subnet management goes through a port of the card's SMI device, and everything else
// through the device for jobs, whichever of the two was chosen.
type UMAD struct {
	conn    umadConn
	port    umad.Port // that was chosen
	agents  map[mad.Class]uint32
	address Addressing
	out, in [umadBatch]umad.Packet
}

// umadConn is *umad.PairConn, or a substitute in tests.
type umadConn interface {
	Pair() umad.Pair
	Register(a umad.Agent) (uint32, error)
	Send(packets []umad.Packet) (int, error)
	Receive(ctx context.Context, packets []umad.Packet, deadline time.Time) (int, error)
	Close() error
}

// UMADOptions selects the port. The zero value selects the first active InfiniBand port whose card
// has subnet management, or else the first active InfiniBand port, or else the first port.
type UMADOptions struct {
	Device string // mlx5_0; empty: any
	Port   int    // 0: any
}

// OpenUMAD opens a port for management datagrams. The error names what was requested, what exists,
// and the remedy.
func OpenUMAD(ctx context.Context, o UMADOptions) (*UMAD, error) {
	root, err := sysfs.OpenRoot("/")
	if err != nil {
		return nil, fmt.Errorf("open management port: %w", err)
	}
	defer root.Close()
	ports, err := umad.Ports(ctx, root)
	if len(ports) == 0 && err != nil {
		return nil, fmt.Errorf("open management port: %w", err)
	}
	umad.SetParents(ports, smiParents(ctx))
	port, err := umad.Choose(ports, o.Device, o.Port)
	if err != nil {
		return nil, fmt.Errorf("open management port: %w", err)
	}
	conn, err := umad.OpenPair(ports, port)
	if err != nil {
		return nil, fmt.Errorf("open management port: %w", err)
	}
	u := &UMAD{conn: conn, port: port, agents: map[mad.Class]uint32{}}
	if !u.IsEthernet() { // its kernel chooses the P_Key
		u.address.PKeys, u.address.LocalGID = umad.Tables(ctx, root, conn.Pair().GSI)
	}
	return u, nil
}

// Addressing returns how GMPs are addressed, with the tables that the port had when it was opened.
func (u *UMAD) Addressing() *Addressing { return &u.address }

// smiParents queries the kernel (nldev) for the devices of type SMI and the devices whose planes
// they manage. The answer is empty if there is none: kernels before 6.11 don't have these types,
// and older ones have no nldev in a container. The files of sysfs then tell the devices apart.
func smiParents(ctx context.Context) map[string]string {
	devices, err := rdmanl.Client{}.Devices(ctx)
	if err != nil {
		return nil
	}
	return parentsOf(devices)
}

// parentsOf returns the parents of the devices of type SMI by their names.
func parentsOf(devices []rdmanl.Device) map[string]string {
	parents := map[string]string{}
	for _, d := range devices {
		if d.Type != nil && *d.Type == rdmanl.RDMA_DEVICE_TYPE_SMI {
			parents[d.Name] = d.Parent
		}
	}
	return parents
}

// Device returns the chosen RDMA device and the port's number.
func (u *UMAD) Device() (name string, port int) { return u.port.Device, u.port.Number }

// PortGUID returns the GUID of the port that subnet management goes through; zero if the kernel
// reports none.
func (u *UMAD) PortGUID() ib.GUID { return u.conn.Pair().SMI.GUID }

// IsMultiPlane reports whether subnet management has a device of its own: LID-routed SMPs are then
// not valid in the fabric, only those on a directed route.
func (u *UMAD) IsMultiPlane() bool { return u.conn.Pair().IsMultiPlane() }

// ErrNotDirected is the cause if a LID-routed SMP can't be sent because the fabric is multi-plane.
var ErrNotDirected = errors.New("LID-routed SMPs are not valid in a multi-plane fabric: use a directed route")

// ErrNoSubnetManagement is the cause if a port without queue pair 0 is opened for subnet
// management: a RoCE port, or one with IsSMDisabled in its capability mask.
var ErrNoSubnetManagement = errors.New("no subnet management")

// ErrNoLIDs is the cause if a datagram is addressed to a LID and the port is a RoCE port, which can
// send to GIDs only.
var ErrNoLIDs = errors.New("no LIDs, only GIDs")

// IsEthernet reports whether the port is a RoCE port, which supports pings but has neither LIDs nor
// subnet management.
func (u *UMAD) IsEthernet() bool { return u.port.LinkLayer == "Ethernet" }

// Serve implements [Server]. oui is used for the vendor classes that have an OUI.
func (u *UMAD) Serve(class mad.Class, oui mad.OUI, methods ...mad.Method) error {
	if _, ok := u.agents[class]; ok {
		return fmt.Errorf("serve class 0x%02x: the class is in use already", uint8(class))
	}
	if u.IsEthernet() && (class == mad.ClassSubnet || class == mad.ClassSubnetDirected) {
		name, port := u.Device()
		return fmt.Errorf("%s port %d is Ethernet: it has %w", name, port, ErrNoSubnetManagement)
	}
	id, err := u.conn.Register(agentOf(class, oui, methods))
	if _, ok := errors.AsType[*umad.NoQP0Error](err); ok {
		return fmt.Errorf("%w: %w", ErrNoSubnetManagement, err)
	}
	if err == nil {
		u.agents[class] = id
	}
	return err
}

// agentOf returns the agent of a class. The kernel reassembles messages of subnet administration.
func agentOf(class mad.Class, oui mad.OUI, methods []mad.Method) umad.Agent {
	agent := umad.Agent{Class: uint8(class), ClassVersion: classVersion(class)}
	for _, m := range methods {
		agent.Methods = append(agent.Methods, uint8(m))
	}
	if class != mad.ClassSubnet && class != mad.ClassSubnetDirected {
		agent.QPN = 1
	}
	if class >= firstVendorClass && class <= lastVendorClass {
		agent.OUI = uint32(oui[0])<<16 | uint32(oui[1])<<8 | uint32(oui[2])
	}
	if class == mad.ClassSA {
		agent.RMPPVersion = mad.RMPPVersion
	}
	return agent
}

// Reassembles reports whether messages of several segments arrive as one datagram: the kernel
// acknowledges the segments of subnet administration.
func (u *UMAD) Reassembles(class mad.Class) bool { return class == mad.ClassSA }

// Vendor classes with an OUI (specification section 16.5).
const firstVendorClass, lastVendorClass mad.Class = 0x30, 0x4f

// classVersion is 2 for the SA and 1 for the others (specification section 13.4.2).
func classVersion(c mad.Class) uint8 {
	if c == mad.ClassSA {
		return 2
	}
	return 1
}

// Send implements [Transport]. The first datagram of a class registers an agent for its answers. On
// a RoCE port the kernel resolves the neighbour first: Send may wait, and returns
// [syscall.ETIMEDOUT] if the neighbour doesn't exist.
func (u *UMAD) Send(batch []Datagram) (int, error) {
	sent := 0
	for sent < len(batch) {
		k, refused := u.prepare(batch[sent:])
		n, err := u.conn.Send(u.out[:k])
		sent += n
		if concernsAddress(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		if err != nil || n < k {
			return sent, err
		}
		if refused != nil {
			return sent, refused
		}
	}
	return sent, nil
}

// prepare writes as many packets as one call of Send takes, and returns their number. The error
// concerns the datagram after those.
func (u *UMAD) prepare(batch []Datagram) (int, error) {
	for i := range min(len(batch), len(u.out)) {
		d := &batch[i]
		class := mad.Class(d.MAD[1])
		a := &d.Address
		if class == mad.ClassSubnet && u.IsMultiPlane() {
			return i, fmt.Errorf("%w: send to LID %d: %w", ErrRefused, uint16(a.LID), ErrNotDirected)
		}
		if _, ok := u.agents[class]; !ok {
			if err := u.Serve(class, mad.OUIPing()); err != nil {
				return i, err
			}
		}
		if u.IsEthernet() && !a.HasGRH {
			name, port := u.Device()
			return i, fmt.Errorf("send to LID %d: %s port %d is Ethernet: it has %w",
				uint16(a.LID), name, port, ErrNoLIDs)
		}
		u.out[i] = umad.Packet{
			AgentID: u.agents[class], Timeout: d.Timeout, QPN: uint32(a.QPN), QKey: a.QKey, LID: uint16(a.LID),
			SL: a.SL, PKeyIndex: a.PKeyIndex, MAD: d.MAD,
		}
		if a.HasGRH {
			p := &u.out[i]
			p.HasGRH, p.GIDIndex, p.GID = true, a.GIDIndex, a.GID
			p.HopLimit, p.TrafficClass, p.FlowLabel = hopLimit(a.HopLimit), a.TrafficClass, a.FlowLabel
		}
	}
	return min(len(batch), len(u.out)), nil
}

// concernsAddress reports whether an error is caused by one destination rather than by the port.
func concernsAddress(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EINVAL, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// hopLimit returns the hop limit of a global route header, by default one that is large enough to
// cross routers.
func hopLimit(of uint8) uint8 {
	const usual = 64
	return cmp.Or(of, usual)
}

// Receive implements [Transport].
func (u *UMAD) Receive(ctx context.Context, batch []Datagram, deadline time.Time) (int, error) {
	n, err := u.conn.Receive(ctx, u.in[:min(len(batch), len(u.in))], deadline)
	for i := range n {
		batch[i] = datagramOf(&u.in[i])
	}
	return n, err
}

// datagramOf returns the datagram of a received packet.
func datagramOf(p *umad.Packet) Datagram {
	return Datagram{
		Address: Address{
			LID: ib.LID(p.LID), QPN: ib.QPN(p.QPN), PKeyIndex: p.PKeyIndex, SL: p.SL,
			HasGRH: p.HasGRH, GIDIndex: p.GIDIndex, GID: p.GID,
		},
		Lost: p.Status != 0,
		MAD:  p.MAD, Length: p.Length, Rest: p.Rest,
	}
}

// Close implements [Transport].
func (u *UMAD) Close() error { return u.conn.Close() }
