package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/internal/edge/cpus"
	"github.com/rdmakit/rdmakit/verbs"
)

// run is a running test.
type run struct {
	*rig
	session *perftest.Session
	cm      *cmConn // of an exchange over rdma_cm
	result  Result
}

// Run runs a test with the peer at the other end of conn, which the caller closes. It returns when
// the peer is done, or when ctx ends. Over rdma_cm, conn must be that of [Meet].
//
// The server of a WRITE or READ test measures nothing: the result of a bandwidth test is the
// client's report, and the result of read_lat is empty.
func Run(ctx context.Context, device *verbs.Device, conn perftest.Conn, cfg Config) (Result, error) {
	before := device.Counters()
	result, err := start(ctx, device, conn, cfg)
	result.Counters = device.Counters()
	for name, n := range before {
		result.Counters[name] -= n
	}
	if err != nil {
		err = fmt.Errorf("%v with %s: %w", cfg.Test, device.Name(), err)
	}
	return result, err
}

func start(ctx context.Context, device *verbs.Device, conn perftest.Conn, cfg Config) (result Result, err error) {
	cfg, port, mtu, err := prepare(ctx, device, cfg)
	if err != nil {
		return Result{}, err
	}
	if cfg.CPUs != nil {
		restore, err := cpus.Pin(cfg.CPUs)
		if err != nil {
			return Result{}, err
		}
		defer restore()
	}
	form := perftest.KeyWithGID
	if cfg.GIDIndex == NoGID {
		form = perftest.KeyWithoutGID
	}
	over, err := overCM(conn, cfg.RDMACM)
	if err != nil {
		return Result{}, err
	}
	session := perftest.NewSession(conn, perftest.Config{
		Role: cfg.Role, Form: form, StepTimeout: cfg.StepTimeout, Version: cfg.Version, CM: over != nil,
	})
	agreed, err := session.Hello(ctx, hello(mtu))
	if err != nil {
		return Result{}, err
	}
	if cfg.QPType == verbs.QPTypeUD {
		cfg.fitDatagrams(int(agreed.MTU))
	}
	notes, err := negotiate(ctx, session, &cfg, device, agreed.Peer)
	if err != nil {
		return Result{}, err
	}
	rig, err := newRig(device, cfg, port, agreed)
	if err != nil {
		return Result{}, err
	}
	r := &run{rig: rig, session: session, cm: over}
	r.result = Result{Schema: Schema, Setup: setupOf(rig, agreed, notes)}
	defer func() {
		rig.orderly = err == nil
		err = errors.Join(err, rig.close())
	}()
	ctx, stop := r.guard(ctx)
	defer stop()
	if cfg.RDMACM == RDMACMConnect {
		if err := r.connectCM(ctx, agreed.Peer); err != nil {
			return r.result, err
		}
		switch {
		case cfg.MTU == 0:
		case rig.iwarp:
			notes = append(notes, "the MTU has no effect on iWARP: TCP chooses the size of its segments")
		case cfg.MTU != rig.mtu:
			notes = append(notes, fmt.Sprintf("rdma_cm has chosen the path MTU %d", rig.mtu))
		}
		r.result.Setup = setupOf(rig, agreed, notes)
	}
	call(cfg.Observer.Prepared, &r.result.Setup)
	if err := r.introduce(ctx); err != nil {
		return r.result, err
	}
	call(cfg.Observer.Started, &r.result.Setup)
	err = r.measure(ctx)
	return r.result, err
}

func call[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}

