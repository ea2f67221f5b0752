package rping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/verbs"
)

// Config configures [Run]. Zero values select the defaults.
type Config struct {
	Options
	// Count is how many pings are sent; 0 sends them until ctx ends.
	Count int
	// Interval is the time from one ping to the next; 0 is one second.
	Interval time.Duration
	// Flood sends each ping when the one before has come back.
	Flood bool
	// NoCheck doesn't compare the data.
	NoCheck bool
	// Late is how long a ping may take without being counted as late; 0 is Interval, or 100 ms with
	// Flood.
	Late time.Duration
	// Patience is how long a ping may take before it counts as lost, and how long connecting may
	// take; 0 is 10 seconds.
	Patience time.Duration
	// Forever goes on when the server has ended: until one listens again, or ctx ends.
	Forever bool
	// Software marks the figures as those of software; devices in user space are marked anyway.
	Software bool
	// Sent, which may be nil, is called with the result of each ping.
	Sent func(Sample)
}

// Defaults of a Config.
const (
	defaultInterval  = time.Second
	defaultFloodLate = 100 * time.Millisecond
	defaultPatience  = 10 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	var err error
	if c.Options, err = c.validate(); err != nil {
		return c, err
	}
	if c.Count < 0 || min(c.Interval, c.Late, c.Patience) < 0 {
		return c, errors.New("count, interval and limits can't be negative")
	}
	if c.Interval == 0 {
		c.Interval = defaultInterval
	}
	if c.Late == 0 {
		if c.Late = c.Interval; c.Flood {
			c.Late = defaultFloodLate
		}
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	return c, nil
}

// Sample is the result of one ping.
type Sample struct {
	N    int           // of the ping, counted from 0
	At   time.Time     // when it was sent
	Time time.Duration // until the server had written the sink; 0 if it is lost
	Late bool
	Err  error // nil, a [MismatchError], or why it is lost
}

// MismatchError is the error of a ping whose data has changed on the way.
type MismatchError struct {
	N     int // of the ping
	At    int // first byte that differs
	Bytes int // that differ
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("ping %d came back with other data: %d bytes differ, the first at %d", e.N, e.Bytes, e.At)
}

// compare returns a MismatchError if what came back is not what was sent.
func compare(n int, sent, back []byte) error {
	if bytes.Equal(sent, back) {
		return nil
	}
	e := &MismatchError{N: n, At: -1}
	for i := range sent {
		if sent[i] != back[i] {
			if e.Bytes++; e.At < 0 {
				e.At = i
			}
		}
	}
	return e
}

// Schema is the version of the JSON form of a [Result]. A field may be added within a version; one
// that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.ping/v1"

// Result is the result of a run. It is plain data.
type Result struct {
	Schema   string    `json:"schema"`          // name and version of this form
	Taken    time.Time `json:"taken,omitzero"`  // when the run began
	Device   string    `json:"device"`          // of this end
	Local    string    `json:"local,omitempty"` // address of this end; empty if it was not connected
	Remote   string    `json:"remote"`          // address and port of the server
	Scale    string    `json:"scale,omitempty"` // bench.ScaleSoftware, or empty for hardware
	Bytes    int       `json:"bytes"`           // of a ping
	Check    bool      `json:"check"`           // whether the data was compared
	Sent     uint64    `json:"sent"`            // pings
	Received uint64    `json:"received"`        // pings that came back, with correct data or not
	Lost     uint64    `json:"lost"`            // pings that didn't
	Late     uint64    `json:"late"`            // pings that came back after LateMs
	Wrong    uint64    `json:"wrong"`           // pings that came back with other data
	LateMs   float64   `json:"lateMs"`          // limit in milliseconds
	Seconds  float64   `json:"seconds"`         // from the first ping to the end of the last one
	// Connections is how often the end has connected: more than once after pings that were lost.
	Connections int `json:"connections"`
	// Time has the times of the pings that came back, each with all its seven operations; nil if
	// none did.
	Time    *bench.LatencyPoint `json:"time,omitempty"`
	Failure *Failure            `json:"failure,omitempty"` // the first one
}

// run is a run in progress.
type run struct {
	cfg    Config
	device *verbs.Device
	addr   netip.AddrPort
	client *Client
	out    Result
	times  *bench.Latencies
}

// Run connects to the server at addr and pings it. A ping that is lost ends the connection: Run
// then connects again for the next one, until the server has ended. The end of ctx ends the run
// without an error; a failure is in the result.
func Run(ctx context.Context, d *verbs.Device, addr netip.AddrPort, cfg Config) (Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Result{}, err
	}
	if addr.Port() == 0 {
		addr = netip.AddrPortFrom(addr.Addr(), DefaultPort)
	}
	r := &run{cfg: cfg, device: d, addr: addr, times: bench.NewLatencies()}
	r.out = Result{
		Schema: Schema, Taken: time.Now().UTC(), Device: d.Name(), Remote: addr.String(), Bytes: cfg.Size,
		Check: !cfg.NoCheck, LateMs: float64(cfg.Late.Microseconds()) / 1e3,
	}
	if cfg.Software || strings.Contains(d.Name(), "@") {
		r.out.Scale = bench.ScaleSoftware
	}
	start := time.Now()
	if err := r.connect(ctx); err != nil {
		r.fail(StageConnect, err)
		return r.out, nil
	}
	r.loop(ctx)
	r.out.Seconds = time.Since(start).Seconds()
	if r.out.Received > 0 {
		p := r.times.Point(cfg.Size, 1)
		r.out.Time = &p
	}
	return r.out, r.close(ctx)
}

