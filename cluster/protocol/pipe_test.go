package protocol_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// osPair returns the ends of a connection over two pipes of the kernel.
func osPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Pipe(r1, w2), protocol.Pipe(r2, w1)
}

// TestServeConn works over connections that exist: in memory, and over pipes of the kernel.
func TestServeConn(t *testing.T) {
	for name, connect := range map[string]func(*testing.T) (net.Conn, net.Conn){
		"pipes of the kernel": osPair,
		"net.Pipe": func(*testing.T) (net.Conn, net.Conn) {
			near, far := net.Pipe()
			return near, far
		},
		"io.Pipe": func(*testing.T) (net.Conn, net.Conn) {
			near, far := pair()
			return near, far
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := protocol.NewServer(protocol.ServerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			i, err := s.Invite("", protocol.Ticket{Host: "gpu-3"})
			if err != nil {
				t.Fatal(err)
			}
			near, far := connect(t)
			served, ended := make(chan error, 1), make(chan error, 1)
			go func() { served <- s.ServeConn(far) }()
			c := protocol.Client{Invitation: i, Name: "a", Dial: protocol.Once(near)}
			large := strings.Repeat("x", 1<<20)
			go func() {
				ended <- c.Work(t.Context(), func(_ context.Context, c protocol.Command) protocol.Reply {
					return protocol.Reply{Name: large + string(c.Kind)}
				})
			}()
			session, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []protocol.Kind{protocol.KindRun, protocol.KindConnect, protocol.KindEnd} {
				r, err := session.Do(t.Context(), protocol.Command{Kind: k})
				if err != nil || r.Name != large+string(k) {
					t.Errorf("%s: a name of %d bytes, %v", k, len(r.Name), err)
				}
			}
			if session.Name() != "gpu-3" || session.Remote() != "pipe" {
				t.Errorf("session of %s at %s", session.Name(), session.Remote())
			}
			if err := errors.Join(<-ended, <-served, s.Close()); err != nil { // served ends with the connection
				t.Error(err)
			}
			near, far = connect(t)
			if err := s.ServeConn(far); err == nil {
				t.Error("ServeConn after Close returns no error")
			}
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("Read from a server that is closed: %v", err)
			}
			_ = near.Close()
		})
	}
}

// TestBrokenConn checks that both ends notice at once when a connection that can't be made again
// breaks, and why.
func TestBrokenConn(t *testing.T) {
	for _, byLeader := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s, err := protocol.NewServer(protocol.ServerConfig{})
			if err != nil {
				t.Fatal(err)
			}
			i, err := s.Invite("", protocol.Ticket{})
			if err != nil {
				t.Fatal(err)
			}
			near, far := pair()
			served, ended := make(chan error, 1), make(chan error, 1)
			go func() { served <- s.ServeConn(far) }()
			c := protocol.Client{Invitation: i, Name: "a", Dial: protocol.Once(near)}
			go func() { ended <- c.Work(t.Context(), answer) }()
			session, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			begun := time.Now()
			if byLeader {
				_ = far.Close()
			} else {
				_ = near.Close()
			}
			if err := <-ended; !errors.Is(err, protocol.ErrBroken) || !strings.Contains(err.Error(), "is broken: ") {
				t.Errorf("the worker ended with %v", err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			_, err = session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
			if err == nil || err.Error() != "the connection to the worker is broken" {
				t.Errorf("the worker: %v", err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("it took %v", took)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPipe checks that a pipe passes on what is written, also what is written just before it is
// closed, and the errors of its ends.
func TestPipe(t *testing.T) {
	near, far := osPair(t)
	sent := strings.Repeat("0123456789", 100_000) // more than a pipe of the kernel takes
	go func() {
		_, _ = io.WriteString(near, sent)
		_ = near.Close()
	}()
	b, err := io.ReadAll(far)
	if err != nil || string(b) != sent {
		t.Errorf("got %d of %d bytes, %v", len(b), len(sent), err)
	}
	if _, err := far.Write([]byte("x")); err == nil {
		t.Error("Write to a pipe whose other end is closed returns no error")
	}
	if err := errors.Join(far.Close(), far.Close()); err != nil {
		t.Error(err)
	}
	if _, err := far.Read(b); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read after Close: %v", err)
	}
	if _, err := far.Write(b); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write after Close: %v", err)
	}
}

// broken is an end that fails, or that waits until it is closed.
type broken struct {
	err    error
	closed chan struct{}
}

func (b *broken) Read([]byte) (int, error) { return b.fail() }

func (b *broken) Write([]byte) (int, error) { return b.fail() }

func (b *broken) fail() (int, error) {
	if b.err == nil {
		<-b.closed
		return 0, os.ErrClosed
	}
	return 0, b.err
}

func (b *broken) Close() error {
	close(b.closed) // panics if it is done twice
	return nil
}

// TestPipeErrors checks that the errors of the ends of a pipe are those of the connection.
func TestPipeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("input/output error")
		r, w := &broken{why, make(chan struct{})}, &broken{nil, make(chan struct{})}
		p := protocol.Pipe(r, w)
		_, err := p.Read(make([]byte, 1))
		if !errors.Is(err, why) || err.Error() != "read from pipe: input/output error" {
			t.Errorf("Read: %v", err)
		}
		_ = p.Close()
		<-r.closed
		<-w.closed
		r, w = &broken{nil, make(chan struct{})}, &broken{why, make(chan struct{})}
		p = protocol.Pipe(r, w)
		_, _ = p.Write([]byte("lost")) // the error is that of the next one
		synctest.Wait()
		if _, err := p.Write([]byte("x")); !errors.Is(err, why) || err.Error() != "write to pipe: input/output error" {
			t.Errorf("Write: %v", err)
		}
		_ = p.Close()
		<-r.closed
		<-w.closed
	})
}

// TestPipeLastWords checks that what the other end has said can be read after writing has failed.
func TestPipeLastWords(t *testing.T) {
	r, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	heard, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := protocol.Pipe(r, w)
	_ = heard.Close()
	for err = nil; err == nil; {
		_, err = p.Write([]byte("x"))
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write: %v", err)
	}
	_, _ = io.WriteString(said, "last words")
	_ = said.Close()
	if b, err := io.ReadAll(p); err != nil || string(b) != "last words" {
		t.Errorf("ReadAll = %q, %v", b, err)
	}
	_ = p.Close()
}

// TestPipeDeadlines checks that the deadlines work over ends that have none, and that Close ends
// what waits, also if the other end takes nothing.
func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := &broken{nil, make(chan struct{})}, &broken{nil, make(chan struct{})}
		p := protocol.Pipe(r, w)
		begun := time.Now()
		if err := p.SetDeadline(begun.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1<<20)
		if _, err := p.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("Read: %v after %v", err, time.Since(begun))
		}
		if err := p.SetDeadline(begun.Add(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(b); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 2*time.Second {
			t.Errorf("Write: %v after %v", err, time.Since(begun))
		}
		if err := p.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := p.Read(b)
			read <- err
		}()
		synctest.Wait()
		begun = time.Now()
		_ = p.Close()
		if err := <-read; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("Read while it is closed: %v", err)
		}
		<-r.closed
		<-w.closed
		if time.Since(begun) != time.Second {
			t.Errorf("the writer was closed after %v", time.Since(begun))
		}
	})
}
