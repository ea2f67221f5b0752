package protocol_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestMain checks that no goroutine is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// preface is what a client of HTTP/2 sends first: a string and a frame of settings (RFC 9113,
// section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// header begins a frame of 100 bytes of headers, on stream 1.
const header = "\x00\x00\x64\x01\x04\x00\x00\x00\x01"

// drip writes a byte a second until that fails.
func drip(c net.Conn, text string) {
	for _, b := range []byte(text) {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestStrangers checks that those who aren't workers are told nothing, and not for long.
func TestStrangers(t *testing.T) {
	cert := identity(t)
	// secure is TLS as a worker's, with changes. What follows shows what was wrong.
	secure := func(c net.Conn, change func(*tls.Config)) net.Conn {
		config := &tls.Config{
			Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, InsecureSkipVerify: true,
		}
		change(config)
		s := tls.Client(c, config)
		_ = s.HandshakeContext(context.WithoutCancel(t.Context())) // one of another bubble
		return s
	}
	worker := func(*tls.Config) {}
	for _, q := range []struct {
		name string
		do   func(net.Conn) net.Conn // returns the connection to read from
		// within is when the connection must be closed, and err what reading says, if it is
		// certain.
		within time.Duration
		err    string
	}{
		{"silent", func(c net.Conn) net.Conn { return c }, 10 * time.Second, ""},
		{
			"a byte a second", func(c net.Conn) net.Conn {
				go drip(c, "\x16\x03\x01\x02\x00\x01"+strings.Repeat("\x00", 1000))
				return c
			}, 10 * time.Second, "",
		},
		{"garbage", func(c net.Conn) net.Conn { _, _ = io.WriteString(c, "garbage!"); return c }, 0, ""},
		{"HTTP", func(c net.Conn) net.Conn { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); return c }, 0, ""},
		{
			"TLS 1.2", func(c net.Conn) net.Conn {
				return secure(c, func(config *tls.Config) { config.MaxVersion = tls.VersionTLS12 })
			}, 0, "remote error: tls: protocol version not supported",
		},
		{
			"HTTP/1.1 over TLS", func(c net.Conn) net.Conn {
				return secure(c, func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} })
			}, 0, "remote error: tls: bad certificate", // crypto/tls goes on without a protocol, which is refused
		},
		{
			"no protocol over TLS", func(c net.Conn) net.Conn {
				c = secure(c, func(config *tls.Config) { config.NextProtos = nil })
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: leader\r\n\r\n")
				return c
			}, 0, "remote error: tls: bad certificate",
		},
		{
			"no certificate", func(c net.Conn) net.Conn {
				return secure(c, func(config *tls.Config) { config.Certificates = nil })
			}, 0, "remote error: tls: certificate required",
		},
		{"silent over TLS", func(c net.Conn) net.Conn { return secure(c, worker) }, 10 * time.Second, ""},
		{
			"garbage over TLS", func(c net.Conn) net.Conn {
				c = secure(c, worker)
				_, _ = io.WriteString(c, strings.Repeat("garbage!", 10))
				return c
			}, time.Second, "",
		},
		{
			"no request", func(c net.Conn) net.Conn {
				c = secure(c, worker)
				_, _ = io.WriteString(c, preface)
				return c
			}, 30 * time.Second, "",
		},
		{
			"headers a byte a second", func(c net.Conn) net.Conn {
				c = secure(c, worker)
				_, _ = io.WriteString(c, preface)
				go drip(c, header+strings.Repeat("\x82", 100))
				return c
			}, 30 * time.Second, "",
		},
	} {
		t.Run(q.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, protocol.ServerConfig{})
				c, err := r.dial(t.Context(), "10.0.0.66:1")
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				_, err = io.Copy(io.Discard, q.do(c))
				if took := time.Since(begun); took > q.within || took < q.within-time.Second {
					t.Errorf("the connection was closed after %v, want %v", took, q.within)
				}
				if q.err != "" && (err == nil || err.Error() != q.err) {
					t.Errorf("Read: %v, want %s", err, q.err)
				}
				_ = c.Close()
				time.Sleep(2 * time.Second) // until drip has noticed
			})
		})
	}
}

// slow is a body that comes a byte a second.
type slow struct{ left int }

func (s *slow) Read(b []byte) (int, error) {
	if s.left--; s.left < 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	b[0] = ' '
	return 1, nil
}

