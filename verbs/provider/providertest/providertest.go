package providertest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Endpoint is a device of a [Pair].
type Endpoint struct {
	Device provider.Device
	Port   int           // counted from 1; 0 is 1
	Path   provider.Path // to the other endpoint
	// Addr is an IP address of the device, for [provider.Connector]. The zero Addr is the one in
	// the GID of the path to it, for listening; for dialing, the routes choose.
	Addr netip.Addr
}

// Pair is two devices that can reach each other, or one device twice. The suite closes them.
type Pair struct {
	A, B Endpoint
	// Absent, if it has a destination (DGID or DLID), is a path from A to an address where no
	// device is.
	Absent provider.Path
}

// Options describe the provider. The zero value suits one that announces its capabilities
// correctly and runs over a network that loses nothing.
type Options struct {
	// Capabilities must be announced by both devices; others may be.
	Capabilities provider.Capabilities
	// Faults are the known faults of the provider.
	Faults []Fault
	// Kernel is the version of the kernel whose driver is tested, as in "6.1.0-30-amd64"; "" if the
	// provider doesn't depend on one.
	Kernel string
	// Lossy reports that the network loses packets. The acknowledgement that tells a requester why
	// its request has failed is sent once, so WCRetryExceeded then counts as well (section
	// 9.7.5.2).
	Lossy bool
	// AckTimeout is the code of ib.AckTimeout of connections that are to work; 0 is 14, 67 ms.
	AckTimeout uint8
	// ByConnector lets all rules connect queue pairs by [provider.Connector], for devices that
	// can't exchange numbers: iWARP. Rules that set attributes themselves are then not applicable.
	ByConnector bool
	// Quiet is how long a rule waits to see that nothing happens; 0 is 20 ms.
	Quiet time.Duration
	// Limit is how long a rule may take; 0 is 30 s.
	Limit time.Duration
}

// Fault is a rule that a provider is known to violate. The rule waits a tenth of the usual time for
// what is to happen.
type Fault struct {
	Rule   string // SUBJECT/RULE
	Reason string // what happens instead, and why it can't be fixed
	// Until is the last version of the kernel that is known to have the fault, such as "6.1"; ""
	// for a fault that doesn't depend on it. With a newer one the rule fails in any case: it is to
	// be looked at again.
	Until string
	// Sometimes is set if the rule holds at times, as it depends on what happens first.
	Sometimes bool
}

func (o Options) withDefaults() Options {
	if o.AckTimeout == 0 {
		o.AckTimeout = 14
	}
	if o.Quiet == 0 {
		o.Quiet = 20 * time.Millisecond
	}
	if o.Limit == 0 {
		o.Limit = 30 * time.Second
	}
	return o
}

// subject is a group of rules.
type subject struct {
	name  string
	rules []rule
}

// rule is one rule of the interface.
type rule struct {
	name  string
	needs provider.Capabilities // without which it is not applicable
	run   func(*check)
}

// subjects returns all rules.
func subjects() []subject {
	return []subject{
		{"device", deviceRules()},
		{"states", stateRules()},
		{"attributes", attributeRules()},
		{"memory", memoryRules()},
		{"transfer", transferRules()},
		{"completion", completionRules()},
		{"queue", queueRules()},
		{"inline", inlineRules()},
		{"order", orderRules()},
		{"access", accessRules()},
		{"protection", protectionRules()},
		{"in-flight", inFlightRules()},
		{"rnr", rnrRules()},
		{"retry", retryRules()},
		{"wait", waitRules()},
		{"channel", channelRules()},
		{"event", eventRules()},
		{"close", closeRules()},
		{"many", manyRules()},
		{"srq", srqRules()},
		{"unreliable", unreliableRules()},
		{"atomic", atomicRules()},
		{"window", windowRules()},
		{"drain", drainRules()},
		{"connector", connectorRules()},
	}
}

// Run checks all rules on the devices that open returns; it is called once for each rule. open may
// call t.Fatal.
func Run(t *testing.T, open func(t testing.TB) Pair, options Options) {
	t.Helper()
	options = options.withDefaults()
	has := capabilities(t, open)
	if missing := options.Capabilities &^ has; missing != 0 {
		t.Errorf("the devices don't announce %v", missing)
	}
	for _, f := range unknownFaults(subjects(), options.Faults) {
		t.Errorf("declared fault: no such rule: %s", f.Rule)
	}
	var absent []string
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			for _, r := range s.rules {
				if missing := r.needs &^ has; missing != 0 {
					absent = append(absent, fmt.Sprintf("%-40s needs %v", s.name+"/"+r.name, missing))
					continue
				}
				t.Run(r.name, func(t *testing.T) {
					if why := runRule(t, open, &options, s.name+"/"+r.name, r); why != "" {
						absent = append(absent, fmt.Sprintf("%-40s %s", s.name+"/"+r.name, why))
					}
				})
			}
		})
	}
	t.Run("not-applicable", func(t *testing.T) {
		t.Logf("%d rules are not applicable:\n%s", len(absent), strings.Join(absent, "\n"))
	})
}

