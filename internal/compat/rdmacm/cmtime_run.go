package rdmacm

import (
	"context"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/verbs"
)

// step is a step of a connection that the C program measures.
type step int

const (
	stepCreateID step = iota
	stepBind
	stepResolveAddr
	stepResolveRoute
	stepCreateQP
	stepConnect
	stepDisconnect
	stepDestroy
	steps
)

// String returns the C program's name of a step.
func (s step) String() string {
	return [...]string{
		stepCreateID: "create id", stepBind: "bind addr", stepResolveAddr: "resolve addr",
		stepResolveRoute: "resolve route", stepCreateQP: "create qp", stepConnect: "connect",
		stepDisconnect: "disconnect", stepDestroy: "destroy",
	}[s]
}

// cmtimeBacklog is how many requests wait at the server: each that is dropped costs its client
// seconds.
const cmtimeBacklog = 8192

// timing is a run of cmtime.
type timing struct {
	*stopwatch

	device *verbs.Device
	pd     *verbs.ProtectionDomain
	addr   netip.AddrPort // of the server
	conns  []timed
	total  [steps]time.Duration
	hint   sync.Once
}

// timed is a connection with the times of its steps, 0 for those that were not measured.
type timed struct {
	node

	failed bool
	times  [steps]time.Duration
}

// close frees what failed connections have left.
func (t *timing) close() {
	for i := range t.conns {
		t.conns[i].close()
	}
	if t.pd != nil {
		_ = t.pd.Close() // the process ends, too
	}
	if t.device != nil {
		_ = t.device.Close()
	}
}

// open opens the device. what is the C program's message if there is none.
func (t *timing) open(ctx context.Context, local, remote netip.Addr, port uint16, what string) bool {
	t.addr = netip.AddrPortFrom(remote, port)
	if !remote.IsValid() {
		t.addr = netip.AddrPortFrom(local, port)
	}
	var err error
	if t.device, err = t.Open(ctx, local, remote); err == nil {
		t.pd, err = t.device.AllocatePD()
	}
	if err != nil && ctx.Err() == nil {
		t.perror(what, errnoOf(err, syscall.ENODEV))
		t.explain(err, openStage(err), "a device", t.addr)
	}
	return err == nil
}

// createQP creates a queue pair with its completion queues.
func (t *timing) createQP(n *node) (err error) {
	for _, cq := range []**verbs.CompletionQueue{&n.sends, &n.recvs} {
		if *cq, err = t.device.CreateCQ(verbs.CQConfig{Depth: 1}); err != nil {
			return err
		}
	}
	n.qp, err = t.pd.CreateQP(verbs.QPConfig{
		SendCQ: n.sends, RecvCQ: n.recvs, Capacity: verbs.QPCapacity{MaxSendWR: 1, MaxRecvWR: 1},
	})
	return err
}

// options are those of a connection.
func (t *timing) options() verbs.ConnectOptions {
	const most = 7
	o := verbs.ConnectOptions{
		ReadAtomic: 1, DestReadAtomic: 1, RetryCount: uint8(min(uint32(t.retries), most)), //nolint:gosec // C: unsigned
		RNRRetry: verbs.RetryNone,
	}
	if o.RetryCount == 0 {
		o.RetryCount = verbs.RetryNone
	}
	return o
}

// measure takes a step of all connections that haven't failed, all at once or one after another.
func (t *timing) measure(s step, atOnce bool, f func(*timed) error) {
	var wg sync.WaitGroup
	began := time.Now()
	for i := range t.conns {
		c := &t.conns[i]
		if c.failed {
			continue
		}
		begun := time.Now()
		take := func() {
			c.failed = f(c) != nil
			c.times[s] = max(time.Since(begun), 1)
		}
		if atOnce {
			wg.Go(take)
		} else {
			take()
		}
	}
	wg.Wait()
	t.total[s] = time.Since(began)
}

// client runs the client.
func (t *timing) client(ctx context.Context) int {
	t.printf("creating id\n")
	server, bind, port, ret := t.addresses(ctx, "getaddrinfo")
	if ret == 0 {
		ret = t.runConnections(ctx, server, bind, port)
	}
	if ctx.Err() != nil {
		return exitMinusOne
	}
	t.printf("destroying id\n")
	for i := range t.conns {
		t.conns[i].failed = t.conns[i].qp == nil // the others have something to destroy
	}
	t.measure(stepDestroy, false, func(c *timed) error {
		c.close()
		c.node = node{}
		return nil
	})
	t.show()
	return ret & 0xff
}

