package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// DefaultPort is the default TCP port of the exchange.
const DefaultPort = 18516

// Config configures a run. Zero values select the defaults. Now and Progress are called in the
// goroutine that calls [Local], [Dial] or [Serve]. Local runs two ends in two goroutines: Route and
// the functions of the ports must support concurrent calls.
type Config struct {
	Node Node   // this end, for the report and the peer
	Host string // name of this end in results and errors; "" is Node.Host
	// Pings and Writes are the numbers of messages; 0 is 1000 and 10. The client's count.
	Pings, Writes int
	MTU           ib.MTU // largest path MTU; 0 is that of the ports
	// CM connects the queue pairs by the communication manager of the devices, which need
	// verbs.CapConnector, instead of numbers that are exchanged over TCP. The client's counts.
	CM bool
	// Timeout is the code of the acknowledgement timeout, 4.096 µs × 2^code; 0 is 14, 67 ms.
	Timeout uint8
	Wait    verbs.WaitMode // how to wait for completions
	// StepTimeout limits each step of the exchange; 0 is 10 seconds.
	StepTimeout time.Duration
	// AllowTCP ends the run with a measurement over TCP if both ends allow it.
	AllowTCP bool
	// Route returns an error if this machine has no route between two addresses; nil skips that.
	// [KernelRoute] asks the kernel.
	Route func(ctx context.Context, from, to netip.Addr) error
	// Now is the time for the report; nil leaves it out.
	Now func() time.Time
	// Progress, which may be nil, is called with a line for the user when something begins.
	Progress func(format string, args ...any)

	plant faults
}

// faults are planted by tests.
type faults struct {
	noReceives bool
	corrupt    func([]byte)
	corruptTCP func([]byte)
	mute       bool                          // pings aren't answered
	wrongKey   bool                          // the peer gets a wrong key of the memory
	cm         func(context.Context, *trial) // before the stage CM
}

const (
	defaultPings       = 1000
	defaultWrites      = 10
	defaultStepTimeout = 10 * time.Second
	maxTimeout         = 31 // 5 bits
)

func (c Config) withDefaults() Config {
	c.Host = cmp.Or(c.Host, c.Node.Host)
	c.Pings, c.Writes = cmp.Or(c.Pings, defaultPings), cmp.Or(c.Writes, defaultWrites)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.StepTimeout = cmp.Or(c.StepTimeout, defaultStepTimeout)
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	return c
}

// Validate returns an error if a number is out of range, or if there are more facts about the node
// than the peer accepts.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Timeout > maxTimeout && c.Timeout != verbs.TimeoutInfinite:
		return fmt.Errorf("the code %d of the acknowledgement timeout is not 1 to %d", c.Timeout, maxTimeout)
	case c.StepTimeout < 0:
		return fmt.Errorf("the limit of a step is negative: %v", c.StepTimeout)
	}
	m := c.introduction()
	if _, err := encode(m); err != nil {
		return fmt.Errorf("facts about the node with %d ports: %w", len(c.Node.Ports), err)
	}
	if err := m.Hello.check(); err != nil {
		return fmt.Errorf("facts about the node: %w", err)
	}
	p := Proposal{Pings: c.Pings, Writes: c.Writes, MTU: c.MTU}
	return p.check()
}

// ErrNothing is the error of a run in which no ports were tried.
var ErrNothing = errors.New("no ports to connect")

var (
	errVersion    = errors.New("incompatible version of the exchange")
	errNotAllowed = errors.New("the peer measures over TCP, which this end doesn't allow")
)

// KernelRoute asks the kernel for a route from an address of this machine to another one: it
// connects a UDP socket, which sends nothing.
func KernelRoute(ctx context.Context, from, to netip.Addr) error {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	conn, err := d.DialContext(ctx, "udp", netip.AddrPortFrom(to, rocev2.Port).String())
	if err != nil {
		if err = ended(err); unreachable(err) {
			return err
		}
		return nil // the address may be of another namespace, where the device is
	}
	return conn.Close()
}

// newReport begins a report.
func (c *Config) newReport() Report {
	r := Report{Schema: Schema, Local: c.Node, Attempts: []Attempt{}}
	r.Local.Host = c.Host
	if c.Now != nil {
		r.Taken = c.Now().UTC()
	}
	return r
}

