package protocol

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// joinRequest is the first request of a worker: who it is, and what entitles it to join.
type joinRequest struct {
	Version  int    `json:"version"`
	Name     string `json:"name"`            // of the node
	Tasks    int    `json:"tasks,omitempty"` // of a launcher's job on the node; 0: one
	Software string `json:"software"`        // version of rdmactl
	Secret   string `json:"secret,omitempty"`
	Proof    string `json:"proof,omitempty"`
}

// joinResponse is the answer: the name that the leader uses for the worker.
type joinResponse struct {
	Name string `json:"name,omitempty"`
}

// Limits of a joinRequest.
const (
	maxText  = 256 // bytes of a name, version or secret
	maxTasks = 1 << 16
)

// printable reports whether a text is a name that can be shown on a terminal.
func printable(s string) bool {
	return s != "" && len(s) <= maxText && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// check returns an error for an invalid request. It runs before admission, so its errors must not
// reveal anything about the verification.
func (q *joinRequest) check() *RefusedError {
	switch {
	case q.Version != Version:
		return refuse(http.StatusConflict,
			"the leader speaks version %d and the worker version %d: use the same rdmactl on all nodes",
			Version, q.Version)
	case !printable(q.Name):
		return refuse(http.StatusBadRequest, "the name of the node is not 1 to %d printable bytes", maxText)
	case !printable(q.Software):
		return refuse(http.StatusBadRequest, "the version of rdmactl is not 1 to %d printable bytes", maxText)
	case q.Tasks < 0 || q.Tasks > maxTasks:
		return refuse(http.StatusBadRequest, "%d tasks: not 0 to %d", q.Tasks, maxTasks)
	}
	return nil
}

// join admits a worker. A worker that repeats its request, because the answer was lost, is
// recognized by its certificate.
func (s *Server) join(
	ctx context.Context, q *joinRequest, client [sha256.Size]byte, remote string,
) (*Session, *RefusedError) {
	if err := q.check(); err != nil {
		if g, _ := s.tickets.admit(q); g != nil {
			s.refused(q, remote, err)
		}
		return nil, err
	}
	if j := s.session(client); j != nil {
		return j, nil
	}
	g, err := s.admit(ctx, q, client, remote)
	if err != nil {
		return nil, err
	}
	j, err := s.add(q, g, client, remote, connOf(ctx))
	if err != nil {
		s.refused(q, remote, err)
	}
	return j, err
}

// refused notifies the leader that a worker with an invitation was refused.
func (s *Server) refused(q *joinRequest, remote string, err *RefusedError) {
	if s.cfg.Refused == nil {
		return
	}
	name := q.Name
	if !printable(name) {
		name = "?"
	}
	s.cfg.Refused(name, remote, err)
}

// admit tries the tickets, then the proof.
func (s *Server) admit(
	ctx context.Context, q *joinRequest, client [sha256.Size]byte, remote string,
) (*grant, *RefusedError) {
	if g, err := s.tickets.admit(q); g != nil || err != nil {
		return g, err
	}
	if q.Proof != "" && s.cfg.Verify != nil {
		return s.verify(ctx, q, client, remote)
	}
	return nil, refuse(http.StatusUnauthorized, "the worker has no invitation")
}

// add adds the session of a worker with a grant.
func (s *Server) add(
	q *joinRequest, g *grant, client [sha256.Size]byte, remote string, c *conn,
) (*Session, *RefusedError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.sessions[client]; j != nil {
		return j, nil
	}
	name := cmp.Or(g.host, q.Name)
	if err := s.refuses(q, g, name); err != nil {
		return nil, err
	}
	if old := s.names[name]; old != nil {
		old.lose(errReplaced)
		s.forget(old)
	}
	g.used++
	j := newSession(s, client, g)
	j.node, j.name, j.remote, j.tasks = q.Name, name, remote, max(q.Tasks, 1)
	c.welcome(j)
	s.sessions[client], s.names[name] = j, j
	s.queue = append(slices.DeleteFunc(s.queue, func(j *Session) bool { return j.Err() != nil }), j)
	s.signal()
	return j, nil
}

// refuses returns why a worker with a grant is refused. s.mu is held.
func (s *Server) refuses(q *joinRequest, g *grant, name string) *RefusedError {
	if err := g.check(s.cfg.Now()); err != nil {
		return err
	}
	if q.Software != s.cfg.Software {
		return refuse(http.StatusConflict, "the leader is rdmactl %s and the worker rdmactl %s, and their results "+
			"can't be compared: use the same rdmactl on all nodes", s.cfg.Software, q.Software)
	}
	if old := s.names[name]; old != nil && old.connected() {
		return refuse(http.StatusConflict, "a worker of %s has already joined, from %s", name, old.remote)
	}
	switch {
	case s.begun:
		return refuse(http.StatusConflict, "the verification has begun without this worker")
	case s.cfg.Workers > 0 && len(s.sessions) >= s.cfg.Workers && s.connected() >= s.cfg.Workers:
		return refuse(http.StatusConflict, "all %d workers have joined", s.cfg.Workers)
	case len(s.sessions) >= maxSessions:
		return refuse(http.StatusServiceUnavailable, "more than %d workers", maxSessions)
	}
	return nil
}

// connected returns how many workers are there. s.mu is held.
func (s *Server) connected() (n int) {
	for _, j := range s.sessions {
		if j.connected() {
			n++
		}
	}
	return n
}

// errReplaced is why a session ends whose node has a new worker.
var errReplaced = errors.New("another worker of this node has joined")

// leave ends the session of a worker that has left. Its place is free for another one.
func (s *Server) leave(j *Session, why string) {
	if !printable(why) {
		why = "?"
	}
	j.lose(fmt.Errorf("the worker has left: %s", why))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[j.client] == j {
		s.forget(j)
		j.grant.used--
	}
}

// forget removes a session. s.mu is held.
func (s *Server) forget(j *Session) {
	delete(s.sessions, j.client)
	if s.names[j.name] == j {
		delete(s.names, j.name)
	}
}
