package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/rdmakit/rdmakit/verbs"
)

// end is one end of a run.
type end struct {
	cfg    Config
	ports  []Port
	all    bool
	first  *prepared // the only port, prepared before the exchange; nil in a run with all ports
	report *Report
	s      *session
	peer   *Hello
	turns  turns // of the client; for a listener
}

// close frees what was prepared and not tried.
func (e *end) close() {
	if e.first != nil {
		_ = e.first.close() // after the last attempt nobody would act on it
		e.first = nil
	}
}

// unreached is the attempt of a run that didn't reach the peer.
func (e *end) unreached(f *Failure) Attempt {
	a := Attempt{}
	if e.first != nil {
		a = e.first.attempt()
	}
	a.Failure = f
	f.End = nameOf(e.cfg.Host, a.Local.Port)
	clock := stageClock{list: a.Stages}
	clock.fail(f.Stage)
	a.Stages = clock.list
	return a
}

// introduction returns the first message of an end. A node with very many ports names only those
// that it offers.
func (c *Config) introduction() Message {
	own := Hello{Protocol: Protocol, Version: Version, AllowTCP: c.AllowTCP, Node: c.Node}
	own.Node.Host = c.Host
	m := Message{Kind: KindHello, Hello: &own}
	if _, err := encode(m); errors.Is(err, errTooLong) {
		own.Node.Ports = slices.DeleteFunc(slices.Clone(c.Node.Ports), func(p PortFacts) bool { return !p.Offered })
	}
	return m
}

// strangers is how many silent connections a listener outwaits while a client waits for it: a
// client introduces itself at once, and has patience for a step.
const strangers = 5

// hello introduces the ends to each other.
func (e *end) hello(ctx context.Context) error {
	own, limit := e.cfg.introduction(), e.cfg.StepTimeout/strangers
	own.Hello.All = e.all
	if e.s.client {
		limit = e.cfg.StepTimeout
		if err := e.s.send(own); err != nil {
			return err
		}
	}
	m, err := e.s.await(ctx, limit, KindHello)
	if err != nil {
		return err
	}
	same := m.Hello.Protocol == Protocol && m.Hello.Version == Version
	if !e.s.client { // it answers, so that a stranger learns nothing, and another version only ours
		if !same {
			own.Hello.Node = Node{Software: own.Hello.Node.Software}
		}
		if err := e.s.send(own); err != nil {
			return err
		}
	}
	if !same {
		return fmt.Errorf("%w: %q version %d here, %s version %d at the peer (%s)", errVersion, Protocol, Version,
			excerpt([]byte(m.Hello.Protocol)), m.Hello.Version, excerpt([]byte(m.Hello.Node.Software)))
	}
	e.peer = m.Hello
	e.report.Peer = &m.Hello.Node
	if e.cfg.AllowTCP && !e.peer.AllowTCP {
		e.skip("the measurement over TCP, which " + e.peer.Node.Host + " doesn't allow")
	}
	return nil
}

// skip notes what is left out, with the reason.
func (e *end) skip(text string) { e.report.Skipped = append(e.report.Skipped, text) }

// overTCPAgreed reports whether both ends allow the measurement over TCP.
func (e *end) overTCPAgreed() bool { return e.cfg.AllowTCP && e.peer.AllowTCP }

// dial runs the client's end and closes conn.
func (e *end) dial(ctx context.Context, conn net.Conn) error {
	defer e.close()
	e.s = newSession(conn, true, e.cfg.StepTimeout)
	defer func() { _ = e.s.close() }() // nothing follows
	if err := e.hello(ctx); err != nil {
		f := helloFailure(err, conn.RemoteAddr())
		f.interrupted(ctx)
		e.report.Attempts = append(e.report.Attempts, e.unreached(f))
		return err
	}
	if err := e.propose(ctx); err != nil {
		if e.overTCPAgreed() {
			e.skip("the measurement over TCP: the exchange ended")
		}
		return err
	}
	if e.overTCPAgreed() {
		if err := e.overTCP(ctx); err != nil {
			return err
		}
	}
	return e.s.send(Message{Kind: KindBye})
}

// proposal returns an attempt with the numbers of the configuration.
func (e *end) proposal() Proposal {
	return Proposal{Pings: e.cfg.Pings, Writes: e.cfg.Writes, MTU: e.cfg.MTU, CM: e.cfg.CM}
}

// propose tries the ports one after another.
func (e *end) propose(ctx context.Context) error {
	if !e.all {
		return e.attempt(ctx, e.ports[0], e.proposal())
	}
	pairs, skipped := pairRails(e.ports, e.report.Peer.Ports)
	e.report.Skipped = append(e.report.Skipped, skipped...)
	if len(skipped) > 0 && !e.peer.All {
		e.skip("more ports of the peer: it runs without --all, and rdmactl connect --listen --all offers all of them")
	}
	for i, p := range pairs {
		prop := e.proposal()
		prop.ListenerPort, prop.Rail = p.listener, p.port.Rail
		if err := e.attempt(ctx, p.port, prop); err != nil {
			for _, left := range pairs[i+1:] {
				e.skip(fmt.Sprintf("%s with %s of the peer: the exchange ended", left.port.Name, left.listener))
			}
			return err
		}
	}
	return nil
}

// attempt proposes one attempt and adds its result to the report.
func (e *end) attempt(ctx context.Context, port Port, prop Proposal) error {
	e.cfg.Progress("connecting %s", port.Name)
	a, err := e.proposed(ctx, port, prop)
	e.report.Attempts = append(e.report.Attempts, a)
	if err != nil || a.Failure == nil || a.Failure.Code != CodeLargeLost {
		return err
	}
	return e.probe(ctx, port, prop)
}

