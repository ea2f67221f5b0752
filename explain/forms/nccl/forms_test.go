package nccl_test

import (
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/internal/formtest"
	"github.com/rdmakit/rdmakit/explain/forms/nccl"
)

const (
	info = "node1:100:140 [2] NCCL INFO "
	// The prefix of a warning since 2.30.7 (src/debug.cc).
	warn = "[2026-11-27 06:34:31] node1:100:140 [2] net_ib/p2p.cc:515 (ncclIbTest) NCCL WARN "
)

func TestForms(t *testing.T) { formtest.Run(t, "testdata/forms.txt", nccl.Table()) }

func TestHead(t *testing.T) {
	for _, c := range []struct {
		line, host string
		pid        int
	}{
		{info + "Using network IB", "node1", 100},
		{"[2026-11-27_06:34:31] node1:100:140 [2] NCCL INFO Using network IB", "node1", 100},
		{"06:34:31.123 node1:100:140 [2] NCCL INFO Using network IB", "node1", 100},
		{"train-worker-0:1:77 [0] NCCL INFO Using network IB", "train-worker-0", 1},
		{":1:77 [0] NCCL INFO Using network IB", "", 0},
		{"NCCL INFO Using network IB", "", 0},
	} {
		for _, e := range forms.NewMatcher(nccl.Table()).Read(&evidence.Line{Text: c.line}) {
			if e.Process.Host != c.host || c.host != "" && e.Process.PID != c.pid {
				t.Errorf("%s: process %+v, want %s %d", c.line, e.Process, c.host, c.pid)
			}
		}
	}
}

func TestGluedLines(t *testing.T) {
	got := formtest.Events(info+"Connected all rings node2:7:8 [0] NCCL INFO Using network Socket", nccl.Table())
	if want := []string{"nccl.connected what=all rings", "nccl.network network=Socket"}; !slices.Equal(got, want) {
		t.Errorf("glued lines = %q, want %q", got, want)
	}
}

func FuzzForms(f *testing.F) {
	f.Add(info + "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA")
	f.Add(warn + "NET/IB: Got completion from peer 10.0.0.2<4> with status=IBV_WC_X(12) vendor_err=129 hca mlx5_0")
	f.Add(warn + "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state INIT")
	f.Fuzz(func(_ *testing.T, s string) {
		forms.NewMatcher(nccl.Table()).Read(&evidence.Line{Text: s})
	})
}

func TestTests(t *testing.T) { formtest.Run(t, "testdata/tests.txt", nccl.Tests()) }
