package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/bench"
)

// errNoFigures is the error of a peer that reports success without what it has measured.
var errNoFigures = errors.New("the peer reports success without its figures")

// overTCP measures over the connection of the exchange: pings, then writes in both directions, as
// an attempt does. The listener calls it when the client's message has arrived. The error ends the
// session; it is the result's failure.
func (e *end) overTCP(ctx context.Context) error {
	result := &TCPResult{
		Scale: ScaleTCP, Local: e.s.conn.LocalAddr().String(), Remote: e.s.conn.RemoteAddr().String(),
	}
	e.report.TCP = result
	err := e.measureTCP(ctx, result)
	if err != nil {
		result.Failure = tcpFailure(causeOf(ctx, ended(err)), result.Remote)
		result.Failure.End = e.cfg.Host
	}
	return err
}

// tcpFailure explains an error of the measurement.
func tcpFailure(err error, peer string) *Failure {
	f := exchangeFailure(err, peer)
	f.Stage, f.Operation, f.Object = StageData, "measure over TCP with", peer
	_, wrong := errors.AsType[*dataError](err)
	_, found := errors.AsType[*foundByPeerError](err)
	if wrong || found {
		f.Code = CodeData
	}
	return f
}

func (e *end) measureTCP(ctx context.Context, result *TCPResult) error {
	if err := e.s.send(Message{Kind: KindTCP}); err != nil {
		return err
	}
	prop := Proposal{Pings: e.cfg.Pings, Writes: e.cfg.Writes}
	if e.s.client {
		if _, err := e.s.await(ctx, e.cfg.StepTimeout, KindTCP); err != nil {
			return err
		}
	}
	e.cfg.Progress("measuring over TCP")
	t := &tcpFlow{
		ended: func() error { return context.Cause(ctx) },
		s:     e.s, buf: make([]byte, WriteSize), limit: e.cfg.StepTimeout, corrupt: e.cfg.plant.corruptTCP,
	}
	stop := context.AfterFunc(ctx, func() { _ = e.s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := t.agree(e.s.client, &prop)
	if err == nil {
		err = t.run(e.s.client, prop, result)
	}
	if err == nil {
		err = e.s.conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return err
	}
	e.s.resume <- struct{}{}
	return e.share(ctx, result)
}

// share exchanges the figures, so that both ends have all.
func (e *end) share(ctx context.Context, r *TCPResult) error {
	own := Status{Stage: StageData, Ping: r.Ping}
	for i := range r.Writes {
		if r.Writes[i].Direction == ToPeer {
			own.Write = &r.Writes[i]
		}
	}
	peer, f, err := e.s.barrier(ctx, e.cfg.StepTimeout, own, nil)
	switch {
	case err != nil:
		return err
	case f != nil:
		return f
	case peer.Write == nil, r.Ping == nil && peer.Ping == nil:
		return errNoFigures
	}
	if r.Ping == nil {
		r.Ping = peer.Ping
	}
	slices.SortStableFunc(r.Writes, func(a, b WriteResult) int { return -cmp.Compare(a.Direction, b.Direction) })
	for i := range r.Writes {
		if r.Writes[i].Direction == FromPeer {
			r.Writes[i].Gbps = peer.Write.Gbps
		}
	}
	return nil
}

// tcpFlow is the measurement over TCP at one end.
type tcpFlow struct {
	ended func() error // why the measurement must end; nil while it goes on
	s     *session
	buf   []byte // of WriteSize
	limit time.Duration

	corrupt func([]byte) // planted by tests
}

// read and write transfer a whole message within the limit.
func (t *tcpFlow) read(b []byte) error {
	if err := t.s.conn.SetReadDeadline(time.Now().Add(t.limit)); err != nil {
		return err
	}
	if err := t.ended(); err != nil { // else it ends the deadline that was just set
		return err
	}
	_, err := io.ReadFull(t.s.r, b)
	return err
}

func (t *tcpFlow) write(b []byte) error {
	if err := t.s.conn.SetWriteDeadline(time.Now().Add(t.limit)); err != nil {
		return err
	}
	if err := t.ended(); err != nil {
		return err
	}
	_, err := t.s.conn.Write(b)
	return err
}

// agree sends the client's numbers, which are those of the measurement.
func (t *tcpFlow) agree(client bool, p *Proposal) error {
	var m message
	if client {
		put(m[:], byte(p.Writes), uint64(p.Pings))
		m[9], m[10] = byte(p.Writes>>8), byte(p.Writes>>16)
		return t.write(m[:])
	}
	if err := t.read(m[:]); err != nil {
		return err
	}
	p.Pings = int(m[0]) | int(m[1])<<8 | int(m[2])<<16
	p.Writes = int(m[8]) | int(m[9])<<8 | int(m[10])<<16
	return p.check()
}

func (t *tcpFlow) run(client bool, p Proposal, out *TCPResult) error {
	var err error
	if out.Ping, err = t.pings(client, p.Pings); err != nil {
		return err
	}
	for _, writing := range []bool{client, !client} {
		w, err := t.writes(writing, client, p.Writes)
		if err != nil {
			return err
		}
		out.Writes = append(out.Writes, w)
	}
	return nil
}

// pings measures half of the round trip of messages of PingSize at the client; the listener echoes
// and gets the result from nobody.
func (t *tcpFlow) pings(client bool, n int) (*bench.LatencyPoint, error) {
	latencies := bench.NewLatencies()
	var m message
	for seq := range uint64(n) {
		if !client {
			if err := t.read(m[:]); err != nil {
				return nil, err
			}
			if err := m.check(sortPing, seq); err != nil {
				return nil, err
			}
			put(m[:], sortEcho, seq)
			if err := t.write(m[:]); err != nil {
				return nil, err
			}
			continue
		}
		put(m[:], sortPing, seq)
		began := time.Now()
		if err := t.write(m[:]); err != nil {
			return nil, err
		}
		if err := t.read(m[:]); err != nil {
			return nil, err
		}
		latencies.Add(time.Since(began))
		if err := m.check(sortEcho, seq); err != nil {
			return nil, err
		}
	}
	if !client {
		return nil, nil //nolint:nilnil // the client measures
	}
	const exchanges = 2
	p := latencies.Point(PingSize, exchanges)
	return &p, nil
}

// writes transfers messages of WriteSize in one direction. The receiver answers each when all of it
// has arrived, which ends its time, and then with what the comparison says.
func (t *tcpFlow) writes(writing, client bool, n int) (WriteResult, error) {
	w := WriteResult{Direction: FromPeer, Bytes: WriteSize}
	if writing {
		w.Direction = ToPeer
	}
	took := time.Duration(0)
	for round := range n {
		seed := seedOf(client == writing, round)
		if writing {
			fill(t.buf, seed)
			if t.corrupt != nil {
				t.corrupt(t.buf)
			}
			began := time.Now()
			if err := t.write(t.buf); err != nil {
				return w, err
			}
			if err := t.expect(sortWritten, round); err != nil {
				return w, err
			}
			took += time.Since(began)
			if err := t.expect(sortCorrect, round); err != nil {
				return w, err
			}
		} else if err := t.accept(seed, round); err != nil {
			return w, err
		}
		w.Count++
		w.Verified++
	}
	w.Gbps = gbps(w.Count, took)
	return w, nil
}

func (t *tcpFlow) expect(sort byte, round int) error {
	var m message
	if err := t.read(m[:]); err != nil {
		return err
	}
	err := m.check(sort, uint64(round))
	if err != nil && sort == sortCorrect && m.check(sortWrong, uint64(round)) == nil {
		err = &foundByPeerError{"the peer found wrong data"}
	}
	return err
}

// accept receives a message and compares it.
func (t *tcpFlow) accept(seed uint64, round int) error {
	if err := t.read(t.buf); err != nil {
		return fmt.Errorf("receive 8 MiB: %w", err)
	}
	var m message
	put(m[:], sortWritten, uint64(round))
	if err := t.write(m[:]); err != nil {
		return err
	}
	different := compare(t.buf, seed)
	answer := byte(sortCorrect)
	if different != nil {
		answer = sortWrong
	}
	put(m[:], answer, uint64(round))
	return cmp.Or(different, t.write(m[:]))
}