func setupOf(r *rig, agreed perftest.Agreed, notes []string) Setup {
	c := &r.cfg
	where := r.memory.describe()
	if where != "" {
		notes = append(slices.Clip(notes), "the memory is on "+where)
	}
	s := Setup{
		Test: c.Test.String(), Role: c.Role.String(), Device: r.device.Name(), Scale: scaleOf(r.device.Name()),
		LinkLayer: r.port.LinkLayer.String(), MTU: r.mtu, QueuePairs: c.QueuePairs, TxDepth: c.TxDepth,
		RxDepth: c.RxDepth, CQModeration: c.CQModeration, PostList: c.PostList, GIDIndex: c.GIDIndex,
		QPType: c.QPType.String(), Inline: r.inline, HugePages: c.HugePages, Memory: where, MRPerQP: c.MRPerQP,
		CPUs: cpus.FormatList(c.CPUs), NUMANode: c.NUMANode,
		DurationSeconds: c.Duration.Seconds(), PeerVersion: agreed.Peer.String(), Notes: notes,
		Local: endpoints(r.own),
	}
	if r.iwarp {
		s.Transport = TransportIWARP
	}
	if c.RDMACM != RDMACMOff {
		s.RDMACM, s.TrafficClass = c.RDMACM.String(), c.TrafficClass
	}
	if c.Test.Op() == verbs.SendOpRead {
		s.OutReads = int(r.own[0].OutReads)
	}
	return s
}

// The steps up to the first message: their order differs between perftest's programs.
type step uint8

const (
	stepSync    step = iota // wait for the peer
	stepKeys                // exchange the keys of all queue pairs
	stepConnect             // nothing on the wire
)

func (t Test) introduction() []step {
	switch t {
	case SendBW, SendLat:
		return []step{stepKeys, stepConnect, stepSync, stepKeys}
	case WriteLat, ReadLat:
		return []step{stepSync, stepKeys, stepConnect, stepKeys, stepSync}
	case WriteBW, ReadBW:
	}
	return []step{stepKeys, stepConnect, stepKeys, stepSync}
}