// Local tries two ports of this machine, or one with itself. The error is that of the
// configuration; failures of the connection are in the report.
func Local(ctx context.Context, a, b Port, cfg Config) (Report, error) {
	if err := cfg.Validate(); err != nil {
		return Report{}, fmt.Errorf("connect %s: %w", a.Name, err)
	}
	cfg = cfg.withDefaults()
	r := cfg.newReport()
	left, right, err := loopback(ctx)
	if err != nil {
		r.Attempts = []Attempt{{Failure: exchangeFailure(err, "127.0.0.1")}}
		return r, nil
	}
	if a.device() == b.device() {
		a, b = shared(a, b)
	}
	both(ctx, left, right, a, b, cfg, &r)
	r.Peer = nil // it is this end
	return r, nil
}

// both runs both ends of an attempt over a pair of connections. The report is that of the client.
func both(ctx context.Context, left, right net.Conn, a, b Port, cfg Config, r *Report) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		quiet := cfg // the other end says what happens
		quiet.Progress = func(string, ...any) {}
		p := prepare(ctx, b, quiet)
		e := &end{cfg: quiet, ports: []Port{b}, first: p, report: &Report{}}
		defer e.close()
		_ = e.serve(ctx, right) // both ends report the same
	}()
	e := &end{cfg: cfg, ports: []Port{a}, first: prepare(ctx, a, cfg), report: r}
	_ = e.dial(ctx, left) // the failure is in the report
	<-done
}

// loopback returns both ends of a TCP connection of this machine.
func loopback(ctx context.Context) (client, server net.Conn, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if client, err = (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if server, err = l.Accept(); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, server, nil
}

// Dial tries ports with the peer at host, which runs Serve on a TCP port; 0 is DefaultPort. With
// all, each port is tried with the peer's port of the same rail, otherwise the first port with the
// peer's only one. The error is that of the configuration, or [ErrNothing] for no port; failures of
// the connection are in the report.
func Dial(ctx context.Context, host string, tcpPort int, ports []Port, all bool, cfg Config) (Report, error) {
	e, err := newEnd(ctx, ports, all, cfg)
	if err != nil {
		return Report{}, fmt.Errorf("connect to %s: %w", host, err)
	}
	r := e.report
	if e.useless() {
		return *r, nil
	}
	conn, err := bench.Dial(ctx, host, cmp.Or(tcpPort, DefaultPort))
	if err != nil {
		f := exchangeFailure(causeOf(ctx, err), fmt.Sprintf("%s, TCP port %d", host, cmp.Or(tcpPort, DefaultPort)))
		if f.Stage == StageExchange {
			f.Operation = "connect to"
		}
		f.interrupted(ctx)
		r.Attempts = []Attempt{e.unreached(f)}
		e.close()
		return *r, nil
	}
	_ = e.dial(ctx, conn) // the failure is in the report
	return *r, nil
}

// newEnd begins one end of a run: with all, its ports are opened when their turn comes.
func newEnd(ctx context.Context, ports []Port, all bool, cfg Config) (*end, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	r := cfg.newReport()
	e := &end{cfg: cfg, ports: ports, all: all, report: &r}
	switch {
	case all:
	case len(ports) == 0:
		return nil, ErrNothing
	default:
		e.first = prepare(ctx, ports[0], cfg)
	}
	return e, nil
}

// useless ends a run whose only port can't be used, if nothing else could be measured with the
// peer.
func (e *end) useless() bool {
	if e.first == nil || e.first.failure == nil || e.cfg.AllowTCP {
		return false
	}
	e.report.Attempts = []Attempt{e.first.attempt()}
	e.close()
	return true
}

// causeOf returns why ctx ended, if it did.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Serve waits for one client on l and tries the ports that it proposes: with all, any of ports,
// otherwise the first, and the client learns that no other is offered. A connection of another
// program is noted and ignored. The caller closes l, which serves one run after another. The error
// is that of the configuration, [ErrNothing] for no port, that of l, or the cause of ctx; failures
// of the connection are in the report.
func Serve(ctx context.Context, l *bench.Listener, ports []Port, all bool, cfg Config) (Report, error) {
	if !all && len(ports) > 0 {
		ports = ports[:1]
		cfg.Node.Ports = offerOne(cfg.Node.Ports, ports[0])
	}
	e, err := newEnd(ctx, ports, all, cfg)
	if err != nil {
		return Report{}, fmt.Errorf("wait for a client: %w", err)
	}
	r, cfg := e.report, e.cfg
	if e.useless() {
		return *r, nil
	}
	cfg.Progress("waiting for rdmactl connect on TCP port %s", portOf(l.Addr()))
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			e.close()
			return *r, err
		}
		stranger := e.serve(ctx, conn)
		if stranger == nil {
			return *r, nil
		}
		cfg.Progress("note: ignored a connection from %v: %v", conn.RemoteAddr(), stranger)
	}
}

func portOf(a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return port
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
