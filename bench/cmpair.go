package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// errNotCM is the error of a connection that is not that of Meet.
var errNotCM = errors.New("the connection is not one over rdma_cm: use Meet")

// overCM returns the connection of an exchange over rdma_cm; nil over TCP.
func overCM(conn perftest.Conn, m RDMACM) (*cmConn, error) {
	if m == RDMACMOff {
		return nil, nil //nolint:nilnil // over TCP
	}
	c, ok := conn.(*cmConn)
	if !ok {
		return nil, errNotCM
	}
	return c, nil
}

// versionZeroed is the first version of which it is known that a key that precedes the queue pairs
// is zero.
const versionZeroed perftest.Version = 606

// connectCM connects the queue pairs by rdma_cm, between two synchronizations with the peer. The
// server listens before the first, so that the client doesn't come too early.
func (r *run) connectCM(ctx context.Context, peer perftest.Version) error {
	client := r.cfg.Role == perftest.RoleClient
	listener := r.cm.listener
	if !client && r.cfg.QPType == verbs.QPTypeUD {
		l, err := r.device.Listen(ctx, r.cm.conn.Local(), verbs.ListenOptions{PortSpace: verbs.PortSpaceUDP})
		if err != nil {
			return err
		}
		defer l.Close()
		listener = l
	}
	qpn, err := r.session.SyncQPN(ctx, "get ready to connect by rdma_cm", perftest.Destination{})
	switch {
	case err != nil:
		return err
	case qpn != 0 && peer >= versionZeroed:
		return &PairingError{Own: RDMACMConnect.does(), Theirs: "the peer " + RDMACMExchange.does()}
	}
	for i := range r.qps {
		if client {
			err = r.dialQP(ctx, i)
		} else {
			err = r.acceptQP(ctx, i, listener)
		}
		if err != nil {
			return fmt.Errorf("connect queue pair %d of %d by rdma_cm: %w", i+1, len(r.qps), err)
		}
	}
	if err := r.session.Sync(ctx, "finish connecting by rdma_cm", perftest.Destination{}); err != nil {
		return err
	}
	return r.adopt()
}

// optionsCM are those of the queue pairs of a test.
func (r *run) optionsCM() verbs.ConnectOptions {
	reads := max(1, int(r.own[0].OutReads))
	return verbs.ConnectOptions{
		Access: r.access(), ReadAtomic: reads, DestReadAtomic: reads, Timeout: r.cfg.Timeout,
	}
}

// limitCM limits the connection of one queue pair.
func (r *run) limitCM(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(r.cfg.StepTimeout, perftest.DefaultStepTimeout)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("the peer did not come within %v: %w", limit,
		context.DeadlineExceeded))
}

// Times of a server of perftest, which listens only after it has said that it is ready.
const (
	listenPatience = 5 * time.Second
	listenPause    = 20 * time.Millisecond
)

// dialQP connects queue pair i at the client.
func (r *run) dialQP(ctx context.Context, i int) error {
	ctx, cancel := r.limitCM(ctx)
	defer cancel()
	to := netip.AddrPortFrom(r.cm.remote.Addr(), r.cm.remote.Port())
	o := r.optionsCM()
	o.TrafficClass = r.cfg.TrafficClass // the server answers with the same
	var link *verbs.Connection
	for began := time.Now(); ; {
		var err error
		if link, err = r.device.Dial(ctx, r.qps[i], to, o); err == nil {
			break
		}
		if !errors.Is(err, verbs.ErrNobodyListens) || time.Since(began) > listenPatience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(listenPause):
		}
	}
	r.links = append(r.links, link)
	peer, ok := link.Datagram()
	if !ok {
		return nil
	}
	if err := r.addPath(peer.Path, peer.QPN, peer.QKey); err != nil || r.cfg.Test != SendLat {
		return err
	}
	return r.introduceQP(ctx, i)
}

