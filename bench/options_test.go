package bench_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/internal/edge/anonmem"
	"github.com/rdmakit/rdmakit/internal/edge/cpus"
	"github.com/rdmakit/rdmakit/verbs"
)

// TestTransports measures over unreliable connections and datagrams. All receive requests are
// posted in advance, so that no message is dropped.
func TestTransports(t *testing.T) {
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	for _, qp := range []verbs.QPType{verbs.QPTypeUC, verbs.QPTypeUD} {
		for _, test := range []bench.Test{bench.SendBW, bench.SendLat} {
			for _, size := range []int{1, 2000} {
				t.Run(fmt.Sprintf("%v/%v/%d", qp, test, size), func(t *testing.T) {
					cfg := bench.Config{Test: test, QPType: qp, Size: size, Iterations: 100, Inline: 64}
					a, b := both(t, client, server, cfg)
					check(t, cfg, a, true)
					check(t, cfg, b, false)
					if a.QPType != qp.String() || a.Inline < 64 {
						t.Errorf("setup: %s with %d bytes inline, want %v with 64", a.QPType, a.Inline, qp)
					}
				})
			}
		}
	}
}

// TestDatagramSizes ends the sizes of UD at the MTU, as perftest does.
func TestDatagramSizes(t *testing.T) {
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	for _, cfg := range []bench.Config{
		{Test: bench.SendLat, QPType: verbs.QPTypeUD, AllSizes: true, Iterations: 5, MTU: 1024},
		{
			Test: bench.SendBW, QPType: verbs.QPTypeUD, Iterations: 5, MTU: 1024, QueuePairs: 3,
			MRPerQP: true,
		},
	} {
		a, _ := both(t, client, server, cfg)
		var sizes []int
		for _, p := range a.Latency {
			sizes = append(sizes, p.Bytes)
		}
		for _, p := range a.Bandwidth {
			sizes = append(sizes, p.Bytes)
		}
		want := []int{1024}
		if cfg.AllSizes {
			want = []int{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("%v measures %v bytes, want %v", cfg.Test, sizes, want)
		}
	}
}

// TestDatagramTooLarge rejects a size above the MTU.
func TestDatagramTooLarge(t *testing.T) {
	d := open(t, "127.0.1.21")
	err := bench.Check(t.Context(), d, bench.Config{Test: bench.SendBW, QPType: verbs.QPTypeUD, Size: 2000, MTU: 1024})
	if err == nil || !strings.Contains(err.Error(), "size 2000: a datagram holds at most 1024 bytes") {
		t.Errorf("Check = %v", err)
	}
}

// TestMRPerQP gives each queue pair a region of its own, whose key the peer gets.
func TestMRPerQP(t *testing.T) {
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	for _, test := range []bench.Test{bench.WriteBW, bench.ReadBW, bench.SendBW} {
		cfg := bench.Config{Test: test, Size: 5000, Iterations: 40, QueuePairs: 4, MRPerQP: true}
		a, b := both(t, client, server, cfg)
		check(t, cfg, a, true)
		for _, r := range []bench.Result{a, b} {
			keys := map[uint32]bool{}
			for _, e := range r.Local {
				keys[e.RKey] = true
			}
			if len(keys) != 4 || !r.MRPerQP {
				t.Errorf("%v: %d keys of 4 queue pairs: %+v", test, len(keys), r.Local)
			}
		}
	}
}

// TestInline posts what fits inline, and says what doesn't.
func TestInline(t *testing.T) {
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	for _, tt := range []struct {
		test   bench.Test
		inline int
		want   int
	}{
		{bench.WriteLat, 0, 0}, // software has no default
		{bench.WriteLat, -1, 0},
		{bench.WriteBW, 100, 100},
		{bench.SendBW, 3, 3},
		{bench.ReadLat, 100, 0},
	} {
		cfg := bench.Config{Test: tt.test, Size: 64, Iterations: 50, Inline: tt.inline}
		a, _ := both(t, client, server, cfg)
		check(t, cfg, a, true)
		if a.Inline != tt.want {
			t.Errorf("%v with Inline %d: %d bytes, want %d", tt.test, tt.inline, a.Inline, tt.want)
		}
	}
	err := bench.Check(t.Context(), client, bench.Config{Inline: 1 << 15})
	if err == nil || !strings.Contains(err.Error(), "32768 bytes inline") {
		t.Errorf("Check with 32768 bytes inline = %v", err)
	}
	if err := (bench.Config{Inline: 1 << 20}).Validate(); err == nil {
		t.Error("Validate accepts 1 MiB inline")
	}
}

// TestHugePages reports how many pages are missing, where there are none.
func TestHugePages(t *testing.T) {
	client := open(t, "127.0.1.21")
	err := bench.Check(t.Context(), client, bench.Config{Size: 3 << 20, HugePages: true})
	if b, allocErr := anonmem.AllocHuge(6 << 20); allocErr == nil { // this machine has some
		if freeErr := anonmem.Free(b); err != nil || freeErr != nil {
			t.Errorf("Check with huge pages = %v, Free = %v", err, freeErr)
		}
		return
	}
	missing, ok := errors.AsType[*bench.HugePagesError](err)
	if !ok || missing.Pages != 3 || !errors.Is(err, syscall.ENOMEM) ||
		!strings.Contains(missing.Hints()[0], "vm.nr_hugepages=3") {
		t.Errorf("Check with huge pages = %v, want a HugePagesError for 3 pages", err)
	}
}

// TestCPUs keeps the measuring goroutine on a CPU while it measures, and only then.
func TestCPUs(t *testing.T) {
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	before, err := cpus.Allowed()
	if err != nil {
		t.Skipf("no affinity: %v", err)
	}
	last := before[len(before)-1:]
	cfg := bench.Config{Test: bench.WriteLat, Iterations: 20, CPUs: last, NUMANode: new(0)}
	cfg.Observer.Started = func(*bench.Setup) {
		if got, err := cpus.Allowed(); err != nil || !slices.Equal(got, last) {
			t.Errorf("the test runs on CPUs %v, %v, want %v", got, err, last)
		}
	}
	a, _ := both(t, client, server, cfg)
	if a.CPUs != cpus.FormatList(last) || a.NUMANode == nil {
		t.Errorf("setup: CPUs %q of node %v, want %v", a.CPUs, a.NUMANode, last)
	}
	if got, err := cpus.Allowed(); err != nil || !slices.Equal(got, before) {
		t.Errorf("CPUs after the test: %v, %v, want %v", got, err, before)
	}
	cfg.CPUs = []int{1 << 20}
	if _, err := bench.Run(t.Context(), client, nil, cfg); err == nil {
		t.Error("Run on a CPU that doesn't exist succeeded")
	}
}

// TestCPUUtil measures the CPUs in the measured time, and rejects a number of messages.
func TestCPUUtil(t *testing.T) {
	if err := (bench.Config{CPUUtil: true}).Validate(); err == nil {
		t.Error("Validate accepts CPUUtil without a duration")
	}
	client, server := open(t, "127.0.1.21"), open(t, "127.0.1.22")
	cfg := bench.Config{Test: bench.WriteBW, Duration: time.Second, CPUUtil: true}
	a, b := both(t, client, server, cfg)
	check(t, cfg, a, true)
	if p := a.Bandwidth[0].CPUUtil; p == nil {
		t.Error("the client has no CPU utilization")
	} else if *p <= 0 || *p > 100 {
		t.Errorf("CPU utilization of the client: %v", *p)
	}
	if p := b.Bandwidth[0].CPUUtil; p != nil {
		t.Errorf("CPU utilization of the server, which measures nothing: %v", *p)
	}
}
