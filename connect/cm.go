package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
)

// Connecting by the communication manager: the listener listens on a port of rdma_cm, which it
// tells the client with its address, and the client dials. The session over TCP remains for the
// rest: which ports, the memory, and the results of the stages.

// cmGreeting is the private data of the client's request; others are rejected.
const cmGreeting = "rdmactl connect"

// openCM prepares the connection of an attempt by the communication manager: the listener listens.
func (t *trial) openCM(ctx context.Context) *Failure {
	device := t.p.device
	if t.p.own.LinkLayer == verbs.LinkLayerInfiniBand.String() {
		return t.refuseInfiniBand()
	}
	var err error
	if !device.Capabilities().Has(verbs.CapConnector) {
		err = verbs.ErrNotSupported
	} else if !t.s.client {
		t.listener, err = device.Listen(ctx, netip.AddrPort{}, verbs.ListenOptions{})
	}
	if err == nil {
		if t.listener != nil {
			t.p.own.Service = t.listener.Addr().Port()
		}
		return nil
	}
	f := failed(CodeCM, "listen by rdma_cm on", t.p.own.Port, err)
	if errors.Is(err, verbs.ErrNotSupported) {
		f.Code, f.Operation = CodeNoCM, "use rdma_cm with"
		f.Cause = "this device connects no queue pairs by rdma_cm here"
		f.Remedies = []string{"without --cm the ends exchange the numbers of their queue pairs over TCP"}
	}
	f.Stage, f.End = StageCM, t.p.name()
	return f
}

// refuseInfiniBand returns the failure of a port that has no address for the communication manager:
// rdma_cm finds peers by IP address, and a GID of InfiniBand is none. That of IPoIB belongs to a
// network device, which this package doesn't know.
func (t *trial) refuseInfiniBand() *Failure {
	f := failed(CodeNoCM, "use rdma_cm with", t.p.own.Port, verbs.ErrNotSupported)
	f.Cause = "rdma_cm finds peers by their IP address, and the GID of an InfiniBand port is none"
	f.Remedies = []string{
		"rdmactl ping ADDRESS tries rdma_cm with the address of the peer's IPoIB device (ip addr show ib0)",
		"without --cm the ends exchange the numbers of their queue pairs over TCP",
	}
	f.Stage, f.End = StageCM, t.p.name()
	return f
}

// closeCM ends listening.
func (t *trial) closeCM() {
	if t.listener != nil {
		_ = t.listener.Close() // the attempt has its result
	}
}

// errNoService is the error for a listener that doesn't know of the communication manager.
var errNoService = fmt.Errorf("%w: the peer doesn't connect by rdma_cm (--cm)", errVersion)

// connectCM connects the queue pair by the communication manager.
func (t *trial) connectCM(ctx context.Context) (*Failure, error) {
	t.p.stages.begin(StageCM)
	phase, stop := t.s.phase(ctx, func() uint64 { return 0 }, 2*t.cfg.StepTimeout)
	var link *verbs.Connection
	var err error
	status := Status{Stage: StageCM}
	if plant := t.cfg.plant.cm; plant != nil {
		plant(phase, t)
	}
	if t.s.client {
		link, err = t.dial(phase)
	} else {
		link, err = t.accept(phase, &status)
	}
	stop()
	t.p.rig.link = link
	own := t.cmFailure(ctx, err)
	status.Aborted = err != nil && own == nil
	peer, f, err := t.s.barrier(ctx, 2*t.cfg.StepTimeout, status, own)
	switch {
	case err != nil:
		return f, err
	case f != nil && f.Code == CodeCMSilent: // the listener's observations, at both ends
		f.Observed = append(f.Observed, append(status.Observed, peer.Observed...)...)
		return f, nil
	case f == nil && (status.Aborted || peer.Aborted):
		return t.unexplained(StageCM, peer.Aborted), nil
	case f != nil:
		return f, nil
	}
	t.p.stages.end(true)
	return nil, t.adopt()
}

// adopt notes what the communication manager has chosen.
func (t *trial) adopt() error {
	attr, err := t.p.rig.qp.Query()
	if err != nil {
		return err
	}
	if attr.PathMTU == 0 {
		return nil
	}
	agreed := t.out.PathMTU
	t.out.PathMTU, t.out.MTUReason = attr.PathMTU, "chosen by rdma_cm"
	if agreed < attr.PathMTU {
		t.out.MTUReason += fmt.Sprintf(", which doesn't know the limit of %d", agreed)
	}
	return nil
}

// goodbye limits how long an end waits for the peer to acknowledge the end of the connection.
const goodbye = time.Second

