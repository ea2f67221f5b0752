package checks

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// counterRule is a check on counters: a row of the tables in counter_table_*.go.
type counterRule struct {
	id      string
	numbers []int // of the catalogue
	group   doctor.Group
	scope   counterScope
	title   string
	// counters are the counters of all drivers; those that an object has are judged.
	counters []counterName
	// per are the counters that a ratio refers to: packets.
	per []counterName
	// measure judges an object; nil stands for measureEach, the increase of each counter, or for
	// measureRatio if there is per.
	measure func(*judge, *sample) []verdict
	limits  []counterLimit
	// compares is what is compared with the limits: a ratio or share, or events that are not simply
	// the increase of the counters; "" for that increase.
	compares string
	// fixed reports that nothing is compared with the limits, which only have the outcome.
	fixed bool
	more  []doctor.Threshold // further thresholds
	good  string             // what a counter within the limits is, without an interval; "" for the usual
	// historic is the outcome of a counter that is not 0, without an interval. "" means that only
	// an interval can tell; never, that the value means nothing without one.
	historic doctor.Outcome
	// once judges an object without an interval, and absolute is the whole check then; nil for the
	// usual.
	once     func(*judge, *sample) []verdict
	absolute func(context.Context, *doctor.Input) []doctor.Finding
	// lost is the outcome of an object that was removed between the readings, "" for unknown.
	lost doctor.Outcome
	// uses are further kinds of data.
	uses        []facts.Kind
	explanation string
	remedy      string
	actions     func(*sample) []doctor.Action
	sources     []string
}

// never is a [counterRule].historic of rules that need an interval.
const never doctor.Outcome = "never"

// counterScope is what a rule judges.
type counterScope int

const (
	scopePort   counterScope = iota // counters and hw_counters of a port that carries jobs
	scopeNetdev                     // its network device, or the members of the bond
	scopePCI                        // its PCI function and the port above it
)

// counterName is a counter of one driver.
type counterName struct {
	group string // groupClassic, groupDriver, facts.CountersNetdev, …
	name  string // may have ? for a digit
}

// Groups of counters, as in [inventory.Counter].
const (
	groupClassic      = "counters"
	groupDriver       = "hw_counters"
	groupDriverDevice = "device_hw_counters"
)

// in returns counters of one group.
func countersIn(group string, names ...string) []counterName {
	var out []counterName
	for _, n := range names {
		out = append(out, counterName{group, n})
	}
	return out
}

// counterLimit is a threshold of a rule; the value must be greater to exceed it.
type counterLimit struct {
	outcome doctor.Outcome
	value   float64
	unit    string // "" an increase, "1/s", "1/min", "1/h", "ratio", "%"
	source  string
}

// span returns the time of a rate's unit, 0 for other units.
func (l counterLimit) span() time.Duration {
	return map[string]time.Duration{"1/s": time.Second, "1/min": time.Minute, "1/h": time.Hour}[l.unit]
}

// name is the name of the threshold: "symbol-errors-fail".
func (r *counterRule) limitName(l counterLimit) string { return r.id + "-" + string(l.outcome) }

// counterChecks returns the checks of all rules on counters.
func counterChecks() []doctor.Check {
	var list []doctor.Check
	for _, r := range counterRules() {
		list = append(list, r.check())
	}
	return list
}

func counterRules() []counterRule {
	return slices.Concat(linkCounterRules(), classicCounterRules(), signalCounterRules(), retryCounterRules(),
		sequenceCounterRules(), programCounterRules(), roceCounterRules(), pauseCounterRules(), pcieCounterRules())
}

// check makes the check of a rule.
func (r counterRule) check() doctor.Check {
	c := doctor.Check{
		ID: r.id, Title: r.title, Severity: doctor.OutcomeInfo, Numbers: r.numbers, Group: r.group,
		Needs: doctor.NeedDevices, Explanation: r.explanation, Remedy: r.remedy, Sources: r.sources,
		Uses: slices.Clone(r.uses), Reads: r.reads(),
		Run: r.run,
	}
	if r.historic == never {
		c.Facts = []facts.Kind{facts.KindRates}
	} else {
		c.Uses = append(c.Uses, facts.KindRates)
		if r.has(facts.CountersEthtool) {
			c.Uses = append(c.Uses, facts.KindEthtool)
		}
	}
	for _, l := range r.limits {
		if l.outcome.Compare(c.Severity) > 0 {
			c.Severity = l.outcome
		}
		if r.fixed {
			continue
		}
		unit := l.unit
		if unit == "ratio" {
			unit = ""
		}
		c.Thresholds = append(c.Thresholds, doctor.Threshold{
			Name: r.limitName(l), Value: l.value, Unit: unit, What: r.compared(l), Source: l.source,
		})
	}
	c.Thresholds = append(c.Thresholds, r.more...)
	return c
}

