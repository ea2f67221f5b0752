package nl_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// socket is a connection whose receive waits until its deadline.
type socket struct {
	woken  chan struct{}
	closed bool
	err    error
}

func (s *socket) SetDeadline(time.Time) error { close(s.woken); return nil }
func (s *socket) Close() error                { s.closed = true; return s.err }

func TestDo(t *testing.T) {
	ill := errors.New("ill")
	for _, tt := range []struct {
		name              string
		dial, talk, close error
	}{
		{"well", nil, nil, nil},
		{"dial", ill, nil, nil},
		{"talk", nil, ill, nil},
		{"close", nil, nil, ill},
	} {
		s := &socket{err: tt.close}
		v, err := nl.Do(t.Context(), func() (*socket, error) { return s, tt.dial },
			func(*socket) (int, error) { return 7, tt.talk })
		if bad := tt.name != "well"; bad != errors.Is(err, ill) || !bad && v != 7 {
			t.Errorf("%s: %d, %v", tt.name, v, err)
		}
		if s.closed == (tt.dial != nil) {
			t.Errorf("%s: closed %v", tt.name, s.closed)
		}
	}
}

// TestDoEnds checks that a call ends with its context, and its goroutine and socket with the system
// call.
func TestDoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, release := &socket{woken: make(chan struct{})}, make(chan struct{})
		_, err := nl.Do(ctx, func() (*socket, error) { return s, nil }, func(s *socket) (int, error) {
			<-s.woken
			<-release // a driver that doesn't hear
			return 0, nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || s.closed {
			t.Errorf("Do = %v, closed %v", err, s.closed)
		}
		close(release)
		synctest.Wait()
		if !s.closed {
			t.Error("the socket is not closed")
		}
		if _, err := nl.Do(ctx, func() (*socket, error) {
			t.Error("a socket is opened after the end of the context")
			return s, nil
		}, func(*socket) (int, error) { return 0, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do after the end: %v", err)
		}
	})
}
