package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// ErrNoAnswer is the cause if a request was not answered: in Discover, if not even the local port
// answers.
var ErrNoAnswer = errors.New("no answer")

// progressEvery is how often Options.Progress is called.
const progressEvery = 100 * time.Millisecond

// batch is how many datagrams go through the transport in one call.
const batch = 32

// Discover sweeps the subnet of the transport.
//
// If the options are valid, the topology is never nil: with an error (the cause of the context, or
// an error of the transport) it holds the result until then. An expired Budget and nodes that don't
// answer are not errors: see [Topology.Complete] and [Topology.Unreached]. The error matches
// [ErrNoAnswer] if the local port doesn't answer.
func Discover(ctx context.Context, transport Transport, options Options) (*Topology, error) {
	options, err := options.withDefaults(transport)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &sweep{
		options:   options,
		transport: transport,
		pace:      newPace(options),
		agenda:    agenda{perNode: options.PerNode},
		table:     table{first: firstGeneration(now)},
		states:    map[ib.GUID]*nodeState{},
		topology:  &Topology{Started: now, byGUID: map[ib.GUID]*Node{}},
		end:       now.Add(options.Budget),
		report:    now.Add(progressEvery),
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
			reason = s.topology.Unreached[0].Reason
		}
		return s.topology, fmt.Errorf("discover fabric: local port: %w: %s", ErrNoAnswer, reason)
	}
	return s.topology, nil
}

// sweep is the state of one call of Discover. A single goroutine uses it.
type sweep struct {
	options   Options
	transport Transport
	pace      pace
	agenda    agenda
	table     table
	inWindow  int         // requests that hold a place in the window
	retry     fifo[retry] // requests to send again
	outbox    []Datagram  // to be sent: the transport accepted no more
	inbox     [batch]Datagram

	states   map[ib.GUID]*nodeState
	topology *Topology
	links    int
	ports    int       // of all nodes
	end      time.Time // end of the budget
	report   time.Time // next call of Progress
	spent    bool      // the budget has expired
	master   bool      // the master subnet manager was queried
}

// retry names a request that may have ended meanwhile.
type retry struct {
	q          *request
	generation uint16
}

func (s *sweep) run(ctx context.Context) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		now := time.Now()
		if !now.Before(s.end) {
			s.spent = true
			return nil
		}
		s.expire(now)
		s.fill(now)
		if err := s.flush(); err != nil {
			return err
		}
		if s.table.live == 0 {
			if s.askMaster() {
				continue
			}
			return nil // the window was empty, so fill has found no more tasks
		}
		s.progress(now, false)
		n, err := s.transport.Receive(ctx, s.inbox[:], s.deadline(now))
		now = time.Now()
		for i := range n {
			s.receive(&s.inbox[i], now)
		}
		if err != nil {
			return err
		}
	}
}

// deadline is when the loop must continue even if nothing is received.
func (s *sweep) deadline(now time.Time) time.Time {
	end := s.end
	if when, ok := s.table.next(); ok && when.Before(end) {
		end = when
	}
	if s.options.Progress != nil && s.report.Before(end) {
		end = s.report
	}
	if pause := now.Add(time.Millisecond); len(s.outbox) > 0 && pause.Before(end) {
		end = pause
	}
	return end
}

// expire handles requests whose timer has fired: first they free their place in the window, then
// they are sent again, and finally they are given up.
func (s *sweep) expire(now time.Time) {
	for q := s.table.due(now); q != nil; q = s.table.due(now) {
		patience := q.last.Add(s.pace.timeout(q.tries - 1))
		switch {
		case q.waits: // the transport has reported the loss already
		case q.inWindow && now.Before(patience):
			s.leaveWindow(q)
			s.table.wakeAt(q, patience)
		case q.tries <= s.options.Retries:
			s.leaveWindow(q)
			if q.kind != kindNode {
				q.owner.suspect = true
				s.pace.lost(now)
			}
			s.again(q)
		default:
			what := "no answer"
			if q.busy {
				what = "too busy to answer, or no answer,"
			}
			s.giveUp(q, fmt.Sprintf("%s to %d tries in %v", what, q.tries, now.Sub(q.sent).Round(time.Millisecond)))
		}
	}
}

// again schedules one more try of a request, to be sent as soon as the window allows. A loss that
// both the timer and the transport report counts once.
func (s *sweep) again(q *request) {
	if !q.waits {
		q.waits = true
		s.retry.push(retry{q, q.generation})
	}
}

func (s *sweep) leaveWindow(q *request) {
	if q.inWindow {
		q.inWindow = false
		s.inWindow--
	}
}

