package protocol

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/internal/version"
)

// ServerConfig configures a server. Zero values stand for the defaults.
type ServerConfig struct {
	// Certificate is the leader's, of [NewIdentity]; none: the server makes one.
	Certificate tls.Certificate
	// Workers is how many there may be; 0: any number. It also limits the connections of strangers.
	Workers int
	// Lease is how long a worker may be silent between two commands, or without a connection while
	// it works on one; 0: 30 s.
	Lease time.Duration
	// Software is the version of rdmactl that workers must have too; "" is that of this program.
	Software string
	// Now is the clock of tickets; nil: the system's.
	Now func() time.Time
	// Refused is called for a worker that has an invitation and is refused nevertheless, with the
	// name of its node and its address, and for the first 32 refused proofs, with the error of
	// Verify. It must not block.
	Refused func(name, remote string, err *RefusedError)
	// Verify checks a proof that a worker presents instead of a ticket, and returns the name of its
	// node if the proof contains it. The proof must be bound to the hash of the worker's
	// certificate, or anyone who sees it can reuse it. The worker receives the text of a
	// [RefusedError] in the error's chain, but not that of other errors. The context is that of the
	// worker's request. Up to eight calls of Verify and Prove run at the same time. Nil: only
	// tickets admit workers.
	Verify func(ctx context.Context, proof string, client [sha256.Size]byte) (name string, err error)
	// Prove returns a proof that the leader is the leader, for a worker that doesn't know the hash
	// of its certificate (see [Client.Trust]). It must be bound to both hashes. Anybody may ask for
	// it. The context is that of the request. Nil: there is none.
	Prove func(ctx context.Context, client [sha256.Size]byte) (string, error)
}

const (
	defaultLease = 30 * time.Second
	maxSessions  = 1 << 16
	// maxProofs is how many calls of Verify and Prove there may be at a time: strangers cause them,
	// and each may start a program.
	maxProofs = 8
	// proofLimit is how long a request waits for its turn among them.
	proofLimit = 4 * time.Second
	// maxHeard is how many refused proofs are reported: strangers make as many as they like.
	maxHeard = 32
	// closeLimit is how long closing waits for answers that are being sent.
	closeLimit = time.Second
)

// Server is the leader's end: each worker that joins is a [Session]. All methods may be called
// concurrently.
type Server struct {
	cfg       ServerConfig
	hash      [sha256.Size]byte
	http      *http.Server
	tickets   tickets
	strangers *strangers
	closed    chan struct{}
	once      sync.Once
	wg        sync.WaitGroup // of Serve and ServeConn
	more      chan struct{}  // has an element if queue has one
	proofs    chan struct{}  // has an element for each call of Verify and Prove
	heard     atomic.Int64   // refused proofs

	mu       sync.Mutex
	begun    bool
	ended    bool
	sessions map[[sha256.Size]byte]*Session // by the hash of the certificate
	names    map[string]*Session            // by name
	queue    []*Session                     // for Next
}

// NewServer returns a server, which admits nobody before [Server.Issue], unless there is
// [ServerConfig.Verify].
func NewServer(cfg ServerConfig) (*Server, error) {
	if len(cfg.Certificate.Certificate) == 0 {
		var err error
		if cfg.Certificate, _, err = NewIdentity(time.Now()); err != nil {
			return nil, err
		}
	}
	cfg.Lease = cmp.Or(cfg.Lease, defaultLease)
	cfg.Software = cmp.Or(cfg.Software, Software())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{
		cfg: cfg, hash: sha256.Sum256(cfg.Certificate.Certificate[0]), closed: make(chan struct{}),
		more: make(chan struct{}, 1), strangers: newStrangers(cfg.Workers), proofs: make(chan struct{}, maxProofs),
		sessions: map[[sha256.Size]byte]*Session{}, names: map[string]*Session{},
	}
	s.http = s.newHTTP()
	return s, nil
}