// TestSlowBody checks that a stranger and a worker may take 30 s to send a request.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		p := r.peer(identity(t))
		begun := time.Now()
		if code, text := p.do(http.MethodPost, "/v1/join", &slow{60}); code != 0 && code != http.StatusRequestTimeout ||
			time.Since(begun) > 31*time.Second {
			t.Errorf("a slow stranger: %d %s after %v", code, text, time.Since(begun))
		}
		if code, text := p.join("a", r.invite(protocol.Ticket{}).Secret, nil); code != http.StatusOK {
			t.Fatalf("join: %d %s", code, text)
		}
		begun = time.Now()
		if code, text := p.do(http.MethodPost, "/v1/next", &slow{60}); code != http.StatusRequestTimeout ||
			time.Since(begun) > 31*time.Second {
			t.Errorf("a slow worker: %d %s after %v", code, text, time.Since(begun))
		}
		if code, text := p.do(http.MethodPost, "/v1/next", io.MultiReader(&slow{20}, strings.NewReader("{}"))); code !=
			http.StatusOK || text != `{"seq":0}` {
			t.Errorf("a worker that is slow and in time: %d %s", code, text)
		}
	})
}

// deaf is a connection that reads nothing any more, when told so.
type deaf struct {
	net.Conn
	now  atomic.Bool
	done chan struct{}
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if d.now.Load() {
		<-d.done
		return 0, io.EOF
	}
	return n, err
}

// TestDeafWorker checks that a worker that takes no answer, a large one or none at all, loses its
// connection, and then its session.
func TestDeafWorker(t *testing.T) {
	for _, command := range []protocol.Command{
		{Kind: protocol.KindPrepare, Edges: make([]protocol.Edge, 100_000)}, {Kind: protocol.KindRun},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, protocol.ServerConfig{Lease: time.Minute})
			c := r.client(r.invite(protocol.Ticket{}), "a")
			dial := c.Dial
			d := &deaf{done: make(chan struct{})}
			c.Dial = func(ctx context.Context) (_ net.Conn, err error) {
				if d.Conn != nil {
					return nil, errors.New("only once")
				}
				d.Conn, err = dial(ctx)
				return d, err
			}
			session, ended := r.joined(c)
			synctest.Wait()
			d.now.Store(true)
			begun := time.Now()
			_, err := session.Do(t.Context(), command)
			if err == nil || err.Error() != "the worker has been silent for 1m0s" || time.Since(begun) > 3*time.Minute {
				t.Errorf("%s: %v after %v", command.Kind, err, time.Since(begun))
			}
			close(d.done)
			if err := <-ended; err == nil {
				t.Error("the worker ended without an error")
			}
		})
	}
}

// TestLargeCommand checks that a worker that takes no more of an answer, but lives, loses the
// request, and gets the command again.
func TestLargeCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		p := r.peer(identity(t))
		if code, text := p.join("a", r.invite(protocol.Ticket{}).Secret, nil); code != http.StatusOK {
			t.Fatalf("join: %d %s", code, text)
		}
		session, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		replied := make(chan error, 1)
		go func() {
			command := protocol.Command{Kind: protocol.KindPrepare, Edges: make([]protocol.Edge, 130_000)}
			_, err := session.Do(t.Context(), command)
			replied <- err
		}()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://leader/v1/next",
			strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.http.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n, err := io.Copy(io.Discard, answer.Body); err == nil {
			t.Errorf("the answer of %d bytes was still sent a minute later", n)
		}
		_ = answer.Body.Close()
		if code, text := p.next("{}"); code != http.StatusOK || len(text) < 1_000_000 {
			t.Errorf("the command again: %d, %d bytes", code, len(text))
		}
		go p.next(`{"seq":1,"reply":{}}`)
		if err := <-replied; err != nil {
			t.Error(err)
		}
	})
}

// TestHalfFrame checks that a worker that stops in the middle of a frame loses its connection.
func TestHalfFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		cert := identity(t)
		if code, text := r.peer(cert).join("a", r.invite(protocol.Ticket{}).Secret, nil); code != http.StatusOK {
			t.Fatalf("join: %d %s", code, text)
		}
		raw, err := r.dial(t.Context(), "10.0.0.2:1")
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, &tls.Config{
			Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, InsecureSkipVerify: true,
		})
		// GET / with indexed headers (RFC 7541, appendix A): the connection is then one of the
		// worker.
		_, _ = io.WriteString(c, preface+"\x00\x00\x03\x01\x05\x00\x00\x00\x01\x82\x84\x87")
		go drip(c, "\x00\x00\x64\x01\x04\x00\x00\x00\x03"+strings.Repeat("\x82", 100))
		begun := time.Now()
		_, _ = io.Copy(io.Discard, c)
		if took := time.Since(begun); took < 29*time.Second || took > 31*time.Second { // a ping, and no answer
			t.Errorf("the connection was closed after %v", took)
		}
		_ = c.Close()
		time.Sleep(2 * time.Second) // until drip has noticed
	})
}

