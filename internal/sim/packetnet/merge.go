package packetnet

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
)

// merging merges datagrams to one entry, as the kernel's receive offload does.
type merging struct {
	entry udpio.Inbound
	first uint16 // identification of the first datagram
	step  uint16 // 0 for equal identifications, 1 for ascending ones
	count int
	ended bool // a shorter datagram was the last
}

// begin begins an entry with a datagram.
func (m *merging) begin(d *datagram) {
	*m = merging{
		entry: udpio.Inbound{
			Data: slices.Clone(d.data), Segment: len(d.data), From: d.from, TrafficClass: d.trafficClass,
		},
		first: d.id, count: 1,
	}
}

// add adds a datagram to the entry, or reports false.
func (m *merging) add(d *datagram) bool {
	e := &m.entry
	step := d.id - m.first
	if m.count > 1 {
		step = m.step
	}
	switch {
	case m.count == 0, m.ended, m.count == udpio.MaxSegments, len(e.Data)+len(d.data) > udpio.MaxBytes,
		len(d.data) > e.Segment, d.from != e.From, d.trafficClass != e.TrafficClass,
		step > 1, d.id != m.first+uint16(m.count)*step:
		return false
	}
	e.Data = append(e.Data, d.data...)
	m.step, m.ended = step, len(d.data) < e.Segment
	m.count++
	return true
}
