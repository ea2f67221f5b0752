package cm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// request implements [provider.ConnectionRequest].
type request struct {
	c        *conn
	answered bool // guarded by the agent's mu
}

func (r *request) taken() { r.c.repeat.stop() }

func (r *request) refuse() func() {
	r.c.reject(mad.RejectInvalidServiceID, nil, nil)
	return r.c.end(provider.ErrClosed)
}

// Remote implements provider.ConnectionRequest.
func (r *request) Remote() netip.AddrPort { return r.c.remote }

// Local implements provider.ConnectionRequest.
func (r *request) Local() netip.AddrPort { return r.c.local }

// Options implements provider.ConnectionRequest.
func (r *request) Options() provider.ConnectOptions { return r.c.Options() }

// errAnswered is the error of a second answer.
var errAnswered = errors.New("the request has been answered already")

// answer marks the request as answered, or returns why it can't be.
func (r *request) answer() error {
	r.c.a.mu.Lock()
	defer r.c.a.mu.Unlock()
	switch {
	case r.answered:
		return errAnswered
	case r.c.state != stateREQReceived:
		return r.c.err
	}
	r.answered = true
	return nil
}

// Accept implements provider.ConnectionRequest.
func (r *request) Accept(
	ctx context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (provider.Connection, error) {
	c, err := r.accept(ctx, qp, options)
	if err != nil {
		return nil, fmt.Errorf("accept connection from %v at %s: %w", r.c.remote, r.c.a.name, err)
	}
	return c, nil
}

func (r *request) accept(
	ctx context.Context, qp provider.QueuePair, options provider.ConnectOptions,
) (*conn, error) {
	c := r.c
	wanted := map[mad.TransportService]provider.QPType{
		mad.TransportServiceRC: provider.QPTypeRC, mad.TransportServiceUC: provider.QPTypeUC,
	}[c.to.service]
	switch {
	case len(options.PrivateData) > mad.REPPrivateLen:
		return nil, fmt.Errorf("%d bytes of private data, and an answer has at most %d", len(options.PrivateData),
			mad.REPPrivateLen)
	case qp.Type() != wanted:
		return nil, fmt.Errorf("qp %v is of type %v, and the peer's of type %v", qp.QPN(), qp.Type(), wanted)
	}
	if err := checkState(qp); err != nil {
		return nil, err
	}
	if err := r.answer(); err != nil {
		return nil, err
	}
	if err := provider.Establish(qp, c.attributes(options)); err != nil {
		return nil, c.abandon(err, mad.RejectNoResources)
	}
	if !c.sendREP(qp, options) {
		<-c.done
		_ = qp.Modify(provider.QPAttributes{State: provider.QPStateError})
		return nil, c.err
	}
	select {
	case <-c.answered:
	case <-ctx.Done():
		return nil, c.abandon(context.Cause(ctx), mad.RejectConsumer)
	}
	c.a.mu.Lock()
	err := c.err
	c.a.mu.Unlock()
	if err != nil && !errors.Is(err, errDisconnected) { // else the peer has connected and disconnected
		<-c.done
		return nil, err
	}
	return c, nil
}

// sendREP accepts the connection, or reports false if it has ended meanwhile.
func (c *conn) sendREP(qp provider.QueuePair, o provider.ConnectOptions) bool {
	a := c.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.state != stateREQReceived {
		return false
	}
	c.qp, c.qpn = qp, qp.QPN()
	a.locals[c.qpn] = c
	m := mad.REP{
		Header: mad.NewCM(mad.AttributeREP, c.tid), LocalCommID: c.id, RemoteCommID: c.remoteID, LocalQPN: c.qpn,
		StartingPSN: c.psn, ResponderResources: min(a.reads(o.DestReadAtomic), uint8(c.options.ReadAtomic)),
		InitiatorDepth: min(a.reads(o.ReadAtomic), uint8(c.options.DestReadAtomic)),
		RNRRetryCount:  o.RNRRetry, LocalCAGUID: a.guid,
	}
	copy(m.PrivateData[:], o.PrivateData)
	c.message = m.Append(nil)
	c.state = stateREPSent
	c.options = provider.ConnectOptions{}
	c.start()
	return true
}

// Reject implements provider.ConnectionRequest.
func (r *request) Reject(private []byte) error {
	if len(private) > mad.REJPrivateLen {
		return fmt.Errorf("reject connection from %v: %d bytes of private data, and a rejection has at most %d",
			r.c.remote, len(private), mad.REJPrivateLen)
	}
	err := r.answer()
	if err == nil {
		c := r.c
		c.a.mu.Lock()
		if c.state != stateClosed {
			c.reject(mad.RejectConsumer, nil, private)
		}
		after := c.end(provider.ErrClosed)
		c.a.mu.Unlock()
		if after != nil {
			after()
		}
		return nil
	}
	return fmt.Errorf("reject connection from %v: %w", r.c.remote, err)
}

// handleRTU handles the confirmation of a connection.
func (a *Agent) handleRTU(in *arrival) func() {
	var m mad.RTU
	_, _ = m.Decode(in.message) // Receive has checked the length
	switch c := a.find(in.from, m.RemoteCommID, m.LocalCommID); {
	case c == nil: // the peer must not take it for a connection
		a.sendREJ(in, mad.REJ{
			LocalCommID: m.RemoteCommID, RemoteCommID: m.LocalCommID, Message: mad.MRAMessageOther,
			Reason: mad.RejectInvalidCommID,
		})
	case c.state == stateREPSent:
		c.state = stateEstablished
		c.repeat.stop()
		c.answer()
	}
	return nil
}

// handleMRA handles the request for more time.
func (a *Agent) handleMRA(in *arrival) func() {
	var m mad.MRA
	_, _ = m.Decode(in.message) // Receive has checked the length
	c := a.conns[m.RemoteCommID]
	if c == nil || c.peer != in.from {
		return nil
	}
	if c.state == stateREQSent && m.Message == mad.MRAMessageREQ ||
		c.state == stateREPSent && m.Message == mad.MRAMessageREP && c.remoteID == m.LocalCommID {
		c.repeat.wait(m.ServiceTimeout)
	}
	return nil
}
