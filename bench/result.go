package bench

import (
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Schema is the version of [Result] as JSON.
const Schema = "rdmakit.bench/v1"

// ScaleSoftware marks the results of an engine in user space.
const ScaleSoftware = "software, not line rate"

// TransportIWARP marks the results of iWARP devices.
const TransportIWARP = "iWARP"

// Result is the outcome of a run.
type Result struct {
	Schema string `json:"schema"` // name and version of this format
	Setup
	// For a bandwidth test, one element for each size.
	Bandwidth []BandwidthPoint `json:"bandwidth,omitempty"`
	Latency   []LatencyPoint   `json:"latency,omitempty"` // for a latency test, one element for each size
	// Unacknowledged reports that the peer of a WRITE latency test closed the connection before it
	// acknowledged the last message, which perhaps did not arrive. The figures don't depend on it.
	Unacknowledged bool `json:"unacknowledged,omitempty"`
	// Counters are the device's counters during the run, including its other users; absent for a
	// device without counters.
	Counters map[string]uint64 `json:"counters,omitempty"`
}

// Setup describes the test and its two ends.
type Setup struct {
	Test   string `json:"test"`   // name of perftest's program without "ib_": write_bw
	Role   string `json:"role"`   // "client" or "server"
	Device string `json:"device"` // RDMA device at this end
	// Scale is ScaleSoftware, or empty for hardware.
	Scale string `json:"scale,omitempty"`
	// Transport is TransportIWARP; empty on InfiniBand and RoCE.
	Transport    string `json:"transport,omitempty"`
	LinkLayer    string `json:"linkLayer"`
	MTU          ib.MTU `json:"mtu"`
	QueuePairs   int    `json:"qps"`
	TxDepth      int    `json:"txDepth"`
	RxDepth      int    `json:"rxDepth"`
	CQModeration int    `json:"cqModeration"`
	PostList     int    `json:"postList"`
	QPType       string `json:"qpType"`           // RC, UC or UD
	RDMACM       string `json:"rdmaCM,omitempty"` // perftest's option: -z or -R; "" over TCP
	// TrafficClass is that of -T (DSCP and ECN); 0 is the system's default.
	TrafficClass    uint8      `json:"trafficClass,omitempty"`
	Inline          int        `json:"inline"` // messages up to this number of bytes are copied when posted
	HugePages       bool       `json:"hugePages,omitempty"`
	Memory          string     `json:"memory,omitempty"`   // GPU and way to register; "" is memory of the host
	MRPerQP         bool       `json:"mrPerQP,omitempty"`  // each queue pair has its own region
	CPUs            string     `json:"cpus,omitempty"`     // those that the test ran on, if it was kept there: 0-3,8
	NUMANode        *int       `json:"numaNode,omitempty"` // the node of these CPUs, if they are those of one
	OutReads        int        `json:"outstandingReads,omitempty"`
	GIDIndex        int        `json:"gidIndex"` // -1: the peer is addressed by its LID alone
	DurationSeconds float64    `json:"durationSeconds,omitempty"`
	PeerVersion     string     `json:"peerVersion"`     // protocol version that the peer announced
	Notes           []string   `json:"notes,omitempty"` // what the user should know about the peer
	Local           []Endpoint `json:"local"`
	Remote          []Endpoint `json:"remote,omitempty"`
}

// Endpoint is one end of a queue pair.
type Endpoint struct {
	GID  ib.GID `json:"gid"`  // GID of the port, at the selected index
	QPN  ib.QPN `json:"qpn"`  // number of the queue pair
	PSN  ib.PSN `json:"psn"`  // PSN of the first packet that this end sends
	LID  ib.LID `json:"lid"`  // of the port; 0 on Ethernet
	RKey uint32 `json:"rkey"` // key of the buffer that the other end reads or writes
	Addr uint64 `json:"addr"` // first byte of that buffer
	// OutReads is how many outstanding READs it accepts.
	OutReads uint16 `json:"outReads"`
}

func endpoints(list []perftest.Destination) []Endpoint {
	out := make([]Endpoint, len(list))
	for i, d := range list {
		out[i] = Endpoint{
			GID: d.GID, QPN: d.QPN, PSN: d.PSN, LID: d.LID, RKey: d.RKey, Addr: d.VAddr, OutReads: d.OutReads,
		}
	}
	return out
}

// BandwidthPoint is the bandwidth at one size. Each rate is given in two units: Gb/s are 10^9 bits
// per second, MiB/s are 2^20 bytes per second. perftest calls the latter MB/s, hence the names.
type BandwidthPoint struct {
	Bytes       int     `json:"bytes"`       // of a message
	Iterations  uint64  `json:"iterations"`  // total of all queue pairs
	PeakGbps    float64 `json:"peakGbps"`    // 0 if not computed
	AverageGbps float64 `json:"averageGbps"` // over the whole measurement
	PeakMBps    float64 `json:"peakMBps"`    // PeakGbps in MiB/s (2^20 bytes per second)
	AverageMBps float64 `json:"averageMBps"` // AverageGbps in MiB/s (2^20 bytes per second)
	// MessageRate is in million messages per second.
	MessageRate float64 `json:"messageRateMpps"`
	// CPUUtil is how busy the CPUs of the machine were, as perftest computes it: the time in
	// programs in percent of that and the idle time; nil without Config.CPUUtil.
	CPUUtil *float64 `json:"cpuUtilPercent,omitempty"`
}

// bandwidthPoint returns the result for n messages in the time took. The shortest mean interval
// between messages gives the peak; 0: no peak.
func bandwidthPoint(size int, n uint64, took, shortest float64) BandwidthPoint {
	p := BandwidthPoint{Bytes: size, Iterations: n}
	if took > 0 {
		p.MessageRate = float64(n) / took / 1e6
		p.AverageGbps, p.AverageMBps = rates(size, float64(n)/took)
	}
	if shortest > 0 {
		p.PeakGbps, p.PeakMBps = rates(size, 1/shortest)
	}
	return p
}

// rates converts messages per second.
func rates(size int, messages float64) (gbps, mbps float64) {
	bytes := messages * float64(size)
	return bytes * 8 / 1e9, bytes / (1 << 20)
}

// report returns the report for the peer.
func (p *BandwidthPoint) report(gbps bool) perftest.Report {
	r := perftest.Report{
		Size: uint64(p.Bytes), Iterations: p.Iterations, Peak: p.PeakMBps, Average: p.AverageMBps, Rate: p.MessageRate,
	}
	if gbps {
		r.Peak, r.Average = p.PeakGbps, p.AverageGbps
	}
	return r
}

// fromReport returns the result from a peer's report. The unit of the bandwidths is not part of the
// report, so it is derived from the message rate.
func fromReport(r perftest.Report) BandwidthPoint {
	p := BandwidthPoint{Bytes: int(min(r.Size, MaxSize)), Iterations: r.Iterations}
	if !sane(r.Rate) {
		return p
	}
	p.MessageRate = r.Rate
	p.AverageGbps, p.AverageMBps = rates(p.Bytes, r.Rate*1e6)
	if ratio := r.Peak / r.Average; r.Average > 0 && sane(ratio) {
		p.PeakGbps, p.PeakMBps = rates(p.Bytes, r.Rate*1e6*ratio)
	}
	return p
}

// sane reports whether a peer may have measured f, in millions or as a ratio. Products of two such
// values are finite, as JSON needs them.
func sane(f float64) bool { return f >= 0 && f <= 1e12 }

// LatencyPoint is the latency at one size, in microseconds: half a round trip for
// SEND and WRITE, a whole one for READ.
type LatencyPoint struct {
	Bytes      int     `json:"bytes"`      // of a message
	Iterations uint64  `json:"iterations"` // messages measured
	Min        float64 `json:"minUs"`      // shortest
	Max        float64 `json:"maxUs"`      // longest
	Typical    float64 `json:"typicalUs"`  // the median
	Average    float64 `json:"averageUs"`  // arithmetic mean
	StdDev     float64 `json:"stdDevUs"`   // standard deviation
	P50        float64 `json:"p50Us"`      // the 50th percentile
	P90        float64 `json:"p90Us"`      // the 90th percentile
	P99        float64 `json:"p99Us"`      // the 99th percentile
	P999       float64 `json:"p999Us"`     // the 99.9th percentile
	// Jitter is P999-P50.
	Jitter float64 `json:"jitterUs"`
	// PerSecond is the number of measured messages per second.
	PerSecond float64 `json:"perSecond"`
	// CPUUtil is how busy the CPUs of the machine were, as perftest computes it: the time in
	// programs in percent of that and the idle time; nil without Config.CPUUtil.
	CPUUtil *float64 `json:"cpuUtilPercent,omitempty"`
}

// intervals collects the times between messages.
type intervals struct {
	histogram *hdrhistogram.Histogram
	least     time.Duration
	most      time.Duration
	sum, sum2 float64 // sums of nanoseconds and of their squares
	n         uint64
}

// maxInterval is the largest value that the histogram distinguishes, digits its precision.
const (
	maxInterval = 10 * time.Minute
	digits      = 3
)

func newIntervals() *intervals {
	return &intervals{histogram: hdrhistogram.New(1, maxInterval.Nanoseconds(), digits), least: math.MaxInt64}
}

func (s *intervals) add(d time.Duration) {
	s.n++
	s.least, s.most = min(s.least, d), max(s.most, d)
	ns := float64(d.Nanoseconds())
	s.sum += ns
	s.sum2 += ns * ns
	_ = s.histogram.RecordValue(int64(min(max(d, 1), maxInterval))) // within its bounds
}

// point returns the result; each interval consists of the given number of exchanges.
func (s *intervals) point(size int, iterations uint64, exchanges int) LatencyPoint {
	p := LatencyPoint{Bytes: size, Iterations: iterations}
	if s.n == 0 {
		return p
	}
	scale := 1 / float64(exchanges) / 1e3
	// The histogram returns the upper bound of a range, which may exceed the longest interval.
	quantile := func(q float64) float64 {
		at := time.Duration(s.histogram.ValueAtPercentile(q))
		return float64(max(s.least, min(at, s.most)).Nanoseconds()) * scale
	}
	mean := s.sum / float64(s.n)
	p.Min, p.Max = float64(s.least.Nanoseconds())*scale, float64(s.most.Nanoseconds())*scale
	p.Average = mean * scale
	p.StdDev = math.Sqrt(max(0, s.sum2/float64(s.n)-mean*mean)) * scale
	p.P50, p.P90, p.P99, p.P999 = quantile(50), quantile(90), quantile(99), quantile(99.9)
	p.Typical = p.P50
	p.Jitter = p.P999 - p.P50
	p.PerSecond = float64(s.n) / s.sum * 1e9
	return p
}

// scaleOf returns the scale of a device's results.
func scaleOf(device string) string {
	if isEngine(device) {
		return ScaleSoftware
	}
	return ""
}

// isEngine reports whether a device is an engine in user space: they have an @ in their names,
// kernel devices never do.
func isEngine(device string) bool { return strings.Contains(device, "@") }
