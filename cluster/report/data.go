package report

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// MaxSamples is how many samples a page can have: those of 10,000 nodes with 8 cards. A browser
// needs about 40 bytes for each.
const MaxSamples = 12 << 20

// ErrTooLarge is the error for a run with more samples than a page can have.
var ErrTooLarge = fmt.Errorf("more than %d samples", MaxSamples)

// columns are the samples as arrays, base64 of numbers in little endian. They have what most
// samples have; the details are in elements of their own.
type columns struct {
	Count    int    `json:"count"`
	Stage    string `json:"stage"`    // uint8
	Attempt  string `json:"attempt"`  // uint8
	Load     string `json:"load"`     // uint8
	Round    string `json:"round"`    // uint16
	From     string `json:"from"`     // int32
	FromRail string `json:"fromRail"` // int16
	To       string `json:"to"`       // int32
	ToRail   string `json:"toRail"`   // int16
	Gbps     string `json:"gbps"`     // float32
	// Latencies and failures, by index of their sample.
	Latency  string `json:"latency"` // uint32
	P50      string `json:"p50"`     // float32
	P99      string `json:"p99"`     // float32
	Failures []any  `json:"failures"`
}

func columnsOf(run *result.Run) columns {
	samples := run.Samples
	c := columns{
		Count:    len(samples),
		Stage:    column(samples, func(s *result.Sample) uint8 { return s.Stage }),
		Attempt:  column(samples, func(s *result.Sample) uint8 { return s.Attempt }),
		Load:     column(samples, func(s *result.Sample) uint8 { return bit(s.Load) }),
		Round:    column(samples, func(s *result.Sample) uint16 { return s.Round }),
		From:     column(samples, func(s *result.Sample) int32 { return s.From.Node }),
		FromRail: column(samples, func(s *result.Sample) int16 { return s.From.Rail }),
		To:       column(samples, func(s *result.Sample) int32 { return s.To.Node }),
		ToRail:   column(samples, func(s *result.Sample) int16 { return s.To.Rail }),
		Gbps:     column(samples, func(s *result.Sample) float32 { return s.Gbps }),
		Failures: []any{},
	}
	var at []uint32
	var p50, p99 []float32
	for i := range samples {
		if l := latencyOf(run, &run.Samples[i]); l != nil {
			at, p50, p99 = append(at, uint32(i)), append(p50, float32(l.P50)), append(p99, float32(l.P99))
		}
		if f := failureOf(&samples[i]); f != nil {
			c.Failures = append(c.Failures, i, output.Clean(string(f.Step)), output.Clean(f.Code))
		}
	}
	c.Latency, c.P50, c.P99 = encode(at), encode(p50), encode(p99)
	return c
}

func bit(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}

// column returns a field of all samples.
func column[T any](samples []result.Sample, field func(*result.Sample) T) string {
	values := make([]T, len(samples))
	for i := range samples {
		values[i] = field(&samples[i])
	}
	return encode(values)
}

// encode returns numbers of fixed size in base64.
func encode[T any](values []T) string {
	b, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil { // only for a type without a fixed size
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// drawing is what the page needs to draw maps, beside the run.
type drawing struct {
	Rails   []int    `json:"rails"`
	Names   []string `json:"names"` // of the nodes, safe to show, as the stages
	Stages  []string `json:"stages"`
	Ramp    []string `json:"ramp"`
	Failed  string   `json:"failed"`
	First   int      `json:"first"` // rail that is shown first
	Label   string   `json:"label"` // of the scale, "" for hardware
	Scale   string   `json:"scale"` // the label and what the figures stand for
	Rate    float64  `json:"rate"`  // factors of what is shown: of rates and of latencies
	Time    float64  `json:"time"`
	File    string   `json:"file"` // name of downloads, without extension
	Columns columns  `json:"columns"`
}

func drawingOf(run *result.Run, first int) drawing {
	const colors = 64
	d := drawing{
		Rails: numbers(run.Cluster), First: first, Failed: hexColor(output.RampFailed()), Scale: labelOf(run.Scale),
		File: "cluster-run-" + run.Started.UTC().Format("20060102-150405"), Columns: columnsOf(run),
	}
	d.Rate, d.Time = run.Scaled().Rate, run.Scaled().Time
	if run.Scale != nil {
		d.Label = output.Clean(run.Scale.Label)
	}
	for _, c := range output.Ramp(colors) {
		d.Ramp = append(d.Ramp, hexColor(c))
	}
	for _, n := range run.Cluster.Nodes {
		d.Names = append(d.Names, output.Clean(n.Name))
	}
	for _, s := range run.Stages {
		d.Stages = append(d.Stages, output.Clean(string(s.Name)))
	}
	return d
}

// writeData writes the elements with data: the drawing; the run without samples; and the details of
// samples, one in a line after the index of its sample. The escapes of encoding/json keep the text
// from ending the element.
func writeData(w *bufio.Writer, run *result.Run, first int) error {
	head := struct {
		result.Run
		Samples any `json:"samples,omitempty"` // hides that of the run
	}{Run: *run}
	for _, part := range []struct {
		id    string
		value any
	}{{"drawing", drawingOf(run, first)}, {"run", head}} {
		b, err := json.Marshal(part.value)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "<script type=\"application/json\" id=%q>%s</script>\n", part.id, b)
	}
	fmt.Fprint(w, "<script type=\"text/plain\" id=\"details\">\n")
	for i := range run.Samples {
		if d := run.Samples[i].Detail; d != nil {
			b, err := json.Marshal(d)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%d %s\n", i, b)
		}
	}
	_, err := io.WriteString(w, "</script>\n")
	return err
}
