package perftest

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// ahead returns a watched server whose client is one step ahead.
func ahead(t *testing.T, progress func() uint64) (s *Session, peer net.Conn, watched context.Context, w *Watcher) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	s = NewSession(a, Config{Role: RoleServer})
	own := captured()
	watched, w = s.Watch(t.Context(), "measure", progress)
	if _, err := b.Write(KeyWithGID.Append(nil, &own)); err != nil {
		t.Fatal(err)
	}
	return s, b, watched, w
}

// TestWatchAhead lets messages arrive for an hour from a peer that is one step ahead.
func TestWatchAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var moved atomic.Uint64
		s, peer, watched, w := ahead(t, moved.Load)
		for range 3600 {
			time.Sleep(time.Second)
			moved.Add(1)
		}
		if err := watched.Err(); err != nil {
			t.Errorf("a peer that is ahead ended a measurement that goes on: %v", context.Cause(watched))
		}
		w.Stop()
		go func() { _, _ = io.ReadFull(peer, make([]byte, KeyWithGID.Len())) }()
		if err := s.Sync(t.Context(), "step", captured()); err != nil {
			t.Errorf("Sync after Watch = %v, want the line that Watch has read", err)
		}
		watched, w = s.Watch(t.Context(), "measure", nil)
		w.Stop() // nothing came
		if watched.Err() == nil {
			t.Error("Stop did not end the context")
		}
	})
}

// TestWatchEnds checks when and why a watcher ends a measurement.
func TestWatchEnds(t *testing.T) {
	tests := []struct {
		name       string
		closeAfter time.Duration
		want       string
		is         error
		after      time.Duration
	}{
		{
			"ahead, nothing more comes", -1, "measure with the client: the peer has finished its measurement",
			ErrAhead, graceAfterEnd,
		},
		{
			"ahead, then gone", time.Second, "measure with the client: the peer closed the connection",
			io.ErrUnexpectedEOF, time.Second + graceAfterEnd,
		},
		{
			"ahead, gone at once", 0, "measure with the client: the peer closed the connection", io.ErrUnexpectedEOF,
			graceAfterEnd,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, peer, watched, w := ahead(t, nil)
				start := time.Now()
				if tt.closeAfter >= 0 {
					time.Sleep(tt.closeAfter)
					_ = peer.Close()
				}
				<-watched.Done()
				err := context.Cause(watched)
				if took := time.Since(start); !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.is) ||
					took != tt.after {
					t.Errorf("Watch ended with %v after %v, want %q after %v", err, took, tt.want, tt.after)
				}
				w.Stop()
			})
		})
	}
}

// TestWatchGone closes the connection of a peer that is not ahead.
func TestWatchGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		s := NewSession(a, Config{Role: RoleServer})
		watched, w := s.Watch(t.Context(), "measure", nil)
		start := time.Now()
		_ = b.Close()
		<-w.Gone()
		if took := time.Since(start); took != 0 {
			t.Errorf("Gone was closed after %v", took)
		}
		<-watched.Done()
		if err := context.Cause(watched); !strings.Contains(err.Error(),
			"measure with the client: the peer closed the connection") || time.Since(start) != graceAfterEnd {
			t.Errorf("after the peer closed: %v after %v", err, time.Since(start))
		}
		w.Stop()
	})
}

// TestWatchBabble lets a peer send more than one step.
func TestWatchBabble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, peer, watched, w := ahead(t, nil)
		defer w.Stop()
		go func() { _, _ = peer.Write(make([]byte, 2*maxAhead)) }()
		<-watched.Done()
		if err := context.Cause(watched); !strings.Contains(err.Error(), "more than one step") {
			t.Errorf("Watch ended with %v, want an error about what the peer says", err)
		}
	})
}
