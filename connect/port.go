package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Port is a port of this machine that may be tried.
type Port struct {
	Name string // "mlx5_0:1", or the name of an engine
	// Device identifies the device, which [Local] opens once for two ports of it; "" is Name
	// without ":NUMBER". An engine has several names.
	Device string
	Number int  // of the device; 0 is 1
	Rail   *int // number of a compute port; nil if it has none
	// GIDIndex restricts the port to one entry of its GID table; nil tries all.
	GIDIndex *int
	// Preferred is the entry that jobs use, as package launch chooses it; nil if that is not known.
	Preferred *int
	PKey      ib.PKey // entry 0 of the partition table; 0 is ib.PKeyDefault
	Software  bool    // a device in user space
	// Open opens the device, which the attempt closes.
	Open func(context.Context) (*verbs.Device, error)
	// Counters returns the counters of the port; nil stands for those of the opened device.
	Counters func(context.Context) (map[string]uint64, error)

	// close replaces the device's Close; nil for a device of one attempt.
	close func(*verbs.Device) error
}

// device returns what identifies the device.
func (p *Port) device() string {
	name, _, ok := strings.Cut(p.Name, ":")
	if !ok || strings.Contains(p.Name, "@") { // engines have no number, but perhaps an IPv6 address
		name = p.Name
	}
	return cmp.Or(p.Device, name)
}

// release closes a device that Open has returned.
func (p *Port) release(d *verbs.Device) error {
	if p.close != nil {
		return p.close(d)
	}
	return d.Close()
}

// shared returns two ports of one device, which is opened once: a second engine on the same address
// would find UDP port 4791 in use.
func shared(a, b Port) (first, second Port) {
	s := &sharedDevice{open: a.Open}
	a.Open, a.close = s.get, s.put
	b.Open, b.close = s.get, s.put
	return a, b
}

type sharedDevice struct {
	open func(context.Context) (*verbs.Device, error)

	mu     sync.Mutex
	device *verbs.Device
	users  int
}

func (s *sharedDevice) get(ctx context.Context) (*verbs.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.device == nil {
		d, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		s.device = d
	}
	s.users++
	return s.device, nil
}

func (s *sharedDevice) put(*verbs.Device) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	d := s.device
	s.device = nil
	return d.Close()
}

// retryCounters are the counters that grow when packets are repeated or lost: those of the engine,
// and of drivers (hw_counters of mlx5, rxe, bnxt_re, irdma, hns, erdma).
func retryCounters() []string {
	return []string{
		"retransmits", "timeouts", "sequenceNAKs", "rnrNAKs", "duplicates", "outOfOrder", "badICRC",
		"local_ack_timeout_err", "packet_seq_err", "out_of_sequence", "rnr_nak_retry_err", "implied_nak_seq_err",
		"duplicate_request", "out_of_buffer", "resp_cqe_error", "req_cqe_error", "roce_adp_retrans",
		"roce_adp_retrans_to", "rx_icrc_encapsulated",
		"completer_retry_err", "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err",
		"retry_exceeded_err", "retry_rnr_exceeded_err",
		"seq_err_naks_rcvd", "rnr_naks_rcvd", "missing_resp", "to_retransmits", "max_retry_exceeded",
		"retry_exceeded", "RetransSegs",
	}
}

// arrivalCounters count the packets of RDMA that have arrived: those of rxe and of InfiniBand's
// PMA.
func arrivalCounters() []string { return []string{"rcvd_pkts", "port_rcv_packets"} }

