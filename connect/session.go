package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// session is the exchange over one connection. One goroutine reads messages, all other methods are
// for the goroutine that runs the attempts.
type session struct {
	conn   net.Conn
	client bool          // this end has dialled, and proposes
	limit  time.Duration // of a step
	r      *bufio.Reader

	in     chan Message
	resume chan struct{} // the reader continues after raw bytes
	stop   chan struct{}
	done   chan struct{} // closed when the reader has ended
	err    error         // why it has, valid after done
	held   *Message      // received during a phase
}

// newSession begins an exchange; close ends it and closes conn.
func newSession(conn net.Conn, client bool, limit time.Duration) *session {
	s := &session{
		conn: conn, client: client, limit: limit, r: bufio.NewReaderSize(conn, maxLine),
		in: make(chan Message), resume: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.read()
	return s
}

// read reads messages until the connection or the session ends. After a message of kind tcp it
// leaves the connection to the measurement until resume.
func (s *session) read() {
	defer close(s.done)
	for {
		m, err := readMessage(s.r)
		if err != nil {
			s.err = err
			return
		}
		select {
		case s.in <- m:
		case <-s.stop:
			return
		}
		if m.Kind != KindTCP {
			continue
		}
		select {
		case <-s.resume:
		case <-s.stop:
			return
		}
	}
}

// close closes the connection and waits for the reader.
func (s *session) close() error {
	close(s.stop)
	err := s.conn.Close()
	<-s.done
	return err
}

// send sends a message.
func (s *session) send(m Message) error {
	line, err := encode(m)
	if err != nil {
		return err
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(s.limit)); err != nil {
		return fmt.Errorf("send %s: %w", m.Kind, err)
	}
	if _, err := s.conn.Write(line); err != nil {
		return fmt.Errorf("send %s: %w", m.Kind, ended(err))
	}
	return nil
}

// ended returns the cause of an error of the connection, without the addresses.
func ended(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return op.Err
	}
	return err
}

// silentError is the error for a message that doesn't come in time.
type silentError struct {
	kind  string
	limit time.Duration
}

func (e *silentError) Error() string {
	return fmt.Sprintf("no message %q from the peer within %v", e.kind, e.limit)
}

// Is makes it match os.ErrDeadlineExceeded.
func (e *silentError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// await waits for the next message, which must be of one of the kinds, for limit at most; 0 is no
// limit.
func (s *session) await(ctx context.Context, limit time.Duration, kinds ...string) (Message, error) {
	m, err := s.next(ctx, limit, kinds[0])
	if err != nil {
		return m, err
	}
	if slices.Contains(kinds, m.Kind) {
		return m, nil
	}
	return m, fmt.Errorf("message %q from the peer instead of %q", m.Kind, kinds[0])
}

func (s *session) next(ctx context.Context, limit time.Duration, kind string) (Message, error) {
	if m := s.held; m != nil {
		s.held = nil
		return *m, nil
	}
	var expired <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case m := <-s.in:
		return m, nil
	case <-s.done:
		return Message{}, ended(s.err)
	case <-expired:
		return Message{}, &silentError{kind, limit}
	case <-ctx.Done():
		return Message{}, context.Cause(ctx)
	}
}

// peerFailedError is the cause of a context that a failure of the peer has ended.
type peerFailedError struct{ failure *Failure }

func (e *peerFailedError) Error() string { return "the peer failed: " + e.failure.Error() }

// stalledError is the cause of a context that ended because nothing completed.
type stalledError struct{ limit time.Duration }

func (e *stalledError) Error() string {
	return fmt.Sprintf("nothing has completed for %v", e.limit.Round(time.Millisecond))
}

// Is makes it match os.ErrDeadlineExceeded.
func (e *stalledError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// phase returns a context for sending and receiving through the queue pair. It ends when the peer
// reports a failure, when the connection ends, or when progress has not changed for the limit. stop
// must be called before the next step of the exchange.
func (s *session) phase(
	ctx context.Context, progress func() uint64, limit time.Duration,
) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.watch(watched, progress, limit); err != nil {
			cancel(err)
		}
	})
	return watched, func() {
		cancel(nil)
		wg.Wait()
	}
}

// watch waits for a reason to end a phase; nil if ctx ended first.
func (s *session) watch(ctx context.Context, progress func() uint64, limit time.Duration) error {
	const looks = 16 // per limit
	ticker := time.NewTicker(max(limit/looks, time.Millisecond))
	defer ticker.Stop()
	in := s.in
	for seen, since := progress(), time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.done:
			return ended(s.err)
		case m := <-in:
			s.held, in = &m, nil
			if m.Failure != nil {
				return &peerFailedError{m.Failure}
			}
		case <-ticker.C:
			if now := progress(); now != seen {
				seen, since = now, time.Now()
			} else if time.Since(since) >= limit {
				return &stalledError{limit}
			}
		}
	}
}

// barrier exchanges the status of a stage, for which it waits for limit at most. It returns the
// peer's, and the failure that both ends report, if one of them has failed: own is this end's.
func (s *session) barrier(
	ctx context.Context, limit time.Duration, status Status, own *Failure,
) (peer Status, f *Failure, err error) {
	status.Aborted = status.Aborted && own == nil
	if err := s.send(Message{Kind: KindStatus, Status: &status, Failure: own}); err != nil {
		return peer, own, err
	}
	m, err := s.await(ctx, limit, KindStatus)
	if err != nil {
		return peer, own, err
	}
	if m.Status.Stage != status.Stage {
		return peer, own, fmt.Errorf("the peer is at stage %q, not %q", m.Status.Stage, status.Stage)
	}
	return *m.Status, decide(s.client, own, m.Failure), nil
}

// decide returns the failure that both ends report: the more specific one, or the client's.
func decide(client bool, own, peer *Failure) *Failure {
	first, second := own, peer
	if !client {
		first, second = peer, own
	}
	switch {
	case first == nil:
		return second
	case second != nil && second.Code.vague() < first.Code.vague():
		return second
	}
	return first
}

// vague orders codes by how much they explain: those of a consequence come last.
func (c Code) vague() int {
	switch c {
	case CodeTransfer, CodeStalled:
		return 3
	case CodePeerEnded, CodeInterrupted:
		return 2
	case CodeUnacknowledged, CodeLargeLost:
		return 1
	}
	return 0
}
