package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// stageClock measures the stages of an attempt.
type stageClock struct {
	list  []StageResult
	began time.Time
}

func (c *stageClock) begin(s Stage) {
	c.list = append(c.list, StageResult{Stage: s})
	c.began = time.Now()
}

// end ends the current stage.
func (c *stageClock) end(ok bool) {
	last := &c.list[len(c.list)-1]
	const perMilli = 1e6
	last.OK, last.Millis = ok, float64(time.Since(c.began).Nanoseconds())/perMilli
}

// fail marks the stage of a failure as the last one. It may be an earlier one: that of the peer, or
// the route, which is known only after the exchange.
func (c *stageClock) fail(s Stage) {
	for i := range c.list {
		if c.list[i].Stage == s {
			c.list[i].OK = false
			c.list = c.list[:i+1]
			return
		}
	}
	c.list = append(c.list, StageResult{Stage: s})
}

// trial is one attempt in progress.
type trial struct {
	cfg  Config
	s    *session
	p    *prepared
	prop Proposal
	peer *Endpoint // nil until it is known
	// listener waits for the connection request of an attempt by the communication manager, at the
	// listener.
	listener *verbs.Listener
	out      Attempt
}

// try runs an attempt from the exchange on. err is set if the session can't go on.
func try(ctx context.Context, s *session, p *prepared, prop Proposal, cfg Config) (out Attempt, err error) {
	t := &trial{cfg: cfg, s: s, p: p, prop: prop, out: p.attempt()}
	t.out.Rail = prop.Rail
	defer t.closeCM()
	f, err := t.run(ctx)
	if err != nil {
		f = t.broken(f, err)
		f.interrupted(ctx)
	}
	t.out.Stages = p.stages.list
	if f != nil {
		t.out.Failure = f
		p.stages.fail(f.Stage)
		t.out.Stages = p.stages.list
	}
	return t.out, err
}

// attempt returns the result as far as this end knows it.
func (p *prepared) attempt() Attempt {
	a := Attempt{Local: endOf(&p.own), Stages: p.stages.list, Failure: p.failure}
	if p.own.Software {
		a.Scale = ScaleSoftware
	}
	return a
}

// endOf describes an end.
func endOf(e *Endpoint) PortEnd {
	out := PortEnd{
		Host: e.Host, Port: e.Port, LinkLayer: e.LinkLayer, ActiveMTU: e.ActiveMTU, LID: e.LID, PKey: e.PKey.String(),
	}
	if e.QPN != 0 {
		out.QPN = fmt.Sprintf("%#08x", e.QPN)
	}
	return out
}

// broken is the failure of an attempt whose exchange has failed with err, after f, which may be
// nil. A peer that has ended explains why it doesn't acknowledge.
func (t *trial) broken(f *Failure, err error) *Failure {
	if f != nil && (f.Code.vague() == 0 || !gone(err)) {
		return f
	}
	out := exchangeFailure(err, t.peerName())
	out.Stage, out.End = t.p.stages.list[len(t.p.stages.list)-1].Stage, t.p.name()
	if f != nil {
		out.Operation, out.Object = f.Operation, f.Object
		if f.Code != out.Code {
			out.Observed = append(out.Observed, f.Cause)
		}
	}
	return out
}

func (t *trial) peerName() string {
	if t.peer != nil {
		return nameOf(t.peer.Host, t.peer.Port)
	}
	return "the peer"
}

// run runs the stages. The failure is the one that both ends report; err ends the session.
func (t *trial) run(ctx context.Context) (*Failure, error) {
	agreed, f, err := t.exchange(ctx)
	if f != nil || err != nil {
		return f, err
	}
	t.p.stages.end(true)
	if prop := t.prop; prop.CM {
		f, err = t.connectCM(ctx)
	} else {
		f, err = t.connect(ctx, agreed)
	}
	if f != nil || err != nil {
		return f, err
	}
	return t.transfer(ctx)
}

