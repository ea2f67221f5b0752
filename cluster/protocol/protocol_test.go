package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestWork passes commands to two workers over TCP and takes their replies.
func TestWork(t *testing.T) {
	s, err := protocol.NewServer(protocol.ServerConfig{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	i, err := s.Invite(l.Addr().String(), protocol.Ticket{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if i, err = protocol.ParseInvitation(i.String()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	names := make(chan string, 2)
	for n, name := range []string{"a", "b"} {
		c := protocol.Client{Invitation: i, Name: name, Tasks: n, Joined: func(name string) { names <- name }}
		go func() { ended <- c.Work(t.Context(), answer) }()
	}
	tasks := map[string]int{}
	for range 2 {
		session, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tasks[session.Name()] += session.Tasks()
		if session.Host() != "" || !strings.HasPrefix(session.Remote(), "127.0.0.1:") || session.Err() != nil {
			t.Errorf("session of host %q at %s: %v", session.Host(), session.Remote(), session.Err())
		}
		var got []string
		for _, k := range []protocol.Kind{protocol.KindPrepare, protocol.KindSurvey, protocol.KindEnd} {
			r, err := session.Do(t.Context(), protocol.Command{Kind: k})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.Name)
		}
		if diff := cmp.Diff([]string{"prepare", session.Name(), "end"}, got); diff != "" {
			t.Errorf("replies differ (-want +got):\n%s", diff)
		}
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
		delete(tasks, <-names)
	}
	if len(tasks) != 0 {
		t.Errorf("workers that don't know that they have joined: %v", tasks)
	}
	if err := errors.Join(s.Close(), s.Close(), <-served); err != nil {
		t.Error(err)
	}
	var dialer net.Dialer
	if c, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the port is open after Close")
	}
	if err := s.Serve(newNetwork()); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve after Close: %v", err)
	}
}

// TestLease checks that a worker that vanishes while it works is noticed by its connection.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{Lease: time.Minute})
		var last net.Conn
		c := r.client(r.invite(protocol.Ticket{}), "a")
		dial := c.Dial
		c.Dial = func(ctx context.Context) (conn net.Conn, err error) {
			if last != nil {
				return nil, errors.New("the host is down")
			}
			last, err = dial(ctx)
			return last, err
		}
		ended := make(chan error, 1)
		begun := time.Now()
		go func() {
			ended <- c.Work(t.Context(), func(context.Context, protocol.Command) protocol.Reply {
				time.Sleep(10*time.Minute + time.Second) // longer than the lease: the connection is there
				_ = last.Close()
				return protocol.Reply{}
			})
		}()
		session, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
		if took := time.Since(begun); err == nil || err.Error() != "the worker has been silent for 1m0s" ||
			took < 11*time.Minute+time.Second || took > 11*time.Minute+15*time.Second {
			t.Errorf("a worker that vanished while it worked: %v after %v", err, took)
		}
		if _, ok := errors.AsType[*protocol.UnreachableError](<-ended); !ok {
			t.Errorf("the worker ended with %v", err)
		}
	})
}

// TestCommandLimit checks that a command ends with the leader's limit, and that the worker does the
// next one although the reply to the first is late.
func TestCommandLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		c := r.client(r.invite(protocol.Ticket{}), "a")
		ended := make(chan error, 1)
		go func() {
			ended <- c.Work(t.Context(), func(_ context.Context, c protocol.Command) protocol.Reply {
				if c.Kind == protocol.KindRun {
					time.Sleep(time.Minute)
				}
				return protocol.Reply{Name: string(c.Kind)}
			})
		}()
		session, err := r.server.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		limited, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("no answer to run"))
		defer cancel()
		_, err = session.Do(limited, protocol.Command{Kind: protocol.KindRun})
		if err == nil || err.Error() != "no answer to run" {
			t.Errorf("a worker that is late: %v", err)
		}
		reply, err := session.Do(t.Context(), protocol.Command{Kind: protocol.KindConnect})
		if err != nil || reply.Name != "connect" {
			t.Errorf("reply of %q, %v", reply.Name, err)
		}
		r.end(session, ended)
		if _, err := session.Do(t.Context(), protocol.Command{}); err == nil || err.Error() != "the worker has ended" {
			t.Errorf("a worker that has ended: %v", err)
		}
	})
}

// TestLeaderGone checks that a worker ends when the leader has.
func TestLeaderGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		_, ended := r.joined(r.client(r.invite(protocol.Ticket{}), "a"))
		synctest.Wait() // until it asks for work
		if err := r.server.Close(); err != nil {
			t.Error(err)
		}
		const want = "ends this worker: the verification has ended"
		if err := <-ended; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("the worker ended with %v", err)
		}
		if _, err := r.server.Next(t.Context()); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Next after Close: %v", err)
		}
	})
}

// TestLeaves checks that a worker that is ended says so, and that its place is free then.
func TestLeaves(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{Workers: 1})
	i := r.invite(protocol.Ticket{})
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.client(i, "a").Work(ctx, answer) }()
	session, err := r.server.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("interrupt")
	cancel(why)
	_, err = session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
	if err == nil || err.Error() != "the worker has left: interrupt" || !errors.Is(session.Err(), err) {
		t.Errorf("a worker that has left: %v, %v", err, session.Err())
	}
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("the worker ended with %v", err)
	}
	r.end(r.joined(r.client(i, "a")))
}

// TestNext checks that Next ends with its context, and doesn't return workers that have gone.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, protocol.ServerConfig{})
		for n := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.client(r.invite(protocol.Ticket{}), fmt.Sprint(n)).Work(ctx, answer) }()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the worker ended with %v", err)
			}
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("late"))
		defer cancel()
		if s, err := r.server.Next(ctx); err == nil || err.Error() != "late" {
			t.Errorf("Next = %v, %v", s, err)
		}
	})
}

// TestLostAnswer checks that a worker that asks again gets the same command again, and that a reply
// to another command is not taken for its.
func TestLostAnswer(t *testing.T) {
	r := newRig(t, protocol.ServerConfig{})
	p := r.peer(identity(t))
	if code, text := p.join("w", r.invite(protocol.Ticket{}).Secret, nil); code != http.StatusOK {
		t.Fatal(text)
	}
	replies := make(chan string, 1)
	go func() {
		session, err := r.server.Next(t.Context())
		if err != nil {
			return
		}
		reply, _ := session.Do(t.Context(), protocol.Command{Kind: protocol.KindRun})
		replies <- reply.Name
	}()
	const want = `{"seq":1,"command":{"kind":"run","limit":0}}`
	for _, body := range []string{
		`{}`, // the answer is lost
		`{}`,
		`{"seq":7,"reply":{"name":"stale"}}`,
	} {
		if _, got := p.next(body); got != want {
			t.Errorf("answer to %s = %s, want %s", body, got, want)
		}
	}
	go p.next(`{"seq":1,"reply":{"name":"right"}}`)
	if got := <-replies; got != "right" {
		t.Errorf("the reply is that of %q", got)
	}
}
