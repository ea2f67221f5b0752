package cm

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// rejection is the error of a rejected connection, with what Dial tries again with.
type rejection struct {
	provider.RejectedError
	mtu ib.MTU // that the peer would accept
}

// As makes the error a *provider.RejectedError for errors.As.
func (r *rejection) As(target any) bool {
	if p, ok := target.(**provider.RejectedError); ok {
		*p = &r.RejectedError
		return true
	}
	return false
}

// rejected returns the error for a REJ.
func (c *conn) rejected(m *mad.REJ) error {
	r := &rejection{RejectedError: provider.RejectedError{
		Code: uint16(m.Reason), Reason: m.Reason.String(), PrivateData: m.PrivateData[:],
	}}
	switch m.Reason {
	case mad.RejectInvalidServiceID:
		r.NobodyListens, r.Reason = true, nobodyListens(c.service, c.peer, m.Reason)
	case mad.RejectInvalidMTU:
		if m.RejectedInfoLength > 0 {
			r.mtu = ib.MTUFromCode(int(m.ARI[0]))
		}
	}
	return r
}

// nobodyListens describes a service that a peer doesn't have; reason is that of its answer.
func nobodyListens(service mad.ServiceID, peer netip.Addr, reason fmt.Stringer) string {
	space, port, _ := service.IP()
	return fmt.Sprintf("nobody listens on port %d of port space %v at %v (%v)", port, provider.PortSpace(space), peer,
		reason)
}

// reject sends a REJ about the connection in its state, and remembers it for duplicates of a REQ.
func (c *conn) reject(reason mad.RejectReason, ari, private []byte) {
	m := mad.REJ{
		Header: mad.NewCM(mad.AttributeREJ, c.tid), LocalCommID: c.id, RemoteCommID: c.remoteID,
		Message: mad.MRAMessageOther, Reason: reason, RejectedInfoLength: uint8(len(ari)),
	}
	switch c.state {
	case stateREQReceived:
		m.Message = mad.MRAMessageREQ
	case stateREPReceived:
		m.Message = mad.MRAMessageREP
	}
	copy(m.ARI[:], ari)
	copy(m.PrivateData[:], private)
	message := m.Append(nil)
	if c.state == stateREQReceived || c.state == stateREPSent {
		c.a.recent.add(remoteID{c.peer, c.remoteID, false}, message, c.a.clock.Now())
	}
	c.a.send(c.peer, message)
}

// sendREJ sends a REJ for a message that belongs to no connection.
func (a *Agent) sendREJ(in *arrival, m mad.REJ) {
	m.Header = mad.NewCM(mad.AttributeREJ, in.header.TransactionID)
	a.send(in.from, m.Append(nil))
}

// handleREJ handles a rejection.
func (a *Agent) handleREJ(in *arrival) func() {
	var m mad.REJ
	_, _ = m.Decode(in.message) // Receive has checked the length
	c := a.conns[m.RemoteCommID]
	if c == nil { // the peer may not know the ID here
		c = a.incoming[remoteID{in.from, m.LocalCommID, false}]
	}
	if c == nil || c.peer != in.from || c.state != stateREQSent && c.remoteID != m.LocalCommID {
		return nil
	}
	if c.state == stateREQReceived {
		return c.end(fmt.Errorf("%w: %v", errGone, m.Reason))
	}
	return c.end(c.rejected(&m))
}

func (c *conn) dreq() []byte {
	m := mad.DREQ{
		Header: mad.NewCM(mad.AttributeDREQ, uint64(c.id)), LocalCommID: c.id, RemoteCommID: c.remoteID,
		RemoteQPN: c.to.qpn,
	}
	return m.Append(nil)
}

// handleDREQ handles the end of a connection. One that isn't known has ended already.
func (a *Agent) handleDREQ(in *arrival) func() {
	var m mad.DREQ
	_, _ = m.Decode(in.message) // Receive has checked the length
	c := a.find(in.from, m.RemoteCommID, m.LocalCommID)
	if c != nil && (c.state < stateREPSent || c.qpn != m.RemoteQPN) {
		return nil
	}
	answer := mad.DREP{
		Header:      mad.NewCM(mad.AttributeDREP, in.header.TransactionID),
		LocalCommID: m.RemoteCommID, RemoteCommID: m.LocalCommID,
	}
	a.send(in.from, answer.Append(nil))
	if c == nil {
		return nil
	}
	if c.state == stateDREQSent {
		return c.end(provider.ErrClosed)
	}
	return c.end(errDisconnected)
}

