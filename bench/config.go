package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Config configures a test. Zero values select perftest's defaults: see [Test.Defaults].
type Config struct {
	Test Test          // which test
	Role perftest.Role // client or server

	// Size of a message in bytes; 0 is 64 KiB for bandwidth and 2 for latency.
	Size int
	// AllSizes measures 2, 4, 8 bytes and so on up to 8 MiB.
	AllSizes bool
	// Iterations is the number of messages per queue pair and size; 0 is 5000 for write_bw and 1000
	// for the others.
	Iterations int
	// Duration, unless 0, measures for a time, and Iterations is ignored. The peer needs the same
	// Duration: if its messages end before the measured time does, the error matches ErrCutShort.
	Duration time.Duration
	// Margin is left out of the measurement at the beginning and the end of Duration; 0 is a
	// quarter of Duration, a negative value means no margin.
	Margin time.Duration
	// QueuePairs is the number of queue pairs; 0 is 1. Latency tests have only 1.
	QueuePairs int
	// TxDepth and RxDepth are the numbers of outstanding send and receive requests per queue pair;
	// 0 is 128 (1 for latency) and 512.
	TxDepth, RxDepth int
	// CQModeration is the number of requests per completion; 0 is 100, but 1 for sizes above 8 KiB.
	CQModeration int
	// PostList is the number of requests posted in one call; 0 is 1.
	PostList int
	// MTU is the largest path MTU; 0 is the port's.
	MTU ib.MTU
	// Port of the device; 0 is 1.
	Port int
	// GIDIndex of the port, or NoGID.
	GIDIndex int
	// ServiceLevel of packets, 0 to 15.
	ServiceLevel uint8
	// OutstandingReads is the largest number of outstanding READs; 0 is the device's maximum.
	OutstandingReads int
	// Timeout is the code of the acknowledgement timeout, 4.096 µs × 2^code for 1 to 31, or
	// verbs.TimeoutInfinite; 0 is 14, 67 ms.
	Timeout uint8
	// QPType is the transport service of the queue pairs, which the device must support. The zero
	// value is the reliable connection.
	QPType verbs.QPType
	// Inline is the size in bytes up to which messages are copied into their requests when posted;
	// 0 is perftest's default: for WRITE and SEND latency on cards 220 and 236 (UD: 188), or what
	// the card grants, otherwise none. A negative value means none.
	Inline int
	// HugePages takes the memory from huge pages of 2 MiB, which the system must have.
	HugePages bool
	// GPU takes the memory from a GPU, which the device must be able to access; nil takes it from
	// the host. The program must set [ScatterVariable] before it opens the device: the driver of
	// ConnectX cards would otherwise access the memory with the CPU. Not for WriteLat, and not with
	// Inline or HugePages.
	GPU *GPU
	// MRPerQP registers the memory of each queue pair as its own region.
	MRPerQP bool
	// CPUs are those that the measuring goroutine runs on, such as those of the card's NUMA node;
	// its memory is then on that node too. nil stands for all CPUs of the process.
	CPUs []int
	// NUMANode is the node of CPUs for the result, if they are those of one.
	NUMANode *int
	// CPUUtil measures how busy the machine's CPUs are; needs Duration.
	CPUUtil bool
	// NoPeak skips computing the peak bandwidth, which takes memory and time.
	NoPeak bool
	// WarmUp sends TxDepth messages before each size of a bandwidth test.
	WarmUp bool
	// Wait is the way to wait for completions.
	Wait verbs.WaitMode
	// StepTimeout bounds each step of the exchange; 0 is 30 seconds.
	StepTimeout time.Duration
	// ReportGbps must equal the peer's --report_gbits: the peer prints the reported numbers as they
	// are, without a unit in the report. The default unit is MiB/s, which perftest calls MB/s.
	ReportGbps bool
	// RDMACM is how the ends meet, and connect their queue pairs; both need the same. The device
	// needs verbs.CapConnector, unless it is RDMACMOff.
	RDMACM RDMACM
	// TrafficClass is the DSCP and ECN of the packets of queue pairs that rdma_cm connects
	// (perftest: -T); the client chooses it for both ends. It needs RDMACMConnect.
	TrafficClass uint8
	// Version is the version of perftest's protocol to announce; 0 is perftest.VersionAnnounced, or
	// perftest.VersionCM over rdma_cm.
	// Below perftest.VersionStruct, the ends don't compare their parameters.
	Version perftest.Version
	// Observer receives the progress of the run.
	Observer Observer
}

