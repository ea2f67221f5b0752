package protocol

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
)

// Client is a worker's end.
type Client struct {
	Invitation Invitation
	// Name is that of the node, and must not be empty.
	Name string
	// Tasks is how many tasks of a launcher's job the node has; 0: one.
	Tasks int
	// Software is the version of rdmactl; "" is that of this program.
	Software string
	// Certificate is the worker's, of [NewIdentity]; none: Work makes one.
	Certificate tls.Certificate
	// Dial connects to the leader; nil dials Invitation.Addr. See [Once] for a connection that
	// exists.
	Dial func(context.Context) (net.Conn, error)
	// Patience is how long requests are repeated when the leader can't be reached; 0: 30 s.
	Patience time.Duration
	// Waiting is called when the leader has been unreachable for 3 s, and every 10 s after that,
	// with the last error and the time since the first one. It may be nil.
	Waiting func(err error, since time.Duration)
	// Joined is called when the leader has admitted the worker, with the name that it uses for the
	// node. It may be nil.
	Joined func(name string)
	// Trust is for an invitation without a hash: it checks the proof of a leader, which must be
	// bound to the hash of its certificate, and to that of Certificate. Dial must work a second
	// time then. Nil: only a leader with the hash of the invitation is trusted.
	Trust func(ctx context.Context, proof string, leader [sha256.Size]byte) error
	// Prove returns a proof by which the worker joins if its invitation has no secret, bound to
	// both hashes. It is called for each try.
	Prove func(ctx context.Context, client, leader [sha256.Size]byte) (string, error)
}

// RefusedError is the error for a worker that the leader refuses.
type RefusedError struct {
	Status int // of HTTP
	Text   string
}

// Error returns the leader's reason.
func (e *RefusedError) Error() string {
	if e.Status == http.StatusGone {
		return "the leader ends this worker: " + e.Text
	}
	return "the leader refuses this worker: " + e.Text
}

// busy reports whether the leader may accept the same request later.
func (e *RefusedError) busy() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusServiceUnavailable:
		return true
	}
	return false
}

// ReplyError is the error for a reply that is longer than [MaxMessage].
type ReplyError struct{ Bytes int }

// Error returns the two lengths.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("the reply of this worker has %d bytes, and %d are possible", e.Bytes, MaxMessage)
}

const (
	defaultPatience = 30 * time.Second
	firstWaiting    = 3 * time.Second
	nextWaiting     = 10 * time.Second
	shortestPause   = 200 * time.Millisecond
	longestPause    = 2 * time.Second
	// answerLimit is how long an answer may take beyond the time that the leader may wait.
	answerLimit = 15 * time.Second
	// goodbyeLimit is how long the last request may take: the leader may be gone already.
	goodbyeLimit = time.Second
)

// Work joins the leader, executes its commands until [KindEnd], and then returns nil. It returns an
// error at once if the leader refuses the worker ([RefusedError]), isn't the one of the invitation
// ([WrongLeaderError]), doesn't speak its protocol ([TLSError]) or can't be reached over a
// connection that can't be made again ([ErrBroken]), and for a reply that is too long
// ([ReplyError]). It does so later when the leader couldn't be reached, or was too busy, for the
// time of Patience ([UnreachableError]).
func (c *Client) Work(ctx context.Context, do func(context.Context, Command) Reply) error {
	l, err := c.newLink()
	if err != nil {
		return err
	}
	defer l.dialer.close(true)
	if l.dialer.leader == [sha256.Size]byte{} {
		if err := l.meet(ctx); err != nil {
			return fmt.Errorf("ask the leader for its proof: %w", err)
		}
	}
	err = l.joinAndWork(ctx, do)
	if err != nil && ctx.Err() != nil {
		l.leave(ctx)
	}
	return err
}

// joinAndWork joins a leader that is known, and works for it.
func (l *link) joinAndWork(ctx context.Context, do func(context.Context, Command) Reply) error {
	name, err := l.join(ctx)
	if err != nil {
		return fmt.Errorf("join the leader: %w", err)
	}
	if l.Joined != nil {
		l.Joined(name)
	}
	if err := l.work(ctx, do); err != nil {
		return fmt.Errorf("ask the leader for work: %w", err)
	}
	return nil
}

// link is a client that works.
type link struct {
	*Client
	dialer *dialer
	http   *http.Client
	own    [sha256.Size]byte // hash of the certificate
}

func (c *Client) newLink() (*link, error) {
	known := c.Invitation.Hash != [sha256.Size]byte{}
	switch {
	case c.Name == "":
		return nil, errors.New("join the leader: this node has no name")
	case !known && c.Trust == nil:
		return nil, errors.New("join the leader: the hash of its certificate is not known")
	}
	d := &dialer{addr: c.Invitation.Addr, own: c.Certificate, dial: c.Dial, leader: c.Invitation.Hash}
	if d.dial == nil {
		d.dial = tcp(d.addr)
	}
	if len(d.own.Certificate) == 0 {
		var err error
		if d.own, _, err = NewIdentity(time.Now()); err != nil {
			return nil, err
		}
	}
	l := &link{Client: c, dialer: d, own: sha256.Sum256(d.own.Certificate[0])}
	l.dialAgain()
	return l, nil
}

