package ibdiags

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// counterTable is an attribute of the performance agent for which there is no Go type.
type counterTable struct {
	option    string
	letter    byte
	help      string
	title     string
	attribute mad.Attribute
	order     int // order in which C checks the options
	fields    []counterField
}

// counterField is a number in an attribute, or several consecutive ones of the same width.
type counterField struct {
	name      string // with several, their index is appended
	bit, bits int    // the first bit, from the attribute's first; the width
	count     int    // 0 for a single one
	hex       bool
}

// selection returns the fields that most tables begin with.
func selection(fields ...counterField) []counterField {
	return append(
		[]counterField{{name: "PortSelect", bit: 8, bits: 8}, {name: "CounterSelect", bit: 16, bits: 16, hex: true}},
		fields...)
}

// counterTables returns the tables in the order of perfquery's usage (specification sections 16.1.4
// and A10; C twins: the mad_dump_perfcounters_… functions of libibmad).
func counterTables() []counterTable {
	const lanes = 16
	list := []counterTable{
		{
			"xmtsl", 'X', "show Xmt SL port counters", "PortXmitDataSL", 0x36, 0,
			selection(counterField{"XmtDataSL", 32, 32, 16, false}),
		},
		{
			"rcvsl", 'S', "show Rcv SL port counters", "PortRcvDataSL", 0x37, 0,
			selection(counterField{"RcvDataSL", 32, 32, 16, false}),
		},
		{"xmtdisc", 'D', "show Xmt Discard Details", "PortXmitDiscardDetails", 0x16, 0, selection(discardFields()...)},
		{"rcverr", 'E', "show Rcv Error Details", "PortRcvErrorDetails", 0x15, 0, selection(receiveErrorFields()...)},
		{
			"extended_speeds", 'T', "show port extended speeds counters", "PortExtendedSpeedsCounters", 0x1f, 0,
			extendedSpeedFields(),
		},
		{
			"oprcvcounters", 1, "show Rcv Counters per Op code", "PortOpRcvCounters", 0x17, 0,
			selection(pair("PortOpRcvPkts", "PortOpRcvData")...),
		},
		{
			"flowctlcounters", 2, "show flow control counters", "PortFlowCtlCounters", 0x18, 0,
			selection(pair("PortXmitFlowPkts", "PortRcvFlowPkts")...),
		},
		{
			"vloppackets", 3, "show packets received per Op code per VL", "PortVLOpPackets", 0x19, 0,
			selection(counterField{"PortVLOpPackets", 32, 16, lanes, false}),
		},
		{"vlopdata", 4, "show data received per Op code per VL", "PortVLOpData", 0x1a, 0, selection(counterField{
			"PortVLOpData", 32, 32, lanes, false,
		})},
		{
			"vlxmitflowctlerrors", 5, "show flow control update errors per VL", "PortVLXmitFlowCtlUpdateErrors", 0x1b,
			0,
			selection(counterField{"PortVLXmitFlowCtlUpdateErrors", 32, 2, lanes, false}),
		},
		{
			"vlxmitcounters", 6, "show ticks waiting to transmit counters per VL", "PortVLXmitWaitCounters", 0x1c, 0,
			selection(counterField{"PortVLXmitWait", 32, 16, lanes, false}),
		},
		{"swportvlcong", 7, "show sw port VL congestion", "SwPortVLCongestion", 0x30, 0, selection(counterField{
			"SWPortVLCongestion", 32, 16, lanes, false,
		})},
		{
			"rcvcc", 8, "show Rcv congestion control counters", "PortRcvConCtrl", 0x31, 0,
			selection(pair("PortPktRcvFECN", "PortPktRcvBECN")...),
		},
		{
			"slrcvfecn", 9, "show SL Rcv FECN counters", "PortSLRcvFECN", 0x32, 0,
			selection(counterField{"PortSLRcvFECN", 32, 32, 16, false}),
		},
		{
			"slrcvbecn", 10, "show SL Rcv BECN counters", "PortSLRcvBECN", 0x33, 0,
			selection(counterField{"PortSLRcvBECN", 32, 32, 16, false}),
		},
		{"xmitcc", 11, "show Xmit congestion control counters", "PortXmitConCtrl", 0x34, 0, selection(counterField{
			name: "PortXmitTimeCong", bit: 32, bits: 32,
		})},
		{
			"vlxmittimecc", 12, "show VL Xmit Time congestion control counters", "PortVLXmitTimeCong", 0x35, 0,
			selection(counterField{"PortVLXmitTimeCong", 32, 32, 15, false}),
		},
		{"smplctl", 'c', "show samples control", "PortSamplesControl", 0x10, 0, samplesControlFields()},
	}
	for i := range list {
		list[i].order = i
	}
	return list
}

func pair(first, second string) []counterField {
	return []counterField{{name: first, bit: 32, bits: 32}, {name: second, bit: 64, bits: 32}}
}

func discardFields() []counterField {
	return []counterField{
		{name: "PortInactiveDiscards", bit: 32, bits: 16},
		{name: "PortNeighborMTUDiscards", bit: 48, bits: 16},
		{name: "PortSwLifetimeLimitDiscards", bit: 64, bits: 16},
		{name: "PortSwHOQLifetimeLimitDiscards", bit: 80, bits: 16},
	}
}