// counters returns all counters of a port, for which it waits for the limit at most: a driver may
// hang.
func (p *Port) counters(ctx context.Context, d *verbs.Device, limit time.Duration) (map[string]uint64, error) {
	if p.Counters == nil {
		return d.Counters(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		all map[string]uint64
		err error
	}
	done := make(chan result, 1)
	go func() { // nobody waits for it: a read that the driver blocks can't be interrupted
		all, err := p.Counters(ctx)
		done <- result{all, err}
	}()
	select {
	case r := <-done:
		return r.all, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// countersShare is the part of a step's limit that reading counters may take: the peer waits
// meanwhile, for one step.
const countersShare = 4

// count reads the counters of retries and arrivals; nil if the port has none.
func (p *Port) count(ctx context.Context, d *verbs.Device, step time.Duration) (map[string]uint64, error) {
	all, err := p.counters(ctx, d, step/countersShare)
	var out map[string]uint64
	for _, name := range slices.Concat(retryCounters(), arrivalCounters()) {
		if n, ok := all[name]; ok {
			if out == nil {
				out = map[string]uint64{}
			}
			out[name] = n
		}
	}
	return out, err
}

// grown returns the growth of those of the named counters that have grown, and with all also of the
// others.
func grown(names []string, before, after map[string]uint64, all bool) map[string]uint64 {
	out := map[string]uint64{}
	for _, name := range names {
		was, known := before[name]
		if n, ok := after[name]; ok && known && (all && n == was || n > was) {
			out[name] = n - was
		}
	}
	return out
}

// prepared is a port whose device is open and whose memory is registered, or the failure on the way
// there.
type prepared struct {
	port    Port
	number  int
	device  *verbs.Device
	rig     *rig
	own     Endpoint
	before  map[string]uint64
	stages  stageClock
	failure *Failure
}

// prepare opens the device, registers memory and chooses the usable GIDs.
func prepare(ctx context.Context, port Port, cfg Config) *prepared {
	p := &prepared{port: port, number: max(port.Number, 1)}
	p.own = Endpoint{Host: cfg.Host, Port: port.Name, PKey: port.PKey, Software: port.Software}
	if p.own.Timeout = cfg.Timeout; cfg.Timeout == verbs.TimeoutInfinite {
		p.own.Timeout = 0
	}
	if p.own.PKey == 0 {
		p.own.PKey = ib.PKeyDefault
	}
	for _, step := range []struct {
		stage Stage
		do    func(context.Context, Config) *Failure
	}{{StageOpen, p.open}, {StageRegister, p.register}, {StageResolve, p.resolve}} {
		p.stages.begin(step.stage)
		f := step.do(ctx, cfg)
		if p.stages.end(f == nil); f != nil {
			f.Stage, f.End = step.stage, p.name()
			p.failure = f
			break
		}
	}
	return p
}

// name names this end.
func (p *prepared) name() string { return nameOf(p.own.Host, p.own.Port) }

// close frees everything.
func (p *prepared) close() error {
	var errs []error
	if p.rig != nil {
		errs = append(errs, p.rig.close())
		p.rig = nil
	}
	if p.device != nil {
		errs = append(errs, p.port.release(p.device))
		p.device = nil
	}
	return errors.Join(errs...)
}

func (p *prepared) open(ctx context.Context, cfg Config) *Failure {
	d, err := p.port.Open(ctx)
	if err != nil {
		return failed(CodeOpen, "open", p.port.Name, err)
	}
	p.device = d
	attr, err := d.Port(ctx, p.number)
	if err != nil {
		return failed(CodeOpen, "query port of", p.port.Name, err)
	}
	p.own.LinkLayer, p.own.LID, p.own.ActiveMTU = attr.LinkLayer.String(), attr.LID, attr.ActiveMTU
	if attr.State != verbs.PortStateActive {
		f := failed(CodePortDown, "query port of", p.port.Name, fmt.Errorf("the port is %v, not ACTIVE", attr.State))
		f.Remedies = []string{
			"check cable and transceiver, and on RoCE that the network device is up: ip link set NETDEV up",
			"on InfiniBand a port waits in INIT for a subnet manager: rdmactl fabric sm",
		}
		return f
	}
	p.own.MTU = attr.ActiveMTU
	if cfg.MTU != 0 {
		p.own.MTU = min(cfg.MTU, attr.ActiveMTU)
	}
	p.before, _ = p.port.count(ctx, d, cfg.StepTimeout) // without them the attempt says that retries are unknown
	return nil
}

func (p *prepared) register(_ context.Context, cfg Config) *Failure {
	r, f := newRig(p.device, p.number, cfg)
	if f != nil {
		return f
	}
	p.rig = r
	p.own.QPN, p.own.PSN = uint32(r.qp.QPN()), uint32(r.psn)
	p.own.RKey, p.own.Addr = r.mr.RKey(), r.mr.Addr()+targetAt
	if cfg.plant.wrongKey {
		p.own.RKey ^= 1 << 31
	}
	return nil
}

func (p *prepared) resolve(ctx context.Context, _ Config) *Failure {
	entries, err := p.device.GIDs(ctx, p.number)
	if err != nil {
		return failed(CodeNoGID, "read the GID table of", p.port.Name, err)
	}
	layer := verbs.LinkLayerEthernet
	if p.own.LinkLayer == verbs.LinkLayerInfiniBand.String() {
		layer = verbs.LinkLayerInfiniBand
	}
	if p.own.GIDs = choices(entries, layer, p.port.GIDIndex, p.port.Preferred); len(p.own.GIDs) > 0 {
		return nil
	}
	f := failed(CodeNoGID, "choose a GID of", p.port.Name, noGIDError(entries, p.port.GIDIndex))
	f.Remedies = []string{
		"assign an IP address to the port's network device, and set it up: ip addr add ADDRESS/PREFIX dev NETDEV",
		"rdmactl show DEVICE lists the GID table; " +
			"a container sees only entries of network devices in its own network namespace",
	}
	if p.port.GIDIndex != nil && len(indexes(entries)) > 0 {
		f.Remedies[0] = "--gid-index (-x) INDEX needs an entry of the table; without it the best one is used"
	}
	return f
}

// noGIDError returns the reason why no entry of a table can be used.
func noGIDError(entries []verbs.GIDEntry, pin *int) error {
	used := indexes(entries)
	switch {
	case len(used) == 0:
		return errors.New("the GID table is empty")
	case pin != nil:
		return fmt.Errorf("the GID table has no entry at index %d, but at %s", *pin, strings.Join(used, ", "))
	}
	return errors.New("the GID table has only link-local addresses, which jobs can't use")
}

// indexes returns the indexes of the entries that are in use.
func indexes(entries []verbs.GIDEntry) (used []string) {
	for _, e := range entries {
		if !e.GID.IsZero() {
			used = append(used, strconv.Itoa(e.Index))
		}
	}
	return used
}
