package worker

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs"
)

// maxSteps is the largest number of round trips of a run, so that a reply has a limit.
const maxSteps = 10_000

// last is the number of the message that ends the answers.
const last = ^uint64(0)

// Bursts is the number of groups of round trips of a measurement, spread over its time: a host that
// stands still for a twentieth of it can't escape them, and within a group nothing sleeps.
const Bursts = 20

// oneBurst is the number of round trips up to which they follow each other at once: they show how
// long one takes, not how steady it is.
const oneBurst = 2 * Bursts

// ask sends messages one after the other and waits for their answers, in bursts, until the time or
// the number of steps is reached.
func (e *edge) ask(ctx context.Context, length time.Duration, r *protocol.EdgeReply) error {
	begin := e.w.now()
	end := begin.Add(length)
	limit := e.spec.Steps
	if limit == 0 || limit > maxSteps {
		limit = maxSteps
	}
	burst := max(1, limit/Bursts)
	if limit <= oneBurst {
		burst = limit
	}
	var err error
	for seq := uint64(0); err == nil && len(r.Steps) < limit && (seq == 0 || e.w.now().Before(end)); seq++ {
		began := e.w.now()
		if err = e.exchange(ctx, seq); err == nil {
			const ways = 2
			r.Steps = append(r.Steps, float32(e.w.now().Sub(began).Seconds()*1e6/ways))
		}
		if n := len(r.Steps); err == nil && n < limit && n%burst == 0 {
			next := begin.Add(length * time.Duration(n) / time.Duration(limit))
			err = clock.Sleep(ctx, e.w.cfg.Clock, next.Sub(e.w.now()))
		}
	}
	r.Latency = result.Distribution(r.Steps)
	if err != nil {
		return err
	}
	return e.sendMessage(ctx, last)
}

// exchange sends message seq and waits for its answer.
func (e *edge) exchange(ctx context.Context, seq uint64) error {
	if err := e.sendMessage(ctx, seq); err != nil {
		return err
	}
	got, err := e.receiveMessage(ctx)
	if err == nil && got != seq {
		err = fmt.Errorf("the answer to message %d has the number %d", seq, got)
	}
	return err
}

// answer returns messages to their sender until the last.
func (e *edge) answer(ctx context.Context) error {
	for {
		seq, err := e.receiveMessage(ctx)
		if err != nil || seq == last {
			return err
		}
		if err := e.sendMessage(ctx, seq); err != nil {
			return err
		}
	}
}

// sendMessage sends a message with a number and waits until it is acknowledged.
func (e *edge) sendMessage(ctx context.Context, seq uint64) error {
	binary.LittleEndian.PutUint64(e.memory, seq)
	return e.send(ctx, pingSize)
}

// receiveMessage waits for a message, posts its request again, and returns the message's number.
func (e *edge) receiveMessage(ctx context.Context) (uint64, error) {
	b, i, err := e.receive(ctx)
	if err != nil {
		return 0, err
	}
	if len(b) != pingSize {
		return 0, fmt.Errorf("a message of %d bytes arrived instead of %d", len(b), pingSize)
	}
	seq := binary.LittleEndian.Uint64(b)
	return seq, e.postReceive(i)
}

// send sends the first n bytes of the memory and waits until they are acknowledged.
func (e *edge) send(ctx context.Context, n int) error {
	if _, err := e.qps[0].PostSend(verbs.SendRequest{
		Op: verbs.SendOpSend, Flags: verbs.SendSignaled, Segments: []verbs.Segment{e.mr.Segment(0, n)},
	}); err != nil {
		return err
	}
	_, err := e.complete(ctx, e.sends, e.sent[:])
	return err
}

// receive waits for a message and returns its data, in the edge's memory, and the number of its
// receive request. The data is valid until that is posted again.
func (e *edge) receive(ctx context.Context) (data []byte, request int, err error) {
	wc, err := e.complete(ctx, e.recvs, e.received[:])
	if err != nil {
		return nil, 0, err
	}
	slot, _ := e.layout()
	i, n := int(wc.ID), int(wc.Bytes)
	if n > slot || i >= e.receives() {
		return nil, 0, fmt.Errorf("a message of %d bytes arrived instead of %d", n, slot)
	}
	return e.memory[(1+i)*slot : (1+i)*slot+n], i, nil
}

// complete waits for one completion, with room for one.
func (e *edge) complete(
	ctx context.Context, cq *verbs.CompletionQueue, room []verbs.WorkCompletion,
) (*verbs.WorkCompletion, error) {
	if _, err := cq.Wait(ctx, room[:1]); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return &room[0], room[0].Err()
}
