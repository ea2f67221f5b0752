package perftest

import (
	"encoding/binary"
	"math"
)

// Report is the result of a bandwidth test that the ends exchange (C twin: struct bw_report_data).
// It is sent as five messages of eight bytes.
//
// A peer that measured nothing, such as the server of write_bw, reports arbitrary bytes of its
// memory: ignore them.
type Report struct {
	Size       uint64  // bytes of a message
	Iterations uint64  // total of all queue pairs
	Peak       float64 // in the peer's unit: MB/s of 2^20 bytes, or Gb/s
	Average    float64 // in the same unit
	Rate       float64 // million messages per second
}

const (
	reportFields = 5
	fieldLen     = 8
)

func (r *Report) fields() [reportFields]uint64 {
	return [...]uint64{
		r.Size, r.Iterations, math.Float64bits(r.Peak), math.Float64bits(r.Average), math.Float64bits(r.Rate),
	}
}

func (r *Report) set(f [reportFields]uint64) {
	*r = Report{
		Size: f[0], Iterations: f[1],
		Peak: math.Float64frombits(f[2]), Average: math.Float64frombits(f[3]), Rate: math.Float64frombits(f[4]),
	}
}

func appendField(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }
