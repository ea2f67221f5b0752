//go:build kernel

package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// iwarpPair is a script that runs a server on siw0, and a client when it listens, until both
// succeed. It prints what both print on standard output, and then what they say.
const iwarpPair = `cd /tmp; for attempt in $(seq 6); do
(timeout 40 SERVER >iwarp.server 2>iwarp.server.err; echo "status $?" >>iwarp.server) &
AWAIT
timeout 40 CLIENT >iwarp.client 2>iwarp.client.err; echo "status $?" >>iwarp.client; wait
[ "$(tail -qn 1 iwarp.client iwarp.server | sort -u)" = "status 0" ] && break
cat iwarp.client iwarp.client.err iwarp.server iwarp.server.err >>iwarp.failed
done; cat iwarp.client; echo ==; cat iwarp.server; echo ==; cat iwarp.client.err iwarp.server.err
[ -e iwarp.failed ] && { echo "an attempt before:"; cat iwarp.failed; rm iwarp.failed; }; true`

// runIWARP runs both ends on siw0. Up to five more attempts are for two errors of others: siw
// of Linux 6.1 loses a message that arrives too early, see cmPair, and ib_send_bw and ib_send_lat
// send the first one at once; and perftest may distrust the guest's clock.
func runIWARP(t *testing.T, g *guest.Guest, server, client string) deviceRun {
	t.Helper()
	listens := await("rdma resource show cm_id | grep -q 'LISTEN.*:" + benchPort + "'")
	script := strings.NewReplacer("SERVER", server, "CLIENT", client, "AWAIT", listens).Replace(iwarpPair)
	parts := strings.SplitN(output(t, g, script), "==\n", 3)
	if len(parts) != 3 {
		t.Fatalf("%s, %s: %q", server, client, parts)
	}
	r := deviceRun{client: parts[0], server: parts[1], said: parts[2]}
	for _, out := range []string{r.client, r.server} {
		if !strings.HasSuffix(out, "status 0\n") {
			t.Fatalf("%s, %s: %+v", server, client, r)
		}
	}
	if _, failed, found := strings.Cut(r.said, "an attempt before:\n"); found {
		t.Logf("an attempt failed: %s", failed)
	}
	return r
}

// TestPerftestIWARP runs rdmactl bench -R on siw0 against Debian's perftest on the same siw0, in
// both roles, and against itself, and compares what it prints with what perftest prints in the same
// role. make test-kernel runs each test in one role, in turn.
func TestPerftestIWARP(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	output(t, g, "modprobe rdma_ucm")
	tests := []struct {
		test bench.Test
		args string
	}{
		{bench.WriteBW, "-s 8192"},
		{bench.SendBW, "-s 4096 -n 300 -r 30"}, // the sender waits for credits
		{bench.ReadLat, "-s 300"},
		{bench.ReadBW, "-s 65536 -q 3"},
		{bench.WriteLat, ""},
		{bench.SendLat, "-s 64"},
		{bench.WriteBW, "-a -n 5"},
		{bench.SendBW, "-s 65536 -q 3"},
		{bench.SendBW, "-a -n 5"},
		{bench.SendBW, "-s 512 -l 4 -n 400 -r 32 -q 2"},
		{bench.SendLat, "-a -n 5"},
		{bench.WriteBW, "-s 2048 --mr_per_qp -q 2"},
	}
	if !wantAll() {
		tests = tests[:6]
	}
	for i, tt := range tests {
		t.Run(fmt.Sprintf("%v %s", tt.test, tt.args), func(t *testing.T) {
			common := " -R -d siw0 -p " + benchPort + " " + tt.args
			if !strings.Contains(common, " -n ") {
				common += " -n 100"
			}
			theirs := fmt.Sprintf("ib_%v -F%s", tt.test, common)
			ours := rdmactl + " bench " + strings.ReplaceAll(tt.test.String(), "_", "-") + " -o json" +
				strings.NewReplacer(" -q ", " --qps ", "_", "-").Replace(common)
			const host = " " + guest.GuestAddressIWARP
			if wantAll() || i%2 == 0 {
				checkIWARP(t, g, theirs, ours+host, true)
			}
			if wantAll() || i%2 == 1 {
				checkIWARP(t, g, ours, theirs+host, false)
			}
			if wantAll() || i == 0 {
				checkIWARP(t, g, ours, ours+host, true)
			}
		})
	}
}

// TestPerftestIWARPApplet runs rdmactl's ib_write_bw on siw0 beside perftest's: both print the same
// parameters.
func TestPerftestIWARPApplet(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	output(t, g, "modprobe rdma_ucm")
	const command = "ib_write_bw -R -d siw0 -n 50 -s 1000 -p " + benchPort
	r := runIWARP(t, g, command, rdmactl+" "+command+" "+guest.GuestAddressIWARP)
	if diff := cmp.Diff([][2]int{{1000, 50}}, lines(r.client)); diff != "" {
		t.Errorf("our lines (-want +got):\n%s", diff)
	}
	theirs := runIWARP(t, g, command, command+" "+guest.GuestAddressIWARP)
	parameters := func(out string) []string {
		_, out, _ = strings.Cut(out, "Test\n")
		out, _, _ = strings.Cut(out, "----")
		return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool {
			return strings.HasPrefix(line, " PCIe relax order") || strings.HasPrefix(line, " ibv_wr* API")
		})
	}
	if diff := cmp.Diff(parameters(theirs.client), parameters(r.client)); diff != "" {
		t.Errorf("parameters differ (-perftest +ours):\n%s", diff)
	}
}

// checkIWARP runs both ends and checks the result of ours, which is the client or the server.
func checkIWARP(t *testing.T, g *guest.Guest, server, client string, isClient bool) {
	t.Helper()
	r := runIWARP(t, g, server, client)
	ours, theirs := r.server, r.client
	if isClient {
		ours, theirs = r.client, r.server
	}
	result, figures := resultOf(t, ours)
	if result.Device != "siw0" || result.Transport != bench.TransportIWARP || result.RDMACM != "-R" ||
		result.Inline != 0 || len(result.Remote) != result.QueuePairs {
		t.Errorf("setup: %+v", result.Setup)
	}
	if strings.HasPrefix(theirs, "{") { // ours, too
		_, same := resultOf(t, theirs)
		if len(figures) == 0 || len(same) > 0 && !cmp.Equal(same[len(same)-1], figures[len(figures)-1]) {
			t.Errorf("client %v, server %v", figures, same)
		}
		return
	}
	want := lines(theirs)
	if len(want) != len(figures) { // the server of some tests prints the last line, or none
		longer, shorter := want, figures
		if len(longer) < len(shorter) {
			longer, shorter = shorter, longer
		}
		if len(shorter) > 1 || len(shorter) == 1 && shorter[0] != longer[len(longer)-1] {
			t.Errorf("our lines are %v, perftest's %v", figures, want)
		}
	} else if diff := cmp.Diff(want, figures); diff != "" {
		t.Errorf("our lines differ from perftest's (-want +got):\n%s", diff)
	}
	if !strings.Contains(theirs, "Transport type : IW") || !strings.Contains(theirs, "rdma_cm QPs\t : ON") {
		t.Errorf("perftest's heading: %s", theirs)
	}
}
