package bench

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV writes a heading and a line for each size, with the names and units of the
// JSON form.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	common := []string{r.Test, r.Role, r.Device, r.Scale, strconv.Itoa(int(r.MTU)), strconv.Itoa(r.QueuePairs)}
	heading := []string{"test", "role", "device", "scale", "mtu", "qps", "bytes", "iterations"}
	if len(r.Latency) > 0 {
		heading = append(heading, "minUs", "p50Us", "p90Us", "p99Us", "p999Us", "maxUs", "averageUs", "stdDevUs",
			"jitterUs", "perSecond")
	} else {
		heading = append(heading, "peakGbps", "averageGbps", "peakMBps", "averageMBps", "messageRateMpps")
	}
	line := func(bytes int, iterations uint64, values ...float64) error {
		fields := append(append([]string{}, common...), strconv.Itoa(bytes), strconv.FormatUint(iterations, 10))
		for _, v := range values {
			fields = append(fields, strconv.FormatFloat(v, 'g', 8, 64))
		}
		return out.Write(fields)
	}
	if err := out.Write(heading); err != nil {
		return err
	}
	for _, p := range r.Latency {
		err := line(p.Bytes, p.Iterations, p.Min, p.P50, p.P90, p.P99, p.P999, p.Max,
			p.Average, p.StdDev, p.Jitter, p.PerSecond)
		if err != nil {
			return err
		}
	}
	for _, p := range r.Bandwidth {
		err := line(p.Bytes, p.Iterations, p.PeakGbps, p.AverageGbps, p.PeakMBps, p.AverageMBps, p.MessageRate)
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