// introduceQP sends the number of queue pair i to the server of a latency test of datagrams, which
// sends too, as immediate data; perftest ignores the data.
func (r *run) introduceQP(ctx context.Context, i int) error {
	number := r.region(i).Segment(r.source(i), min(4, r.slot))
	var immediate [4]byte
	binary.BigEndian.PutUint32(immediate[:], uint32(r.qps[i].QPN()))
	if _, err := r.qps[i].PostSend(verbs.SendRequest{
		Op: verbs.SendOpSendImmediate, Flags: verbs.SendSignaled, Immediate: immediate,
		Segments: []verbs.Segment{number}, To: r.to[i],
	}); err != nil {
		return err
	}
	_, err := r.poll(ctx, r.sends)
	return err
}

// acceptQP connects queue pair i at the server.
func (r *run) acceptQP(ctx context.Context, i int, l *verbs.Listener) error {
	ctx, cancel := r.limitCM(ctx)
	defer cancel()
	datagrams := r.cfg.QPType == verbs.QPTypeUD && r.cfg.Test == SendLat
	if datagrams {
		if err := r.receive(i, 1, 4); err != nil {
			return err
		}
	}
	request, err := r.nextFrom(ctx, l)
	if err != nil {
		return err
	}
	link, err := request.Accept(ctx, r.qps[i], r.optionsCM())
	if err != nil {
		_ = request.Reject(nil) // unless it is answered already
		return err
	}
	r.links = append(r.links, link)
	if !datagrams {
		return nil
	}
	wcs, err := r.poll(ctx, r.recvs)
	if err != nil {
		return err
	}
	if wcs[0].Flags&verbs.WCImmediate == 0 {
		return errors.New("the client's message has no queue pair number")
	}
	path := verbs.Path{
		SGIDIndex: max(0, r.cfg.GIDIndex), DGID: ib.GIDFromAddr(request.Remote().Addr()), HopLimit: 64, Global: true,
	}
	return r.addPath(path, ib.QPN(binary.BigEndian.Uint32(wcs[0].Immediate[:])), r.cfg.qKey())
}

// nextFrom returns the next request of the peer, and rejects those of others.
func (r *run) nextFrom(ctx context.Context, l *verbs.Listener) (*verbs.ConnectionRequest, error) {
	for {
		request, err := l.Next(ctx)
		if err != nil {
			return nil, err
		}
		if request.Remote().Addr() == r.cm.remote.Addr() {
			return request, nil
		}
		_ = request.Reject(nil) // it may have given up
	}
}

// addPath prepares the path to the peer's next queue pair of type UD.
func (r *run) addPath(path verbs.Path, qpn ib.QPN, key uint32) error {
	handle, err := r.pd.CreateAddressHandle(r.cfg.Port, path)
	if err != nil {
		return err
	}
	r.paths, r.to = append(r.paths, handle), append(r.to, handle.To(qpn, key))
	return nil
}

// adopt takes over what the communication manager has chosen: PSNs and MTU.
func (r *run) adopt() error {
	if r.iwarp { // it has neither
		return nil
	}
	for i, qp := range r.qps {
		attr, err := qp.Query()
		if err != nil {
			return err
		}
		r.own[i].PSN = attr.SendPSN
		if i == 0 && attr.Mask&provider.QPAttrPathMTU != 0 && attr.PathMTU != 0 {
			r.mtu = attr.PathMTU
		}
	}
	return nil
}

// disconnect ends the connections of the queue pairs. The server lets the client begin, if the test
// has succeeded: perftest's client waits for the answers.
func (r *rig) disconnect() {
	if len(r.links) == 0 {
		return
	}
	over := time.NewTimer(cmGoodbye)
	defer over.Stop()
	if r.orderly && r.cfg.Role == perftest.RoleServer && r.cfg.QPType != verbs.QPTypeUD {
		r.awaitLinks(over.C)
	}
	for _, link := range r.links {
		_ = link.Close()
	}
	over.Reset(cmGoodbye)
	r.awaitLinks(over.C)
}

// awaitLinks waits until all connections have ended.
func (r *rig) awaitLinks(over <-chan time.Time) {
	for _, link := range r.links {
		select {
		case <-link.Done():
		case <-over:
			return
		}
	}
}
