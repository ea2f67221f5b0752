package classic

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rdmakit/rdmakit/bench"
)

// line separates the parts of perftest's output.
var line = strings.Repeat("-", 87) + "\n"

// Printer prints the progress of a run as perftest does. Err has the first error of W.
type Printer struct {
	W io.Writer // destination of the output
	// Gbits prints Gb/s instead of MB/s.
	Gbits bool
	// CPUUtil adds the column of --cpu_util.
	CPUUtil bool
	Err     error

	latency, duration, gid bool
}

// Observer returns what [bench.Config] needs to drive the printer.
func (p *Printer) Observer() bench.Observer {
	return bench.Observer{
		Prepared: p.prepared, Connected: p.connected, Started: p.started, Bandwidth: p.Bandwidth, Latency: p.Latency,
	}
}

func (p *Printer) printf(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.W, format, args...)
	}
}

// Waiting prints that a server waits for its client.
func (p *Printer) Waiting() {
	stars := strings.Repeat("*", 36) + "\n"
	p.printf("\n%s* Waiting for client to connect... *\n%s", stars, stars)
}

// prepared prints the parameters of the test.
func (p *Printer) prepared(s *bench.Setup) {
	test, err := bench.ParseTest(s.Test)
	if err != nil {
		p.Err = err
		return
	}
	p.latency, p.duration = test.IsLatency(), s.DurationSeconds > 0
	client := s.Role == "client"
	title := test.Title()
	if s.PostList > 1 {
		title = strings.Replace(title, " BW", " Post List BW", 1)
	}
	p.printf("%s                    %s Test\n", line, title)
	p.printf(" Dual-port       : OFF\t\tDevice         : %s\n", s.Device)
	transport := "IB"
	if s.Transport == bench.TransportIWARP {
		transport = "IW"
	}
	p.printf(" Number of qps   : %d\t\tTransport type : %s\n", s.QueuePairs, transport)
	p.printf(" Connection type : %s\t\tUsing SRQ      : OFF\n", cmp.Or(s.QPType, "RC"))
	p.printf(" PCIe relax order: Unsupported\n ibv_wr* API     : OFF\n")
	if client {
		p.printf(" TX depth        : %d\n", s.TxDepth)
	}
	if s.PostList > 1 {
		p.printf(" Post List       : %d\n", s.PostList)
	}
	if !client && (test == bench.SendBW || test == bench.SendLat) {
		p.printf(" RX depth        : %d\n", s.RxDepth)
	}
	if !p.latency {
		p.printf(" CQ Moderation   : %d\n", s.CQModeration)
	}
	link := s.LinkLayer
	if link == "InfiniBand" {
		link = "IB"
	}
	p.printf(" Mtu             : %d[B]\n Link type       : %s\n", s.MTU, link)
	if p.gid = s.GIDIndex != bench.NoGID; p.gid {
		p.printf(" GID index       : %d\n", s.GIDIndex)
	}
	if s.OutReads > 0 {
		p.printf(" Outstand reads  : %d\n", s.OutReads)
	} else {
		p.printf(" Max inline data : %d[B]\n", s.Inline)
	}
	p.exchange(s, client)
}

// exchange prints how the ends meet. A server has connected already, but perftest says that it
// waits.
func (p *Printer) exchange(s *bench.Setup, client bool) {
	pairs, method := "OFF", "Ethernet"
	if s.RDMACM != "" {
		method = "rdma_cm"
	}
	if s.RDMACM == bench.RDMACMConnect.String() {
		pairs = "ON"
	}
	p.printf(" rdma_cm QPs\t : %s\n Data ex. method : %s", pairs, method)
	if s.TrafficClass != 0 {
		p.printf(" \tTOS    : %d", s.TrafficClass)
	}
	if pairs == "ON" && !client {
		p.printf("\n%s Waiting for client rdma_cm QP to connect\n"+
			" Please run the same command with the IB/RoCE interface IP", line)
	}
	p.printf("\n%s", line)
}