// connect connects, or connects again.
func (r *run) connect(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.Patience, errNoAnswer)
	defer cancel()
	if r.client, err = Dial(ctx, r.device, r.addr, r.cfg.Options); err != nil {
		return err
	}
	r.out.Connections++
	r.out.Local = r.client.Local().String()
	return nil
}

// closePatience is how long the end of a run waits for the server's answer.
const closePatience = time.Second

// close ends the connection, if there is one.
func (r *run) close(ctx context.Context) error {
	if r.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	_ = r.client.Disconnect(ctx) // a silent server is no failure of the run
	err := r.client.Close()
	r.client = nil
	return err
}

func (r *run) fail(stage Stage, err error) {
	if r.out.Failure == nil {
		r.out.Failure = Explain(err, stage, r.device.Name(), r.addr)
	}
}

// loop sends the pings.
func (r *run) loop(ctx context.Context) {
	due := time.Now()
	for n := 0; r.cfg.Count == 0 || n < r.cfg.Count; n++ {
		s := Sample{N: n, At: time.Now()}
		stage := StageData
		if r.client == nil {
			stage = StageConnect
		}
		s.Time, s.Err = r.ping(ctx, n)
		if ctx.Err() != nil && s.Err != nil {
			return // as if it had not been sent
		}
		r.count(&s, stage)
		if s.Err != nil && r.over(s.Err) {
			return
		}
		due = due.Add(r.cfg.Interval)
		wait := r.pause(&due, s.Err)
		if last := r.cfg.Count > 0 && n+1 >= r.cfg.Count; wait <= 0 || last {
			continue
		}
		if clock.Sleep(ctx, clock.System, wait) != nil {
			return
		}
	}
}

// ping sends one ping, after connecting if the last one was lost.
func (r *run) ping(ctx context.Context, n int) (time.Duration, error) {
	if r.client == nil {
		if err := r.connect(ctx); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.cfg.Patience, errNoAnswer)
	defer cancel()
	c := r.client
	Fill(c.Source(), n)
	start := time.Now()
	if err := c.Ping(ctx); err != nil {
		_ = c.Close() // it is of no more use
		r.client = nil
		return 0, err
	}
	took := time.Since(start)
	if r.cfg.NoCheck {
		return took, nil
	}
	return took, compare(n, c.Source(), c.Sink())
}

// count adds the result of a ping.
func (r *run) count(s *Sample, stage Stage) {
	r.out.Sent++
	_, wrong := errors.AsType[*MismatchError](s.Err)
	switch {
	case s.Err != nil && !wrong:
		r.out.Lost++
	default:
		r.out.Received++
		if s.Late = s.Time > r.cfg.Late; s.Late {
			r.out.Late++
		}
		if wrong {
			r.out.Wrong++
		}
		r.times.Add(s.Time)
	}
	if s.Err != nil {
		r.fail(stage, s.Err)
	}
	if r.cfg.Sent != nil {
		r.cfg.Sent(*s)
	}
}

// over reports whether an error ends the run: the server has ended, or is no rping.
func (r *run) over(err error) bool {
	_, size := errors.AsType[*SizeError](err)
	switch {
	case r.cfg.Forever:
		return false
	case errors.Is(err, io.EOF), errors.Is(err, verbs.ErrNobodyListens):
		return true
	}
	return size
}

// pause returns how long to wait before the next ping: until due, which is moved if pings take
// longer than the interval. With Flood only the pings after one that was lost wait.
func (r *run) pause(due *time.Time, err error) time.Duration {
	if r.cfg.Flood {
		if err == nil {
			return 0
		}
		return min(r.cfg.Interval, defaultInterval)
	}
	now := time.Now()
	if due.Before(now) {
		*due = now
	}
	return due.Sub(now)
}
