package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// carrierSample is the time between two looks at the carriers of network devices.
const carrierSample = 200 * time.Millisecond

// ratesTime is how long two readings of all counters may take beside the interval: some counters
// are commands to the firmware.
const ratesTime = 2 * time.Minute

// RatesSource says what [Rates] reads.
type RatesSource struct {
	Root     fs.FS            // of the running node
	Interval time.Duration    // between the two readings
	Now      func() time.Time // gives the times of the data
	// Ethtool gives the statistics of network devices; a collector of [facts.KindEthtool] without
	// Collect stands for a node without them.
	Ethtool facts.Collector
}

// Rates returns the collector that reads all counters twice. It takes the interval, so that it is
// not among [Collectors].
func Rates(src RatesSource) facts.Collector {
	return facts.Collector{
		Kind: facts.KindRates, Source: "counters and hw_counters of ports, ethtool statistics, aer_dev_*",
		Cost: "the interval, and a firmware command for some counters", Live: true,
		Limit: src.Interval + ratesTime,
		Collect: func(ctx context.Context, s *inventory.Snapshot, f *facts.Facts) {
			f.Rates = facts.Read(src.Now, func() (facts.Rates, error) { return src.collect(ctx, s) })
		},
	}
}

// EthtoolOf returns the collector of ethtool's data among collectors, the zero value if there is
// none.
func EthtoolOf(collectors []facts.Collector) facts.Collector {
	i := slices.IndexFunc(collectors, func(c facts.Collector) bool { return c.Kind == facts.KindEthtool })
	if i < 0 {
		return facts.Collector{}
	}
	return collectors[i]
}

// counted is an object whose counters are read twice.
type counted struct {
	facts.Readings
	dir    string // relative to the root; without it the object is gone
	read   func(context.Context) ([]inventory.Counter, error)
	netdev string // "" if it is none
	// from is Readings.From with the monotonic reading of the clock, which UTC drops.
	from time.Time
}

func (src RatesSource) collect(ctx context.Context, s *inventory.Snapshot) (facts.Rates, error) {
	if len(s.Devices) == 0 {
		return facts.Rates{}, facts.Absent("the node has no RDMA device whose counters could be read")
	}
	var objects []*counted
	for d, p := range s.Ports() {
		objects = append(objects, src.port(d, p))
	}
	ports := len(objects)
	names := netdevs(s)
	for _, name := range names {
		objects = append(objects, src.netdev(name))
	}
	for _, address := range functions(s) {
		objects = append(objects, src.function(address))
	}
	src.readAll(ctx, s, objects, false)
	src.wait(ctx, objects)
	src.readAll(ctx, s, objects, true)
	if err := ctx.Err(); err != nil {
		return facts.Rates{}, fmt.Errorf("read counters twice: %w", context.Cause(ctx))
	}
	r := facts.Rates{Interval: src.Interval}
	for i, o := range objects {
		switch {
		case i < ports:
			r.Ports = append(r.Ports, o.Readings)
		case o.netdev != "":
			r.Netdevs = append(r.Netdevs, o.Readings)
		default:
			r.PCI = append(r.PCI, o.Readings)
		}
	}
	return r, nil
}

func (src RatesSource) port(d *inventory.Device, p *inventory.Port) *counted {
	return &counted{
		Readings: facts.Readings{Object: d.Name + ":" + strconv.Itoa(p.Number)},
		dir:      path.Join(sysfs.ClassInfiniBand, d.Name, "ports", strconv.Itoa(p.Number)),
		read: func(ctx context.Context) ([]inventory.Counter, error) {
			return inventory.ReadCounters(ctx, src.Root, d.Name, p.Number)
		},
	}
}

func (src RatesSource) netdev(name string) *counted {
	dir := path.Join(sysfs.ClassNet, name)
	return &counted{
		Readings: facts.Readings{Object: name}, dir: dir, netdev: name,
		read: func(ctx context.Context) ([]inventory.Counter, error) {
			r := sysfs.NewReader(src.Root, ctx.Err)
			var out []inventory.Counter
			files := []string{"carrier_changes", "carrier_up_count", "carrier_down_count"}
			for _, f := range r.List(path.Join(dir, "statistics")) {
				files = append(files, path.Join("statistics", f))
			}
			for _, f := range files {
				if v := r.Uint(path.Join(dir, f), 64); v != nil {
					out = append(out, inventory.Counter{
						Name: f, Group: facts.CountersNetdev, Path: "/" + path.Join(dir, f), Value: v,
					})
				}
			}
			return out, joined(r)
		},
	}
}