// handleDREP handles the answer to the end of a connection.
func (a *Agent) handleDREP(in *arrival) func() {
	var m mad.DREP
	_, _ = m.Decode(in.message) // Receive has checked the length
	if c := a.find(in.from, m.RemoteCommID, m.LocalCommID); c != nil && c.state == stateDREQSent {
		return c.end(provider.ErrClosed)
	}
	return nil
}

// handleLAP refuses an alternate path.
func (a *Agent) handleLAP(in *arrival) func() {
	var m mad.LAP
	_, _ = m.Decode(in.message) // Receive has checked the length
	if c := a.find(in.from, m.RemoteCommID, m.LocalCommID); c != nil && c.state == stateEstablished {
		answer := mad.APR{
			Header:      mad.NewCM(mad.AttributeAPR, in.header.TransactionID),
			LocalCommID: m.RemoteCommID, RemoteCommID: m.LocalCommID, APStatus: mad.APStatusUnsupported,
		}
		a.send(in.from, answer.Append(nil))
	}
	return nil
}

// disconnect begins the end of an established connection.
func (c *conn) disconnect() {
	c.a.mu.Lock()
	established := c.state == stateEstablished
	if established {
		c.state = stateDREQSent
		c.message = c.dreq()
	}
	c.a.mu.Unlock()
	if !established {
		return
	}
	_ = c.qp.Modify(provider.QPAttributes{State: provider.QPStateError}) // it may be closed
	c.a.mu.Lock()
	if c.state == stateDREQSent {
		c.start()
	}
	c.a.mu.Unlock()
}

// Disconnect implements provider.Connection.
func (c *conn) Disconnect(ctx context.Context) error {
	c.disconnect()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("disconnect from %v: %w", c.remote, context.Cause(ctx))
	}
}

// Close implements provider.Connection.
func (c *conn) Close() error {
	c.disconnect()
	return nil
}

// QueuePairClosed ends the connection of a queue pair that the program closes, and notifies the
// peer.
func (a *Agent) QueuePairClosed(qpn ib.QPN) {
	a.mu.Lock()
	c := a.locals[qpn]
	a.mu.Unlock()
	if c != nil {
		c.disconnect()
	}
}

// QueuePairFailed ends the connection of a queue pair that is in ERR. It may be called while the
// queue pair is locked: the rest happens later, in a goroutine of the clock.
func (a *Agent) QueuePairFailed(qpn ib.QPN) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.locals[qpn]; c != nil && c.state == stateEstablished {
		a.clock.AfterFunc(0, c.disconnect)
	}
}

// recent remembers the answers to the last requests, for duplicates that come late. Its size is
// fixed.
type recent struct {
	list  []answer // a ring
	next  int
	index map[remoteID]int
}

type answer struct {
	key     remoteID
	message []byte
	at      time.Time
}

const (
	maxRecent  = 1024
	recentTime = time.Minute
)

func (r *recent) add(key remoteID, message []byte, now time.Time) {
	if r.index == nil {
		r.index = map[remoteID]int{}
	}
	one := answer{key, message, now}
	if i, ok := r.index[key]; ok {
		r.list[i] = one
		return
	}
	if len(r.list) < maxRecent {
		r.list = slices.Grow(r.list, 1)
		r.index[key] = len(r.list)
		r.list = append(r.list, one)
		return
	}
	delete(r.index, r.list[r.next].key)
	r.list[r.next], r.index[key] = one, r.next
	r.next = (r.next + 1) % maxRecent
}

// find returns the answer to a request, or nil.
func (r *recent) find(key remoteID, now time.Time) []byte {
	i, ok := r.index[key]
	if !ok || now.Sub(r.list[i].at) > recentTime {
		return nil
	}
	return r.list[i].message
}

func (r *recent) clear() { *r = recent{} }
