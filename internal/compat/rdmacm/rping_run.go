package rdmacm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/verbs"
)

// States of the C program, which its messages name by number.
const (
	stateIdle          = 1
	stateRouteResolved = 4
	stateDisconnected  = 10
	stateError         = 11
)

// tracker prints the lines of -d for one connection, and knows what the program waits for.
type tracker struct {
	p       *pinger
	which   string // parent or child
	waiting string // state that is waited for
}

// observe prints the lines of a step, in the C program's words.
func (t *tracker) observe(e rping.Event) {
	p := t.p
	b := e.Buffer
	switch e.Step {
	case rping.StepRequest:
		p.debugf("cma_event type RDMA_CM_EVENT_CONNECT_REQUEST cma_id %p (child)\nchild cma %p\n", t, t)
	case rping.StepPD:
		p.debugf("created pd %p\n", e.Object)
	case rping.StepCQ:
		p.debugf("created cq %p\n", e.Object)
	case rping.StepQP:
		p.debugf("created qp %p\nrping_setup_buffers called on cb %p\n", e.Object, p)
	case rping.StepBuffers:
		p.debugf("allocated & registered buffers...\ncq_thread started.\n")
	case rping.StepAccept:
		p.debugf("accepting client connection request\n")
	case rping.StepConnected:
		p.debugf("cma_event type RDMA_CM_EVENT_ESTABLISHED cma_id %p (%s)\nESTABLISHED\n", t, t.which)
		t.waiting = "RDMA_READ_ADV"
	case rping.StepAdvertise:
		p.debugf("RDMA addr %x rkey %x len %d\n", b.Addr, b.RKey, b.Len)
	case rping.StepSent:
		p.debugf("send completion\n")
	case rping.StepReceived:
		p.debugf("recv completion\n")
		if p.server {
			p.debugf("Received rkey %x addr %x len %d from peer\n", b.RKey, b.Addr, b.Len)
		} else if t.waiting == "RDMA_WRITE_ADV" {
			t.waiting = "RDMA_WRITE_COMPLETE"
		}
	case rping.StepSource, rping.StepSink:
		p.debugf("server received sink adv\n")
	case rping.StepReadPosted:
		p.debugf("server posted rdma read req \n")
		t.waiting = "RDMA_READ_COMPLETE"
	case rping.StepReadDone:
		p.debugf("rdma read completion\nserver received read complete\n")
	case rping.StepGoAhead:
		p.debugf("server posted go ahead\n")
		next := "RDMA_WRITE_ADV"
		if t.waiting == "RDMA_WRITE_COMPLETE" {
			next = "RDMA_READ_ADV"
		}
		t.waiting = next
	case rping.StepWrite:
		p.debugf("rdma write from lkey %x laddr %x len %d\n", b.RKey, b.Addr, b.Len)
		t.waiting = "RDMA_WRITE_COMPLETE"
	case rping.StepWriteDone:
		p.debugf("rdma write completion\nserver rdma write complete \n")
	}
}

// ended prints why pings have ended, and reports whether that is an orderly end.
func (t *tracker) ended(ctx context.Context, err error, side string) bool {
	p := t.p
	size, isSize := errors.AsType[*rping.SizeError](err)
	completion, isCompletion := errors.AsType[*verbs.CompletionError](err)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, io.EOF):
		p.debugf("cma_event type RDMA_CM_EVENT_DISCONNECTED cma_id %p (%s)\n", t, t.which)
		p.errorf("%s DISCONNECT EVENT...\nwait for %s state %d\n", side, t.waiting, stateDisconnected)
		return true
	case isSize:
		p.errorf("Received bogus data, size %d\nrecv wc error: -1\n", size.Got)
	case isCompletion:
		p.errorf("cq completion failed status %d\n", completion.Status)
	default:
		p.errorf("%s: %v\n", p.Name, err)
	}
	p.errorf("wait for %s state %d\nrping %s failed: -1\n", t.waiting, stateError, side)
	return false
}

// options are those of a connection.
func (p *pinger) options(t *tracker) rping.Options {
	return rping.Options{Size: int(p.size), Local: p.source, Observer: t.observe}
}

// dial runs a client.
func (p *pinger) dial(ctx context.Context) int {
	t := &tracker{p: p, which: "parent"}
	addr := netip.AddrPortFrom(p.addr, p.port)
	var device *verbs.Device
	err := error(&net.AddrError{Err: "the client needs the address of the server: -a ADDRESS"})
	if p.addr.IsValid() {
		device, err = p.Open(ctx, p.source, p.addr)
	}
	if err != nil {
		if ctx.Err() == nil {
			p.errorf("cma event RDMA_CM_EVENT_ADDR_ERROR, error %d\n", -int(errnoOf(err, syscall.ENODEV)))
			p.errorf("waiting for addr/route resolution state %d\n", stateIdle)
			p.explain(err, openStage(err), "a device", addr)
		}
		return exitMinusOne
	}
	defer device.Close()
	for _, event := range []string{"ADDR", "ROUTE"} {
		p.debugf("cma_event type RDMA_CM_EVENT_%s_RESOLVED cma_id %p (parent)\n", event, t)
	}
	p.debugf("rdma_resolve_addr - rdma_resolve_route successful\n")
	c, err := rping.Dial(ctx, device, addr, p.options(t))
	if err != nil {
		p.notConnected(ctx, err, device.Name(), addr)
		return exitMinusOne
	}
	defer c.Close()
	p.debugf("rdma_connect successful\n")
	return p.pings(ctx, c, t, device.Name(), addr)
}

