package fabric

import (
	"context"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// progressEvery is how often Options.Progress is called.
const progressEvery = 100 * time.Millisecond

// Discover sweeps the subnet of the transport.
//
// If the options are valid, the topology is never nil: with an error (the cause of the context, or
// an error of the transport) it holds the result until then. An expired Budget and nodes that don't
// answer are not errors: see [Topology.Complete] and [Topology.Unreached]. The error matches
// [ErrNoAnswer] if the local port doesn't answer.
func Discover(ctx context.Context, transport Transport, options Options) (*Topology, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &sweep{
		options:  options,
		engine:   NewEngine(transport, options.MaxWindow),
		agenda:   agenda{perNode: options.PerNode},
		states:   map[ib.GUID]*nodeState{},
		topology: &Topology{Started: now, byGUID: map[ib.GUID]*Node{}},
		end:      now.Add(options.Budget),
		report:   now.Add(progressEvery),
	}
	s.guesses = options.Keys.M.distinct(maxGuesses)
	if len(s.guesses) > 1+maxGuesses {
		s.guesses = s.guesses[:1]
	}
	s.agenda.add(task{kind: kindNode})
	err = s.run(ctx)
	s.conclude(err)
	switch {
	case err != nil:
		return s.topology, fmt.Errorf("discover fabric: %w", err)
	case len(s.topology.Nodes) == 0:
		reason := "no node info"
		if len(s.topology.Unreached) > 0 {
			reason = s.topology.Unreached[0].Why()
		}
		return s.topology, fmt.Errorf("discover fabric: local port: %w: %s", ErrNoAnswer, reason)
	}
	return s.topology, nil
}

// sweep is the state of one call of Discover. A single goroutine uses it. It is the [Source] of its
// engine.
type sweep struct {
	options  Options
	engine   *Engine
	agenda   agenda
	requests []request // outstanding, by their ID
	free     []int     // IDs that are not in use

	states   map[ib.GUID]*nodeState
	topology *Topology
	links    int
	ports    int       // of all nodes
	end      time.Time // end of the budget
	report   time.Time // next call of Progress
	spent    bool      // the budget has expired
	master   bool      // the master subnet manager was queried
	// guesses are the M_Keys that a node may have about which nothing is known: the default first.
	guesses []uint64
	first   int // index of the guess to try first
}

func (s *sweep) run(ctx context.Context) error {
	for {
		until := s.end
		if s.options.Progress != nil && s.report.Before(until) {
			until = s.report
		}
		idle, err := s.engine.Run(ctx, s, until)
		if err != nil || idle {
			return err
		}
		now := time.Now()
		if !now.Before(s.end) {
			s.spent = true
			return nil
		}
		s.progress(now, false)
	}
}

// Next implements [Source].
func (s *sweep) Next(r *Request) bool {
	for {
		t, ok := s.agenda.next()
		if !ok {
			if s.engine.InWindow() > 0 || !s.askMaster() {
				return false
			}
			continue
		}
		if t.kind == kindNode && t.owner != nil && !s.worthExploring(t) {
			continue
		}
		route, ok := t.path()
		if !ok {
			s.anomaly(AnomalyTooFar, PortID{t.owner.node.GUID(), uint8(t.arg)},
				"the route to what is behind it has more than %d hops", mad.MaxHops)
			continue
		}
		q := request{task: t, route: route}
		q.key, q.bit = s.keyOf(t)
		if t.kind == kindNode {
			q.peer = new(Peer) // of the node behind the port, if that is a new one
		} else {
			q.peer = &t.owner.peer
		}
		q.write(r)
		r.ID, r.Peer = s.open(q), q.peer
		r.Timeout, r.Retries = s.options.Timeout, s.options.Retries
		return true
	}
}

// open assigns an ID to a request.
func (s *sweep) open(q request) int {
	if n := len(s.free); n > 0 {
		id := s.free[n-1]
		s.free = s.free[:n-1]
		s.requests[id] = q
		return id
	}
	s.requests = append(s.requests, q)
	return len(s.requests) - 1
}

// Done implements [Source].
func (s *sweep) Done(r *Reply) {
	q := s.requests[r.ID]
	s.free = append(s.free, r.ID)
	s.agenda.done(q.task)
	if r.Answer == nil {
		s.giveUp(&q, r)
		return
	}
	if q.kind != kindNode {
		q.owner.misses = 0
	}
	if r.Err != nil {
		s.refused(&q, r)
		return
	}
	s.learn(&q, r.Answer.MAD[attributeOffset:])
}

// Foreign is called for an answer that doesn't match its request. Such answers to the other tries
// of the request say the same, and are only counted ([Traffic]).
func (s *sweep) Foreign(id int, h *mad.Header) {
	q := &s.requests[id]
	if q.foreign {
		return
	}
	q.foreign = true
	s.anomaly(AnomalyForeign, s.taskPort(q.task),
		"asked for %s, got class 0x%x method 0x%x attribute 0x%x modifier %d",
		q.what(), uint8(h.MgmtClass), uint8(h.Method), uint16(h.AttributeID), h.AttributeModifier)
}

// worthExploring reports whether the node behind a port is still unknown.
func (s *sweep) worthExploring(t task) bool {
	switch {
	case t.owner.node.Ports[t.arg].HasPeer():
		return false
	case t.owner.silent:
		s.unreached(t, t.owner.node.Path, "the switch in front of it stopped answering", 0)
		return false
	}
	return true
}

// refused handles an answer with a status.
func (s *sweep) refused(q *request, r *Reply) {
	if q.kind == kindMellanox {
		return // the device does not support FDR10
	}
	s.unreached(q.task, q.route, r.Err.Error(), r.Tries)
	if q.kind == kindCapability {
		s.learnCapability(q.task, nil)
	}
}

// giveUp lists a request as unreached, and its node as silent after several such requests.
func (s *sweep) giveUp(q *request, r *Reply) {
	if q.kind == kindNode && q.owner != nil && q.owner.node.Ports[q.arg].HasPeer() {
		return // the node behind the port was found by another path
	}
	if q.kind == kindNode && isSilence(r.Err) {
		q.tried |= q.bit
		if _, bit := s.keyOf(q.task); bit != 0 {
			s.agenda.add(q.task) // again, with another key
			return
		}
	}
	s.unreachedBy(q.task, q.route, r.Err.Error(), r.Tries, s.causes(q, r.Err))
	if q.kind == kindNode {
		return
	}
	n := q.owner
	n.misses++
	if n.misses < silentAfter || n.silent {
		return
	}
	n.silent = true
	if k := s.agenda.drop(n); k > 0 {
		s.list(Unreached{
			Node: n.node.GUID(), Path: n.node.Path, What: fmt.Sprintf("%d more requests", k),
			Reason: "the node stopped answering",
		})
	}
}

func (s *sweep) unreached(t task, route mad.Path, reason string, tries int) {
	s.unreachedBy(t, route, reason, tries, nil)
}

func (s *sweep) unreachedBy(t task, route mad.Path, reason string, tries int, causes []string) {
	u := Unreached{Path: route, What: t.what(), Reason: reason, Tries: tries, Causes: causes}
	if t.owner != nil {
		u.Node = t.owner.node.GUID()
	}
	if t.hasPort() {
		u.Port = uint8(t.arg)
	}
	if t.kind == kindManager || t.kind == kindMaster {
		s.addManager(t, SubnetManager{Err: reason})
	}
	s.list(u)
}

// list adds to the list of unreached requests, up to its limit.
func (s *sweep) list(u Unreached) {
	s.topology.Stats.Unreached++
	if len(s.topology.Unreached) < s.options.MaxUnreached {
		s.topology.Unreached = append(s.topology.Unreached, u)
	}
}

func (s *sweep) progress(now time.Time, last bool) {
	if s.options.Progress == nil || !last && now.Before(s.report) {
		return
	}
	s.report = now.Add(progressEvery)
	t := s.topology
	s.count()
	s.options.Progress(Progress{
		Nodes: len(t.Nodes), Links: s.links, Sent: t.Stats.Sent, Answers: t.Stats.Answers,
		Pending: s.agenda.pending + s.engine.Outstanding(), Unreached: t.Stats.Unreached, Elapsed: now.Sub(t.Started),
	})
}

// count copies the engine's counts to the topology.
func (s *sweep) count() {
	stats, traffic := &s.topology.Stats, s.engine.Traffic()
	stats.Sent, stats.Answers, stats.Retries = traffic.Sent, traffic.Answers, traffic.Retries
	stats.Late, stats.Foreign, stats.Window = traffic.Late, traffic.Foreign, traffic.Window
	stats.RoundTrip = traffic.RoundTrip
}

// Reasons of requests that were outstanding when the sweep ended; see Unreached.cutShort.
const (
	reasonSpent   = "the time for the sweep was up"
	reasonStopped = "the sweep was stopped: "
)

// conclude completes the result: it lists the outstanding requests as unreached, and runs the
// checks that need the whole topology.
func (s *sweep) conclude(err error) {
	if err != nil || s.spent {
		reason := reasonSpent
		if err != nil {
			reason = reasonStopped + err.Error()
		}
		s.engine.Abandon(func(id, tries int) {
			q := &s.requests[id]
			s.unreached(q.task, q.route, reason, tries)
		})
		if k := s.agenda.pending; k > 0 {
			s.list(Unreached{What: fmt.Sprintf("%d more requests", k), Reason: reason})
		}
	}
	s.compareEnds()
	s.mergeManagers()
	for _, a := range s.topology.Contradictions() {
		s.anomaly(a.Kind, a.At, "%s", a.Detail)
	}
	s.topology.Complete = err == nil && !s.spent && s.topology.Stats.Unreached == 0
	s.count()
	s.topology.finish()
	s.progress(time.Now(), true)
}
