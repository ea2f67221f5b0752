package worker

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// reduction is an all-reduce (sum of float32) at one node.
type reduction struct {
	w      *Worker
	spec   protocol.Collective
	buffer []float32
	waited time.Duration
}

// collective does an all-reduce over the edges of its round and checks the sum.
func (w *Worker) collective(ctx context.Context, spec protocol.Collective) protocol.PartOfCollect {
	part := protocol.PartOfCollect{Algorithm: spec.Algorithm, Rail: spec.Rail}
	began := w.now()
	r := &reduction{w: w, spec: spec}
	err := r.start()
	if err == nil {
		switch spec.Algorithm {
		case protocol.AlgorithmRing:
			err = r.ring(ctx)
		case protocol.AlgorithmTree:
			err = r.tree(ctx)
		default:
			err = fmt.Errorf("unknown algorithm %q", spec.Algorithm)
		}
	}
	if err == nil {
		err = r.check()
	}
	part.Seconds, part.Waited = w.now().Sub(began).Seconds(), r.waited.Seconds()
	if err != nil {
		part.Failure = failed(ctx, result.StepData, err)
	}
	return part
}

// floatSize is the number of bytes of a float32.
const floatSize = 4

// start fills the buffer with numbers that depend on rank and place.
func (r *reduction) start() error {
	s := &r.spec
	switch {
	case s.Nodes < 2 || s.Nodes > plan.MaxRanks || s.Rank < 0 || s.Rank >= s.Nodes:
		return fmt.Errorf("all-reduce of rank %d of %d", s.Rank, s.Nodes)
	case s.Bytes < floatSize || s.Bytes > maxBuffer/2: // a message of a tree, and room to receive one
		return fmt.Errorf("all-reduce of %d bytes: not %d to %d", s.Bytes, floatSize, maxBuffer/2)
	}
	r.buffer = make([]float32, s.Bytes/floatSize)
	for i := range r.buffer {
		r.buffer[i] = float32(s.Rank + place(i))
	}
	return nil
}

// place is the part of a number that depends on its place: it shows chunks that were exchanged.
func place(i int) int {
	const period = 7
	return i % period
}

// check compares the sums.
func (r *reduction) check() error {
	n := r.spec.Nodes
	ranks := n * (n - 1) / 2 //nolint:mnd // sum of 0 to n-1
	for i, got := range r.buffer {
		if want := float32(ranks + n*place(i)); got != want {
			return fmt.Errorf("all-reduce: the sum at %d is %g instead of %g", i, got, want)
		}
	}
	return nil
}

// edge returns an edge of the operation.
func (r *reduction) edge(id int) (*edge, error) {
	e := r.w.edges[id]
	if e == nil || !e.connected || e.spec.Role != protocol.RoleCollective {
		return nil, fmt.Errorf("edge %d is not connected", id)
	}
	return e, nil
}

// chunk returns the bounds of chunk i of a buffer that is divided between all nodes.
func (r *reduction) chunk(i int) (from, to int) {
	n := r.spec.Nodes
	i = ((i % n) + n) % n
	return len(r.buffer) * i / n, len(r.buffer) * (i + 1) / n
}

// ring passes chunks around: n-1 steps in which each node adds what it receives to its own, and n-1
// in which the sums go around.
func (r *reduction) ring(ctx context.Context) error {
	next, err := r.edge(r.spec.Next)
	if err != nil {
		return err
	}
	previous, err := r.edge(r.spec.Previous)
	if err != nil {
		return err
	}
	n := r.spec.Nodes
	for step := range 2 * (n - 1) {
		out, in := r.spec.Rank-step, r.spec.Rank-step-1
		if err := r.pass(ctx, next, previous, out, in, step < n-1); err != nil {
			return fmt.Errorf("step %d of %d: %w", step+1, 2*(n-1), err)
		}
	}
	return nil
}

// pass sends a chunk to the next node and receives one from the previous at the same time.
func (r *reduction) pass(ctx context.Context, next, previous *edge, out, in int, add bool) error {
	from, to := r.chunk(out)
	var sendErr error
	var wg sync.WaitGroup
	wg.Go(func() { sendErr = next.sendFloats(ctx, r.buffer[from:to]) })
	inFrom, inTo := r.chunk(in)
	err := r.take(ctx, previous, r.buffer[inFrom:inTo], add)
	wg.Wait()
	if sendErr != nil {
		return sendErr
	}
	return err
}

// tree sums up from the leaves to the root, and passes the result down.
func (r *reduction) tree(ctx context.Context) error {
	children := make([]*edge, len(r.spec.Children))
	for i, id := range r.spec.Children {
		e, err := r.edge(id)
		if err != nil {
			return err
		}
		children[i] = e
	}
	for _, child := range children {
		if err := r.take(ctx, child, r.buffer, true); err != nil {
			return err
		}
	}
	if r.spec.Parent >= 0 {
		parent, err := r.edge(r.spec.Parent)
		if err != nil {
			return err
		}
		if err := parent.sendFloats(ctx, r.buffer); err != nil {
			return err
		}
		if err := r.take(ctx, parent, r.buffer, false); err != nil {
			return err
		}
	}
	for _, child := range children {
		if err := child.sendFloats(ctx, r.buffer); err != nil {
			return err
		}
	}
	return nil
}

// take receives numbers and adds or copies them to a part of the buffer.
func (r *reduction) take(ctx context.Context, e *edge, to []float32, add bool) error {
	began := r.w.now()
	b, request, err := e.receive(ctx)
	r.waited += r.w.now().Sub(began)
	if err != nil {
		return err
	}
	if len(b) != len(to)*floatSize {
		return fmt.Errorf("%d bytes arrived instead of %d", len(b), len(to)*floatSize)
	}
	for i := range to {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[i*floatSize:]))
		if add {
			v += to[i]
		}
		to[i] = v
	}
	return e.postReceive(request)
}

// sendFloats sends numbers and waits until they are acknowledged.
func (e *edge) sendFloats(ctx context.Context, list []float32) error {
	slot, _ := e.layout()
	if len(list)*floatSize > slot {
		return fmt.Errorf("%d bytes don't fit into a message of %d", len(list)*floatSize, slot)
	}
	for i, v := range list {
		binary.LittleEndian.PutUint32(e.memory[i*floatSize:], math.Float32bits(v))
	}
	return e.send(ctx, len(list)*floatSize)
}
