package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// RDMACM is how the ends of a test meet, and how their queue pairs are connected.
type RDMACM uint8

// The ways.
const (
	RDMACMOff RDMACM = iota // over TCP, and by what is exchanged there
	// RDMACMExchange exchanges over a connection of rdma_cm instead of TCP (perftest: -z).
	RDMACMExchange
	// RDMACMConnect also connects the queue pairs of the test by rdma_cm (perftest: -R).
	RDMACMConnect
)

// String returns off, or perftest's option.
func (m RDMACM) String() string {
	switch m {
	case RDMACMOff:
		return "off"
	case RDMACMExchange:
		return "-z"
	case RDMACMConnect:
		return "-R"
	}
	return fmt.Sprintf("rdma_cm %d", uint8(m))
}

// checkRDMACM rejects what perftest rejects, too.
func (c Config) checkRDMACM() error {
	switch {
	case c.RDMACM > RDMACMConnect:
		return fmt.Errorf("unknown %v", c.RDMACM)
	case c.RDMACM == RDMACMConnect && c.QPType == verbs.QPTypeUC:
		return fmt.Errorf("queue pair type %v is not connected by rdma_cm (-R): RC, or UD for SEND", c.QPType)
	case c.TrafficClass != 0 && c.RDMACM != RDMACMConnect:
		return fmt.Errorf("traffic class %d (-T) is only for queue pairs that rdma_cm connects (-R)", c.TrafficClass)
	}
	return nil
}

// qKey is the Q_Key of queue pairs of type UD.
func (c Config) qKey() uint32 {
	if c.RDMACM == RDMACMConnect {
		return provider.QKeyDatagrams
	}
	return qKey
}

// checkConnector returns an error if a device has no communication manager, or can't do without.
func checkConnector(device *verbs.Device, m RDMACM) error {
	iwarp := isIWARP(device)
	if iwarp && m != RDMACMConnect {
		return &IWARPError{
			Cause: "its queue pairs connect only by rdma_cm",
			Hint:  "-R at both ends connects queue pairs by rdma_cm, and exchanges over it",
		}
	}
	if m == RDMACMOff || device.Capabilities().Has(verbs.CapConnector) {
		return nil
	}
	return &NoConnectorError{Mode: m, IWARP: iwarp}
}

// NoConnectorError is the error of a device that connects nothing by rdma_cm. It matches
// verbs.ErrNotSupported.
type NoConnectorError struct {
	Mode  RDMACM // what was asked for
	IWARP bool   // the device connects in no other way
}

// Error implements error.
func (e *NoConnectorError) Error() string {
	return fmt.Sprintf("%v: this device connects no queue pairs by rdma_cm here", e.Mode)
}

// Is reports whether target is verbs.ErrNotSupported.
func (e *NoConnectorError) Is(target error) bool { return target == verbs.ErrNotSupported }

// Hints returns what works.
func (e *NoConnectorError) Hints() []string {
	if e.IWARP {
		return []string{"iWARP needs librdmacm (package librdmacm1 or librdmacm), the kernel module rdma_ucm, and " +
			"access to /dev/infiniband/rdma_cm"}
	}
	return []string{fmt.Sprintf("without %v at both ends, the ends exchange over TCP", e.Mode)}
}

// PairingError is the error of two ends that don't meet in the same way.
type PairingError struct {
	Own    string // what this end does
	Theirs string // what the other end does
}

// Error implements error.
func (e *PairingError) Error() string { return e.Theirs + ", and this end " + e.Own }

// Hints returns what to do.
func (e *PairingError) Hints() []string {
	return []string{"give both ends the same: -R, -z, or neither"}
}

// does describes an end of a mode.
func (m RDMACM) does() string {
	switch m {
	case RDMACMConnect:
		return "connects queue pairs by rdma_cm (-R)"
	case RDMACMExchange:
		return "exchanges over rdma_cm and connects queue pairs itself (-z)"
	case RDMACMOff:
	}
	return "exchanges over TCP"
}

// noticeTCP is the private data of a rejection: the server doesn't use rdma_cm.
const noticeTCP = "rdmakit: this server exchanges over TCP"

// Conn is the connection of an exchange.
type Conn interface {
	perftest.Conn
	io.Closer
}

