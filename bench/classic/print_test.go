package classic

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestPrinterAgainstCaptures parses the values in perftest's output and prints them again: only the
// values are taken from the capture. Those with siw in their names are of -R on the kernel's siw.
func TestPrinterAgainstCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.[cs][lr][iv]"))
	if err != nil || len(files) != 18 {
		t.Fatalf("%d captures, %v; want 18", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := string(text)
			// A warning of READ tests about rxe, and the line that follows it.
			want = strings.TrimPrefix(want, "Device not recognized to implement inline feature. Disabling it\n"+line)
			want = regexp.MustCompile(`PCIe relax order: .*`).ReplaceAllString(want, "PCIe relax order: Unsupported")
			if diff := cmp.Diff(want, reprint(t, filepath.Base(file), want)); diff != "" {
				t.Errorf("output differs (-perftest +ours):\n%s", diff)
			}
		})
	}
}

func reprint(t *testing.T, name, text string) string {
	t.Helper()
	name, kind := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
	test, err := bench.ParseTest(strings.TrimSuffix(strings.TrimSuffix(name, "_q2"), "_siw"))
	if err != nil {
		t.Fatal(err)
	}
	role := perftest.RoleServer
	if kind == ".cli" {
		role = perftest.RoleClient
	}
	c := captured{t, text}
	s := bench.Setup{
		Test: test.String(), Role: role.String(), Device: c.word(`Device         : (\S+)`),
		LinkLayer: c.word(`Link type       : (\S+)`), MTU: ib.MTU(c.number(`Mtu             : (\d+)`)),
		QueuePairs: c.number(`Number of qps   : (\d+)`), TxDepth: c.number(`TX depth        : (\d+)`),
		RxDepth: c.number(`RX depth        : (\d+)`), CQModeration: c.number(`CQ Moderation   : (\d+)`), PostList: 1,
		OutReads: c.number(`Outstand reads  : (\d+)`), GIDIndex: c.number(`GID index       : (\d+)`),
	}
	if c.word(`Transport type : (\S+)`) == "IW" {
		s.Transport = bench.TransportIWARP
	}
	if c.word(`rdma_cm QPs\t : (\S+)`) == "ON" {
		s.RDMACM = bench.RDMACMConnect.String()
	}
	var b strings.Builder
	p := &Printer{W: &b, Gbits: strings.Contains(text, "Gb/sec")}
	if role == perftest.RoleServer {
		p.Waiting()
	}
	o := p.Observer()
	o.Prepared(&s)
	s.Local, s.Remote = c.endpoints("local"), c.endpoints("remote")
	o.Connected(&s)
	o.Started(&s)
	for _, line := range regexp.MustCompile(`(?m)^ (\d+ .*)$`).FindAllStringSubmatch(text, -1) {
		v := c.figures(line[1])
		if test.IsLatency() {
			o.Latency(bench.LatencyPoint{
				Bytes: int(v[0]), Iterations: uint64(v[1]), Min: v[2], Max: v[3], Typical: v[4], Average: v[5],
				StdDev: v[6], P99: v[7], P999: v[8],
			})
			continue
		}
		point := bench.BandwidthPoint{
			Bytes: int(v[0]), Iterations: uint64(v[1]), PeakMBps: v[2], AverageMBps: v[3], MessageRate: v[4],
		}
		if p.Gbits {
			point.PeakGbps, point.AverageGbps, point.PeakMBps, point.AverageMBps = v[2], v[3], 0, 0
		}
		o.Bandwidth(point)
	}
	p.Finish()
	if p.Err != nil {
		t.Error(p.Err)
	}
	return b.String()
}

// captured finds values in perftest's output.
type captured struct {
	t    *testing.T
	text string
}

func (c captured) word(pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(c.text)
	if m == nil {
		return ""
	}
	return m[1]
}

func (c captured) number(pattern string) int {
	n, _ := strconv.Atoi(c.word(pattern))
	return n
}

