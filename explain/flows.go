package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/explain/capture"
)

// FlowDocument is what one queue pair sent to another, as a capture shows it.
type FlowDocument struct {
	Capture     string `json:"capture"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	QPN         string `json:"qpn"` // of the destination
	Packets     int    `json:"packets"`
	Bytes       int64  `json:"bytes"`
	Messages    int    `json:"messages"`
	Reads       int    `json:"reads,omitempty"`
	// Missing are numbers that never came, Lost those that came when they were sent again, and
	// Repeated the packets that the requester sent again.
	Missing    int `json:"missing,omitempty"`
	Lost       int `json:"lost,omitempty"`
	Repeated   int `json:"repeated,omitempty"`
	Timeouts   int `json:"timeouts,omitempty"`
	Duplicates int `json:"duplicates,omitempty"`
	Reordered  int `json:"reordered,omitempty"`
	CNPs       int `json:"cnps,omitempty"`
	Marked     int `json:"marked,omitempty"` // with congestion experienced
	PMTU       int `json:"pmtu,omitempty"`   // payload of middle packets, in bytes
	// DSCPs are the code points, the most frequent first.
	DSCPs    []int  `json:"dscps,omitempty"`
	PairedBy string `json:"pairedBy"`
	// MaxGapMillis is the longest silence.
	MaxGapMillis float64 `json:"maxGapMillis"`
	Last         string  `json:"last"` // the last packet
}

// AddFlows adds the flows of the captures of a report.
func (d *Document) AddFlows(r *Report) {
	d.Flows = []FlowDocument{}
	for _, c := range r.Captures {
		for i := range c.Flows {
			d.Flows = append(d.Flows, flowDocument(c.Name, &c.Flows[i]))
		}
	}
}

func flowDocument(name string, f *capture.Flow) FlowDocument {
	q := &f.Requests
	d := FlowDocument{
		Capture:      name,
		Source:       fmt.Sprint(f.Source),
		Destination:  fmt.Sprint(f.Destination),
		QPN:          fmt.Sprint(f.DestQP),
		Packets:      f.Packets,
		Bytes:        f.Bytes,
		Messages:     q.Messages,
		Reads:        q.Reads,
		Missing:      q.Holes,
		Lost:         q.Lost,
		Repeated:     q.Repeated.Count,
		Timeouts:     q.Timeouts.Count,
		Duplicates:   q.Duplicates.Count,
		Reordered:    q.Reordered.Count,
		CNPs:         f.CNPs.Count,
		Marked:       f.Marked.Count,
		PMTU:         q.PMTU,
		PairedBy:     string(f.PairedBy),
		MaxGapMillis: float64(f.MaxGap) / float64(time.Millisecond),
		Last:         f.Last.Opcode.String(),
	}
	for point := range f.DSCPs {
		d.DSCPs = append(d.DSCPs, int(point))
	}
	slices.SortFunc(d.DSCPs, func(a, b int) int { return f.DSCPs[uint8(b)] - f.DSCPs[uint8(a)] })
	return d
}
