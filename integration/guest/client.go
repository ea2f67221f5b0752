package guest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
)

// killGrace is how long the guest may take to report on a command that it was asked to kill.
const killGrace = 10 * time.Second

// During a session, the client sends a keep-alive request every aliveEvery, and gives up if it has
// received nothing for maxSilence.
const (
	aliveEvery = 5 * time.Second
	maxSilence = 2 * time.Minute
)

// session is one request on one channel.
type session struct {
	conn net.Conn
	id   string
	r    *frame.Reader
	free func() // releases the channel

	mu sync.Mutex
	w  *frame.Writer

	silence *time.Timer // nil without keepAlive
	silent  atomic.Bool // silence is over the limit
	done    chan struct{}
	wg      sync.WaitGroup
}

func newSession(conn net.Conn, free func()) (*session, error) {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	s := &session{
		conn: conn, id: hex.EncodeToString(id), free: free,
		w: frame.NewWriter(conn), r: frame.NewReader(conn), done: make(chan struct{}),
	}
	return s, s.w.Sync()
}

// keepAlive starts keep-alive requests, see aliveEvery.
func (s *session) keepAlive(every, silence time.Duration) {
	s.silence = time.AfterFunc(silence, func() {
		s.silent.Store(true)
		_ = s.conn.Close()
	})
	s.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-s.done:
				return
			case <-tick.C:
				_ = s.send(frame.KindAlive, nil) // receive returns the reason
			}
		}
	})
}

func (s *session) close() {
	close(s.done)
	_ = s.conn.Close()
	s.wg.Wait()
	if s.silence != nil {
		s.silence.Stop()
	}
	s.free()
}

func (s *session) send(kind string, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(frame.Frame{Session: s.id, Kind: kind, Payload: payload})
}

func (s *session) sendJSON(kind string, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(payload) > frame.MaxPayload {
		return fmt.Errorf("request of %d bytes, at most %d: copy it in as a file", len(payload), frame.MaxPayload)
	}
	return s.send(kind, payload)
}

// receive calls each for all frames of the session until the end of the session, which it returns.
func (s *session) receive(each func(frame.Frame) error) (frame.End, error) {
	for {
		f, err := s.r.Next()
		if err != nil && s.silent.Load() {
			return frame.End{}, errors.New("the guest doesn't respond")
		}
		if errors.Is(err, io.EOF) {
			return frame.End{}, ErrEnded
		}
		if err != nil {
			return frame.End{}, err
		}
		if f.Session != s.id {
			continue // for an earlier client
		}
		if s.silence != nil {
			s.silence.Reset(maxSilence)
		}
		if f.Kind == frame.KindEnd {
			var e frame.End
			if err := json.Unmarshal(f.Payload, &e); err != nil {
				return e, fmt.Errorf("read the answer: %w", err)
			}
			if e.Error != "" {
				return e, errors.New(e.Error)
			}
			return e, nil
		}
		if err := each(f); err != nil {
			return frame.End{}, err
		}
	}
}

// interrupt makes reads and writes fail when ctx ends, and returns a function that cancels this.
func (s *session) interrupt(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { _ = s.conn.SetDeadline(time.Unix(1, 0)) })
}

// cause returns the cause of ctx if it has ended, or else the error.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// run runs a script. The result holds the output so far even if the error is not nil.
func (s *session) run(ctx context.Context, script string) (Result, error) {
	resume := s.interrupt(ctx)
	err := s.sendJSON(frame.KindRun, frame.RunRequest{Script: script})
	if !resume() {
		return Result{ExitCode: -1}, context.Cause(ctx)
	}
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = s.conn.SetDeadline(time.Now().Add(killGrace))
		_ = s.send(frame.KindKill, nil)
	})
	defer stop()
	var out, errs bytes.Buffer
	end, err := s.receive(func(f frame.Frame) error {
		switch f.Kind {
		case frame.KindOut:
			out.Write(f.Payload)
		case frame.KindErr:
			errs.Write(f.Payload)
		}
		return nil
	})
	res := Result{Stdout: out.Bytes(), Stderr: errs.Bytes(), ExitCode: end.Code}
	if err != nil {
		res.ExitCode = -1
		return res, cause(ctx, err)
	}
	if end.Killed {
		return res, fmt.Errorf("killed: %w", context.Cause(ctx))
	}
	return res, nil
}

func (s *session) ping(ctx context.Context) error {
	defer s.interrupt(ctx)()
	err := s.send(frame.KindPing, nil)
	if err == nil {
		_, err = s.receive(func(frame.Frame) error { return nil })
	}
	return cause(ctx, err)
}

// put sends a file.
func (s *session) put(ctx context.Context, file *os.File, guestPath string) error {
	defer s.interrupt(ctx)()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	head := frame.FileInfo{Path: guestPath, Mode: uint32(info.Mode().Perm()), Size: info.Size()}
	if err := s.sendJSON(frame.KindPut, head); err != nil {
		return cause(ctx, err)
	}
	buf := make([]byte, frame.MaxPayload)
	for {
		n, err := file.Read(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := s.send(frame.KindData, buf[:n]); err != nil {
			return cause(ctx, err)
		}
	}
	if err := s.send(frame.KindDone, nil); err != nil {
		return cause(ctx, err)
	}
	_, err = s.receive(func(frame.Frame) error { return nil })
	return cause(ctx, err)
}

// get receives a file into w and returns its permission bits.
func (s *session) get(ctx context.Context, guestPath string, w io.Writer) (fs.FileMode, error) {
	defer s.interrupt(ctx)()
	if err := s.sendJSON(frame.KindGet, frame.FileInfo{Path: guestPath}); err != nil {
		return 0, cause(ctx, err)
	}
	var info frame.FileInfo
	_, err := s.receive(func(f frame.Frame) error {
		switch f.Kind {
		case frame.KindHead:
			return json.Unmarshal(f.Payload, &info)
		case frame.KindData:
			_, err := w.Write(f.Payload)
			return err
		}
		return nil
	})
	return fs.FileMode(info.Mode).Perm(), cause(ctx, err)
}