// introduce exchanges keys and connects.
func (r *run) introduce(ctx context.Context) (err error) {
	for _, s := range r.cfg.Test.introduction() {
		switch s {
		case stepSync:
			err = r.sync(ctx, "wait for the queue pairs to be ready")
		case stepKeys:
			if r.peers, err = r.session.ExchangeKeys(ctx, r.own); err == nil {
				err = r.checkPeers()
			}
		case stepConnect:
			if r.cfg.RDMACM != RDMACMConnect {
				err = r.connect()
			}
			if err == nil {
				r.result.Remote = endpoints(r.peers)
				call(r.cfg.Observer.Connected, &r.result.Setup)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) sync(ctx context.Context, name string) error {
	return r.session.Sync(ctx, name, r.own[0])
}

// measure runs the measurement, between introduce and finish.
func (r *run) measure(ctx context.Context) error {
	client := r.cfg.Role == perftest.RoleClient
	switch r.cfg.Test {
	case WriteBW, ReadBW:
		if client {
			return r.clientOfBandwidth(ctx)
		}
		return r.serverOfBandwidth(ctx)
	case SendBW:
		return r.sendBandwidth(ctx)
	case ReadLat:
		if !client {
			if err := r.session.Await(ctx, "wait for the end of the test", r.own[0]); err != nil {
				return err
			}
			return r.session.Bye(ctx)
		}
		if err := r.latencies(ctx, r.readLatency); err != nil {
			return err
		}
	case SendLat:
		if err := r.latencies(ctx, r.sendLatency); err != nil {
			return err
		}
	case WriteLat:
		err := r.latencies(ctx, r.writeLatency)
		if err == nil { // there is no closing handshake
			r.session.Linger(ctx)
		}
		return err
	}
	return r.finish(ctx)
}

// finish runs the closing handshake. A peer that doesn't reach it in time still waits for messages,
// or sends them.
func (r *run) finish(ctx context.Context) error {
	err := r.session.Finish(ctx, r.own[0])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &MismatchError{Err: err}
	}
	return err
}

func (r *run) clientOfBandwidth(ctx context.Context) error {
	for _, size := range r.cfg.Sizes() {
		p, err := watched(ctx, r, size, r.send)
		if err != nil {
			return err
		}
		r.addBandwidth(p)
	}
	if err := r.sync(ctx, "announce the end of the test"); err != nil {
		return err
	}
	last := r.result.Bandwidth[len(r.result.Bandwidth)-1]
	if _, err := r.session.ExchangeReports(ctx, last.report(r.cfg.ReportGbps)); err != nil {
		return err
	}
	return r.finish(ctx)
}

func (r *run) serverOfBandwidth(ctx context.Context) error {
	if err := r.session.Await(ctx, "wait for the end of the test", r.own[0]); err != nil {
		return err
	}
	theirs, err := r.session.ExchangeReports(ctx, perftest.Report{})
	if err != nil {
		return err
	}
	if theirs.Iterations == 0 { // a closing handshake would signal success to the peer
		return ErrNothingMeasured
	}
	r.addBandwidth(fromReport(theirs))
	return r.finish(ctx)
}

func (r *run) sendBandwidth(ctx context.Context) error {
	for _, size := range r.cfg.Sizes() {
		server := r.cfg.Role == perftest.RoleServer
		if server {
			if err := r.receiveAhead(size); err != nil {
				return err
			}
		}
		if err := r.sync(ctx, fmt.Sprintf("begin with %d bytes", size)); err != nil {
			return err
		}
		if r.credits != nil {
			r.credits.reset()
		}
		measure := r.send
		if server {
			measure = r.take
		}
		p, err := watched(ctx, r, size, measure)
		if err != nil {
			return err
		}
		r.addBandwidth(p)
		if r.cfg.AllSizes {
			if err := r.sync(ctx, fmt.Sprintf("end with %d bytes", size)); err != nil {
				return err
			}
		}
	}
	return r.finish(ctx)
}

// receiveAhead posts receive requests before the peer sends.
func (r *run) receiveAhead(size int) error {
	for i := range r.qps {
		if err := r.receive(i, r.cfg.RxDepth, size); err != nil {
			return err
		}
		r.posted[i] = r.cfg.RxDepth
	}
	return nil
}

func (r *run) addBandwidth(p BandwidthPoint) {
	p.CPUUtil = r.meter.percent()
	r.result.Bandwidth = append(r.result.Bandwidth, p)
	call(r.cfg.Observer.Bandwidth, p)
}

// begin prepares the latency test of one size: both ends must post receive requests before the
// first SEND.
func (r *run) begin(ctx context.Context, size int) error {
	if r.cfg.Test != SendLat {
		return nil
	}
	if err := r.receiveAhead(size); err != nil {
		return err
	}
	return r.sync(ctx, fmt.Sprintf("begin with %d bytes", size))
}

// watched measures one size while it monitors the connection to the peer and the progress of
// messages.
func watched[P any](ctx context.Context, r *run, size int, measure func(context.Context, int) (P, error)) (P, error) {
	ctx, watcher := r.session.Watch(ctx, fmt.Sprintf("measure with %d bytes", size), r.moved.Load)
	defer watcher.Stop()
	ctx, stopDog := r.watchdog(ctx, size)
	defer stopDog()
	p, err := measure(ctx, size)
	unacknowledged := errors.Is(err, errUnacknowledged)
	if err = explain(err, watcher.Gone()); unacknowledged && watcher.Closed() {
		err = errPeerFinished
	}
	return p, err
}

// latencies measures all sizes.
func (r *run) latencies(ctx context.Context, measure func(context.Context, int) (LatencyPoint, error)) error {
	sizes := r.cfg.Sizes()
	for i, size := range sizes {
		if err := r.begin(ctx, size); err != nil {
			return err
		}
		p, err := watched(ctx, r, size, measure)
		switch {
		case errors.Is(err, errPeerFinished) && i == len(sizes)-1:
			r.result.Unacknowledged = true
		case err != nil:
			return err
		}
		p.CPUUtil = r.meter.percent()
		r.result.Latency = append(r.result.Latency, p)
		call(r.cfg.Observer.Latency, p)
	}
	return nil
}
