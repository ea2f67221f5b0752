package protocol

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// longPoll is how long a request waits for a command before the worker asks again.
const longPoll = 20 * time.Second

// nextRequest is how a worker asks for a command, with the reply to the one before.
type nextRequest struct {
	Seq   int    `json:"seq"` // number of the command that Reply answers; 0 for the first request
	Reply *Reply `json:"reply,omitempty"`
}

// nextResponse is what the server answers: a command with its number, or none yet.
type nextResponse struct {
	Seq     int      `json:"seq"`
	Command *Command `json:"command,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Session is a worker that has joined. It belongs to the worker's certificate: only requests over
// connections with this one are the worker's. All methods may be called concurrently, but one
// command is sent after another.
type Session struct {
	server       *Server
	client       [sha256.Size]byte // hash of the certificate
	grant        *grant
	node         string // as the worker calls its node
	name, remote string
	tasks        int
	commands     chan *call
	lost         chan struct{} // closed when why is set

	mu      sync.Mutex
	why     error // it has ended
	seq     int
	pending *call
	seen    time.Time // last request, or end of the last connection
	waiting int       // requests that wait for a command
	conns   int       // open connections
}

func newSession(s *Server, client [sha256.Size]byte, g *grant) *Session {
	return &Session{
		server: s, client: client, grant: g, commands: make(chan *call), lost: make(chan struct{}), seen: time.Now(),
	}
}

// Name returns the name of the node: that of the ticket or proof by which the worker was admitted,
// if it has one, else the one that the worker reports.
func (j *Session) Name() string { return j.name }

// Node returns the name of the node as the worker reports it.
func (j *Session) Node() string { return j.node }

// Host returns the name of the ticket or proof by which the worker was admitted; "" if it has none.
func (j *Session) Host() string { return j.grant.host }

// Remote returns the address from which the worker has joined.
func (j *Session) Remote() string { return j.remote }

// Tasks returns how many tasks of a launcher's job the node has, at least one.
func (j *Session) Tasks() int { return j.tasks }

// Err returns why the worker is gone, or nil if it isn't or that isn't known yet.
func (j *Session) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.why
}

// call is a command and where its reply goes.
type call struct {
	command Command
	reply   chan Reply
}

// serve takes the reply of a request and waits for the next command.
func (j *Session) serve(ctx context.Context, q nextRequest) (int, nextResponse) {
	if code, r, done := j.take(q); done {
		return code, r
	}
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.waiting--
		j.seen = time.Now()
	}()
	timer := time.NewTimer(longPoll)
	defer timer.Stop()
	select {
	case c := <-j.commands:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.seq++
		j.pending = c
		return http.StatusOK, nextResponse{Seq: j.seq, Command: &c.command}
	case <-timer.C:
		return http.StatusOK, nextResponse{}
	case <-ctx.Done():
		return http.StatusOK, nextResponse{}
	case <-j.lost:
		return http.StatusGone, nextResponse{Error: j.Err().Error()}
	case <-j.server.closed:
		return http.StatusGone, nextResponse{Error: "the verification has ended"}
	}
}

// take takes the reply of a request. It returns the answer, if there is no need to wait for it; if
// there is, the request is one that waits.
func (j *Session) take(q nextRequest) (code int, r nextResponse, done bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = time.Now()
	if q.Reply != nil && j.pending != nil && q.Seq == j.seq {
		j.pending.reply <- *q.Reply
		if j.pending.command.Kind == KindEnd {
			j.end(errEnded)
		}
		j.pending = nil
	}
	switch {
	case errors.Is(j.why, errEnded):
		return http.StatusOK, nextResponse{}, true
	case j.why != nil:
		return http.StatusGone, nextResponse{Error: j.why.Error()}, true
	case j.pending != nil: // the answer got lost: the command again
		return http.StatusOK, nextResponse{Seq: j.seq, Command: &j.pending.command}, true
	}
	j.waiting++
	return 0, nextResponse{}, false
}

// errEnded is the error of a worker that has done the command to end.
var errEnded = errors.New("the worker has ended")

// lose ends the session. Only the first reason is kept.
func (j *Session) lose(why error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end(why)
}

// end ends the session. j.mu is held.
func (j *Session) end(why error) {
	if j.why == nil {
		j.why = why
		close(j.lost)
	}
}

// leaseParts is how often a session looks within the lease whether its worker is silent.
const leaseParts = 4

// Do sends a command to the worker and waits for its reply. It fails when ctx ends, and before when
// the worker has left, or doesn't come for the command or has no connection for the lease. It may
// notice that a quarter of the lease later.
func (j *Session) Do(ctx context.Context, c Command) (Reply, error) {
	one := &call{command: c, reply: make(chan Reply, 1)}
	lease := time.NewTicker(max(1, j.server.cfg.Lease/leaseParts))
	defer lease.Stop()
	commands := j.commands
	lost := j.lost
	for {
		select {
		case commands <- one:
			commands = nil // sent
		case r := <-one.reply:
			if c.Kind == KindSurvey {
				r.Name = j.name
			}
			return r, nil
		case <-lost:
			if len(one.reply) > 0 { // it replied before it was lost
				lost = nil
				continue
			}
			return Reply{}, j.Err()
		case <-lease.C:
			if j.silent() {
				return Reply{}, fmt.Errorf("the worker has been silent for %v", j.server.cfg.Lease)
			}
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// silent reports whether the worker hasn't asked for a command within the lease, or, while it works
// on one, has no connection.
func (j *Session) silent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waiting == 0 && (j.pending == nil || j.conns == 0) && time.Since(j.seen) >= j.server.cfg.Lease
}

// redial is how long a worker may take to connect again before another one takes its place.
const redial = 5 * time.Second

// connected reports whether the worker is there.
func (j *Session) connected() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.why == nil && (j.conns > 0 || time.Since(j.seen) < redial)
}

// maxConns is how many connections a worker may have. It needs one, and a second one when it
// notices sooner than the leader that the first is broken.
const maxConns = 4

// attach counts a connection of the worker; false if it has too many.
func (j *Session) attach() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.conns >= maxConns {
		return false
	}
	j.conns++
	j.seen = time.Now()
	return true
}

// detach counts the end of a connection. If it can't be replaced, the session ends with it.
func (j *Session) detach(last bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.conns--
	j.seen = time.Now()
	if last {
		j.end(errors.New("the connection to the worker is broken"))
	}
}
