package protocol_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestNoLeader checks that a worker ends at once, with an error that says what is wrong, when
// something else than its leader answers.
func TestNoLeader(t *testing.T) {
	cert := identity(t)
	speak := func(config *tls.Config) func(net.Conn) {
		config.Certificates = []tls.Certificate{cert}
		return func(c net.Conn) { _ = tls.Server(c, config).HandshakeContext(t.Context()) }
	}
	own := sha256.Sum256(cert.Certificate[0])
	for _, q := range []struct {
		name  string
		hash  [32]byte // that the worker expects
		serve func(net.Conn)
		want  string
	}{
		{
			"TLS 1.2", own, speak(&tls.Config{MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}),
			"no leader answers at memory:1: remote error: tls: protocol version not supported",
		},
		{
			"HTTP/1.1", own, speak(&tls.Config{NextProtos: []string{"http/1.1"}}),
			"no leader answers at memory:1: remote error: tls: no application protocol",
		},
		{
			"TLS without a protocol", own, speak(&tls.Config{}),
			`no leader answers at memory:1: the peer speaks "" and not HTTP/2`,
		},
		{
			"no TLS", own, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_10.0\r\n") },
			"no leader answers at memory:1: tls: first record does not look like a TLS handshake",
		},
		{
			"another leader",
			[32]byte{1},
			speak(&tls.Config{NextProtos: []string{"h2"}}),
			"the certificate of memory:1 is not that of the leader who sent the invitation: " +
				"it has ended, or somebody else answers there",
		},
	} {
		t.Run(q.name, func(t *testing.T) {
			dials := 0
			served := make(chan struct{}, 1)
			c := protocol.Client{
				Invitation: protocol.Invitation{Addr: "memory:1", Hash: q.hash}, Name: "a",
				Waiting: func(err error, _ time.Duration) { t.Errorf("waits in spite of %v", err) },
				Dial: func(context.Context) (net.Conn, error) {
					dials++
					near, far := pair()
					go func() {
						q.serve(far)
						_, _ = io.Copy(io.Discard, far)
						_ = far.Close()
						served <- struct{}{}
					}()
					return near, nil
				},
			}
			err := c.Work(t.Context(), nil)
			if err == nil || err.Error() != "join the leader: "+q.want || dials != 1 {
				t.Errorf("%v after %d dials, want %s", err, dials, q.want)
			}
			_, other := errors.AsType[*protocol.WrongLeaderError](err)
			_, none := errors.AsType[*protocol.TLSError](err)
			if other != (q.name == "another leader") || none == other {
				t.Errorf("error of another type: %#v", err)
			}
			<-served
		})
	}
}

// waits collects calls of Client.Waiting.
type waits []string

func (w *waits) add(err error, since time.Duration) {
	*w = append(*w, fmt.Sprintf("%v: %v", since.Round(time.Second), err))
}

// TestUnreachable checks that a worker tries again for the time of its patience, and says so.
func TestUnreachable(t *testing.T) {
	down := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, q := range []struct {
		name string
		dial func(context.Context) (net.Conn, error)
		want waits
		err  string
	}{
		{
			"refused", func(context.Context) (net.Conn, error) { return nil, down },
			waits{
				"3s: dial tcp: connection refused", "13s: dial tcp: connection refused",
				"23s: dial tcp: connection refused",
			},
			"the leader at memory:1 can't be reached for 31s: dial tcp: connection refused",
		},
		{
			"no answer", func(context.Context) (net.Conn, error) {
				time.Sleep(3 * time.Second)
				return nil, syscall.ETIMEDOUT
			},
			waits{"3s: connection timed out", "13s: connection timed out", "28s: connection timed out"},
			"the leader at memory:1 can't be reached for 33s: connection timed out",
		},
		{
			"silent", func(context.Context) (net.Conn, error) {
				near, far := pair()
				go func() {
					_, _ = io.Copy(io.Discard, far)
					_ = far.Close()
				}()
				return near, nil
			},
			waits{"10s: no TLS handshake within 10s", "20s: no TLS handshake within 10s"},
			"the leader at memory:1 can't be reached for 31s: no TLS handshake within 10s",
		},
		{
			"hangs up", func(context.Context) (net.Conn, error) {
				near, far := pair()
				go func() {
					_, _ = far.Read(make([]byte, 1))
					_ = far.Close()
				}()
				return near, nil
			},
			waits{"3s: EOF", "13s: EOF", "23s: EOF"},
			"the leader at memory:1 can't be reached for 31s: EOF",
		},
	} {
		t.Run(q.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got waits
				c := protocol.Client{
					Invitation: protocol.Invitation{Addr: "memory:1", Hash: [32]byte{1}}, Name: "a", Dial: q.dial,
					Waiting: got.add,
				}
				err := c.Work(t.Context(), nil)
				if _, ok := errors.AsType[*protocol.UnreachableError](err); !ok ||
					err.Error() != "join the leader: "+q.err {
					t.Errorf("%v, want %s", err, q.err)
				}
				if diff := cmp.Diff(q.want, got); diff != "" {
					t.Errorf("waits differ (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestReconnect checks that a worker that has lost its connection connects again with its
// certificate, and that its patience begins with the loss.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		c := r.client(r.invite(protocol.Ticket{}), "a")
		var got waits
		c.Waiting, c.Patience = got.add, 10*time.Second
		var last net.Conn
		dial, down := c.Dial, time.Time{}
		c.Dial = func(ctx context.Context) (_ net.Conn, err error) {
			if time.Now().Before(down) {
				return nil, syscall.ECONNREFUSED
			}
			last, err = dial(ctx)
			return last, err
		}
		session, ended := r.joined(c)
		for _, outage := range []time.Duration{0, 9 * time.Second} {
			time.Sleep(time.Minute)
			down = time.Now().Add(outage)
			_ = last.Close()
			if _, err := session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun}); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(waits{"3s: connection refused"}, got); diff != "" {
			t.Errorf("waits differ (-want +got):\n%s", diff)
		}
		r.end(session, ended)
	})
}

// TestInterrupted checks that a worker that waits ends with its context.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("interrupt")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		c := protocol.Client{
			Invitation: protocol.Invitation{Hash: [32]byte{1}}, Name: "a",
			Dial: func(context.Context) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
		}
		begun := time.Now()
		if err := c.Work(ctx, nil); !errors.Is(err, why) || time.Since(begun) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		c.Name = ""
		if err := c.Work(t.Context(), nil); err == nil || !strings.HasSuffix(err.Error(), "this node has no name") {
			t.Errorf("a worker without a name: %v", err)
		}
	})
}

// TestLargeReply checks that a reply that is too large ends the worker, and isn't sent again and
// again.
func TestLargeReply(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	c := r.client(r.invite(protocol.Ticket{}), "a")
	ended := make(chan error, 1)
	go func() {
		ended <- c.Work(t.Context(), func(context.Context, protocol.Command) protocol.Reply {
			return protocol.Reply{Error: strings.Repeat("x", protocol.MaxMessage)}
		})
	}()
	session, err := r.server.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun}) }()
	err = <-ended
	large, ok := errors.AsType[*protocol.ReplyError](err)
	if !ok || large.Bytes <= protocol.MaxMessage || strings.Contains(err.Error(), "refuse") ||
		!strings.HasSuffix(err.Error(), " bytes, and 16777216 are possible") {
		t.Errorf("the worker ended with %v", err)
	}
}
