package connect

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/bench"
)

// message is a message of PingSize bytes: its sequence number, its type, a number, and bytes that
// depend on the sequence number.
type message [PingSize]byte

// The types of messages.
const (
	sortPing    = 'p' // the client's
	sortEcho    = 'e' // the listener's answer
	sortWritten = 'w' // a write is complete: compare
	sortCorrect = 'c' // the data is correct
	sortWrong   = 'x' // it differs
)

const fillerAt = 16

// put writes a message.
func put(b []byte, sort byte, seq uint64) {
	binary.LittleEndian.PutUint64(b, seq)
	b[8] = sort
	for i := fillerAt; i < PingSize; i++ {
		b[i] = byte(seq) + byte(i)*7
	}
}

// check returns an error unless m is the message that put writes.
func (m *message) check(sort byte, seq uint64) error {
	var want message
	put(want[:], sort, seq)
	for i := range m {
		if m[i] != want[i] {
			return &dataError{fmt.Sprintf("message %d of %d bytes: byte %d is %#02x instead of %#02x",
				seq, PingSize, i, m[i], want[i])}
		}
	}
	return nil
}

// dataError is data that arrived wrong although the device reported success.
type dataError struct{ text string }

func (e *dataError) Error() string { return e.text }

// foundByPeerError is the error of an end whose peer reports the failure with its next status.
type foundByPeerError struct{ what string }

func (e *foundByPeerError) Error() string { return e.what }

// fill fills b, a multiple of 8 bytes, with numbers that depend on seed (a linear congruential
// generator with Knuth's constants).
func fill(b []byte, seed uint64) {
	x := start(seed)
	for ; len(b) >= 8; b = b[8:] {
		x = advance(x)
		binary.LittleEndian.PutUint64(b, x)
	}
}

func start(seed uint64) uint64 { return seed*0x9e3779b97f4a7c15 + 1 }
func advance(x uint64) uint64  { return x*6364136223846793005 + 1442695040888963407 }
func seedOf(client bool, round int) uint64 {
	seed := uint64(round)*2 + 1
	if client {
		seed++
	}
	return seed
}

// compare returns an error that names the first difference from what fill writes.
func compare(b []byte, seed uint64) error {
	x := start(seed)
	for at := 0; at < len(b); at += 8 {
		x = advance(x)
		if got := binary.LittleEndian.Uint64(b[at:]); got != x {
			const text = "the data of an 8 MiB write differs from byte %d on: %#016x instead of %#016x"
			return &dataError{fmt.Sprintf(text, at, got, x)}
		}
	}
	return nil
}

// flow is the transfer of one attempt at one end.
type flow struct {
	*rig
	client bool
	peer   *Endpoint
	cfg    Config
	prop   Proposal

	pinged   *bench.LatencyPoint // the client's
	written  *WriteResult        // of this end's writes
	writing  bool                // the operation that failed was a write
	arrived  int                 // writes of the peer
	verified int                 // those whose data is correct
}

// ping sends a message and waits for its echo.
func (f *flow) ping(ctx context.Context, seq uint64) error {
	put(f.memory[sendAt:receiveAt], sortPing, seq)
	if err := f.send(ctx); err != nil {
		return err
	}
	var m message
	if err := f.receive(ctx, &m); err != nil {
		return err
	}
	return m.check(sortEcho, seq)
}

// echo answers a ping.
func (f *flow) echo(ctx context.Context, seq uint64) error {
	var m message
	if err := f.receive(ctx, &m); err != nil {
		return err
	}
	if err := m.check(sortPing, seq); err != nil {
		return err
	}
	if f.cfg.plant.mute {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	put(f.memory[sendAt:receiveAt], sortEcho, seq)
	return f.send(ctx)
}

// first exchanges one message in each direction.
func (f *flow) first(ctx context.Context) error {
	if f.client {
		return f.ping(ctx, 0)
	}
	return f.echo(ctx, 0)
}

// data exchanges pings and then writes, first those of the client.
func (f *flow) data(ctx context.Context) error {
	if err := f.pings(ctx); err != nil {
		return err
	}
	if f.client {
		if err := f.writes(ctx); err != nil {
			return err
		}
		return f.verify(ctx)
	}
	if err := f.verify(ctx); err != nil {
		return err
	}
	return f.writes(ctx)
}

func (f *flow) pings(ctx context.Context) error {
	latencies := bench.NewLatencies()
	for seq := uint64(1); seq <= uint64(f.prop.Pings); seq++ {
		if !f.client {
			if err := f.echo(ctx, seq); err != nil {
				return err
			}
			continue
		}
		began := time.Now()
		if err := f.ping(ctx, seq); err != nil {
			return err
		}
		latencies.Add(time.Since(began))
	}
	if f.client {
		const exchanges = 2 // in a round trip
		p := latencies.Point(PingSize, exchanges)
		f.pinged = &p
	}
	return nil
}

// writes sends WRITEs to the peer and asks it to compare them.
func (f *flow) writes(ctx context.Context) error {
	result := &WriteResult{Direction: ToPeer, Bytes: WriteSize}
	took := time.Duration(0)
	for round := range f.prop.Writes {
		fill(f.memory[sourceAt:sourceAt+WriteSize], seedOf(f.client, round))
		if f.cfg.plant.corrupt != nil {
			f.cfg.plant.corrupt(f.memory[sourceAt : sourceAt+WriteSize])
		}
		began := time.Now()
		f.writing = true
		if err := f.write(ctx, f.peer); err != nil {
			return err
		}
		f.writing = false
		took += time.Since(began)
		put(f.memory[sendAt:receiveAt], sortWritten, uint64(round))
		if err := f.send(ctx); err != nil {
			return err
		}
		var m message
		if err := f.receive(ctx, &m); err != nil {
			return err
		}
		if err := m.check(sortCorrect, uint64(round)); err != nil {
			if m.check(sortWrong, uint64(round)) == nil {
				err = &foundByPeerError{"the peer found wrong data"}
			}
			return err
		}
		result.Count++
		result.Verified++
	}
	result.Gbps = gbps(result.Count, took)
	f.written = result
	return nil
}

// gbps returns the rate of n writes in 10^9 bits per second.
func gbps(n int, took time.Duration) float64 {
	if took <= 0 {
		return 0
	}
	const bits = 8
	return float64(n) * WriteSize * bits / 1e9 / took.Seconds()
}

// verify compares what the peer writes.
func (f *flow) verify(ctx context.Context) error {
	for round := range f.prop.Writes {
		var m message
		if err := f.receive(ctx, &m); err != nil {
			return err
		}
		if err := m.check(sortWritten, uint64(round)); err != nil {
			return err
		}
		f.arrived++
		different := compare(f.memory[targetAt:targetAt+WriteSize], seedOf(!f.client, round))
		answer := byte(sortCorrect)
		if different != nil {
			answer = sortWrong
		}
		put(f.memory[sendAt:receiveAt], answer, uint64(round))
		if err := f.send(ctx); err != nil {
			return err
		}
		if different != nil {
			return different
		}
		f.verified++
	}
	return nil
}
