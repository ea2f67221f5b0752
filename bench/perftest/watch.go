package perftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrAhead is matched by the error for a peer that has finished its measurement while ours still
// waits for messages.
var ErrAhead = errors.New("the peer has finished its measurement, and ours waits for more: do both ends have the " +
	"same size, number or duration?")

// graceAfterEnd is how long a measurement may continue after the peer has closed the connection: a
// peer that is done closes it without a closing handshake, while its last RDMA messages may still
// be in flight. The same limit applies if the peer has gone on to the next step and no more
// messages arrive.
const graceAfterEnd = 2 * time.Second

// maxAhead is the largest number of bytes that a peer may send ahead of its turn: the longest
// message of the exchange is a key line.
const maxAhead = 4096

// Watcher reads from the connection during a measurement, when the peer normally sends nothing.
type Watcher struct {
	s        *Session
	name     string
	progress func() uint64
	cancel   context.CancelCauseFunc
	stopped  chan struct{}
	spoke    chan struct{} // closed when the peer is one step ahead
	gone     chan struct{} // closed when the connection has ended
	done     chan struct{}
	ahead    []byte
	err      error // of the connection, valid after gone
}

// Watch returns a context for a measurement and a watcher. The watcher ends the context two seconds
// after the peer has closed the connection, or if the peer has gone on to the next step and
// progress, which may be nil, returns the same number for two seconds. In the second case the cause
// matches [ErrAhead]. name is the name of the measurement in the error. Stop must be called after
// the measurement and before the next step.
func (s *Session) Watch(ctx context.Context, name string, progress func() uint64) (context.Context, *Watcher) {
	if progress == nil {
		progress = func() uint64 { return 0 }
	}
	watched, cancel := context.WithCancelCause(ctx)
	w := &Watcher{
		s: s, name: name, progress: progress, cancel: cancel, ahead: slices.Clone(s.ahead),
		stopped: make(chan struct{}), spoke: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
	}
	if len(w.ahead) > 0 {
		close(w.spoke)
	}
	if err := s.conn.SetDeadline(time.Time{}); err != nil {
		w.err = err
		close(w.gone)
		go w.supervise(nil)
		return watched, w
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.read()
	}()
	go w.supervise(ended)
	return watched, w
}

// Gone is closed when the peer has closed the connection.
func (w *Watcher) Gone() <-chan struct{} { return w.gone }

// Closed reports whether the peer has closed the connection in order, without sending anything that
// was not expected.
func (w *Watcher) Closed() bool {
	select {
	case <-w.gone:
		return errors.Is(w.err, ErrClosed)
	default:
		return false
	}
}

// Stop ends watching; the next step uses the bytes that the peer has sent meanwhile.
func (w *Watcher) Stop() {
	close(w.stopped)
	_ = w.s.conn.SetDeadline(time.Unix(1, 0))
	<-w.done
	w.s.ahead = w.ahead
	w.cancel(nil)
}

// read reads up to the end of the connection, or until Stop.
func (w *Watcher) read() {
	buf := make([]byte, keyGIDLen)
	for {
		n, err := w.s.conn.Read(buf)
		if n > 0 && len(w.ahead) == 0 {
			close(w.spoke)
		}
		w.ahead = append(w.ahead, buf[:n]...)
		if err == nil && len(w.ahead) > maxAhead {
			err = fmt.Errorf("the peer sent more than one step of the exchange: %q", w.ahead[:16])
		}
		if err == nil {
			continue
		}
		select {
		case <-w.stopped: // the deadline was set by Stop
		default:
			w.err = gone(err)
			close(w.gone)
		}
		return
	}
}

// supervise ends the measurement if necessary, and then waits for the end of read.
func (w *Watcher) supervise(ended <-chan struct{}) {
	defer close(w.done)
	select {
	case <-w.stopped:
	case <-w.gone:
		w.grace()
	case <-w.spoke:
		w.stall()
	}
	if ended != nil {
		<-ended
	}
}

// grace ends the measurement after graceAfterEnd.
func (w *Watcher) grace() {
	select {
	case <-w.stopped:
	case <-time.After(graceAfterEnd):
		w.cancel(w.s.failed(w.name, w.err))
	}
}

// stall ends the measurement if it makes no progress for graceAfterEnd while the peer is ahead.
func (w *Watcher) stall() {
	const looks = 8
	ticker := time.NewTicker(graceAfterEnd / looks)
	defer ticker.Stop()
	for seen, quiet := w.progress(), 0; ; {
		select {
		case <-w.stopped:
			return
		case <-w.gone:
			w.grace()
			return
		case <-ticker.C:
		}
		if now := w.progress(); now != seen {
			seen, quiet = now, 0
		} else if quiet++; quiet == looks {
			w.cancel(w.s.failed(w.name, ErrAhead))
			<-w.stopped
			return
		}
	}
}
