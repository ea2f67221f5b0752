package fabric_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/counters"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// readings returns the counters of a port of a node with all optional counters.
func readings(p *fabric.Port) []fabric.Reading {
	n := &fabric.Node{Ports: []fabric.Port{*p}, Performance: &mad.ClassPortInfo{
		CapabilityMask: mad.PerformancePortCountersXmitWait | mad.PerformanceQP1Dropped,
	}}
	return n.Readings(0)
}

// reading returns the counter of that name.
func reading(t *testing.T, p *fabric.Port, name string) fabric.Reading {
	t.Helper()
	for _, r := range readings(p) {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no counter %s", name)
	return fabric.Reading{}
}

func TestReadings(t *testing.T) {
	narrow := &fabric.Port{Counters: &mad.PortCounters{
		LinkDownedCounter: 255, LocalLinkIntegrityErrors: 15, SymbolErrorCounter: 65534, PortXmitWait: 1<<32 - 1,
		PortXmitData: 7,
	}}
	both := &fabric.Port{
		Counters: narrow.Counters, Extended: &mad.PortCountersExtended{PortXmitData: 1 << 40, SymbolErrorCounter: 9},
	}
	wide := &fabric.Port{Extended: &mad.PortCountersExtended{SymbolErrorCounter: 1 << 20, PortXmitWait: 5}}
	tests := []struct {
		port      *fabric.Port
		want      fabric.Reading
		saturated bool
	}{
		{narrow, fabric.Reading{Name: "LinkDownedCounter", Value: 255, Bits: 8, IsError: true}, true},
		{narrow, fabric.Reading{Name: "LocalLinkIntegrityErrors", Value: 15, Bits: 4, IsError: true}, true},
		{narrow, fabric.Reading{Name: "SymbolErrorCounter", Value: 65534, Bits: 16, IsError: true}, false},
		{narrow, fabric.Reading{Name: "PortXmitWait", Value: 1<<32 - 1, Bits: 32}, true},
		{narrow, fabric.Reading{Name: "PortXmitData", Value: 7, Bits: 32}, false},
		{both, fabric.Reading{Name: "PortXmitData", Value: 1 << 40, Bits: 64}, false},
		{both, fabric.Reading{Name: "SymbolErrorCounter", Value: 65534, Bits: 16, IsError: true}, false},
		{wide, fabric.Reading{Name: "SymbolErrorCounter", Value: 1 << 20, Bits: 64, IsError: true}, false},
		{wide, fabric.Reading{Name: "PortXmitWait", Value: 5, Bits: 64}, false},
	}
	for _, tt := range tests {
		got := reading(t, tt.port, tt.want.Name)
		if got != tt.want || got.Saturated() != tt.saturated {
			t.Errorf("Readings() has %+v, saturated %t, want %+v, %t", got, got.Saturated(), tt.want, tt.saturated)
		}
	}
	if got := readings(new(fabric.Port)); got != nil {
		t.Errorf("Readings of a port that was not read = %v, want nil", got)
	}
	full := fabric.Reading{Value: 1<<64 - 1, Bits: 64}
	if full.Saturated() {
		t.Error("a counter of 64 ones is saturated: no port gets there")
	}
}

// TestReadingsAreTheirNames gives each counter of both attributes a different value, and checks it
// under its name.
func TestReadingsAreTheirNames(t *testing.T) {
	narrow, wide := &mad.PortCounters{}, &mad.PortCountersExtended{}
	for i, c := range counters.PortCounters() {
		reflect.ValueOf(narrow).Elem().FieldByName(c.Name).SetUint(uint64(i) + 1)
		reflect.ValueOf(wide).Elem().FieldByName(c.Name).SetUint(uint64(i) + 101)
	}
	for _, tt := range []struct {
		port         *fabric.Port
		wide, errors uint64 // added to the values of traffic counters, and of the others
	}{
		{&fabric.Port{Counters: narrow}, 1, 1},
		{&fabric.Port{Extended: wide}, 101, 101},
		{&fabric.Port{Counters: narrow, Extended: wide}, 101, 1},
	} {
		list := readings(tt.port)
		if len(list) != len(counters.PortCounters()) {
			t.Fatalf("Readings has %d counters, want %d", len(list), len(counters.PortCounters()))
		}
		for i, c := range counters.PortCounters() {
			isError := c.Kind == counters.KindError
			want := fabric.Reading{Name: c.Name, Value: uint64(i) + tt.errors, Bits: c.Bits, IsError: isError}
			if c.Kind == counters.KindTraffic {
				want.Value = uint64(i) + tt.wide
			}
			if want.Value > 100 {
				want.Bits = 64
			}
			if list[i] != want {
				t.Errorf("Readings()[%d] = %+v, want %+v", i, list[i], want)
			}
		}
	}
	if diff := gocmp.Diff(len(counters.PortCounters()), len(fabric.CounterNames())); diff != "" {
		t.Errorf("CounterNames (-want +got):\n%s", diff)
	}
}

// TestOptionalCounters checks that a counter which the agent doesn't have is not read as 0. The
// bits are IB_PM_PC_XMIT_WAIT_SUP and IB_PM_IS_QP1_DROP_SUP of libibmad.
func TestOptionalCounters(t *testing.T) {
	const wait, dropped = "PortXmitWait", "QP1Dropped"
	capable := func(mask uint16) *mad.ClassPortInfo { return &mad.ClassPortInfo{CapabilityMask: mask} }
	zero, wide := fabric.Port{Counters: &mad.PortCounters{}}, fabric.Port{Extended: &mad.PortCountersExtended{}}
	full := fabric.Port{Counters: &mad.PortCounters{PortXmitWait: 7, QP1Dropped: 9}}
	for _, test := range []struct {
		name  string
		port  fabric.Port
		agent *mad.ClassPortInfo
		want  []string
	}{
		{"both", zero, capable(1<<12 | 1<<15), []string{dropped, wait}},
		{"the time of waiting", zero, capable(1 << 12), []string{wait}},
		{"dropped packets", zero, capable(1 << 15), []string{dropped}},
		{"neither", zero, capable(^uint16(1<<12 | 1<<15)), nil},
		{"neither, in spite of values", full, capable(0), nil},
		{"neither of the wide ones", wide, capable(0), nil},
		{"the wide ones", wide, capable(1<<12 | 1<<15), []string{dropped, wait}},
		{"an agent that hasn't answered, zeros", zero, nil, nil},
		{"an agent that hasn't answered, values", full, nil, []string{dropped, wait}},
	} {
		n := &fabric.Node{Ports: []fabric.Port{{}, test.port}, Performance: test.agent}
		list := n.Readings(1)
		var got []string
		for _, r := range list {
			if r.Name == wait || r.Name == dropped {
				got = append(got, r.Name)
			}
		}
		if diff := gocmp.Diff(test.want, got); diff != "" || len(list) != len(fabric.CounterNames())-2+len(got) {
			t.Errorf("%s: optional counters (-want +got):\n%s\nof %d", test.name, diff, len(list))
		}
	}
	if got := new(fabric.Node).Readings(3); got != nil {
		t.Errorf("Readings of a port that doesn't exist = %v", got)
	}
}

// TestWidths checks the widths against the wire form: if all bits are set, each counter is
// saturated.
func TestWidths(t *testing.T) {
	full := &mad.PortCounters{}
	if _, err := full.Decode(bytes.Repeat([]byte{0xff}, mad.PortCountersLen)); err != nil {
		t.Fatal(err)
	}
	for _, r := range readings(&fabric.Port{Counters: full}) {
		if !r.Saturated() {
			t.Errorf("%s = %d is not the end of %d bits", r.Name, r.Value, r.Bits)
		}
	}
}

func TestChanges(t *testing.T) {
	before := []fabric.Reading{
		{"A", 10, 16, true},
		{"B", 10, 16, true},
		{"C", 10, 16, true},
		{"D", 255, 8, true},
		{"E", 7, 32, false},
		{"G", 10, 4, true},
	}
	after := []fabric.Reading{
		{"A", 30, 16, true},
		{"B", 10, 16, true},
		{"C", 3, 16, true},
		{"D", 255, 8, true},
		{"E", 7, 64, false},
		{"F", 1, 8, true},
		{"G", 15, 4, true},
	}
	want := []fabric.Change{
		{after[0], counters.Change{Delta: new(uint64(20)), PerSecond: new(2.0)}},
		{after[1], counters.Change{Delta: new(uint64(0)), PerSecond: new(0.0)}},
		{after[2], counters.Change{Delta: new(uint64(3)), PerSecond: new(0.3), AtLeast: true, Reset: true}},
		{after[3], counters.Change{}}, // saturated both times
		{after[4], counters.Change{}}, // another width: another counter
		{after[5], counters.Change{}},
		{after[6], counters.Change{Delta: new(uint64(5)), PerSecond: new(0.5), AtLeast: true}},
	}
	if diff := gocmp.Diff(want, fabric.Changes(before, after, 10*time.Second)); diff != "" {
		t.Errorf("Changes (-want +got):\n%s", diff)
	}
	if got := fabric.Changes(before, after[:1], 0); got[0].Delta == nil || got[0].PerSecond != nil {
		t.Errorf("Changes without time = %+v, want a growth and no rate", got[0])
	}
	if got := fabric.Changes(nil, after[:1], time.Second); got[0].Delta != nil {
		t.Errorf("Changes without an earlier reading = %+v, want no growth", got[0])
	}
}

func TestThresholds(t *testing.T) {
	limits := fabric.DefaultThresholds()
	for _, tt := range []struct {
		name  string
		value uint64
		want  bool
	}{
		{"SymbolErrorCounter", 0, false},
		{"SymbolErrorCounter", 1, true},
		{"PortXmitWait", 99, false},
		{"PortXmitData", 99, false},
	} {
		if got := limits.Exceeded(fabric.Reading{Name: tt.name, Value: tt.value}); got != tt.want {
			t.Errorf("Exceeded(%s %d) = %t, want %t", tt.name, tt.value, got, tt.want)
		}
	}
}
