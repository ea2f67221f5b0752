package facts

import (
	"fmt"
	"io/fs"
	"time"
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
	KindResolver  Kind = "resolver"   // the addresses of the host's own name, by /etc/hosts and DNS
	KindFilter    Kind = "filter"     // nf_tables: rules that filter packets
	KindClock     Kind = "clock"      // offset of the clock from its source
	KindPCI       Kind = "pci"        // configuration space of PCI functions
	KindDaemons   Kind = "daemons"    // limits of the daemons that start jobs
	KindShm       Kind = "shm"        // size of /dev/shm
	KindVerbs     Kind = "verbs"      // libibverbs: MTUs of ports

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
		KindResolver:  "the addresses of the host's name (/etc/hosts, DNS)",
		KindFilter:    "packet filter (nf_tables)",
		KindClock:     "the discipline of the clock (adjtimex)",
		KindPCI:       "configuration space of cards, GPUs and the bridges above them",
		KindDaemons:   "limits of the daemons that start jobs",
		KindShm:       "the size of /dev/shm (statfs)",
		KindVerbs:     "the MTUs of ports (libibverbs)",

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
	Verbs     *Datum[[]VerbsPort]     `json:"verbs,omitempty"`

	Environment *Datum[map[string]string] `json:"environment,omitempty"`
}

// New returns facts that know the files below a node's root only. root may be nil.
func New(root fs.FS) *Facts { return &Facts{Files: NewFiles(root)} }

// State returns nil if the kind was gathered and is valid, and otherwise why not, as
// [Datum.State].
func (f *Facts) State(k Kind) error {
	s := f.slotOf(k)
	if s == nil {
		return fmt.Errorf("no kind of data %q", k)
	}
	return s.get().State()
}

// datum is a [Datum] of any type.
type datum interface {
	State() error
	times() (time.Time, time.Duration)
}

// slot is the field of a kind, of any type.
type slot interface {
	get() datum
	set(from slot)
	fail(taken time.Time, took time.Duration, text string)
}

type slotOf[T any] struct{ field **Datum[T] }

func (s slotOf[T]) get() datum { return *s.field }

// set copies the datum of a slot of the same kind.
func (s slotOf[T]) set(from slot) {
	if same, ok := from.(slotOf[T]); ok {
		*s.field = *same.field
	}
}

func (s slotOf[T]) fail(taken time.Time, took time.Duration, text string) {
	*s.field = &Datum[T]{Taken: taken, Took: took, Error: text}
}

// slotOf returns the field of a kind, nil if there is no such kind.
func (f *Facts) slotOf(k Kind) slot {
	switch k {
	case KindLinks:
		return slotOf[[]Link]{&f.Links}
	case KindRoutes:
		return slotOf[Routing]{&f.Routes}
	case KindEthtool:
		return slotOf[[]Ethtool]{&f.Ethtool}
	case KindModules:
		return slotOf[[]Module]{&f.Modules}
	case KindDCB:
		return slotOf[[]DCB]{&f.DCB}
	case KindDevlink:
		return slotOf[[]DevlinkDevice]{&f.Devlink}
	case KindKernelLog:
		return slotOf[[]KernelMessage]{&f.KernelLog}
	case KindRates:
		return slotOf[Rates]{&f.Rates}
	case KindProbe:
		return slotOf[[]Probe]{&f.Probe}
	case KindResolver:
		return slotOf[Resolver]{&f.Resolver}
	case KindFilter:
		return slotOf[[]FilterRule]{&f.Filter}
	case KindClock:
		return slotOf[ClockDiscipline]{&f.Clock}
	case KindPCI:
		return slotOf[[]PCIFunction]{&f.PCI}
	case KindDaemons:
		return slotOf[[]Daemon]{&f.Daemons}
	case KindShm:
		return slotOf[FileSystem]{&f.Shm}
	case KindVerbs:
		return slotOf[[]VerbsPort]{&f.Verbs}
	case KindEnvironment:
		return slotOf[map[string]string]{&f.Environment}
	}
	return nil
}

// Kinds returns all kinds, in order.
func Kinds() []Kind {
	return []Kind{
		KindLinks, KindRoutes, KindEthtool, KindModules, KindDCB, KindDevlink, KindKernelLog, KindRates, KindProbe,
		KindResolver, KindFilter, KindClock, KindPCI, KindDaemons, KindShm, KindVerbs, KindEnvironment,
	}
}
