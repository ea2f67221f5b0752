//go:build kernel

package kernel

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
)

// perftestListensCM succeeds when a server of perftest -R runs: it listens soon.
const perftestListensCM = "pgrep '^ib_'"

// cmTest is a test whose queue pairs are connected by rdma_cm.
type cmTest struct {
	test bench.Test
	size int
	args []string
}

// name returns a name without blanks.
func (c cmTest) name(client bool) string {
	qps := 1
	if len(c.args) > 2 && c.args[1] == "--qps" {
		qps = 3
	}
	name := cell{c.test, client, qps, c.size}.name() + " " + c.args[0]
	if c.args[len(c.args)-1] == "UD" {
		name += " UD"
	}
	return name
}

func newPerftestCMRig(t *testing.T) *perftestRig {
	t.Helper()
	r := newPerftestRig(t)
	output(t, r.g, "modprobe rdma_ucm")
	r.listens = perftestListensCM
	return r
}

// TestPerftestCM runs tests whose queue pairs are connected by rdma_cm: -R, and -z, which only
// exchanges over it. The peer is perftest 4.5 on the kernel's rdma_cm. make test-kernel runs one
// test of each kind of operation, either end once.
func TestPerftestCM(t *testing.T) {
	r := newPerftestCMRig(t)
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	tests := []cmTest{
		{bench.WriteBW, 65536, []string{"-R", "--qps", "3"}},
		{bench.SendBW, 4096, []string{"-R"}},
		{bench.ReadLat, 4096, []string{"-R"}},
		{bench.ReadBW, 65536, []string{"-R"}},
		{bench.WriteLat, 64, []string{"-R"}},
		{bench.SendLat, 64, []string{"-R"}},
		{bench.SendBW, 1024, []string{"-R", "-c", "UD"}},
		{bench.SendLat, 64, []string{"-R", "-c", "UD"}},
		{bench.WriteBW, 4096, []string{"-z"}},
		{bench.SendBW, 4096, []string{"-R", "-m", "1024"}}, // which rdma_cm ignores
	}
	if !wantAll() {
		tests = tests[:3]
	}
	for i, tt := range tests {
		for _, client := range []bool{false, true} {
			if !wantAll() && client != (i%2 == 0) {
				continue
			}
			name := tt.name(client)
			if tt.args[len(tt.args)-1] == "1024" {
				name += " MTU"
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

// TestPerftestCMLoss is TestPerftestCM with a network that loses packets, those of the
// communication manager too.
func TestPerftestCMLoss(t *testing.T) {
	if !wantAll() {
		t.Skipf("TestRpingLoss covers the communication manager: set %s", allVariable)
	}
	r := newPerftestCMRig(t)
	loseFrames(t, r.g, "loss 2%")
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	repaired := uint64(0)
	for _, tt := range []cmTest{
		{bench.WriteBW, 65536, []string{"-R"}},
		{bench.SendBW, 4096, []string{"-R", "--qps", "3"}},
		{bench.ReadLat, 4096, []string{"-R"}},
	} {
		for _, client := range []bool{false, true} {
			t.Run(tt.name(client), func(t *testing.T) {
				x := exchange{test: tt.test, f: f, gid: gid, client: client, noisy: true, args: append([]string{
					"-n", "30", "-u", "16", "-s", strconv.Itoa(tt.size),
				}, tt.args...)}
				out := r.run(t, x)
				x.check(t, out, 4096, []int{tt.size})
				for _, name := range []string{"retransmits", "timeouts", "sequenceNAKs", "duplicates", "outOfOrder"} {
					repaired += out.ours.Counters[name]
				}
			})
		}
	}
	if repaired == 0 {
		t.Error("nothing was repaired: the network is not what it should be")
	}
}

// TestPerftestTOS gives the client a traffic class (-T): the packets of the test have it in both
// directions, whichever end is the client.
func TestPerftestTOS(t *testing.T) {
	if !wantAll() {
		t.Skipf("the engine's tests cover the traffic class: set %s", allVariable)
	}
	r := newPerftestCMRig(t)
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	const class = 104 // DSCP 26
	for _, client := range []bool{false, true} {
		t.Run(fmt.Sprintf("client %t", client), func(t *testing.T) {
			x := exchange{test: bench.WriteBW, f: f, gid: gid, client: client, args: []string{
				"-n", "30", "-u", "20", "-s", "65536", "-R", "-T", strconv.Itoa(class),
			}}
			rig := roceRig{g: r.g}
			file := rig.capture(t, func() { x.check(t, r.run(t, x), 4096, []int{65536}) })
			packets, err := tshark.Dissect(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			counts := map[string]int{} // packets with the class by source
			for _, p := range packets {
				if ip := p.Frame[14:]; ip[0]>>4 == 4 && ip[1] == class {
					counts[netip.AddrFrom4([4]byte(ip[12:16])).String()]++
				}
			}
			if counts[guest.GuestAddress] < 10 || counts[guest.HostAddress] < 10 {
				t.Errorf("packets with traffic class %d: %v, want some from both ends", class, counts)
			}
		})
	}
}

// TestHardwareCM connects rxe0 with itself through librdmacm: bench -R and connect --cm must
// succeed, and free everything.
func TestHardwareCM(t *testing.T) {
	if !wantAll() {
		t.Skipf("TestRpingHardware covers librdmacm: set %s", allVariable)
	}
	g := withRdmactl(t)
	g.Exclusive(t)
	output(t, g, "modprobe rdma_ucm")
	t.Run("bench", func(t *testing.T) {
		const command = rdmactl + " bench write-bw -R -d rxe0 -n 20 -s 4096 -u 20"
		out := cmRun(t, g, "timeout 80 "+command+" >/tmp/bench-cm 2>&1 & server=$!\n"+
			await("rdma resource show cm_id | grep -q LISTEN")+" && timeout 60 "+command+" "+guest.GuestAddress+
			" && wait $server; status=$?; cat /tmp/bench-cm; rm /tmp/bench-cm; exit $status")
		if strings.Count(out, "rdma_cm (-R)") != 2 {
			t.Errorf("both ends must print their result: %s", out)
		}
	})
	t.Run("connect", func(t *testing.T) {
		cmRun(t, g, "timeout 80 "+rdmactl+" connect --cm rxe0"+connectFlags)
	})
}
