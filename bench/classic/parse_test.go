package classic

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

func TestParse(t *testing.T) {
	base := func(change func(*Options)) Options {
		o := Options{Config: bench.Config{Test: bench.WriteBW}, Port: bench.DefaultPort}
		change(&o)
		return o
	}
	tests := []struct {
		args string
		want Options
	}{
		{"", base(func(*Options) {})},
		{
			"-d roce@192.0.2.1 -s 64K -n 500 -q 8 -m 1024 -x 3 -p 19000 -F --report_gbits 192.0.2.2",
			base(func(o *Options) {
				o.Device, o.Port, o.Gbits, o.Host = "roce@192.0.2.1", 19000, true, "192.0.2.2"
				o.Config.Size, o.Config.Iterations, o.Config.QueuePairs, o.Config.MTU, o.Config.GIDIndex = 65536, 500,
					8, 1024, 3
				o.Config.ReportGbps, o.Config.Role, o.GIDGiven = true, perftest.RoleClient, true
			}),
		},
		{"-z", base(func(o *Options) { o.Config.RDMACM = bench.RDMACMExchange })},
		{"-R -T 0x68", base(func(o *Options) { o.Config.RDMACM, o.Config.TrafficClass = bench.RDMACMConnect, 104 })},
		{"--rdma_cm -z", base(func(o *Options) { o.Config.RDMACM = bench.RDMACMConnect })}, // as in perftest
		{"host -aF -n5 -s2M", base(func(o *Options) {
			o.Host, o.Config.Role, o.Config.AllSizes, o.Config.Iterations, o.Config.Size = "host", perftest.RoleClient,
				true, 5, 2<<20
		})},
		{"-u 0", base(func(o *Options) { o.Config.Timeout = verbs.TimeoutInfinite })},
		{"-u 31", base(func(o *Options) { o.Config.Timeout = 31 })},
		{"-D 10 -f 0 --ib-dev=x --report_g --noP", base(func(o *Options) {
			o.Config.Duration, o.Config.Margin, o.Device, o.Gbits, o.Config.ReportGbps,
				o.Config.NoPeak = 10*time.Second, -1, "x", true, true, true
		})},
		{
			"--iters 7 --tx-depth=3 -r 9 -i 1 -c RC -I 0 -o 4 -Q 2 -l 2 -u 18 --perform_warm_up --ipv6",
			base(func(o *Options) {
				c := &o.Config
				c.Iterations, c.TxDepth, c.RxDepth, c.Port, c.OutstandingReads, c.CQModeration, c.PostList, c.Timeout,
					c.WarmUp, c.Inline = 7, 3, 9, 1, 4, 2, 2, 18, true, -1
			}),
		},
		{
			"-c UC -I 64 -S 5 -D 4 --cpu_util --mr_per_qp --use_hugepages",
			base(func(o *Options) {
				c := &o.Config
				c.QPType, c.Inline, c.ServiceLevel, c.Duration = verbs.QPTypeUC, 64, 5, 4*time.Second
				c.CPUUtil, c.MRPerQP, c.HugePages = true, true, true
			}),
		},
		{"--use_cuda=3 --use_cuda_dmabuf", base(func(o *Options) {
			o.Config.GPU = &bench.GPU{Kind: bench.GPUCUDA, Index: 3}
		})},
		{"--use_rocm 0 --use_rocm_dmabuf", base(func(o *Options) { o.Config.GPU = &bench.GPU{Kind: bench.GPUROCm} })},
		{"-- host", base(func(o *Options) { o.Host, o.Config.Role = "host", perftest.RoleClient })},
		{"-V -h", base(func(o *Options) { o.Version, o.Help = true, true })},
	}
	for _, tt := range tests {
		got, err := Parse(bench.WriteBW, strings.Fields(tt.args))
		if err != nil {
			t.Errorf("Parse(%q) = %v", tt.args, err)
		}
		options := cmp.Options{cmpopts.IgnoreFields(bench.Config{}, "Observer"), cmpopts.IgnoreUnexported(bench.GPU{})}
		if diff := cmp.Diff(tt.want, got, options); diff != "" {
			t.Errorf("Parse(%q) differs (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		args, want  string
		unsupported bool
	}{
		{"--nosuch", "unknown option --nosuch", false},
		{"-Z", "unknown option -Z", false},
		{"-d", "option -d needs a value", false},
		{"-nx", `option -n "x": not a number`, false},
		{"-n -5", `option -n "-5": not a number`, false},
		{"-m 1500", `option -m "1500": not 256, 512, 1024, 2048 or 4096`, false},
		{"-s 0", `option -s "0": size "0" is not 1 to`, false},
		{"-s 5000000000", "is not 1 to", false},
		{"-s 4096M", "is not 1 to", false},
		{"-c XRC", `option -c "XRC"`, true},
		{"-S 16", `option -S "16"`, false},
		{"-b", "option -b: unsupported operation", true},
		{"--use-srq", "option --use-srq: unsupported operation", true},
		{"--all=3", "option --all has no value", false},
		{"--report", "may be --", false},
		{"--use_cuda x", `option --use_cuda "x": not a number`, false},
		{"--use_cuda 0 --use_rocm 0", "memory of CUDA and ROCm exclude each other", false},
		{"--use_rocm 0 --use_cuda_dmabuf", "no --use_cuda before it", false},
		{"--use_rocm_dmabuf", "no --use_rocm before it", false},
		{"-R -T 256", `option -T "256"`, false},
		{"-u 32", `option -u "32"`, false},
		{"a b", `unexpected argument "b"`, false},
	}
	for _, tt := range tests {
		_, err := Parse(bench.SendBW, strings.Fields(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrUnsupported) != tt.unsupported {
			t.Errorf("Parse(%q) = %v, want %q, unsupported %t", tt.args, err, tt.want, tt.unsupported)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int]string{
		1: "1", 1000: "1000", 1023: "1023", 1024: "1K", 65536: "64K", 1 << 20: "1M", 3 << 19: "1536K", 1 << 30: "1024M",
	} {
		got := FormatSize(n)
		if back, err := ParseSize(got); got != want || back != n || err != nil {
			t.Errorf("FormatSize(%d) = %q, want %q; ParseSize of it = %d, %v", n, got, want, back, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-d x -s 64K --report_gbits host")
	f.Fuzz(func(t *testing.T, line string) {
		o, err := Parse(bench.ReadLat, strings.Fields(line))
		if err == nil &&
			(o.Config.Size < 0 || o.Config.Iterations < 0 || o.Config.QueuePairs < 0 || o.Config.TxDepth < 0) {
			t.Errorf("Parse(%q) = %+v: negative numbers", line, o)
		}
	})
}