// Meet connects to the server on host or, if host is empty, waits for one client on all addresses;
// waiting, which may be nil, is called before it waits. port 0 is [DefaultPort], of TCP or of
// rdma_cm, as the configuration says. A peer that meets in another way is reported at both ends, if
// it is this package: the error is a [PairingError].
//
// The device must stay open until the connection is closed, which waits up to two seconds for the
// peer.
func Meet(
	ctx context.Context, device *verbs.Device, host string, port int, cfg Config, waiting func(),
) (Conn, error) {
	if port == 0 {
		port = DefaultPort
	}
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("port %d is not 1 to 65535", port)
	}
	if waiting == nil {
		waiting = func() {}
	}
	if err := checkConnector(device, cfg.RDMACM); err != nil {
		return nil, err
	}
	switch {
	case cfg.RDMACM != RDMACMOff && host != "":
		return dialCM(ctx, device, host, port, cfg)
	case cfg.RDMACM != RDMACMOff:
		return acceptCM(ctx, device, port, cfg, waiting)
	case host != "":
		return connectTCP(ctx, host, port, waiting)
	}
	ctx, stop := watchCM(ctx, device, port)
	defer stop()
	return connectTCP(ctx, host, port, waiting)
}

// connectTCP is Connect, without a nil *net.TCPConn in the interface.
func connectTCP(ctx context.Context, host string, port int, waiting func()) (Conn, error) {
	conn, err := Connect(ctx, host, port, waiting)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// watchCM returns a context that ends if a client asks for a connection by rdma_cm. Without a
// communication manager, or if the port is in use, nothing is watched.
// Nor on devices of the kernel: beside an iWARP device its listener takes the TCP port, too.
func watchCM(ctx context.Context, device *verbs.Device, port int) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	if !isEngine(device.Name()) || !device.Capabilities().Has(verbs.CapConnector) {
		return watched, func() { cancel(nil) }
	}
	l, err := device.Listen(ctx, netip.AddrPortFrom(netip.Addr{}, uint16(port)), verbs.ListenOptions{})
	if err != nil {
		return watched, func() { cancel(nil) }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := l.Next(watched)
		if err != nil {
			return
		}
		_ = r.Reject([]byte(noticeTCP)) // the client may have given up
		cancel(&PairingError{
			Own: RDMACMOff.does(), Theirs: fmt.Sprintf("the client at %v asks for a connection by rdma_cm (-R or -z)",
				r.Remote().Addr()),
		})
	})
	return watched, func() {
		cancel(nil)
		wg.Wait()
		_ = l.Close()
	}
}

// watchTCP returns a context that ends if a client of perftest's protocol connects over TCP.
// Connections of others are closed.
func watchTCP(ctx context.Context, port int, m RDMACM) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	l, err := Listen(ctx, "", port)
	if err != nil {
		return watched, func() { cancel(nil) }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept(watched)
			if err != nil {
				return
			}
			if isPerftest(conn) {
				cancel(&PairingError{
					Own: m.does(), Theirs: fmt.Sprintf("the client at %v %s", conn.RemoteAddr(), RDMACMOff.does()),
				})
			}
			_ = conn.Close()
		}
	})
	return watched, func() {
		cancel(nil)
		wg.Wait()
		_ = l.Close()
	}
}

// tcpPatience is how long a client over TCP may take to send its version: perftest sleeps first.
const tcpPatience = 3 * time.Second

// isPerftest reports whether a client sends a version, and tells it what is wrong.
func isPerftest(conn net.Conn) bool {
	if conn.SetDeadline(time.Now().Add(tcpPatience)) != nil {
		return false
	}
	message := perftest.VersionAnnounced.Append(nil)
	if _, err := io.ReadFull(conn, message); err != nil {
		return false
	}
	var v perftest.Version
	if _, err := v.Decode(message); err != nil {
		return false
	}
	_, _ = conn.Write(perftest.AppendNoticeCM(nil)) // the client may have ended
	return true
}

// connectOptions are those of the queue pair of an exchange.
func (c Config) connectOptions() verbs.ConnectOptions {
	return verbs.ConnectOptions{Access: cmAccess, ReadAtomic: 1, Timeout: cmTimeout}
}

// dialCM connects to a server by rdma_cm.
func dialCM(ctx context.Context, device *verbs.Device, host string, port int, cfg Config) (*cmConn, error) {
	addr, err := resolve(ctx, device, host, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", host, err)
	}
	c, err := newCMConn(device, max(1, cfg.Port))
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(addr, uint16(port))
	limited, cancel := context.WithTimeoutCause(ctx, dialTimeout, &unansweredError{dialTimeout})
	defer cancel()
	conn, err := device.Dial(limited, c.qp, to, cfg.connectOptions())
	if err == nil && isIWARP(device) {
		err = pause(ctx, firstMessage)
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close() // ctx has ended
		}
		return nil, errors.Join(refused(err, cfg.RDMACM, isIWARP(device)), c.free())
	}
	c.begin(conn)
	return c, nil
}

