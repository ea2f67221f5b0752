package nccl_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
	"github.com/rdmakit/rdmakit/explain/forms/nccl"
)

const (
	info = "node1:100:140 [2] NCCL INFO "
	// The prefix of a warning since 2.30.7 (src/debug.cc).
	warn = "[2026-11-27 06:34:31] node1:100:140 [2] net_ib/p2p.cc:515 (ncclIbTest) NCCL WARN "
)

// read returns the event of a line as "kind name=value …", without the source file.
func read(t *testing.T, line string) []string {
	t.Helper()
	var got []string
	for _, e := range forms.NewMatcher(nccl.Table()).Read(&evidence.Line{Text: line}) {
		var b strings.Builder
		b.WriteString(string(e.Kind))
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			if name != "source" {
				fmt.Fprintf(&b, " %s=%s", name, e.Fields[name])
			}
		}
		if e.Since != "" || e.Until != "" {
			fmt.Fprintf(&b, " (%s–%s)", e.Since, e.Until)
		}
		got = append(got, b.String())
	}
	return got
}

// TestForms reads testdata/forms.txt: a line, and below it its event.
func TestForms(t *testing.T) {
	data, err := os.ReadFile("testdata/forms.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for block := range strings.SplitSeq(string(data), "\n\n") {
		line, want, ok := strings.Cut(strings.TrimSpace(block), "\n\t")
		if !ok {
			continue // the comment
		}
		cases++
		if got := read(t, line); len(got) != 1 || got[0] != want {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
	if cases < 70 {
		t.Errorf("%d cases, want at least 70", cases)
	}
}

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
	line := info + "Using network IB" + "node2:7:8 [0] NCCL INFO Using network Socket"
	got := read(t, line)
	// The host of the second line is glued to the message of the first, which has one word.
	if len(got) == 0 {
		t.Fatalf("no event in %q", line)
	}
	got = read(t, info+"Connected all rings node2:7:8 [0] NCCL INFO Using network Socket")
	if want := []string{"nccl.connected what=all rings", "nccl.network network=Socket"}; !slices.Equal(got, want) {
		t.Errorf("glued lines = %q, want %q", got, want)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range nccl.Table().Forms {
		if seen[f.Name] {
			t.Errorf("two forms %s", f.Name)
		}
		seen[f.Name] = true
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
