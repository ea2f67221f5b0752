package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// fault is what goes wrong with an answer.
type fault uint32

const (
	faultNone   fault = iota
	faultLose         // a segment is lost once
	faultRepeat       // a segment comes twice
	faultSwap         // a segment comes after the next one
	faultAbort        // an ABORT comes instead of a segment
	faultStop         // a STOP comes instead of a segment
	faultSilent       // nothing comes from a segment on
	faultSlow         // the segments after the first take longer than a try
)

// The segments of the faults.
const (
	faultSegment = 40
	slowSegment  = 2
)

// slowness is how long a slow SA takes: longer than a try, which takes 1 s.
const slowness = 1500 * time.Millisecond

// server is an SA at QP 1 of a RoCE address.
type server struct {
	*link
	sa    *subnet.Transport
	to    fabric.Address            // of the simulated subnet manager
	peers map[uint64]netip.AddrPort // by transaction ID
	done  map[uint64]bool           // transactions whose fault has happened
	held  []byte                    // a segment to send after the next one
	slow  map[uint64]time.Time      // of slow transactions: when they go on
	later []delayed
}

// delayed is a message to send later.
type delayed struct {
	at      time.Time
	to      netip.AddrPort
	message []byte
}

func serve(ctx context.Context, address string) error {
	l, err := openLink(address)
	if err != nil {
		return err
	}
	defer l.conn.Close() //nolint:errcheck // nothing is left to send
	s := subnet.FatTree(1, 2, 1)
	s.MasterLID = s.Node("host0").LIDs[1]
	for _, n := range tables() {
		for i := range n {
			s.Services = append(s.Services, service(i, n))
		}
	}
	v := server{
		link: l, sa: s.Transport("host1"), to: fabric.Address{LID: s.MasterLID, QPN: 1, QKey: fabric.QKeyGSI},
		peers: map[uint64]netip.AddrPort{}, done: map[uint64]bool{}, slow: map[uint64]time.Time{},
	}
	fmt.Fprintln(os.Stderr, "serving")
	for ctx.Err() == nil {
		if err := v.turn(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// turn carries the packets that there are between the link and the simulated SA.
func (v *server) turn(ctx context.Context) error {
	some, err := v.poll(func(from netip.AddrPort, m *mad.SA) error {
		v.peers[m.TransactionID] = from
		d := fabric.Datagram{Address: v.to}
		m.Append(d.MAD[:0])
		_, err := v.sa.Send([]fabric.Datagram{d})
		return err
	})
	if err != nil {
		return err
	}
	var answers [64]fabric.Datagram
	n, err := v.sa.Receive(ctx, answers[:], time.Now())
	if err != nil {
		return err
	}
	for i := range n {
		if err := v.answer(&answers[i]); err != nil {
			return err
		}
	}
	for len(v.later) > 0 && !time.Now().Before(v.later[0].at) {
		if err := v.send(v.later[0].to, v.later[0].message); err != nil {
			return err
		}
		v.later = v.later[1:]
	}
	if !some && n == 0 {
		time.Sleep(pause)
	}
	return nil
}

// pause is how long to wait if there is nothing to do.
const pause = 200 * time.Microsecond

// answer sends an answer of the SA, with its fault.
func (v *server) answer(d *fabric.Datagram) error {
	var m mad.SA
	m.Decode(d.MAD[:]) //nolint:errcheck // long enough
	to, tid, n := v.peers[m.TransactionID], m.TransactionID, m.RMPP.SegmentNumber
	kind := fault(m.AttributeModifier)
	now := m.RMPP.Type == mad.RMPPData && n == faultSegment && !v.done[tid]
	if now {
		v.done[tid] = true
	}
	switch {
	case v.held != nil:
		first := v.held
		v.held = nil
		return errors.Join(v.send(to, d.MAD[:]), v.send(to, first))
	case kind == faultSlow && n >= slowSegment:
		if v.slow[tid].IsZero() {
			v.slow[tid] = time.Now().Add(slowness)
		}
		v.later = append(v.later, delayed{v.slow[tid], to, m.Append(nil)})
		return nil
	case (kind == faultAbort || kind == faultStop || kind == faultSilent) && n >= faultSegment && !now,
		now && (kind == faultLose || kind == faultSilent):
		return nil
	case now && kind == faultRepeat:
		return errors.Join(v.send(to, d.MAD[:]), v.send(to, d.MAD[:]))
	case now && kind == faultSwap:
		v.held = m.Append(nil)
		return nil
	case now && kind == faultAbort:
		return v.end(to, &m, mad.RMPPAbort, mad.RMPPStatusUnspecified)
	case now && kind == faultStop:
		return v.end(to, &m, mad.RMPPStop, mad.RMPPStatusResources)
	}
	return v.send(to, d.MAD[:])
}

// end sends a STOP or ABORT.
func (v *server) end(to netip.AddrPort, m *mad.SA, kind mad.RMPPType, status mad.RMPPStatus) error {
	m.RMPP = mad.RMPP{Version: mad.RMPPVersion, Type: kind, Flags: mad.RMPPActive, Status: status}
	return v.send(to, m.Append(nil))
}