// runConnections establishes and ends all connections.
func (t *timing) runConnections(ctx context.Context, server, bind netip.Addr, port uint16) int {
	if bind.IsValid() {
		t.printf("binding source address\n")
	}
	t.printf("resolving address\n")
	if !t.open(ctx, bind, server, port, "failure getting addr") {
		return -1
	}
	t.printf("resolving route\ncreating qp\n")
	t.measure(stepCreateQP, false, func(c *timed) error {
		err := t.createQP(&c.node)
		if err != nil {
			t.perror("failure creating qp", errnoOf(err, syscall.ENOMEM))
		}
		return err
	})
	t.printf("connecting\n")
	o := t.options()
	o.Local = bind
	t.measure(stepConnect, true, func(c *timed) error {
		conn, err := t.device.Dial(ctx, c.qp, t.addr, o)
		if err != nil {
			t.notConnected(ctx, err)
			return err
		}
		c.conn = conn
		return nil
	})
	t.printf("disconnecting\n")
	ret := 0
	for i := range t.conns {
		if t.conns[i].failed {
			ret = 1
		}
	}
	t.measure(stepDisconnect, true, func(c *timed) error {
		return c.conn.Disconnect(ctx)
	})
	return ret
}

// notConnected prints why a connection was not established; hints only for the first one.
func (t *timing) notConnected(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if event, number := connectEvent(err); event != "" {
		t.printf("event: %s, error: %d\n", event, number)
	} else {
		t.perror("failure rconnecting", errnoOf(err, syscall.EINVAL))
	}
	t.hint.Do(func() {
		t.explainConnect(err, t.device.Name(), t.addr, "cmtime without -s, with the same -p")
	})
}

// show prints the table of times, with the C program's columns.
//
//nolint:dupword // "us  us" in the C program's heading
func (t *timing) show() {
	t.printf("step              total ms     max ms     min us  us / conn\n")
	for s := range steps {
		if s == stepBind && t.bind == "" {
			continue
		}
		var shortest, longest time.Duration
		for i := range t.conns {
			if d := t.conns[i].times[s]; d > 0 {
				longest = max(longest, d)
				if shortest == 0 || d < shortest {
					shortest = d
				}
			}
		}
		if longest == 0 {
			t.printf("%-13s: %11s%11s%11s%11s\n", s, "-", "-", "-", "-")
			continue
		}
		micros := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
		t.printf("%-13s: %11.2f%11.2f%11.2f%11.2f\n", s, micros(t.total[s])/1e3, micros(longest)/1e3, micros(shortest),
			micros(t.total[s])/float64(len(t.conns)))
	}
}

// serve runs the server.
func (t *timing) serve(ctx context.Context) int {
	_, bind, port, ret := t.addresses(ctx, "getrdmaaddr")
	if ret != 0 {
		return ret & 0xff
	}
	const bindFailed = "bind address failed"
	if !t.open(ctx, bind, netip.Addr{}, port, bindFailed) {
		return exitMinusOne
	}
	l, err := t.device.Listen(ctx, netip.AddrPortFrom(bind, port), verbs.ListenOptions{Backlog: cmtimeBacklog})
	if err != nil {
		t.perror(bindFailed, errnoOf(err, syscall.ENODEV))
		t.explain(err, rping.StageListen, t.device.Name(), t.addr)
		return exitMinusOne
	}
	var peers sync.WaitGroup
	defer peers.Wait()
	defer l.Close()
	for {
		request, err := l.Next(ctx)
		if err != nil {
			return exitMinusOne
		}
		peers.Go(func() { t.accept(ctx, request) })
	}
}

// accept accepts a connection and waits for its end.
func (t *timing) accept(ctx context.Context, request *verbs.ConnectionRequest) {
	var n node
	defer n.close()
	if err := t.createQP(&n); err != nil {
		t.perror("failure creating qp", errnoOf(err, syscall.ENOMEM))
		t.printf("failing connection request\n")
		_ = request.Reject(nil) // it may be gone
		return
	}
	o := t.options()
	o.RetryCount = 0 // the client's
	var err error
	if n.conn, err = request.Accept(ctx, n.qp, o); err != nil {
		if ctx.Err() == nil {
			t.perror("failure accepting", errnoOf(err, syscall.ECONNABORTED))
			t.errorf("hint: %v\n", err)
		}
		return
	}
	select {
	case <-n.conn.Done():
	case <-ctx.Done():
	}
}