// runRule runs one rule and reports its result. It returns why the rule is not applicable, or "".
func runRule(t *testing.T, open func(t testing.TB) Pair, options *Options, name string, r rule) string {
	t.Helper()
	c := newCheck(open(t), options, testing.Short())
	if slices.ContainsFunc(options.Faults, func(f Fault) bool { return f.Rule == name }) {
		c.wait /= 10
	}
	failures := c.execute(r)
	if c.absent != "" && len(failures) == 0 {
		t.Logf("not applicable: %s", c.absent)
		return c.absent
	}
	verdict := judge(name, failures, options)
	for _, line := range verdict.notes {
		t.Log(line)
	}
	for _, line := range verdict.failures {
		t.Error(line)
	}
	return ""
}

// verdict is what is reported of a rule.
type verdict struct{ notes, failures []string }

// judge compares the failures of a rule with the declared faults.
func judge(name string, failures []string, options *Options) verdict {
	for _, f := range options.Faults {
		if f.Rule != name {
			continue
		}
		switch {
		case f.Until != "" && newer(options.Kernel, f.Until):
			return verdict{nil, append(failures, fmt.Sprintf(
				"declared fault (%s): known up to kernel %s, and this is %s: test it again and change the declaration",
				f.Reason, f.Until, options.Kernel))}
		case len(failures) == 0 && f.Sometimes:
			return verdict{nil, nil}
		case len(failures) == 0:
			return verdict{nil, []string{
				fmt.Sprintf("declared fault (%s): the rule holds: remove the declaration", f.Reason),
			}}
		}
		return verdict{append([]string{"known fault: " + f.Reason}, failures...), nil}
	}
	return verdict{nil, failures}
}

// unknownFaults returns the faults whose rule doesn't exist.
func unknownFaults(list []subject, faults []Fault) (unknown []Fault) {
	names := map[string]bool{}
	for _, s := range list {
		for _, r := range s.rules {
			names[s.name+"/"+r.name] = true
		}
	}
	for _, f := range faults {
		if !names[f.Rule] {
			unknown = append(unknown, f)
		}
	}
	return unknown
}

// newer reports whether a version of the kernel is newer than limit, as far as limit is given:
// 6.1.9 is not newer than 6.1.
func newer(version, limit string) bool {
	v, l := numbers(version), numbers(limit)
	for i := range l {
		if i >= len(v) || v[i] != l[i] {
			return i < len(v) && v[i] > l[i]
		}
	}
	return false
}

// numbers returns the numbers at the start of a version: 6, 1 and 0 of 6.1.0-30-amd64.
func numbers(version string) (list []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, digits := 0, 0
		for digits < len(part) && part[digits] >= '0' && part[digits] <= '9' {
			n = n*10 + int(part[digits]-'0')
			digits++
		}
		if digits == 0 {
			break
		}
		list = append(list, n)
		if digits < len(part) {
			break
		}
	}
	return list
}

// capabilities returns what both devices have.
func capabilities(t *testing.T, open func(t testing.TB) Pair) provider.Capabilities {
	t.Helper()
	pair := open(t)
	has := pair.A.Device.Capabilities() & pair.B.Device.Capabilities()
	for _, err := range pair.close() {
		t.Error(err)
	}
	return has
}

// close closes the devices.
func (p *Pair) close() (errs []error) {
	for _, e := range []*Endpoint{&p.A, &p.B} {
		if err := e.Device.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the device after its objects: %w", err))
		}
	}
	return errs
}

// Connect returns the pair of two open devices, which may be the same one: port 1 of each, and the
// first GID of RoCE v2 with the same kind of address at both, or the first GIDs.
func Connect(t testing.TB, a, b provider.Device) Pair {
	t.Helper()
	gidsA, errA := a.GIDs(t.Context(), 1)
	gidsB, errB := b.GIDs(t.Context(), 1)
	if errA != nil || errB != nil || len(gidsA) == 0 || len(gidsB) == 0 {
		t.Fatalf("the devices have no GIDs: %v, %v", errA, errB)
	}
	atA, atB := gidsA[0], gidsB[0]
	for _, x := range gidsA {
		for _, y := range gidsB {
			if atA.Type != provider.GIDTypeRoCEv2 && sameNetwork(x, y) {
				atA, atB = x, y
			}
		}
	}
	path := func(from, to provider.GIDEntry, lid ib.LID) provider.Path {
		return provider.Path{SGIDIndex: from.Index, DGID: to.GID, DLID: lid, Global: true, HopLimit: 64}
	}
	return Pair{
		A: Endpoint{Device: a, Port: 1, Path: path(atA, atB, lidOf(t, b))},
		B: Endpoint{Device: b, Port: 1, Path: path(atB, atA, lidOf(t, a))},
	}
}

// sameNetwork reports whether two entries are of RoCE v2 and have the same kind of address.
func sameNetwork(x, y provider.GIDEntry) bool {
	_, x4 := x.GID.IPv4()
	_, y4 := y.GID.IPv4()
	return x.Type == provider.GIDTypeRoCEv2 && y.Type == provider.GIDTypeRoCEv2 && x4 == y4
}

func lidOf(t testing.TB, d provider.Device) ib.LID {
	t.Helper()
	port, err := d.Port(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return port.LID
}