func (src RatesSource) function(address string) *counted {
	dir := path.Join(sysfs.BusPCIDevices, address)
	return &counted{
		Readings: facts.Readings{Object: address}, dir: dir,
		read: func(ctx context.Context) ([]inventory.Counter, error) {
			r := sysfs.NewReader(src.Root, ctx.Err)
			var out []inventory.Counter
			for _, f := range facts.AERFiles() {
				text, ok := r.Text(path.Join(dir, f))
				if !ok {
					continue
				}
				list, err := facts.ParseAER("/"+dir, f, text)
				if err != nil {
					r.Fail(path.Join(dir, f), err)
				}
				out = append(out, list...)
			}
			return out, joined(r)
		},
	}
}

func joined(r *sysfs.Reader) error {
	var errs []error
	for _, e := range r.Errors() {
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// netdevs returns the network devices of all ports, and the members of bonds among them.
func netdevs(s *inventory.Snapshot) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range s.Ports() {
		add(p.Netdev)
		if n := s.Netdev(p.Netdev); p.Netdev != "" && n != nil && n.Bond != nil {
			for _, member := range n.Bond.Slaves {
				add(member)
			}
		}
	}
	return names
}

// functions returns the PCI functions of the devices, and for each the port above it: errors of a
// link are counted at the end that sees them.
func functions(s *inventory.Snapshot) []string {
	var addresses []string
	for i := range s.Devices {
		pci := s.Devices[i].PCI
		if pci == nil {
			continue
		}
		list := []string{pci.Address}
		if n := len(pci.Chain); n > 1 { // the first is the host bridge
			list = append(list, pci.Chain[n-1])
		}
		for _, a := range list {
			if !slices.Contains(addresses, a) {
				addresses = append(addresses, a)
			}
		}
	}
	return addresses
}

// readAll makes one reading of all objects.
func (src RatesSource) readAll(ctx context.Context, s *inventory.Snapshot, objects []*counted, again bool) {
	stats, statsAt, statsErr := src.statistics(ctx, s)
	for _, o := range objects {
		at := src.Now()
		list, err := o.read(ctx)
		if o.netdev != "" {
			own := stats[o.netdev]
			err = errors.Join(err, statsErr, own.err)
			if len(own.counters) > 0 {
				at = statsAt
				list = append(list, own.counters...)
			}
		}
		switch {
		case !again:
			o.from, o.From, o.Before = at, at.UTC(), list
		default:
			o.To, o.After, o.Elapsed = at.UTC(), list, at.Sub(o.from)
			if _, gone := fs.Stat(src.Root, o.dir); errors.Is(gone, fs.ErrNotExist) {
				o.Lost = "/" + o.dir + " does not exist any more"
			}
		}
		for _, err := range separate(err) {
			to := &o.Errors
			if errors.Is(err, fs.ErrPermission) {
				to = &o.Denied
			}
			if !slices.Contains(*to, err.Error()) {
				*to = append(*to, err.Error())
			}
		}
	}
}

// separate returns the errors that were joined into one.
func separate(err error) []error {
	if err == nil {
		return nil
	}
	joint, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joint.Unwrap() {
		out = append(out, separate(e)...)
	}
	return out
}

// ownStatistics are those of one network device.
type ownStatistics struct {
	counters []inventory.Counter
	err      error
}

// statistics returns the driver's statistics of network devices, and when they were read, with the
// monotonic reading of the clock.
func (src RatesSource) statistics(
	ctx context.Context, s *inventory.Snapshot,
) (map[string]ownStatistics, time.Time, error) {
	at := src.Now()
	if src.Ethtool.Collect == nil {
		return nil, at, nil
	}
	scratch := facts.New(nil)
	src.Ethtool.Collect(ctx, s, scratch)
	if err := scratch.State(facts.KindEthtool); err != nil {
		return nil, at, fmt.Errorf("read statistics of ethtool: %w", err)
	}
	out := map[string]ownStatistics{}
	for _, e := range scratch.Ethtool.Value {
		out[e.Netdev] = ownStatistics{facts.EthtoolCounters(e), e.State(facts.EthtoolStatistics)}
	}
	return out, at, nil
}

// wait waits for the interval and meanwhile looks at the carriers of network devices.
func (src RatesSource) wait(ctx context.Context, objects []*counted) {
	end := time.NewTimer(src.Interval)
	defer end.Stop()
	sample := min(carrierSample, src.Interval)
	tick := time.NewTicker(sample)
	defer tick.Stop()
	last := src.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-tick.C:
		}
		now := src.Now()
		for _, o := range objects {
			if o.netdev == "" {
				continue
			}
			carrier, err := fs.ReadFile(src.Root, path.Join(o.dir, "carrier"))
			if err != nil {
				continue // the device is switched off, or gone
			}
			o.Sampled = sample
			if len(carrier) > 0 && carrier[0] == '0' {
				o.Down += now.Sub(last)
			}
		}
		last = now
	}
}