// disconnect ends the connection of the communication manager and frees it, as it must be before
// the queue pair is closed.
func (r *rig) disconnect() {
	if r.link == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = r.link.Disconnect(ctx) // a peer that doesn't answer has ended
	_ = r.link.Close()         // before the queue pair, which it uses
	r.link = nil
}

// options are those of both ends.
func (t *trial) options() verbs.ConnectOptions {
	return verbs.ConnectOptions{
		Access: verbs.AccessRemoteWrite, ReadAtomic: 1, RetryCount: retryCount, RNRRetry: rnrRetry,
		Timeout: t.cfg.Timeout,
	}
}

// cmSilentError is the error for a request that nobody has answered.
type cmSilentError struct{ limit time.Duration }

func (e *cmSilentError) Error() string {
	return fmt.Sprintf("no answer to the connection request (REQ), which was repeated for %v", e.limit)
}

// Is makes it match os.ErrDeadlineExceeded, through context.DeadlineExceeded.
func (e *cmSilentError) Is(target error) bool { return target == context.DeadlineExceeded }

// dial requests the connection.
func (t *trial) dial(ctx context.Context) (*verbs.Connection, error) {
	limit := t.cfg.StepTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &cmSilentError{limit})
	defer cancel()
	o := t.options()
	o.Local, o.PrivateData = t.out.Local.GID.GID.Addr(), []byte(cmGreeting)
	return t.p.device.Dial(ctx, t.p.rig.qp, t.target(), o)
}

// target is the address that the client dials.
func (t *trial) target() netip.AddrPort {
	service := t.p.own.Service
	if t.s.client {
		service = t.peer.Service
	}
	g := t.out.Remote.GID
	if !t.s.client {
		g = t.out.Local.GID
	}
	return netip.AddrPortFrom(g.GID.Addr(), service)
}

// accept waits for the request of the client and accepts it.
func (t *trial) accept(ctx context.Context, status *Status) (*verbs.Connection, error) {
	for {
		r, err := t.listener.Next(ctx)
		if err != nil {
			status.Observed = append(status.Observed, "no connection request (REQ) has arrived at "+t.p.name())
			return nil, err
		}
		if bytes.HasPrefix(r.Options().PrivateData, []byte(cmGreeting)) {
			link, err := r.Accept(ctx, t.p.rig.qp, t.options())
			if err != nil {
				_ = r.Reject(nil) // unless it is answered already
				const text = "a connection request (REQ) of %v has arrived at %s"
				status.Observed = append(status.Observed, fmt.Sprintf(text, r.Remote().Addr(), t.p.name()))
			}
			return link, err
		}
		_ = r.Reject(nil) // of another program, which may have given up
	}
}

// cmFailure explains the error of the communication manager; nil if there is none, or if the peer
// reports it.
func (t *trial) cmFailure(ctx context.Context, err error) *Failure {
	if _, ofPeer := errors.AsType[*peerFailedError](err); err == nil || ofPeer {
		return nil
	}
	to := t.target()
	f := failed(CodeCM, "connect by rdma_cm", fmt.Sprintf("%s to %s (%v)", t.p.name(), t.peerName(), to), err)
	if !t.s.client {
		f.Object = fmt.Sprintf("%s to %s (%v)", t.peerName(), t.p.name(), to)
	}
	f.Stage, f.End = StageCM, t.p.name()
	rejected, isRejected := errors.AsType[*verbs.RejectedError](err)
	silent, isSilent := errors.AsType[*cmSilentError](err)
	_, isStalled := errors.AsType[*stalledError](err)
	switch {
	case ctx.Err() != nil:
		f.Code = CodeInterrupted
	case errors.Is(err, verbs.ErrNobodyListens):
		f.Code, f.Cause = CodeCMRefused, rejected.Reason
		f.Possible = []string{"the address is that of another device, or of another machine, whose communication " +
			"manager answered"}
		f.Remedies = []string{fmt.Sprintf("at the other end: does %v belong to the network device of %s?", to.Addr(),
			t.peerName())}
	case isRejected:
		f.Code, f.Cause = CodeCMRejected, fmt.Sprintf("rejected with reason %d: %s", rejected.Code, rejected.Reason)
		if data := bytes.TrimRight(rejected.PrivateData, "\x00"); len(data) > 0 {
			f.Observed = append(f.Observed, "private data of the rejection: "+excerpt(data))
		}
	case isSilent:
		f.Code, f.Cause = CodeCMSilent, silent.Error()
		f.Observed = append(f.Observed, "the TCP connection to the peer works")
		f.Possible, f.Remedies = t.silentPath()
	case isStalled:
		f.Code, f.Cause = CodeCMSilent, "no connection from the peer: "+err.Error()
	}
	return f
}