// TestFlood checks that a leader that is flooded by strangers serves its workers, and lets new ones
// in, and how many connections it keeps.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{Workers: 2})
		secret := r.invite(protocol.Ticket{Workers: 2})
		session, ended := r.joined(r.client(secret, "a"))
		early, err := r.dial(t.Context(), "10.0.0.8:1") // one that needs a while for its first byte
		if err != nil {
			t.Fatal(err)
		}
		var open atomic.Int32
		flood := func(n int, from string) {
			for i := range n {
				c, err := r.dial(t.Context(), addr(fmt.Sprintf(from, i)))
				if err != nil {
					t.Error(err)
					return
				}
				open.Add(1)
				go func() {
					_, _ = io.Copy(io.Discard, c)
					open.Add(-1)
					_ = c.Close()
				}()
			}
			synctest.Wait()
		}
		flood(300, "10.0.0.66:%d")
		if n := open.Load(); n != 2*2+64-1 {
			t.Errorf("%d connections of strangers are open", n)
		}
		late := make(chan error, 1)
		go func() { late <- r.client(secret, "b").Work(t.Context(), answer) }()
		second, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		flood(300, "10.0.0.66:%d")
		for range 10 {
			for _, s := range []*protocol.Session{session, second} {
				if _, err := s.Do(t.Context(), protocol.Command{Kind: protocol.KindRun}); err != nil {
					t.Error(err)
				}
			}
		}
		hello := tls.Client(early, &tls.Config{
			InsecureSkipVerify: true, Certificates: []tls.Certificate{identity(t)},
			NextProtos: []string{"h2"},
		})
		if err := hello.HandshakeContext(t.Context()); err != nil {
			t.Errorf("a worker that had connected before the flood: %v", err)
		}
		_ = hello.Close()
		flood(200, "10.0.1.%d:1") // from many addresses: the oldest connections are displaced
		if n := open.Load(); n != 2*2+64 {
			t.Errorf("%d connections of strangers are open", n)
		}
		r.end(session, ended)
		r.end(second, late)
		time.Sleep(time.Minute)
		if n := open.Load(); n != 0 {
			t.Errorf("%d connections of strangers are open a minute later", n)
		}
	})
}

// TestManyRequests checks that a stranger can't ask as often as he likes, and that a worker can.
func TestManyRequests(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	p := r.peer(identity(t))
	for n := range 20 {
		code, text := p.join("a", fmt.Sprint("guess", n), nil)
		want := http.StatusUnauthorized
		if n >= 16 {
			want = http.StatusTooManyRequests
		}
		if code != want {
			t.Errorf("request %d: %d %s, want %d", n, code, text, want)
		}
	}
	p = r.peer(identity(t))
	secret := r.invite(protocol.Ticket{}).Secret
	for n := range 40 {
		if code, text := p.join("a", secret, nil); code != http.StatusOK {
			t.Fatalf("request %d of a worker: %d %s", n, code, text)
		}
	}
}

// TestManyConnections checks that a worker has four connections, and that more are those of
// strangers.
func TestManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		secret := r.invite(protocol.Ticket{}).Secret
		cert := identity(t)
		var open atomic.Int32
		for range 6 {
			p := r.peer(cert)
			tr, ok := p.http.Transport.(*http.Transport)
			if !ok {
				t.Fatal("no transport")
			}
			dial := tr.DialContext
			tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dial(ctx, network, addr)
				open.Add(1)
				return &counted{Conn: c, open: &open}, err
			}
			if code, text := p.join("a", secret, nil); code != http.StatusOK {
				t.Fatalf("join: %d %s", code, text)
			}
		}
		time.Sleep(5 * time.Minute)
		if n := open.Load(); n != 4 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// counted is a connection that counts down when it ends.
type counted struct {
	net.Conn
	open  *atomic.Int32
	ended atomic.Bool
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !c.ended.Swap(true) {
		c.open.Add(-1)
	}
	return n, err
}

// TestCloseWithStrangers checks that closing doesn't wait for strangers.
func TestCloseWithStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		for n := range 20 {
			c, err := r.dial(t.Context(), addr(fmt.Sprintf("10.0.0.66:%d", n)))
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if n%2 == 0 {
					_ = tls.Client(c, &tls.Config{
						InsecureSkipVerify: true, NextProtos: []string{"h2"},
						Certificates: []tls.Certificate{identity(t)},
					}).HandshakeContext(t.Context())
				}
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
		synctest.Wait()
		begun := time.Now()
		if err := r.server.Close(); err != nil || time.Since(begun) > 100*time.Millisecond {
			t.Errorf("Close: %v after %v", err, time.Since(begun))
		}
	})
}