// exchange exchanges endpoints and compares them.
func (t *trial) exchange(ctx context.Context) (a agreement, f *Failure, err error) {
	own, clock := t.p.failure, &t.p.stages
	clock.begin(StageExchange)
	if own != nil {
		clock.list = clock.list[:len(clock.list)-1] // nothing to exchange
	}
	if own == nil && t.prop.CM {
		own = t.openCM(ctx)
	}
	m := Message{Kind: KindPort, Failure: own}
	if own == nil {
		m.Port = &t.p.own
	}
	if err := t.s.send(m); err != nil {
		return a, own, err
	}
	theirs, err := t.s.await(ctx, t.cfg.StepTimeout, KindPort)
	if err != nil {
		return a, own, err
	}
	if f := decide(t.s.client, own, theirs.Failure); f != nil {
		return a, f, nil
	}
	t.peer = theirs.Port
	t.out.Remote = endOf(t.peer)
	if t.prop.CM && t.s.client && t.peer.Service == 0 {
		return a, nil, errNoService
	}
	if t.peer.Software {
		t.out.Scale = ScaleSoftware
	}
	client, listener := &t.p.own, t.peer
	if !t.s.client {
		client, listener = listener, client
	}
	if a, f = agree(client, listener); f != nil {
		_, f, err = t.s.barrier(ctx, t.cfg.StepTimeout, Status{Stage: StageExchange}, f)
		return a, f, err
	}
	t.choose(&a)
	f = t.route(ctx)
	_, f, err = t.s.barrier(ctx, t.cfg.StepTimeout, Status{Stage: StageExchange}, f)
	return a, f, err
}

// choose notes the agreement in the result.
func (t *trial) choose(a *agreement) {
	local, remote := &t.out.Local, &t.out.Remote
	if !t.s.client {
		local, remote = remote, local
	}
	local.GID, local.Reason = &a.client, a.clientReason
	remote.GID, remote.Reason = &a.listener, a.listenerReason
	t.out.PathMTU, t.out.MTUReason, t.out.Notes = a.mtu, a.mtuReason, a.notes
}

// route finds out whether this machine has a route to the peer's GID.
func (t *trial) route(ctx context.Context) *Failure {
	from, to := t.out.Local.GID, t.out.Remote.GID
	if t.cfg.Route == nil || from.Kind.version() != 2 {
		return nil
	}
	err := t.cfg.Route(ctx, from.GID.Addr(), to.GID.Addr())
	if err == nil {
		return nil
	}
	f := failed(CodeNoRoute, "find route", fmt.Sprintf("from %v to %v", from.GID.Addr(), to.GID.Addr()), err)
	f.Stage, f.End = StageResolve, t.p.name()
	f.Remedies = []string{
		fmt.Sprintf("ip route get %v from %v shows the route that the kernel takes", to.GID.Addr(), from.GID.Addr()),
		"each rail needs its own route: ip route add PREFIX dev NETDEV, " +
			"or --gid-index for an address of the peer's network",
	}
	return f
}

// connect moves the queue pair to RTS.
func (t *trial) connect(ctx context.Context, a agreement) (*Failure, error) {
	clock := &t.p.stages
	clock.begin(StageRTR)
	stage, err := t.p.rig.connect(t.peer, *t.out.Local.GID, *t.out.Remote.GID, a.mtu, t.cfg.Timeout)
	var own *Failure
	if err != nil {
		own = t.rejected(stage, err)
	}
	if clock.end(own == nil || stage == StageRTS); own == nil {
		clock.begin(StageRTS)
	}
	_, f, err := t.s.barrier(ctx, t.cfg.StepTimeout, Status{Stage: StageRTS}, own)
	if f == nil && err == nil {
		clock.end(true)
	}
	return f, err
}

// rejected is the failure of a queue pair that can't be connected.
func (t *trial) rejected(stage Stage, err error) *Failure {
	f := failed(CodeModify, "connect queue pair", t.p.name()+" to "+t.peerName(), err)
	f.Stage, f.End = stage, t.p.name()
	if unreachable(err) {
		f.Code, f.Stage = CodeNoRoute, StageResolve
		f.Possible = []string{
			"this machine has no route to the peer's GID, or the neighbour doesn't answer ARP or neighbour discovery",
		}
		f.Remedies = []string{fmt.Sprintf("ip route get %v; ip neigh show %v", t.out.Remote.GID.GID.Addr(),
			t.out.Remote.GID.GID.Addr())}
	}
	return f
}

// transfer runs the stages that use the queue pair.
func (t *trial) transfer(ctx context.Context) (*Failure, error) {
	flow := &flow{rig: t.p.rig, client: t.s.client, peer: t.peer, cfg: t.cfg, prop: t.prop}
	for _, step := range []struct {
		stage Stage
		do    func(context.Context) error
	}{{StageFirstSend, flow.first}, {StageData, flow.data}} {
		t.p.stages.begin(step.stage)
		limit := t.patience()
		phase, stop := t.s.phase(ctx, t.p.rig.moved.Load, limit)
		err := step.do(phase)
		failed := t.sendFailure(ctx, err, step.stage, flow)
		stop()
		status := t.status(ctx, step.stage, flow)
		status.Aborted = err != nil && failed == nil
		if gone(err) { // no more exchange
			return failed, err
		}
		// The peer may notice only after its own limit that nothing completes.
		peer, f, err := t.s.barrier(ctx, limit+t.cfg.StepTimeout, status, failed)
		t.count(status, peer)
		t.measured(status, peer, flow)
		switch {
		case f != nil || err != nil:
		case status.Aborted || peer.Aborted:
			f = t.unexplained(step.stage, peer.Aborted)
		case step.stage == StageData && (peer.Write == nil || !t.s.client && peer.Ping == nil):
			f = t.incomplete()
		}
		if f != nil || err != nil {
			return t.amend(f, status, peer), err
		}
		t.p.stages.end(true)
	}
	return nil, nil
}