// connected prints both ends of each queue pair.
func (p *Printer) connected(s *bench.Setup) {
	for i := range s.Local {
		p.endpoint("local", s, &s.Local[i])
	}
	for i := range s.Remote {
		p.endpoint("remote", s, &s.Remote[i])
	}
}

func (p *Printer) endpoint(side string, s *bench.Setup, e *bench.Endpoint) {
	p.printf(" %s address: LID %s QPN %s PSN %s",
		side, hex(uint64(e.LID), 4), hex(uint64(e.QPN), 6), hex(uint64(e.PSN), 6))
	keys := s.RDMACM == "" // perftest takes the test for one of SEND if it exchanges over rdma_cm
	if keys && strings.HasPrefix(s.Test, "read") {
		p.printf(" OUT %s", hex(uint64(e.OutReads), 4))
	}
	if keys && !strings.HasPrefix(s.Test, "send") {
		p.printf(" RKey %s VAddr %s", hex(uint64(e.RKey), 8), hex(e.Addr, 16))
	}
	p.printf("\n")
	if !p.gid {
		return
	}
	p.printf(" GID: ")
	for i, b := range e.GID {
		separator := ":"
		if i == len(e.GID)-1 {
			separator = "\n"
		}
		p.printf("%02d%s", b, separator) // perftest prints decimal numbers here
	}
}

// hex prints as C's %#0wx does: zero has no 0x.
func hex(v uint64, width int) string {
	if v == 0 {
		return fmt.Sprintf("%0*x", width, v)
	}
	return fmt.Sprintf("0x%0*x", max(0, width-2), v)
}

// started prints the heading of the table.
func (p *Printer) started(s *bench.Setup) {
	if s.Test == bench.ReadLat.String() && s.Role == "server" {
		return // this end measures nothing
	}
	unit := "MB/sec"
	if p.Gbits {
		unit = "Gb/sec"
	}
	switch {
	case p.latency && p.duration:
		p.printf("%s #bytes        #iterations       t_avg[usec]    tps average%s\n", line, p.heading())
	case p.latency:
		p.printf(
			"%s #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "+
				"99%% percentile[usec]   99.9%% percentile[usec] \n", line)
	default:
		p.printf("%s #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]%s\n",
			line, unit, unit, p.heading())
	}
}

// heading and utilization return the column of --cpu_util. A server that measures nothing has 0, as
// in perftest.
func (p *Printer) heading() string {
	if !p.CPUUtil {
		return ""
	}
	return "    CPU_Util[%]"
}

func (p *Printer) utilization(percent *float64) string {
	switch {
	case !p.CPUUtil:
		return ""
	case percent == nil:
		percent = new(0.0)
	}
	return fmt.Sprintf("\t    %-3.2f", *percent)
}

// Bandwidth prints a line of a bandwidth test.
func (p *Printer) Bandwidth(b bench.BandwidthPoint) {
	peak, average := b.PeakMBps, b.AverageMBps
	if p.Gbits {
		peak, average = b.PeakGbps, b.AverageGbps
	}
	if p.Gbits && average < 0.1 {
		p.printf(" %-7d    %d           %-7.6f            %-7.6f            %-7.6f%s\n",
			b.Bytes, b.Iterations, peak, average, b.MessageRate, p.utilization(b.CPUUtil))
		return
	}
	p.printf(" %-7d    %-10d       %-7.2f            %-7.2f\t\t   %-7.6f%s\n",
		b.Bytes, b.Iterations, peak, average, b.MessageRate, p.utilization(b.CPUUtil))
}

// Latency prints a line of a latency test.
func (p *Printer) Latency(l bench.LatencyPoint) {
	if p.duration {
		p.printf(" %-7d       %d            %-7.2f        %-7.2f%s\n",
			l.Bytes, l.Iterations, l.Average, l.PerSecond, p.utilization(l.CPUUtil))
		return
	}
	p.printf(" %-7d %d          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f\n",
		l.Bytes, l.Iterations, l.Min, l.Max, l.Typical, l.Average, l.StdDev, l.P99, l.P999)
}

// Finish prints the last line.
func (p *Printer) Finish() { p.printf("%s", line) }