func (e *end) proposed(ctx context.Context, port Port, prop Proposal) (Attempt, error) {
	p := e.take(ctx, port)
	defer p.close() //nolint:errcheck // the attempt has its result
	if err := e.s.send(Message{Kind: KindAttempt, Attempt: &prop}); err != nil {
		a := p.attempt()
		a.Failure = exchangeFailure(err, nameOf(e.report.Peer.Host, prop.ListenerPort))
		return a, err
	}
	return try(ctx, e.s, p, prop, e.cfg)
}

// take returns the port that was prepared before the exchange, or prepares one.
func (e *end) take(ctx context.Context, port Port) *prepared {
	if p := e.first; p != nil {
		e.first = nil
		return p
	}
	return prepare(ctx, port, e.cfg)
}

// probe repeats an attempt whose large messages were lost with small packets, and adds the result
// to its failure.
func (e *end) probe(ctx context.Context, port Port, prop Proposal) error {
	last := &e.report.Attempts[len(e.report.Attempts)-1]
	const small = 1024
	if last.PathMTU <= small || prop.CM { // which chooses the MTU itself
		return nil
	}
	prop.MTU, prop.Pings, prop.Writes, prop.Probe = small, 1, 1, true
	e.cfg.Progress("trying path MTU %d", small)
	a, err := e.proposed(ctx, port, prop)
	if err != nil {
		return err
	}
	f := last.Failure
	if a.Failure == nil {
		f.Observed = append(f.Observed,
			fmt.Sprintf("with path MTU %d the same write passes: the path drops larger packets", small))
		f.Possible = f.Possible[:min(1, len(f.Possible))]
	} else {
		f.Observed = append(f.Observed,
			fmt.Sprintf("with path MTU %d it fails at stage %q, too: %s", small, a.Failure.Stage, a.Failure.Cause))
	}
	return e.s.send(Message{Kind: KindFinding, Failure: f})
}

// idleSteps is how long a client may prepare its next attempt, in limits of a step.
const idleSteps = 6

// serve runs the listener's end and closes conn. The error is that of a client that is none: then
// nothing is in the report.
func (e *end) serve(ctx context.Context, conn net.Conn) error {
	e.s = newSession(conn, false, e.cfg.StepTimeout)
	defer func() { _ = e.s.close() }() // nothing follows
	if err := e.hello(ctx); err != nil {
		return err
	}
	defer e.close()
	e.turns.limit = e.offers()
	for {
		m, err := e.s.await(ctx, idleSteps*e.cfg.StepTimeout, KindAttempt, KindFinding, KindTCP, KindBye)
		if err == nil {
			err = e.turns.check(&m)
		}
		if err == nil && m.Kind != KindBye {
			err = e.answer(ctx, m)
		}
		if err != nil {
			e.lost(err)
			return nil
		}
		if m.Kind == KindBye {
			return nil
		}
	}
}

// offers returns the number of ports that a client may try.
func (e *end) offers() int {
	if !e.all {
		return 1
	}
	n := 0
	for i := range e.cfg.Node.Ports {
		if e.cfg.Node.Ports[i].Offered {
			n++
		}
	}
	return max(n, len(e.ports))
}

// lost notes that the client has gone before it said so, unless nothing was left to try.
func (e *end) lost(err error) {
	r := e.report
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Failure != nil || r.TCP != nil && r.TCP.Failure != nil {
		return // the reason
	}
	f := exchangeFailure(err, r.Peer.Host)
	switch {
	case e.first != nil || len(r.Attempts) == 0:
		r.Attempts = append(r.Attempts, e.unreached(f))
	case e.turns.attempts < e.turns.limit || e.overTCPAgreed() && r.TCP == nil:
		f.End = e.cfg.Host
		r.Lost = f
	default:
		e.cfg.Progress("note: the client did not say that the run is over: %v", err)
	}
}

// answer does what the client proposes.
func (e *end) answer(ctx context.Context, m Message) error {
	switch m.Kind {
	case KindFinding:
		return e.report.Attempts[len(e.report.Attempts)-1].Failure.add(m.Failure)
	case KindTCP:
		if !e.cfg.AllowTCP {
			return errNotAllowed
		}
		return e.overTCP(ctx)
	}
	p := e.offered(ctx, m.Attempt.ListenerPort)
	defer p.close() //nolint:errcheck // the attempt has its result
	if mtu := m.Attempt.MTU; mtu != 0 && p.failure == nil {
		p.own.MTU = min(p.own.MTU, mtu)
	}
	a, err := try(ctx, e.s, p, *m.Attempt, e.cfg)
	if !m.Attempt.Probe {
		e.report.Attempts = append(e.report.Attempts, a)
		e.turns.tried(&a)
	}
	return err
}

// offered returns the port that the client asks for: "" is the first one.
func (e *end) offered(ctx context.Context, name string) *prepared {
	for _, port := range e.ports {
		if port.Name == name || name == "" {
			if e.all {
				e.cfg.Progress("connecting %s", port.Name)
			}
			return e.take(ctx, port)
		}
	}
	p := &prepared{own: Endpoint{Host: e.cfg.Host, Port: name}}
	p.failure = &Failure{
		Stage: StageOpen, End: nameOf(e.cfg.Host, name), Operation: "open", Object: name, Code: CodeNoPort,
		Cause: "the listener doesn't offer this port", err: verbs.ErrNotSupported,
	}
	return p
}
