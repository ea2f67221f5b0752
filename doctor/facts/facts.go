package facts

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// Kind names what one collector gathers.
type Kind string

// The kinds. Files of sysfs and procfs need none: checks read them through [Facts.Files].
const (
	KindLinks     Kind = "links"      // rtnetlink: counts and times of carrier changes, bonds
	KindRoutes    Kind = "routes"     // rtnetlink: rules, routes and neighbours
	KindEthtool   Kind = "ethtool"    // ethtool: statistics, pause, FEC, link modes, rings
	KindModules   Kind = "modules"    // ethtool: EEPROM pages of transceivers and cables
	KindDCB       Kind = "dcb"        // dcbnl: PFC, ETS, APP, buffers
	KindDevlink   Kind = "devlink"    // devlink: health reporters, parameters
	KindKernelLog Kind = "kernel-log" // messages of the kernel
	KindRates     Kind = "rates"      // two readings of counters
	KindProbe     Kind = "probe"      // what a peer answers
	KindResolver  Kind = "resolver"   // the addresses of the host's own name
	KindFilter    Kind = "filter"     // nf_tables: rules that filter packets
	KindClock     Kind = "clock"      // offset of the clock from its source
	KindPCI       Kind = "pci"        // configuration space of PCI functions
	KindDaemons   Kind = "daemons"    // limits of the daemons that start jobs
	KindShm       Kind = "shm"        // size of /dev/shm

	KindEnvironment Kind = "environment" // variables of collective libraries
)

// What describes the data of a kind: "routes, rules and neighbours (rtnetlink)".
func (k Kind) What() string {
	what := map[Kind]string{
		KindLinks:     "carrier changes of network devices (rtnetlink)",
		KindRoutes:    "routes, rules and neighbours (rtnetlink)",
		KindEthtool:   "statistics and settings of network devices (ethtool)",
		KindModules:   "transceivers and cables (EEPROM of the module)",
		KindDCB:       "priorities and flow control (dcbnl)",
		KindDevlink:   "health of devices (devlink)",
		KindKernelLog: "the kernel's log",
		KindRates:     "a second reading of counters (--interval)",
		KindProbe:     "answers of a peer (--probe)",
		KindResolver:  "the addresses of the host's name",
		KindFilter:    "packet filter (nf_tables)",
		KindClock:     "the discipline of the clock (adjtimex)",
		KindPCI:       "configuration space of cards, GPUs and the bridges above them",
		KindDaemons:   "limits of the daemons that start jobs",
		KindShm:       "the size of /dev/shm (statfs)",

		KindEnvironment: "the environment's settings of collective libraries",
	}[k]
	if what == "" {
		return string(k)
	}
	return what
}

// Facts is what is known of a node beside its inventory. A nil field was not gathered.
type Facts struct {
	Files *Files `json:"-"` // never nil in a value from New

	Links     *Datum[[]Link]          `json:"links,omitempty"`
	Routes    *Datum[Routing]         `json:"routes,omitempty"`
	Ethtool   *Datum[[]Ethtool]       `json:"ethtool,omitempty"`
	Modules   *Datum[[]Module]        `json:"modules,omitempty"`
	DCB       *Datum[[]DCB]           `json:"dcb,omitempty"`
	Devlink   *Datum[[]DevlinkDevice] `json:"devlink,omitempty"`
	KernelLog *Datum[[]KernelMessage] `json:"kernelLog,omitempty"`
	Rates     *Datum[Rates]           `json:"rates,omitempty"`
	Probe     *Datum[[]Probe]         `json:"probe,omitempty"`
	Resolver  *Datum[Resolver]        `json:"resolver,omitempty"`
	Filter    *Datum[[]FilterRule]    `json:"filter,omitempty"`
	Clock     *Datum[ClockDiscipline] `json:"clock,omitempty"`
	PCI       *Datum[[]PCIFunction]   `json:"pci,omitempty"`
	Daemons   *Datum[[]Daemon]        `json:"daemons,omitempty"`
	Shm       *Datum[FileSystem]      `json:"shm,omitempty"`

	Environment *Datum[map[string]string] `json:"environment,omitempty"`
}

// New returns facts that know the files below a node's root only. root may be nil.
func New(root fs.FS) *Facts { return &Facts{Files: NewFiles(root)} }

// State returns nil if the kind was gathered and is valid, and otherwise why not, as
// [Datum.State].
func (f *Facts) State(k Kind) error {
	d, ok := f.data()[k]
	if !ok {
		return fmt.Errorf("no kind of data %q", k)
	}
	return d.State()
}

// datum is a [Datum] of any type.
type datum interface {
	State() error
	times() (time.Time, time.Duration)
}

// data returns the data of each kind.
func (f *Facts) data() map[Kind]datum {
	return map[Kind]datum{
		KindLinks: f.Links, KindRoutes: f.Routes, KindEthtool: f.Ethtool, KindModules: f.Modules, KindDCB: f.DCB,
		KindDevlink: f.Devlink, KindKernelLog: f.KernelLog, KindRates: f.Rates, KindProbe: f.Probe,
		KindResolver: f.Resolver, KindFilter: f.Filter, KindClock: f.Clock, KindPCI: f.PCI, KindDaemons: f.Daemons,
		KindShm: f.Shm, KindEnvironment: f.Environment,
	}
}

// Kinds returns all kinds, in order.
func Kinds() []Kind {
	return []Kind{
		KindLinks, KindRoutes, KindEthtool, KindModules, KindDCB, KindDevlink, KindKernelLog, KindRates, KindProbe,
		KindResolver, KindFilter, KindClock, KindPCI, KindDaemons, KindShm, KindEnvironment,
	}
}

// Collector gathers data of one kind of a running node.
type Collector struct {
	Kind      Kind   `json:"kind"`
	Source    string `json:"source"`              // where the kernel has it
	Cost      string `json:"cost"`                // what gathering takes
	Privilege string `json:"privilege,omitempty"` // what a process needs for it, "" if any may
	// Live collectors talk to other machines or take seconds; they run only if the caller asks for
	// them, not whenever a check could use them.
	Live bool `json:"live,omitempty"`
	// Collect sets the field of its kind and no other, so that collectors can run side by side.
	Collect func(ctx context.Context, s *inventory.Snapshot, f *Facts) `json:"-"`
}

// Gather runs the collectors of the chosen kinds side by side and waits for all of them. A kind
// without a collector, or one that is known already, is left as it is. A collector that panics
// counts as one that gathered nothing. When ctx ends, collectors end early with an error in their
// data.
func (f *Facts) Gather(ctx context.Context, s *inventory.Snapshot, collectors []Collector, kinds ...Kind) {
	var wg sync.WaitGroup
	for _, c := range collectors {
		if !slices.Contains(kinds, c.Kind) || f.State(c.Kind) == nil {
			continue
		}
		wg.Go(func() {
			defer func() { _ = recover() }() // its field stays nil: "not gathered"
			c.Collect(ctx, s, f)
		})
	}
	wg.Wait()
}