// fill puts as many requests into the outbox as the window allows: retries first, then new ones.
func (s *sweep) fill(now time.Time) {
	for s.pace.allows(s.inWindow) {
		if s.retry.len() > 0 {
			if r := s.retry.pop(); r.q.live && r.q.generation == r.generation {
				s.topology.Stats.Retries++
				s.ask(r.q, now)
			}
			continue
		}
		if s.table.full() {
			return
		}
		t, ok := s.agenda.next()
		if !ok {
			return
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
		q := s.table.open(t, route)
		q.sent = now
		s.ask(q, now)
	}
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

// ask puts the next try of a request into the outbox.
func (s *sweep) ask(q *request, now time.Time) {
	var d Datagram
	for try := q.tries; try <= s.options.Retries; try++ {
		d.Timeout += s.pace.timeout(try)
	}
	q.write(&d)
	s.outbox = append(s.outbox, d)
	q.tries++
	q.last = now
	q.inWindow, q.waits = true, false
	s.inWindow++
	s.topology.Stats.Window = max(s.topology.Stats.Window, s.inWindow)
	s.table.wakeAt(q, now.Add(min(s.pace.release(), s.pace.timeout(q.tries-1))))
}

// flush sends as much of the outbox as the transport accepts.
func (s *sweep) flush() error {
	if len(s.outbox) == 0 {
		return nil
	}
	n, err := s.transport.Send(s.outbox)
	n = max(0, min(n, len(s.outbox)))
	s.topology.Stats.Sent += n
	if errors.Is(err, ErrRefused) && n < len(s.outbox) {
		s.refusedBySender(&s.outbox[n], err)
		n, err = n+1, nil
	}
	rest := copy(s.outbox, s.outbox[n:])
	s.outbox = s.outbox[:rest]
	if rest > 0 {
		s.pace.full(s.inWindow - rest)
	}
	return err
}

// refusedBySender gives up the request that the transport can't send, for example because the
// address is unreachable.
func (s *sweep) refusedBySender(d *Datagram, err error) {
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	if q, try := s.table.find(uint32(h.TransactionID)); q != nil && try == q.tries-1 {
		s.giveUp(q, err.Error())
	}
}

// receive handles one datagram.
func (s *sweep) receive(d *Datagram, now time.Time) {
	var h mad.Header
	h.Decode(d.MAD[:]) //nolint:errcheck // a MAD is long enough
	q, try := s.table.find(uint32(h.TransactionID))
	switch {
	case d.Lost && q != nil && try == q.tries-1:
		s.lost(q)
		return
	case !d.Lost && !h.Method.IsResponse():
		return // a request to this node
	case d.Lost || q == nil:
		s.topology.Stats.Late++
		return
	case h.MgmtClass != q.kind.class() || h.Method != mad.MethodGetResp ||
		h.AttributeID != q.attribute() || h.AttributeModifier != q.modifier() ||
		q.kind >= kindCounters && uint16(d.MAD[attributeOffset+1]) != q.arg:
		s.topology.Stats.Foreign++
		s.anomaly(AnomalyForeign, s.taskPort(q.task),
			"asked for %s, got class 0x%x method 0x%x attribute 0x%x modifier %d",
			q.what(), uint8(h.MgmtClass), uint8(h.Method), uint16(h.AttributeID), h.AttributeModifier)
		return
	}
	s.topology.Stats.Answers++
	if h.Result()&mad.StatusBusy != 0 {
		q.busy = true
		return // it is sent again after its timeout
	}
	s.pace.answered(now.Sub(q.sent), q.tries > 1)
	if q.kind != kindNode {
		q.owner.misses, q.owner.suspect = 0, false
	}
	if result := h.Result(); result != 0 {
		s.refused(q, result)
		return
	}
	s.closeRequest(q)
	s.learn(q.task, q.route, d.MAD[attributeOffset:])
}

// attributeOffset is the offset of the attribute in packets of subnet and performance management.
const attributeOffset = 64

// lost handles a request that the transport returned as lost.
func (s *sweep) lost(q *request) {
	s.leaveWindow(q)
	if q.tries <= s.options.Retries {
		s.again(q)
		return
	}
	s.giveUp(q, fmt.Sprintf("the transport reports no answer to %d tries", q.tries))
}

func (s *sweep) refused(q *request, result mad.Status) {
	s.closeRequest(q)
	if q.kind == kindMellanox {
		return // the device does not support FDR10
	}
	s.unreached(q.task, q.route, "refused: "+result.String(), q.tries)
	if q.kind == kindCapability {
		s.learnCapability(q.task, nil)
	}
}

func (s *sweep) closeRequest(q *request) {
	s.leaveWindow(q)
	s.table.close(q)
	s.agenda.done(q.task)
}

// giveUp lists a request as unreached, and its node as silent after several such requests.
func (s *sweep) giveUp(q *request, reason string) {
	s.closeRequest(q)
	if q.kind == kindNode && q.owner != nil && q.owner.node.Ports[q.arg].HasPeer() {
		return // the node behind the port was found by another path
	}
	s.unreached(q.task, q.route, reason, q.tries)
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
	u := Unreached{Path: route, What: t.what(), Reason: reason, Tries: tries}
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
	s.options.Progress(Progress{
		Nodes: len(t.Nodes), Links: s.links, Sent: t.Stats.Sent, Answers: t.Stats.Answers,
		Pending: s.agenda.pending + s.table.live, Unreached: t.Stats.Unreached, Elapsed: now.Sub(t.Started),
	})
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
		for _, q := range s.table.slots {
			if q.live {
				s.unreached(q.task, q.route, reason, q.tries)
			}
		}
		if k := s.agenda.pending; k > 0 {
			s.list(Unreached{What: fmt.Sprintf("%d more requests", k), Reason: reason})
		}
	}
	s.compareEnds()
	s.topology.Complete = err == nil && !s.spent && s.topology.Stats.Unreached == 0
	s.topology.Stats.RoundTrip = s.pace.smoothed
	s.topology.finish()
	s.progress(time.Now(), true)
}