// dialAgain makes the link forget its connections.
func (l *link) dialAgain() {
	l.dialer.close(false)
	l.http = &http.Client{
		Transport:     l.dialer.transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// meet asks a leader whose certificate isn't known for its proof, and trusts it if it is one. All
// that follows goes over a connection that was made with this trust.
func (l *link) meet(ctx context.Context) error {
	var r proofResponse
	var leader [sha256.Size]byte
	err := l.retry(ctx, answerLimit, func(ctx context.Context) (err error) {
		leader, err = l.send(ctx, http.MethodGet, pathProof, nil, &r)
		return err
	})
	if err != nil {
		return err
	}
	if err := l.Trust(ctx, r.Proof, leader); err != nil {
		return fmt.Errorf("%s doesn't prove that it is the leader: %w", l.dialer.addr, err)
	}
	l.dialer.leader = leader
	l.dialAgain()
	return nil
}

// join asks for admission and returns the name that the leader uses for the node.
func (l *link) join(ctx context.Context) (string, error) {
	q := joinRequest{
		Version: Version, Name: l.Name, Tasks: l.Tasks, Software: cmp.Or(l.Software, Software()),
		Secret: l.Invitation.Secret,
	}
	var r joinResponse
	err := l.retry(ctx, answerLimit, func(ctx context.Context) (err error) {
		if q.Secret == "" && l.Prove != nil {
			if q.Proof, err = l.Prove(ctx, l.own, l.dialer.leader); err != nil {
				return &proveError{err}
			}
		}
		return l.post(ctx, pathJoin, q, &r)
	})
	return r.Name, err
}

// proveError is the error of a worker that can't prove what it is.
type proveError struct{ err error }

// Error returns the cause.
func (e *proveError) Error() string { return "make a proof: " + e.err.Error() }

// Unwrap returns the cause.
func (e *proveError) Unwrap() error { return e.err }

// work executes commands until [KindEnd].
func (l *link) work(ctx context.Context, do func(context.Context, Command) Reply) error {
	var q nextRequest
	for {
		var r nextResponse
		err := l.retry(ctx, longPoll+answerLimit, func(ctx context.Context) error {
			r = nextResponse{}
			return l.post(ctx, pathNext, q, &r)
		})
		if err != nil {
			return err
		}
		if r.Command == nil {
			q.Reply = nil
			continue
		}
		reply := do(ctx, *r.Command)
		q.Seq, q.Reply = r.Seq, &reply
		if r.Command.Kind == KindEnd {
			l.goodbye(ctx, pathNext, q)
			return nil
		}
	}
}

// goodbye sends the last message, which the leader may be gone for already.
func (l *link) goodbye(ctx context.Context, path string, q any) {
	ctx, cancel := context.WithTimeout(ctx, goodbyeLimit)
	defer cancel()
	_ = l.post(ctx, path, q, nil)
}

// leave notifies the leader that the worker ends.
func (l *link) leave(ctx context.Context) {
	l.goodbye(context.WithoutCancel(ctx), pathLeave, leaveRequest{Why: context.Cause(ctx).Error()})
}

// retry repeats try until the leader is reached or Patience is over. limit is the time for each
// try.
func (l *link) retry(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	patience := cmp.Or(l.Patience, defaultPatience)
	late := fmt.Errorf("no answer within %v", limit)
	var failing time.Time // since when
	next, pause := firstWaiting, shortestPause
	var before error
	for {
		limited, cancel := context.WithTimeoutCause(ctx, limit, late)
		err := try(limited)
		if errors.Is(err, context.DeadlineExceeded) && limited.Err() != nil {
			err = context.Cause(limited)
		}
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrBroken) && before != nil:
			return fmt.Errorf("%w: %w", ErrBroken, before)
		case final(err):
			return err
		}
		before = err
		if failing.IsZero() {
			failing = time.Now()
			if dial, ok := errors.AsType[*dialError](err); ok {
				failing = failing.Add(-dial.took)
			}
		}
		since := time.Since(failing)
		if since >= patience {
			return &UnreachableError{l.dialer.addr, since, before}
		}
		if since >= next {
			next = since + nextWaiting
			if l.Waiting != nil {
				l.Waiting(before, since)
			}
		}
		if err := clock.Sleep(ctx, clock.System, pause); err != nil {
			return err
		}
		pause = min(2*pause, longestPause) //nolint:mnd // twice as long
	}
}

// post sends a message.
func (l *link) post(ctx context.Context, path string, q, r any) error {
	_, err := l.send(ctx, http.MethodPost, path, q, r)
	return err
}

// send sends a request once, with q as its message, and takes the answer to r; both may be nil. It
// returns the hash of the leader that answered.
func (l *link) send(ctx context.Context, method, path string, q, r any) (leader [sha256.Size]byte, err error) {
	var body io.Reader
	if q != nil {
		b, err := json.Marshal(q)
		if err != nil {
			return leader, err
		}
		if len(b) > MaxMessage {
			return leader, &ReplyError{len(b)}
		}
		body = bytes.NewReader(b)
	}
	// The dialer knows where the leader is.
	request, err := http.NewRequestWithContext(ctx, method, "https://leader"+path, body)
	if err != nil {
		return leader, err
	}
	answer, err := l.http.Do(request)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the address is known
	}
	if err != nil {
		return leader, err
	}
	defer func() { _ = answer.Body.Close() }()
	if leader, err = peerHash(answer.TLS); err != nil {
		return leader, err
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, MaxMessage+1))
	if err != nil {
		return leader, err
	}
	if len(b) > MaxMessage {
		return leader, fmt.Errorf("answer of the leader: more than %d bytes", MaxMessage)
	}
	if answer.StatusCode != http.StatusOK {
		var e errorResponse
		_ = json.Unmarshal(b, &e) // the status says enough
		return leader, &RefusedError{Status: answer.StatusCode, Text: cmp.Or(e.Error, answer.Status)}
	}
	if r == nil {
		return leader, nil
	}
	if err := json.Unmarshal(b, r); err != nil {
		return leader, fmt.Errorf("answer of the leader: %w", err)
	}
	return leader, nil
}