func (c captured) figures(line string) []float64 {
	var out []float64
	for f := range strings.FieldsSeq(line) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func (c captured) endpoints(side string) (out []bench.Endpoint) {
	pattern := side +
		` address: LID (\S+) QPN (\S+) PSN (\S+)(?: OUT (\S+))?(?: RKey (\S+) VAddr (\S+))?\n GID: (\S+)\n`
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(c.text, -1) {
		var v [7]uint64
		for i := 1; i < 7; i++ {
			if m[i] == "" {
				continue
			}
			var err error
			if v[i], err = strconv.ParseUint(strings.TrimPrefix(m[i], "0x"), 16, 64); err != nil {
				c.t.Fatal(err)
			}
		}
		e := bench.Endpoint{
			LID: ib.LID(v[1]), QPN: ib.QPN(v[2]), PSN: ib.PSN(v[3]), OutReads: uint16(v[4]),
			RKey: uint32(v[5]), Addr: v[6],
		}
		for i, field := range strings.Split(m[7], ":") {
			if _, err := fmt.Sscanf(field, "%d", &e.GID[i]); err != nil {
				c.t.Fatal(err)
			}
		}
		out = append(out, e)
	}
	if len(out) == 0 {
		c.t.Fatalf("no %s address in the capture", side)
	}
	return out
}

// TestPrinterVariants compares output that is in no capture with perftest's format strings.
func TestPrinterVariants(t *testing.T) {
	tests := []struct {
		name string
		do   func(p *Printer)
		want string
	}{
		{"slow in Gb/s", func(p *Printer) {
			p.Gbits = true
			p.Bandwidth(bench.BandwidthPoint{
				Bytes: 2, Iterations: 1000, PeakGbps: 0.012345678, AverageGbps: 0.01, MessageRate: 0.5,
			})
		}, " 2          1000           0.012346            0.010000            0.500000\n"},
		{"duration of latency", func(p *Printer) {
			p.prepared(&bench.Setup{Test: "send_lat", DurationSeconds: 2, MTU: 1024})
			if b, ok := p.W.(*strings.Builder); ok {
				b.Reset() // the heading is tested elsewhere
			}
			p.started(&bench.Setup{Test: "send_lat"})
			p.Latency(bench.LatencyPoint{Bytes: 64, Iterations: 12345, Average: 8.126, PerSecond: 61525.2})
		}, line + " #bytes        #iterations       t_avg[usec]    tps average\n" +
			" 64            12345            8.13           61525.20\n"},
		{"an InfiniBand port", func(p *Printer) {
			p.prepared(&bench.Setup{
				Test: "write_bw", Role: "server", Device: "mlx5_0", LinkLayer: "InfiniBand", QueuePairs: 1, MTU: 4096,
				CQModeration: 8, PostList: 8,
			})
		}, line + "                    RDMA_Write Post List BW Test\n" +
			" Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n" +
			" Connection type : RC\t\tUsing SRQ      : OFF\n PCIe relax order: Unsupported\n" +
			" ibv_wr* API     : OFF\n Post List       : 8\n CQ Moderation   : 8\n Mtu             : 4096[B]\n" +
			" Link type       : IB\n GID index       : 0\n Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n" +
			" Data ex. method : Ethernet\n" + line},
		{"traffic class", func(p *Printer) {
			p.exchange(&bench.Setup{RDMACM: "-R", TrafficClass: 104}, true)
		}, " rdma_cm QPs\t : ON\n Data ex. method : rdma_cm \tTOS    : 104\n" + line},
	}
	for _, tt := range tests {
		var b strings.Builder
		p := &Printer{W: &b}
		tt.do(p)
		if diff := cmp.Diff(tt.want, b.String()); diff != "" || p.Err != nil {
			t.Errorf("%s: %v, output differs (-want +got):\n%s", tt.name, p.Err, diff)
		}
	}
}
