//go:build kernel

package kernel

import (
	"strconv"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
)

// perftestListensCM succeeds when a server of perftest -R runs: it listens soon.
const perftestListensCM = "pgrep '^ib_'"

// TestPerftestCM runs tests whose queue pairs are connected by rdma_cm: -R, and -z, which only
// exchanges over it. The peer is perftest 4.5 on the kernel's rdma_cm.
func TestPerftestCM(t *testing.T) {
	r := newPerftestRig(t)
	output(t, r.g, "modprobe rdma_ucm")
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	r.listens = perftestListensCM
	tests := []struct {
		test bench.Test
		size int
		args []string
	}{
		{bench.WriteBW, 65536, []string{"-R", "--qps", "3"}},
		{bench.SendBW, 4096, []string{"-R"}},
		{bench.ReadLat, 4096, []string{"-R"}},
		{bench.ReadBW, 65536, []string{"-R"}},
		{bench.WriteLat, 64, []string{"-R"}},
		{bench.SendLat, 64, []string{"-R"}},
		{bench.SendBW, 1024, []string{"-R", "-c", "UD"}},
		{bench.SendLat, 64, []string{"-R", "-c", "UD"}},
		{bench.WriteBW, 4096, []string{"-z"}},
	}
	if !wantAll() {
		tests = tests[:3]
	}
	for _, tt := range tests {
		for _, client := range []bool{false, true} {
			qps := 1
			if len(tt.args) > 2 && tt.args[1] == "--qps" {
				qps = 3
			}
			name := cell{tt.test, client, qps, tt.size}.name() + " " + tt.args[0]
			if tt.args[len(tt.args)-1] == "UD" {
				name += " UD"
			}
			t.Run(name, func(t *testing.T) {
				x := exchange{test: tt.test, f: f, gid: gid, client: client, args: append([]string{
					"-n", "30", "-u", "20", "-s", strconv.Itoa(tt.size),
				}, tt.args...)}
				x.check(t, r.run(t, x), 4096, []int{tt.size})
			})
		}
	}
}