// firstMessage is how long a client on iWARP waits before it sends the first message of a
// connection: siw loses one that arrives before the accepting end has taken over the socket (Linux
// 6.1, siw_accept: between siw_send_mpareqrep and siw_qp_socket_assoc). Most programs of perftest
// wait for a second.
const firstMessage = 200 * time.Millisecond

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unansweredError is the error for a peer that doesn't answer. It implements net.Error.
type unansweredError struct{ limit time.Duration }

func (e *unansweredError) Error() string {
	return fmt.Sprintf("no answer to the connection request within %v", e.limit)
}

// Timeout returns true.
func (e *unansweredError) Timeout() bool { return true }

// Temporary returns true.
func (e *unansweredError) Temporary() bool { return true }

// RefusedError is the error of a server that can't be reached by rdma_cm.
type RefusedError struct {
	Mode  RDMACM // of this end
	IWARP bool   // the device connects over TCP
	Err   error  // of Dial
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Is reports whether target is syscall.ECONNREFUSED, and nobody listens.
func (e *RefusedError) Is(target error) bool {
	return target == syscall.ECONNREFUSED && errors.Is(e.Err, verbs.ErrNobodyListens)
}

// Hints returns what to look at.
func (e *RefusedError) Hints() []string {
	if _, timeout := errors.AsType[*unansweredError](e.Err); timeout {
		what := "UDP port 4791"
		if e.IWARP {
			what = "the TCP port of -p"
		}
		return []string{"does an RDMA device of the other machine have this address? A firewall may drop " + what}
	}
	if errors.Is(e.Err, verbs.ErrNobodyListens) {
		return []string{fmt.Sprintf("start the server first, with %v and the same -p; a server accepts one client",
			e.Mode)}
	}
	return nil
}

// refused explains the error of Dial.
func refused(err error, m RDMACM, iwarp bool) error {
	if r, ok := errors.AsType[*verbs.RejectedError](err); ok && bytes.HasPrefix(r.PrivateData, []byte(noticeTCP)) {
		return &PairingError{Own: m.does(), Theirs: "the server exchanges over TCP"}
	}
	return &RefusedError{Mode: m, IWARP: iwarp, Err: err}
}

// resolve returns the address of a host that fits the device.
func resolve(ctx context.Context, device *verbs.Device, host string, cfg Config) (netip.Addr, error) {
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(list) == 0 {
		return netip.Addr{}, fmt.Errorf("%s has no address", host)
	}
	if isIWARP(device) { // its GID is no address; servers listen at addresses of IPv4, as perftest's do
		return fitting(list, true), nil
	}
	gid, err := device.GID(ctx, max(1, cfg.Port), max(0, cfg.GIDIndex))
	if err != nil {
		return list[0].Unmap(), nil //nolint:nilerr // any family, then
	}
	_, is4 := gid.IPv4()
	return fitting(list, is4), nil
}

// fitting returns the first address of a family, or the first of all if there is none.
func fitting(list []netip.Addr, is4 bool) netip.Addr {
	for _, a := range list {
		if a.Unmap().Is4() == is4 {
			return a.Unmap()
		}
	}
	return list[0].Unmap()
}

// acceptCM waits for a client by rdma_cm.
func acceptCM(ctx context.Context, device *verbs.Device, port int, cfg Config, waiting func()) (*cmConn, error) {
	l, err := device.Listen(ctx, netip.AddrPortFrom(netip.Addr{}, uint16(port)), verbs.ListenOptions{})
	if err != nil {
		return nil, err
	}
	c, err := newCMConn(device, max(1, cfg.Port))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	c.listener = l
	conn, err := accept(ctx, c, port, cfg, waiting)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for a client on port %d of rdma_cm: %w", port, err), c.free())
	}
	c.begin(conn)
	return c, nil
}

func accept(ctx context.Context, c *cmConn, port int, cfg Config, waiting func()) (*verbs.Connection, error) {
	watched, stop := ctx, func() {}
	if !isIWARP(c.device) { // its listener has the TCP port
		watched, stop = watchTCP(ctx, port, cfg.RDMACM)
	}
	defer stop()
	waiting()
	r, err := c.listener.Next(watched)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(watched, dialTimeout)
	defer cancel()
	conn, err := r.Accept(limited, c.qp, cfg.connectOptions())
	if err != nil {
		_ = r.Reject(nil) // unless it is answered already
	}
	return conn, err
}