func receiveErrorFields() []counterField {
	return []counterField{
		{name: "PortLocalPhysicalErrors", bit: 32, bits: 16},
		{name: "PortMalformedPktErrors", bit: 48, bits: 16},
		{name: "PortBufferOverrunErrors", bit: 64, bits: 16},
		{name: "PortDLIDMappingErrors", bit: 80, bits: 16},
		{name: "PortVLMappingErrors", bit: 96, bits: 16},
		{name: "PortLoopingErrors", bit: 112, bits: 16},
	}
}

func extendedSpeedFields() []counterField {
	const lanes = 12
	return []counterField{
		{name: "PortSelect", bit: 8, bits: 8},
		{name: "CounterSelect", bit: 64, bits: 64, hex: true},
		{name: "SyncHeaderErrorCounter", bit: 128, bits: 16},
		{name: "UnknownBlockCounter", bit: 144, bits: 16},
		{name: "ErrorDetectionCounterLane", bit: 160, bits: 16, count: lanes},
		{name: "FECCorrectableBlockCtrLane", bit: 352, bits: 32, count: lanes},
		{name: "FECUncorrectableBlockCtrLane", bit: 736, bits: 32, count: lanes},
	}
}

func samplesControlFields() []counterField {
	return []counterField{
		{name: "OpCode", bit: 0, bits: 8, hex: true},
		{name: "PortSelect", bit: 8, bits: 8},
		{name: "Tick", bit: 16, bits: 8, hex: true},
		{name: "CounterWidth", bit: 29, bits: 3},
		{name: "CounterMask0", bit: 34, bits: 3, hex: true},
		{name: "CounterMasks1to9", bit: 37, bits: 27, hex: true},
		{name: "CounterMasks10to14", bit: 65, bits: 15, hex: true},
		{name: "SampleMechanisms", bit: 80, bits: 8},
		{name: "SampleStatus", bit: 94, bits: 2},
		{name: "OptionMask", bit: 96, bits: 64, hex: true},
		{name: "VendorMask", bit: 160, bits: 64, hex: true},
		{name: "SampleStart", bit: 224, bits: 32},
		{name: "SampleInterval", bit: 256, bits: 32},
		{name: "Tag", bit: 288, bits: 16, hex: true},
		{name: "CounterSelect", bit: 304, bits: 16, count: 15, hex: true},
		{name: "SamplesOnlyOptionMask", bit: 576, bits: 64, hex: true},
	}
}

// rows formats the field.
func (f counterField) rows(data []byte) []row {
	if f.count == 0 {
		return []row{f.row(f.name, data, f.bit)}
	}
	var list []row
	for i := range f.count {
		list = append(list, f.row(fmt.Sprintf("%s%d", f.name, i), data, f.bit+i*f.bits))
	}
	return list
}

func (f counterField) row(name string, data []byte, at int) row {
	v := bitsOf(data, at, f.bits)
	if f.hex {
		return hex(name, v, (f.bits+7)/8)
	}
	return decimal(name, v)
}

// bitsOf returns the number that begins at a bit; it must not cross a boundary of 64 bits unless it
// begins at a byte.
func bitsOf(data []byte, at, n int) uint64 {
	word := binary.BigEndian.Uint64(data[at/8:])
	return word << (at % 8) >> (64 - n)
}

// performanceRSFEC is the bit of ClassPortInfo.CapabilityMask for an agent that counts with RS-FEC.
const performanceRSFEC = 1 << 14

// errRSFEC is the cause if -T can't determine the layout of a port's counters.
var errRSFEC = errors.New("the port may count with RS-FEC, in a layout that this version can't print")

// showTable prints and resets a table other than the port's counters.
func (q *perfQuery) showTable(ctx context.Context) int {
	t := q.table
	isSamples, isSpeeds := t.letter == 'c', t.letter == 'T'
	if isSpeeds && q.agent.CapabilityMask&performanceRSFEC != 0 {
		return q.fail(errRSFEC, "cannot query %s", t.title)
	}
	if !q.onlyReset || isSamples {
		data, err := q.get(ctx, t.attribute, q.port)
		switch {
		case err != nil && isSamples:
			return q.fail(err, "sampctlquery")
		case err != nil:
			return q.fail(err, "cannot query %s", t.title)
		}
		var rows []row
		for _, f := range t.fields {
			rows = append(rows, f.rows(data)...)
		}
		kind := " counters"
		if isSamples {
			kind = ""
		}
		q.printf("# %s%s: %s port %d\n%s", t.title, kind, q.to, q.port, dump(rows))
	}
	if isSamples || !q.reset && !q.onlyReset {
		return 0
	}
	var err error
	if isSpeeds {
		err = q.resetSpeeds(ctx)
	} else {
		err = q.set(ctx, t.attribute, q.port, q.tableMask())
	}
	if err != nil {
		return q.fail(err, "cannot reset %s", t.title)
	}
	return 0
}

// tableMask selects the counters of a table that a reset sets to 0.
func (q *perfQuery) tableMask() uint32 {
	if q.hasMask {
		return uint32(q.mask) //nolint:gosec // C cuts it too
	}
	return resetDefault
}

// resetSpeeds resets PortExtendedSpeedsCounters, which have a wider selection.
func (q *perfQuery) resetSpeeds(ctx context.Context) error {
	selected := q.mask
	if selected == 0 {
		selected = 1<<64 - 1
	}
	data := []byte{1: uint8(q.port), 15: 0} //nolint:gosec // C cuts it too
	binary.BigEndian.PutUint64(data[8:], selected)
	_, err := q.client.Performance(ctx, q.lid(), mad.MethodSet, mad.Attribute(0x1f), data)
	return err
}
