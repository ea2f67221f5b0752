package perftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrAhead is matched by the error for a peer that has ended its measurement while
// ours waits for its messages in vain.
var ErrAhead = errors.New("the peer has finished its measurement, and ours waits for more: do both ends have the " +
	"same size, number or duration?")

// graceAfterEnd is how long a measurement may go on when the peer has closed the
// connection: a peer that is done closes without good-bye, and what it sent by RDMA
// is on its way meanwhile. Likewise when it has gone on to the next step and nothing
// more comes.
const graceAfterEnd = 2 * time.Second

// maxAhead bounds what a peer may say while it is not its turn, in bytes: the longest
// step of the exchange is a key line.
const maxAhead = 4096

// Watcher reads the connection during a measurement, in which the peer has nothing to
// say.
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

// Watch returns a context for a measurement, and the watcher that ends it: two seconds
// after the peer has closed the connection; or when the peer has gone on to the next
// step and progress, which may be nil, returns the same number for two seconds. The
// cause matches [ErrAhead] in the second case. name says in the error what was going on.
// Stop must be called after the measurement and before the next step.
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
		go w.judge(nil)
		return watched, w
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.read()
	}()
	go w.judge(ended)
	return watched, w
}

// Gone is closed when the peer has closed the connection.
func (w *Watcher) Gone() <-chan struct{} { return w.gone }

// Stop ends watching; what the peer has said meanwhile counts for the next step.
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
			err = fmt.Errorf("the peer says more than a step of the exchange: %q", w.ahead[:16])
		}
		if err == nil {
			continue
		}
		select {
		case <-w.stopped: // whose deadline this is
		default:
			w.err = gone(err)
			close(w.gone)
		}
		return
	}
}

// judge ends the measurement if need be, and then waits for the end of read.
func (w *Watcher) judge(ended <-chan struct{}) {
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

// grace ends the measurement after a while.
func (w *Watcher) grace() {
	select {
	case <-w.stopped:
	case <-time.After(graceAfterEnd):
		w.cancel(w.s.failed(w.name, w.err))
	}
}

// stall ends the measurement when nothing has come from a peer ahead for a while.
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