// compared describes what is compared with a limit.
func (r *counterRule) compared(l counterLimit) string {
	subject := cmp.Or(r.compares, r.subject())
	switch {
	case l.span() > time.Second:
		return fmt.Sprintf("rate of %s; if the readings are closer together than that, the number", subject)
	case l.span() > 0:
		return "rate of " + subject
	case l.unit != "":
		return subject
	}
	if r.compares == "" {
		subject = "increase of " + subject
	}
	return subject + " between two readings"
}

// subject names the counters of the rule.
func (r *counterRule) subject() string {
	var names []string
	for _, c := range r.counters {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func (r *counterRule) has(group string) bool {
	return slices.ContainsFunc(r.counters, func(c counterName) bool { return c.group == group })
}

// reads returns the files that the rule reads without an interval.
func (r *counterRule) reads() []string {
	if r.historic == never {
		return nil
	}
	var patterns []string
	for _, c := range r.counters {
		switch c.group {
		case groupClassic:
			patterns = append(patterns, portFiles(groupClassic+"/"+c.name))
		case groupDriver:
			patterns = append(patterns, portFiles(groupDriver+"/"+c.name), deviceFiles(groupDriver+"/"+c.name))
		case facts.CountersNetdev:
			patterns = append(patterns, netFiles(c.name))
		case facts.CountersAER:
			file, _, _ := strings.Cut(c.name, ":")
			patterns = append(patterns, pciFiles(file))
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// matching returns the counters that have one of the names, in their order. The counters of a
// device stand for those of the port that it doesn't have.
func matching(list []inventory.Counter, names []counterName) []inventory.Counter {
	var out []inventory.Counter
	for _, c := range list {
		group := c.Group
		if group == groupDriverDevice {
			if slices.ContainsFunc(list, func(o inventory.Counter) bool {
				return o.Group == groupDriver && o.Name == c.Name
			}) {
				continue
			}
			group = groupDriver
		}
		if slices.ContainsFunc(names, func(n counterName) bool {
			ok, _ := path.Match(n.name, c.Name)
			return n.group == group && ok
		}) {
			out = append(out, c)
		}
	}
	return out
}

// sample is what is known of the counters of one object.
type sample struct {
	object string
	port   portRef // whose object it is
	// readings are the two readings, nil without an interval.
	readings *facts.Readings
	counters []inventory.Counter // of the rule: the last reading
	per      []inventory.Change  // of the rule's counters per
	errs     []error             // why counters are not among them
	unread   bool                // a file could not be read, which [doctor.Run] reports
	lost     string              // why there is no second reading
}

// elapsed returns the time between the readings.
func (s *sample) elapsed() time.Duration { return s.readings.Elapsed }

// change returns the change of a counter of the second reading.
func (s *sample) change(c inventory.Counter) inventory.Change {
	return inventory.Changes(s.first(c), []inventory.Counter{c}, s.elapsed())[0]
}

// first returns a counter in the first reading, none if it was not there.
func (s *sample) first(c inventory.Counter) []inventory.Counter {
	for i, o := range s.readings.Before {
		if o.Name == c.Name && o.Group == c.Group {
			return s.readings.Before[i : i+1]
		}
	}
	return nil
}

// jobObjects returns the objects of the scope that jobs depend on, without their counters.
func jobObjects(s *inventory.Snapshot, scope counterScope) []*sample {
	var out []*sample
	add := func(object string, p portRef) {
		if object != "" && !slices.ContainsFunc(out, func(o *sample) bool { return o.object == object }) {
			out = append(out, &sample{object: object, port: p})
		}
	}
	for p := range ports(s) {
		if !p.carriesJobs(s) || p.dev.Software != "" || p.dev.SMIOf != "" {
			continue
		}
		switch scope {
		case scopePort:
			add(p.object(), p)
		case scopeNetdev:
			n := p.netdev(s)
			if n == nil {
				continue
			}
			connectors := n.Connectors()
			if len(connectors) == 0 { // a bond without members
				connectors = []string{n.Name}
			}
			for _, name := range connectors {
				add(name, p)
			}
		case scopePCI:
			if p.dev.PCI == nil {
				continue
			}
			add(p.dev.PCI.Address, p)
			if n := len(p.dev.PCI.Chain); n > 1 { // the first is the host bridge
				add(p.dev.PCI.Chain[n-1], p)
			}
		}
	}
	return out
}

// classNet and pciDir return the folder of an object below the root.
func classNet(name string) string { return path.Join(sysfs.ClassNet, name) }

func pciDir(address string) string { return path.Join(sysfs.BusPCIDevices, address) }