// notConnected prints why a client could not connect.
func (p *pinger) notConnected(ctx context.Context, err error, device string, addr netip.AddrPort) {
	if ctx.Err() != nil {
		return
	}
	if event, number := connectEvent(err); event != "" {
		p.errorf("cma event %s, error %d\nwait for CONNECTED state %d\n", event, number, stateRouteResolved)
	} else {
		p.perror("rdma_connect", errnoOf(err, syscall.EINVAL))
	}
	p.errorf("connect error -1\n")
	p.explain(err, rping.StageConnect, device, addr)
}

// pings sends the pings of a client.
func (p *pinger) pings(ctx context.Context, c *rping.Client, t *tracker, device string, addr netip.AddrPort) int {
	for n := 0; p.count == 0 || n < int(p.count); n++ {
		rping.Fill(c.Source(), n)
		t.waiting = "RDMA_WRITE_ADV"
		if err := c.Ping(ctx); err != nil {
			if t.ended(ctx, err, "client") {
				return 0
			}
			if ctx.Err() == nil {
				p.explain(err, rping.StageData, device, addr)
			}
			return exitMinusOne
		}
		if p.validate && !bytes.Equal(c.Source(), c.Sink()) {
			p.errorf("data mismatch!\nrping client failed: -1\n")
			return exitMinusOne
		}
		if p.verbose {
			p.printf("ping data: %s\n", rping.Text(c.Sink()))
		}
	}
	if c.Disconnect(ctx) == nil {
		p.debugf("cma_event type RDMA_CM_EVENT_DISCONNECTED cma_id %p (parent)\n", t)
		p.errorf("client DISCONNECT EVENT...\n")
	}
	return 0
}

// serve runs a server.
func (p *pinger) serve(ctx context.Context) int {
	addr := netip.AddrPortFrom(p.addr, p.port)
	local := p.addr
	if local.IsUnspecified() {
		local = netip.Addr{}
	}
	device, err := p.Open(ctx, local, netip.Addr{})
	if err != nil {
		if ctx.Err() == nil {
			p.perror("rdma_bind_addr", errnoOf(err, syscall.ENODEV))
			p.explain(err, openStage(err), "a device", addr)
		}
		return exitMinusOne
	}
	defer device.Close()
	t := &tracker{p: p, which: "child"} // of the next client
	s, err := rping.Listen(ctx, device, netip.AddrPortFrom(local, p.port), rping.Options{Observer: t.observe})
	if err != nil {
		p.perror("rdma_bind_addr", errnoOf(err, syscall.ENODEV))
		p.explain(err, rping.StageListen, device.Name(), addr)
		return exitMinusOne
	}
	defer s.Close()
	p.debugf("rdma_bind_addr successful\nrdma_listen\n")
	if p.persistent {
		return p.persist(ctx, s)
	}
	session, err := s.Accept(ctx)
	if err != nil {
		return p.notAccepted(ctx, err)
	}
	defer session.Close()
	if p.answer(ctx, session, t) {
		return 0
	}
	return exitMinusOne
}

func (p *pinger) notAccepted(ctx context.Context, err error) int {
	if ctx.Err() == nil {
		p.perror("rdma_accept", errnoOf(err, syscall.ECONNABORTED))
		p.errorf("connect error -1\nhint: %v\n", err)
	}
	return exitMinusOne
}

// answer answers a client until it disconnects, and reports whether that was its end.
func (p *pinger) answer(ctx context.Context, s *rping.Session, t *tracker) bool {
	for {
		err := s.Read(ctx)
		if err == nil {
			if p.verbose {
				p.printf("server ping data: %s\n", rping.Text(s.Data()))
			}
			err = s.Write(ctx)
		}
		if err != nil {
			return t.ended(ctx, err, "server")
		}
	}
}

// persist accepts clients until the program is killed.
func (p *pinger) persist(ctx context.Context, s *rping.Server) int {
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		session, err := s.Accept(ctx)
		if err != nil {
			if _, ok := errors.AsType[*rping.AcceptError](err); ok && ctx.Err() == nil {
				p.notAccepted(ctx, err)
				continue
			}
			return exitMinusOne
		}
		clients.Go(func() {
			t := &tracker{p: p, which: "child", waiting: "RDMA_READ_ADV"}
			session.Observe(t.observe)
			_ = p.answer(ctx, session, t)
			_ = session.Close() // the other clients go on
		})
	}
}