// Observer receives the progress of a test. Its functions are called in the goroutine that runs the
// test and may be nil.
type Observer struct {
	// Prepared is called once the local queue pairs exist, Connected when both ends are known.
	Prepared  func(*Setup)
	Connected func(*Setup)
	// Started is called before the first size.
	Started func(*Setup)
	// Bandwidth and Latency are called with each line of the result.
	Bandwidth func(BandwidthPoint)
	Latency   func(LatencyPoint)
}

// NoGID as [Config.GIDIndex] addresses the peer by its LID alone, as perftest does without -x. Both
// ends must be InfiniBand ports of one subnet, and both must choose it, since the key lines that
// they exchange then have another form.
const NoGID = -1

// MaxSize is the largest size of a message in bytes.
const MaxSize = 1 << 30

// Limits, most of them perftest's.
const (
	maxIterations = 100_000_000
	minIterations = 5
	maxQueuePairs = 1024
	maxDepth      = 15000
	maxModeration = 1024
	largestOfAll  = 8 << 20
	maxInline     = 1 << 15
	largeMessage  = 8192 // above it every request reports its completion
	maxPeakPoints = 1 << 22
	// maxMemory is the limit of the buffers of a run in bytes.
	maxMemory = 8 << 30
)

// Validate checks a configuration as far as that is possible without a device.
func (c Config) Validate() error {
	_, err := c.normalized()
	return err
}

// normalized fills in defaults and checks.
func (c Config) normalized() (Config, error) {
	var errs []error
	pick := func(name string, v *int, otherwise, least, most int) {
		if *v == 0 {
			*v = otherwise
		}
		if *v < least || *v > most {
			errs = append(errs, fmt.Errorf("%s %d is not %d to %d", name, *v, least, most))
		}
	}
	if int(c.Test) >= len(names) {
		return c, fmt.Errorf("unknown %v", c.Test)
	}
	d := c.Test.Defaults()
	pick("size", &c.Size, d.Size, 1, MaxSize)
	pick("iterations", &c.Iterations, d.Iterations, minIterations, maxIterations)
	pick("queue pairs", &c.QueuePairs, d.QueuePairs, 1, maxQueuePairs)
	pick("tx depth", &c.TxDepth, d.TxDepth, 1, maxDepth)
	pick("rx depth", &c.RxDepth, d.RxDepth, 1, maxDepth)
	pick("post list", &c.PostList, d.PostList, 1, maxDepth)
	pick("port", &c.Port, d.Port, 1, 255)
	moderated := c.CQModeration != 0
	pick("CQ moderation", &c.CQModeration, d.CQModeration, 1, maxModeration)
	if c.Timeout > 31 && c.Timeout != verbs.TimeoutInfinite {
		errs = append(errs, fmt.Errorf("acknowledgement timeout code %d is not 0 to 31", c.Timeout))
	}
	if c.Inline > maxInline {
		errs = append(errs, fmt.Errorf("inline size %d is more than %d", c.Inline, maxInline))
	}
	if c.CPUUtil && c.Duration == 0 {
		errs = append(errs, errors.New("the CPU utilization is measured only with a duration"))
	}
	if c.GIDIndex < NoGID {
		errs = append(errs, fmt.Errorf("GID index %d is negative", c.GIDIndex))
	}
	if c.ServiceLevel > 15 {
		errs = append(errs, fmt.Errorf("service level %d is not 0 to 15", c.ServiceLevel))
	}
	if c.MTU != 0 && c.MTU.Code() == 0 {
		errs = append(errs, fmt.Errorf("MTU %d is not 256, 512, 1024, 2048 or 4096", c.MTU))
	}
	errs = append(errs, c.checkQPType(), c.checkGPU(), c.checkRDMACM(), c.adjust(moderated), c.checkDuration())
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	return c, checkMemory(fmt.Sprintf("%d queue pairs and %d bytes", c.QueuePairs, c.Size), c.QueuePairs, c.Size)
}