// unexplained is the failure of a stage that an end has given up because of a failure of the other
// one, which reports none: by the peer, or by this end.
func (t *trial) unexplained(stage Stage, byPeer bool) *Failure {
	gaveUp, silent := t.p.name(), t.peerName()
	if byPeer {
		gaveUp, silent = silent, gaveUp
	}
	return &Failure{
		Stage: stage, End: gaveUp, Operation: "compare the results of", Object: gaveUp + " and " + silent,
		Code:     CodeProtocol,
		Cause:    gaveUp + " gave up because of a failure of " + silent + ", which reports none",
		Remedies: []string{"install the same version of rdmactl at both ends"},
	}
}

// incomplete is the failure of a peer that reports success without its figures.
func (t *trial) incomplete() *Failure {
	return &Failure{
		Stage: StageData, End: t.p.name(), Operation: "compare the results of",
		Object: t.p.name() + " and " + t.peerName(), Code: CodeProtocol,
		Cause:    t.peerName() + " reports success without its figures",
		Remedies: []string{"install the same version of rdmactl at both ends"},
	}
}

// patience returns how long the end waits for a completion: as long as the slower end needs to find
// out that its requests fail.
func (t *trial) patience() time.Duration {
	return max(patience(t.cfg.Timeout, t.cfg.StepTimeout), patience(t.peer.Timeout, t.cfg.StepTimeout))
}

// status describes this end at the end of a stage.
func (t *trial) status(ctx context.Context, stage Stage, f *flow) Status {
	s := Status{Stage: stage, Received: f.received}
	if stage == StageData {
		s.Ping, s.Write = f.pinged, f.written
	}
	var after map[string]uint64
	if t.p.before != nil {
		var err error
		if after, err = t.p.port.count(context.WithoutCancel(ctx), t.p.device, t.cfg.StepTimeout); err != nil {
			after = nil
		}
	}
	if s.NoCounters = after == nil; !s.NoCounters {
		s.Retries = grown(retryCounters(), t.p.before, after, false)
		s.Arrived = grown(arrivalCounters(), t.p.before, after, true)
	}
	return s
}

// count notes the counters of both ends.
func (t *trial) count(own, peer Status) {
	t.out.Retries, t.out.CountersUnknown = map[string]map[string]uint64{}, nil
	for _, end := range []struct {
		name string
		s    *Status
	}{{t.p.name(), &own}, {t.peerName(), &peer}} {
		if end.s.NoCounters {
			t.out.CountersUnknown = append(t.out.CountersUnknown, end.name)
			continue
		}
		sum := t.out.Retries[end.name]
		if sum == nil {
			sum = map[string]uint64{}
		}
		for name, n := range end.s.Retries {
			sum[name] = max(sum[name], n) // both ends may be one device
		}
		t.out.Retries[end.name] = sum
	}
}

// measured notes the figures.
func (t *trial) measured(own, peer Status, f *flow) {
	if own.Stage != StageData {
		return
	}
	t.out.Ping = own.Ping
	if !t.s.client {
		t.out.Ping = peer.Ping
	}
	t.out.Writes = nil
	if own.Write != nil {
		t.out.Writes = append(t.out.Writes, *own.Write)
	}
	if w := peer.Write; w != nil {
		back := WriteResult{
			Direction: FromPeer, Bytes: WriteSize, Count: f.arrived, Verified: f.verified, Gbps: w.Gbps,
		}
		t.out.Writes = append(t.out.Writes, back)
	}
}

// gone reports whether the connection of the exchange has ended.
func gone(err error) bool {
	return errors.Is(err, errClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err)
}

// timeoutOf is the code of the acknowledgement timeout for texts.
func timeoutOf(cfg Config) time.Duration {
	if cfg.Timeout == verbs.TimeoutInfinite {
		return 0
	}
	return ackTimeout(cfg.Timeout)
}
