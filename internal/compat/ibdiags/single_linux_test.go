package ibdiags

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// traffic matches counters that the requests themselves increment.
var traffic = regexp.MustCompile(`(?m)^(Port(?:Xmit|Rcv)(?:Data|Pkts):\.+)\d+$`)

// working matches the C programs' internal debug messages with -v.
var working = regexp.MustCompile(`(?m)^\[\d+\] [a-z_]+: .*\n`)

// identical runs the C program and ours at a node and requires the same exit code and the same
// standard output, byte by byte except for traffic.
func identical(t *testing.T, sim *ibsimtest.Simulator, node, name string, args ...string) {
	t.Helper()
	got := ours(t, sim, node, name, args...)
	line := strings.Join(append([]string{name}, args...), " ")
	for attempt := 1; ; attempt++ {
		theirs, theirErrors, code := sim.Try(node, name, args...)
		diff := cmp.Diff(traffic.ReplaceAllString(working.ReplaceAllString(theirs, ""), "${1}N"),
			traffic.ReplaceAllString(got.Stdout, "${1}N"))
		switch {
		case got.Code == code && diff == "":
			return
		case attempt < 4 && strings.Contains(theirErrors, "recv failed: Connection timed out"):
			continue // a busy machine: the C program didn't wait long enough for an answer that ours got
		}
		t.Errorf("%s: exit code %d, the C program's is %d (-C +ours):\n%s\nours on standard error: %s\ntheirs: %s",
			line, got.Code, code, diff, got.Stderr, theirErrors)
		return
	}
}

// lidAt returns the LID of the port at the end of a directed route from a node.
func lidAt(t *testing.T, sim *ibsimtest.Simulator, node, route string) string {
	t.Helper()
	text := sim.Tool(node, "smpquery", "-D", "portinfo", route)
	m := regexp.MustCompile(`(?m)^Lid:\.+(\d+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("port info at the end of %s from %s has no LID:\n%s", route, node, text)
	}
	return m[1]
}

// testNet is a simulated subnet for the comparisons, with the nodes of the subnet manager and of
// the programs, and a node far away from these.
type testNet struct{ name, sm, host, far string }

func nets() []testNet {
	return []testNet{
		{"ft2", "host0", "host1", "host31"},
		{"rail", "gpu000-mlx5_0", "gpu001-mlx5_3", "gpu031-mlx5_7"},
		{"dualsm", "host0", "host1", "host11"},
	}
}

func (n testNet) start(t *testing.T) *ibsimtest.Simulator {
	t.Helper()
	return ibsimtest.Start(t, "../../../fabric/testdata/"+n.name+"/net")
}

// TestUsage compares the help, wrong options and the version of all programs.
func TestUsage(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	for _, name := range []string{"sminfo", "smpquery", "perfquery", "ibping", "ibtracert", "ibroute", "saquery"} {
		for _, arg := range []string{"-h", "--help", "-V", "--nosuch", "-t", "--ve", "-j", "", "-hV", "-V -h"} {
			args := strings.Fields(arg)
			theirs, theirErrors, code := sim.Try("host1", name, args...)
			got := ours(t, sim, "host1", name, args...)
			if name == "sminfo" || name == "perfquery" || name == "saquery" {
				if arg == "" { // these need no operands
					continue
				}
			}
			if diff := cmp.Diff(output{theirs, theirErrors, code}, got); diff != "" {
				t.Errorf("%s %s (-C +ours):\n%s", name, arg, diff)
			}
		}
	}
}

// TestCommonOptions compares the options that all programs share.
func TestCommonOptions(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	sim.StartSM("host0")
	dir := t.TempDir()
	config := dir + "/ibdiag.conf"
	if err := os.WriteFile(config, []byte("#CA=nosuch\n\nnonsense\nCA=nosuch\nPort=1\ntimeout=500\nm_key=0x12\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"-t 100 nodeinfo 1", "-t 0 nodeinfo 1", "-t abc nodeinfo 1", "-t -5 nodeinfo 1", "-t 1x nodeinfo 1",
		"-t 99999999999 nodeinfo 1", "-t 0x10 nodeinfo 1", "-s 1 nodeinfo -G 0x100000", "-s 0 nodeinfo 1",
		"-s x nodeinfo 1", "-s 49152 nodeinfo 1", "-s 3 -G nodeinfo 0x200000", "-y 0x12 nodeinfo 1",
		"-y 12x nodeinfo 1", "-e nodeinfo 1", "-e nodeinfo 77", "-v nodeinfo 1", "-z " + config + " nodeinfo 1",
		"-z " + config + " -C ibsim0 nodeinfo 1", "-z /nosuch nodeinfo 1", "-C nosuch nodeinfo 1", "-P 1 nodeinfo 1",
		"-L nodeinfo 1", "-G -L nodeinfo 1", "nodeinfo -G 0", "nodeinfo -G zzz", "-G nodeinfo 0x200000",
	} {
		identical(t, sim, "host1", "smpquery", strings.Fields(args)...)
	}
	for _, args := range []string{"-K portinfo -D 0", "-K portinfo 1"} {
		identical(t, sim, "host1", "smpquery", strings.Fields(args)...)
	}
}
