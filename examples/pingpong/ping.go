package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// IDs of the requests, which identify the completions.
const (
	idSend    = 0
	idReceive = 1
)

// server serves one client. The listener is closed when ctx ends.
func server(ctx context.Context, o options, l net.Listener, out *printer) (err error) {
	e, err := open(ctx, o.server, o.wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	out.printf("server  %s, qp %v, path MTU at most %d\n", e.device.Name(), e.qp.QPN(), e.hello.MTU)
	if o.listen != "" {
		out.printf("waiting for a client at %v\n", l.Addr())
	}
	conn, err := l.Accept()
	if err != nil {
		return cause(ctx, err)
	}
	return e.session(ctx, conn, func(ctx context.Context, theirs hello) error {
		return e.answer(ctx, theirs.Rounds, theirs.Size)
	})
}

// client sends messages, measures the round trips and prints the report.
func client(ctx context.Context, o options, address string, out *printer) (err error) {
	e, err := open(ctx, o.client, o.wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	out.printf("client  %s, qp %v, path MTU at most %d\n", e.device.Name(), e.qp.QPN(), e.hello.MTU)
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return cause(ctx, err)
	}
	e.hello.Rounds, e.hello.Size = o.rounds, o.size
	var took []time.Duration
	err = e.session(ctx, conn, func(ctx context.Context, _ hello) error {
		took, err = e.ping(ctx, o.rounds, o.size)
		return err
	})
	if err != nil {
		return err
	}
	report(out, took, o.size)
	return nil
}

// session connects the queue pair with that of the peer behind conn, runs talk, and waits until
// both ends are done: if one end closed its queue pair too early, the other one would wait in vain
// for an acknowledgement.
func (e *end) session(ctx context.Context, conn net.Conn, talk func(context.Context, hello) error) error {
	defer func() { _ = conn.Close() }()
	c := newControl(ctx, conn)
	theirs, err := exchange(ctx, c, e.hello)
	if err != nil {
		return err
	}
	work := theirs
	if e.hello.Rounds > 0 {
		work = e.hello // we are the client
	}
	if err := checkWork(work.Rounds, work.Size); err != nil {
		return fmt.Errorf("the client requests %w", err)
	}
	if err := e.register(work.Size); err != nil {
		return err
	}
	if err := e.connect(theirs); err != nil {
		return err
	}
	if err := e.receive(work.Size); err != nil { // before the peer can send
		return err
	}
	if err := step(ctx, c, "ready"); err != nil {
		return err
	}
	ctx, stop := watch(ctx, c)
	err = talk(ctx, theirs)
	return errors.Join(err, stop(err == nil))
}

// watch ends the context when the peer closes the TCP connection: an idle queue pair doesn't notice
// that its peer is gone. stop notifies the peer that this end is done and waits until the peer is.
func watch(ctx context.Context, c *control) (_ context.Context, stop func(good bool) error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var heard error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		line, err := c.r.ReadSlice('\n')
		if err == nil && string(line) != "done\n" {
			err = fmt.Errorf("got %q instead of done", line)
		}
		if err != nil {
			heard = fmt.Errorf("%w: %w", errHungUp, err)
			cancel(heard)
		}
	}()
	return ctx, func(good bool) error {
		defer cancel(nil)
		if !good { // the session has already failed
			_ = c.conn.Close()
			<-ended
			return nil
		}
		if _, err := io.WriteString(c.conn, "done\n"); err != nil {
			return cause(ctx, fmt.Errorf("%w: %w", errHungUp, err))
		}
		<-ended
		return cause(ctx, heard)
	}
}

// receive posts a receive request for the next message.
func (e *end) receive(size int) error {
	_, err := e.qp.PostReceive(verbs.ReceiveRequest{ID: idReceive, Segments: []verbs.Segment{e.mr.Segment(size, size)}})
	return err
}

// send posts a SEND of the message in the buffer.
func (e *end) send(size int) error {
	_, err := e.qp.PostSend(verbs.SendRequest{
		ID: idSend, Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Segments: []verbs.Segment{e.mr.Segment(0, size)},
	})
	return err
}

// ping sends messages and receives the responses. It returns the round-trip times.
func (e *end) ping(ctx context.Context, rounds, size int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, rounds)
	out, in := e.mr.Bytes()[:size], e.mr.Bytes()[size:]
	for round := range rounds {
		fill(out, round)
		start := time.Now()
		if err := e.send(size); err != nil {
			return nil, err
		}
		if err := e.await(ctx, size, idSend, idReceive); err != nil {
			return nil, fmt.Errorf("ping %d: %w", round, err)
		}
		took = append(took, time.Since(start))
		if err := check(in, round, pong); err != nil {
			return nil, fmt.Errorf("response to ping %d: %w", round, err)
		}
		if err := e.receive(size); err != nil { // for the next response; the last one is unused
			return nil, err
		}
	}
	return took, nil
}

// answer receives messages and sends the responses.
func (e *end) answer(ctx context.Context, rounds, size int) error {
	out, in := e.mr.Bytes()[:size], e.mr.Bytes()[size:]
	for round := range rounds {
		if err := e.await(ctx, size, idReceive); err != nil {
			return fmt.Errorf("ping %d: %w", round, err)
		}
		if err := check(in, round, ping); err != nil {
			return fmt.Errorf("ping %d: %w", round, err)
		}
		for i, b := range in {
			out[i] = b ^ pong
		}
		if err := e.receive(size); err != nil { // before the response, since the next ping follows it
			return err
		}
		if err := e.send(size); err != nil {
			return err
		}
		if err := e.await(ctx, size, idSend); err != nil {
			return fmt.Errorf("response to ping %d: %w", round, err)
		}
	}
	return nil
}