// checkQPType rejects an operation that the transport service doesn't have (specification volume 1,
// table 38: its opcodes).
func (c Config) checkQPType() error {
	op := c.Test.Op()
	switch {
	case op == verbs.SendOpRead && c.QPType != verbs.QPTypeRC:
		return fmt.Errorf("queue pair type %v has no RDMA READ: RC only", c.QPType)
	case op == verbs.SendOpWrite && c.QPType == verbs.QPTypeUD:
		return fmt.Errorf("queue pair type %v has no RDMA WRITE: RC and UC only", c.QPType)
	}
	return nil
}

// adjust adapts fields that depend on each other, as perftest does.
func (c *Config) adjust(moderated bool) error {
	if c.Duration == 0 {
		c.TxDepth = min(c.TxDepth, c.Iterations)
		c.RxDepth = min(c.RxDepth, c.Iterations)
	}
	if c.Size > largeMessage && !c.AllSizes && !moderated {
		c.CQModeration = 1
	}
	c.CQModeration = min(c.CQModeration, c.TxDepth)
	if c.AllSizes {
		c.Size = largestOfAll
	}
	switch {
	case c.Test.IsLatency() && c.QueuePairs > 1:
		return errors.New("only bandwidth tests support several queue pairs")
	case c.PostList == 1:
		return nil
	case c.Test.IsLatency():
		return errors.New("only bandwidth tests support a post list")
	case c.PostList > c.TxDepth:
		return fmt.Errorf("post list %d is larger than the tx depth %d", c.PostList, c.TxDepth)
	case c.Duration == 0 && c.Iterations%c.PostList != 0:
		return fmt.Errorf("%d iterations are not a multiple of the post list %d", c.Iterations, c.PostList)
	case !moderated:
		c.CQModeration = c.PostList
	case c.PostList%c.CQModeration != 0:
		return fmt.Errorf("post list %d is not a multiple of the CQ moderation %d", c.PostList, c.CQModeration)
	}
	return nil
}

func (c *Config) checkDuration() error {
	if c.Duration == 0 {
		return nil
	}
	c.NoPeak = true
	if c.Margin == 0 {
		c.Margin = c.Duration / 4
	}
	c.Margin = max(c.Margin, 0)
	switch {
	case c.Duration < 0:
		return fmt.Errorf("duration %v is negative", c.Duration)
	case c.AllSizes:
		return errors.New("a duration can't be combined with all sizes")
	case c.Duration <= 2*c.Margin:
		return fmt.Errorf("duration %v leaves nothing between margins of %v", c.Duration, c.Margin)
	}
	return nil
}

// fitDatagrams limits the default size, and that of AllSizes, to what a datagram holds, as perftest
// does.
func (c *Config) fitDatagrams(mtu int) { c.Size = min(c.Size, mtu) }

// capacity returns the limits of each queue pair.
func (c *Config) capacity(inline int) verbs.QPCapacity {
	return verbs.QPCapacity{MaxSendWR: c.TxDepth, MaxRecvWR: c.RxDepth, MaxInline: inline}
}

// Sizes returns the message sizes that a test measures, in bytes, smallest first.
func (c *Config) Sizes() []int {
	if !c.AllSizes {
		return []int{c.Size}
	}
	largest := largestOfAll
	if c.QPType == verbs.QPTypeUD {
		largest = min(largest, c.Size)
	}
	var out []int
	for n := 2; n <= largest; n *= 2 {
		out = append(out, n)
	}
	return out
}
