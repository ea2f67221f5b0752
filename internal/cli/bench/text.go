package bench

import (
	"fmt"
	"net"
	"strconv"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// benchBlocks returns the blocks that show a result.
func benchBlocks(r *bench.Result) []output.Block {
	remote, packets := "-", fmt.Sprintf("MTU %d", r.MTU)
	if len(r.Remote) > 0 {
		remote = r.Remote[0].GID.Addr().String()
	}
	if r.Transport == bench.TransportIWARP {
		packets = r.Transport  // TCP chooses the size of its segments
		if len(r.Remote) > 0 { // the GID is a MAC address, followed by zeros
			remote = net.HardwareAddr(r.Remote[0].GID[:6]).String()
		}
	}
	head := fmt.Sprintf("%s, %s on %s, peer %s, %s, %s",
		r.Test, r.Role, r.Device, remote, packets, english.Count(r.QueuePairs, "queue pair"))
	if r.RDMACM != "" {
		head += ", rdma_cm (" + r.RDMACM + ")"
		if r.TrafficClass != 0 {
			head += fmt.Sprintf(", traffic class %d", r.TrafficClass)
		}
	}
	switch { // only a duration has it, which has one size
	case len(r.Bandwidth) == 1:
		head += utilization(r.Bandwidth[0].CPUUtil)
	case len(r.Latency) == 1:
		head += utilization(r.Latency[0].CPUUtil)
	}
	line := []output.Cell{output.Plain(head).Flow(0)}
	if r.Scale != "" {
		line = append(line, output.Plain("; ").Flow(0), output.Warn(r.Scale).Flow(0))
	}
	blocks := []output.Block{output.Line(line...)}
	switch {
	case len(r.Bandwidth) > 0:
		blocks = append(blocks, bandwidthTable(r.Bandwidth))
	case len(r.Latency) > 0:
		blocks = append(blocks, latencyTable(r.Latency))
	default:
		blocks = append(blocks, output.Line(output.Plain("the client prints the results")))
	}
	return blocks
}

// utilization describes how busy the CPUs were, if that was measured.
func utilization(percent *float64) string {
	if percent == nil {
		return ""
	}
	return fmt.Sprintf(", CPU %.2f %%", *percent)
}

func bandwidthTable(points []bench.BandwidthPoint) output.Table {
	names := []string{"bytes", "messages", "peak Gbit/s", "average Gbit/s", "Mmsg/s"}
	t := output.Table{Columns: cli.Droppable(cli.Figures(names, "peak MiB/s", "average MiB/s"),
		"messages", "peak Gbit/s", "Mmsg/s")}
	for _, p := range points {
		peak, peakMB := "-", "-"
		if p.PeakGbps > 0 {
			peak, peakMB = cli.Figure(p.PeakGbps), cli.Figure(p.PeakMBps)
		}
		t.Rows = append(t.Rows, cli.Cells(strconv.Itoa(p.Bytes), strconv.FormatUint(p.Iterations, 10), peak,
			cli.Figure(p.AverageGbps),
			strconv.FormatFloat(p.MessageRate, 'f', 6, 64), peakMB, cli.Figure(p.AverageMBps)))
	}
	return t
}

func latencyTable(points []bench.LatencyPoint) output.Table {
	names := []string{"bytes", "messages", "min us", "p50", "p90", "p99", "p99.9", "max us", "jitter"}
	t := output.Table{Columns: cli.Droppable(cli.Figures(names, "average us", "stddev us", "per second"),
		"messages", "jitter", "p99.9", "p90")}
	for _, p := range points {
		row := []string{strconv.Itoa(p.Bytes), strconv.FormatUint(p.Iterations, 10)}
		for _, v := range []float64{
			p.Min, p.P50, p.P90, p.P99, p.P999, p.Max, p.Jitter, p.Average, p.StdDev, p.PerSecond,
		} {
			row = append(row, cli.Figure(v))
		}
		t.Rows = append(t.Rows, cli.Cells(row...))
	}
	return t
}
