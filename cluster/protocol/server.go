package protocol

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The path of requests, and the limits of a server.
const (
	pathNext     = "/v1/next"
	maxSessions  = 1 << 16
	maxNameBytes = 256
	// longPoll is how long a request waits for a command before the worker asks again.
	longPoll = 20 * time.Second
)

// request is what a worker posts: who it is, and the reply to the command before.
type request struct {
	Version int    `json:"version"`
	Session string `json:"session"` // chosen by the worker, unique
	Seq     int    `json:"seq"`     // number of the command that Reply answers; 0 for the first request
	Reply   *Reply `json:"reply,omitempty"`
}

// response is what the server answers: a command with its number, or none yet.
type response struct {
	Seq     int      `json:"seq"`
	Command *Command `json:"command,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// ServerConfig configures a server.
type ServerConfig struct {
	// Token is what workers must present; it must not be empty.
	Token string
	// Lease is how long a worker may be silent between two commands; 0: 30 s.
	Lease time.Duration
}

const defaultLease = 30 * time.Second

// Server is the leader's end. It is an [http.Handler]; each worker that joins is a [Session].
type Server struct {
	cfg ServerConfig

	mu       sync.Mutex
	sessions map[string]*Session
	joined   chan *Session
	closed   chan struct{}
	once     sync.Once
}

// NewServer returns a server. It panics if the token is empty: every worker would be let in.
func NewServer(cfg ServerConfig) *Server {
	if cfg.Token == "" {
		panic("protocol: a server needs a token")
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	return &Server{
		cfg: cfg, sessions: map[string]*Session{}, joined: make(chan *Session, maxSessions),
		closed: make(chan struct{}),
	}
}

// Next waits for a worker to join.
func (s *Server) Next(ctx context.Context) (*Session, error) {
	select {
	case j := <-s.joined:
		return j, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.closed:
		return nil, http.ErrServerClosed
	}
}

// Close ends the requests that wait. It may be called more than once.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// ServeHTTP answers a worker.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, answer := s.serve(w, r)
	b, err := json.Marshal(answer)
	if err != nil { // no command has what JSON can't have
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b) // a worker that has gone doesn't need it
}

// serve returns the status and the answer to a request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) (int, response) {
	const bearer = "Bearer "
	token := r.Header.Get("Authorization")
	if subtle.ConstantTimeCompare([]byte(token), []byte(bearer+s.cfg.Token)) != 1 {
		return http.StatusUnauthorized, response{Error: "wrong token"}
	}
	if r.URL.Path != pathNext || r.Method != http.MethodPost {
		return http.StatusNotFound, response{Error: r.Method + " " + r.URL.Path + ": unknown"}
	}
	var q request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxMessage)).Decode(&q); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			text := fmt.Sprintf("message of more than %d bytes", MaxMessage)
			return http.StatusRequestEntityTooLarge, response{Error: text}
		}
		return http.StatusBadRequest, response{Error: err.Error()}
	}
	if q.Version != Version {
		const text = "the leader speaks version %d and the worker version %d: use the same rdmactl on all nodes"
		return http.StatusConflict, response{Error: fmt.Sprintf(text, Version, q.Version)}
	}
	session, err := s.session(q.Session)
	if err != nil {
		return http.StatusServiceUnavailable, response{Error: err.Error()}
	}
	return session.serve(r.Context(), q)
}

// session returns the session of a worker, which joins with its first request.
func (s *Server) session(id string) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.sessions[id]; session != nil {
		return session, nil
	}
	switch {
	case id == "" || len(id) > maxNameBytes:
		return nil, fmt.Errorf("session names have 1 to %d bytes", maxNameBytes)
	case len(s.sessions) >= maxSessions:
		return nil, fmt.Errorf("more than %d workers", maxSessions)
	}
	session := &Session{server: s, id: id, commands: make(chan *call), seen: time.Now()}
	s.sessions[id] = session
	s.joined <- session
	return session, nil
}

// Session is a worker that has joined.
type Session struct {
	server   *Server
	id       string
	commands chan *call

	mu      sync.Mutex
	seq     int
	pending *call
	seen    time.Time // last request
	waiting int       // requests that wait for a command
}

// call is a command and where its reply goes.
type call struct {
	command Command
	reply   chan Reply
}

// serve takes the reply of a request and waits for the next command.
func (j *Session) serve(ctx context.Context, q request) (int, response) {
	j.mu.Lock()
	j.seen = time.Now()
	j.waiting++
	if q.Reply != nil && j.pending != nil && q.Seq == j.seq {
		j.pending.reply <- *q.Reply
		j.pending = nil
	}
	if j.pending != nil { // the answer got lost: the command again
		again := response{Seq: j.seq, Command: &j.pending.command}
		j.waiting--
		j.mu.Unlock()
		return http.StatusOK, again
	}
	j.mu.Unlock()
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
		return http.StatusOK, response{Seq: j.seq, Command: &c.command}
	case <-timer.C:
		return http.StatusOK, response{}
	case <-ctx.Done():
		return http.StatusOK, response{}
	case <-j.server.closed:
		return http.StatusGone, response{Error: "the verification has ended"}
	}
}

// Do sends a command to the worker and waits for its reply. It fails when ctx ends, and before when
// the worker doesn't come for the command within the lease.
func (j *Session) Do(ctx context.Context, c Command) (Reply, error) {
	one := &call{command: c, reply: make(chan Reply, 1)}
	lease := time.NewTicker(j.server.cfg.Lease)
	defer lease.Stop()
	commands := j.commands
	for {
		select {
		case commands <- one:
			commands = nil // sent
		case r := <-one.reply:
			return r, nil
		case <-lease.C:
			if commands != nil && j.silent() {
				return Reply{}, fmt.Errorf("the worker has been silent for %v", j.server.cfg.Lease)
			}
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// silent reports whether the worker hasn't asked for a command within the lease.
func (j *Session) silent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waiting == 0 && time.Since(j.seen) >= j.server.cfg.Lease
}