// Software returns the version of this rdmactl, in the form that workers send to the leader.
func Software() string {
	v := version.Info()
	text := v.Version
	if v.Commit != "" {
		text += " " + v.Commit
	}
	return text[:min(len(text), maxText)]
}

// Limits of connections. A worker that works sends nothing for minutes; pings notice one that is
// dead.
const (
	headerLimit  = 10 * time.Second // also of the TLS handshake
	pingAfter    = 15 * time.Second
	pingLimit    = 15 * time.Second
	writeLimit   = 30 * time.Second // without a byte that the peer takes
	maxHeader    = 8 << 10
	maxStreams   = 8
	streamBuffer = 256 << 10
)

// newHTTP returns the HTTP server of a leader.
func (s *Server) newHTTP() *http.Server {
	var only http.Protocols
	only.SetHTTP2(true)
	return &http.Server{
		Handler: http.HandlerFunc(s.handle), TLSConfig: leaderTLS(s.cfg.Certificate), Protocols: &only,
		ReadHeaderTimeout: headerLimit, IdleTimeout: -1, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBuffer,
			SendPingTimeout: pingAfter, PingTimeout: pingLimit, WriteByteTimeout: writeLimit,
		},
		ConnContext: withConn,
		ErrorLog:    log.New(io.Discard, "", 0), // of strangers that connect
	}
}

// Hash returns the hash of the leader's certificate, for invitations.
func (s *Server) Hash() [sha256.Size]byte { return s.hash }

// Issue adds a ticket and returns it with what it left to the server.
func (s *Server) Issue(t Ticket) (Ticket, error) { return s.tickets.issue(t, s.cfg.Now()) }

// Invite issues a ticket and returns an invitation with it to a leader at an address.
func (s *Server) Invite(addr string, t Ticket) (Invitation, error) {
	t, err := s.Issue(t)
	return Invitation{Addr: addr, Hash: s.hash, Secret: t.Secret}, err
}

// Serve accepts connections of workers until the server is closed: it then returns nil. It closes
// the listener. There may be several.
func (s *Server) Serve(l net.Listener) error {
	return s.serve(&guard{Listener: l, strangers: s.strangers})
}

// ServeConn serves a worker over a connection that exists already, such as a [Pipe], until it ends
// or the server is closed, and closes it. The session of the worker ends with the connection.
func (s *Server) ServeConn(c net.Conn) error {
	err := s.serve(newSingle(c, s.strangers))
	if errors.Is(err, errSingle) {
		return nil
	}
	return err
}

// serve serves what a listener accepts.
func (s *Server) serve(l net.Listener) error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	if err := s.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Next waits for a worker to join. It doesn't return one that is known to have gone.
func (s *Server) Next(ctx context.Context) (*Session, error) {
	for {
		if j := s.pop(); j != nil {
			return j, nil
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.closed:
			return nil, http.ErrServerClosed
		}
	}
}

// pop returns the worker that has joined first, nil if there is none.
func (s *Server) pop() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		j := s.queue[0]
		s.queue = s.queue[1:]
		if j.Err() == nil {
			s.signal()
			return j
		}
	}
	return nil
}

// signal wakes a caller of Next if a worker is queued. s.mu is held.
func (s *Server) signal() {
	if len(s.queue) == 0 {
		return
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Begin ends the admission of workers: later ones are refused.
func (s *Server) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
}

// Close ends the requests that wait, all connections and listeners, and waits for Serve and
// ServeConn. It may be called more than once.
func (s *Server) Close() error {
	var err error
	s.once.Do(func() {
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		close(s.closed)
		s.strangers.close()
		ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
		defer cancel()
		if s.http.Shutdown(ctx) != nil { // some are still there
			err = s.http.Close()
		}
	})
	s.wg.Wait()
	return err
}

// session returns the session of a certificate, nil if there is none.
func (s *Server) session(client [sha256.Size]byte) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[client]
}
