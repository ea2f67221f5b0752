package ibdiags

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// measured masks values that the requests themselves change: the number of packets, and data
// counters.
func measured(text string) string {
	text = masked(text)
	text = regexp.MustCompile(`# Total MADs used: \d+`).ReplaceAllString(text, "# Total MADs used: N")
	text = regexp.MustCompile(`PortRcvSwitchRelayErrors == \d+`).ReplaceAllString(text, "PortRcvSwitchRelayErrors == N")
	return regexp.MustCompile(
		`\[(Port(?:Unicast|Multicast)?(?:Xmit|Rcv)(?:Data|Pkts)) == \d+ \([^)]*\)\]`,
	).ReplaceAllString(text, "[$1 == N]")
}

// compareSweep runs the C program and ours at a node, and requires the same exit code and the same
// standard output, in the same order.
func compareSweep(t *testing.T, sim *ibsimtest.Simulator, node, name string, args ...string) {
	t.Helper()
	theirs, theirErrors, code := sim.Try(node, name, args...)
	got := ours(t, sim, node, name, args...)
	line := strings.Join(append([]string{name}, args...), " ")
	if got.Code != code {
		t.Errorf("%s: exit code %d, the C program's is %d\nours: %s\ntheirs: %s",
			line, got.Code, code, got.Stderr, theirErrors)
	}
	if diff := cmp.Diff(strings.Split(measured(theirs), "\n"), strings.Split(measured(got.Stdout), "\n")); diff != "" {
		t.Errorf("%s (-C +ours):\n%s\nours on standard error: %s\ntheirs: %s",
			line, shortened(diff), got.Stderr, theirErrors)
	}
}

// shortened keeps a failure's text readable.
func shortened(text string) string {
	const most = 6000
	if len(text) > most {
		return text[:most] + "\n…"
	}
	return text
}

// sweepLines are command lines that sweep the whole subnet.
func sweepLines() []string {
	return []string{
		"ibnetdiscover", "ibnetdiscover -p", "ibnetdiscover -l", "ibnetdiscover -s", "ibnetdiscover -g",
		"ibnetdiscover -f", "ibnetdiscover -H",
		"ibnetdiscover -S", "ibnetdiscover -R", "ibnetdiscover -m", "ibnetdiscover -s -p", "ibnetdiscover -o 8 -f -g",
		"ibnetdiscover -l -s -S",
		"iblinkinfo", "iblinkinfo -l", "iblinkinfo --line -d", "iblinkinfo -d", "iblinkinfo -p",
		"iblinkinfo --switches-only", "iblinkinfo --cas-only -l",
		"iblinkinfo -a", "iblinkinfo -l -p --switches-only",
		"ibqueryerrors", "ibqueryerrors --counters", "ibqueryerrors --counters -r", "ibqueryerrors --data",
		"ibqueryerrors --switch", "ibqueryerrors --ca", "ibqueryerrors --router", "ibqueryerrors --ca --switch -r",
		"ibqueryerrors -s SymbolErrorCounter,LinkDownedCounter,nosuch", "ibqueryerrors -c -s PortXmitWait",
		"ibqueryerrors --threshold-file /nosuch", "ibqueryerrors --data -r",
		"ibswitches", "ibhosts", "ibnodes",
	}
}

func compareLines(t *testing.T, sim *ibsimtest.Simulator, node string, commands []string) {
	t.Helper()
	for _, line := range commands {
		words := strings.Fields(line)
		compareSweep(t, sim, node, words[0], words[1:]...)
	}
}

// seedErrors sets counters above and at thresholds.
func seedErrors(sim *ibsimtest.Simulator, port string, fields ...string) {
	for _, f := range fields {
		sim.Console(`PerformanceSet %s PortCounters.%s`, port, f)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	for _, net := range nets() {
		t.Run(net.name, func(t *testing.T) {
			sim := net.start(t)
			commands := sweepLines()
			if net.name == "rail" { // it is large
				commands = faultLines()
			}
			for _, lids := range []bool{false, true} {
				if lids {
					sim.StartSM(net.sm)
				}
				for _, line := range commands {
					if words := strings.Fields(line); lids || words[0] != "ibqueryerrors" {
						compareSweep(t, sim, net.host, words[0], words[1:]...)
					} else {
						// Without LIDs, the C program queries service levels first, and ends.
						compareSweep(t, sim, net.host, words[0], append(words[1:], "--skip-sl")...)
					}
				}
			}
		})
	}
}

// TestSweepRecorded compares with the C programs' output that was recorded with the nets.
func TestSweepRecorded(t *testing.T) {
	lines := map[string]string{
		"ibnetdiscover.txt": "ibnetdiscover", "ibnetdiscover-p.txt": "ibnetdiscover -p",
		"ibnetdiscover-l.txt": "ibnetdiscover -l", "ibnetdiscover-s.txt": "ibnetdiscover -s",
		"iblinkinfo.txt": "iblinkinfo", "iblinkinfo-line.txt": "iblinkinfo --line",
		"ibqueryerrors.txt": "ibqueryerrors", "ibqueryerrors-counters.txt": "ibqueryerrors --counters",
		"ibhosts.txt": "ibhosts", "ibswitches.txt": "ibswitches", "ibnodes.txt": "ibnodes",
	}
	for _, net := range nets() {
		sim := net.start(t)
		sim.StartSM(net.sm)
		host := strings.ReplaceAll(net.host, "mlx5_3", "mlx5_0") // where the programs ran
		found := 0
		for file, line := range lines {
			want, err := os.ReadFile("../../../fabric/testdata/" + net.name + "/" + file)
			if err != nil {
				continue
			}
			found++
			words := strings.Fields(line)
			got := ours(t, sim, host, words[0], words[1:]...)
			if diff := cmp.Diff(strings.Split(measured(string(want)), "\n"),
				strings.Split(measured(got.Stdout), "\n")); diff != "" {
				t.Errorf("%s on %s, -recorded +got:\n%s", line, net.name, shortened(diff))
			}
		}
		if found == 0 {
			t.Errorf("no recorded output of %s", net.name)
		}
	}
}

// oddNet has cases that the other nets don't have: links of all widths and speeds, an adapter with
// two ports on two switches, one with both on the same switch, long and unusual descriptions, a
// node without one, a switch with few cables, chassis, slots of InfiniScale IV.
const oddNet = `
width=15
speed=7
extspeed=7

vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c9000000aa00
Switch	36 "line1"		# "MF0;core:SX6536/L01/U1"
[1]	"hostA"[1] w=1 s=1
[2]	"hostB"[1] w=2 s=2
[3]	"hostC"[1] w=2 s=4
[4]	"hostD"[1] w=2 s=4 e=1
[5]	"hostE"[1] w=2 s=4 e=2
[6]	"hostF"[1] w=8 s=4 e=4
[7]	"hostG"[1] w=4 s=1
[8]	"hostA"[2]
[19]	"spine1"[1]
[20]	"line2"[20] w=1 s=1

vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c9000000aa00
Switch	36 "line2"		# "MF0;core:SX6536/L02:board/U1"
[1]	"hostA"[3]
[3]	"hostH"[1]
[4]	"hostH"[2] w=2 s=2
[19]	"spine1"[2] w=2 s=1
[20]	"line1"[20]
[30]	"lonely"[8]

vendid=0x2c9
devid=0xbd36
sysimgguid=0x2c9000000aa00
Switch	36 "spine1"		# "MF0;core:SX6536/S01/U1"
[1]	"line1"[19]
[2]	"line2"[19]

vendid=0x5ad
devid=0x1
sysimgguid=0x5ad00110000bb
Switch	8 "lonely"		# "a switch with a description that is as long as it can be, yes!!"
[8]	"line2"[30]

vendid=0x2c9
devid=0x1017
sysimgguid=0x2c9000000bb00
Hca	3 "hostA"		# "host A  HCA-1 'quoted' back % port 0 #7"
[1]	"line1"[1]
[2]	"line1"[8]
[3]	"line2"[1]

Hca	1 "hostB"
[1]	"line1"[2]

vendid=0x2c9
devid=0x1017
Hca	1 "hostC"		# "hostC"
[1]	"line1"[3]

Hca	1 "hostD"		# "tab	[31mred"
[1]	"line1"[4]

sysimgguid=0x2c9000000bb00
Hca	1 "hostE"		# "hostE base port 0"
[1]	"line1"[5]

Hca	1 "hostF"		# "hostF"
[1]	"line1"[6]

Hca	1 "hostG"		# "hostG"
[1]	"line1"[7]

Hca	2 "hostH"		# "hostH"
[1]	"line2"[3]
[2]	"line2"[4]
`

func startOdd(t *testing.T) *ibsimtest.Simulator {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(oddNet), 0o600); err != nil {
		t.Fatal(err)
	}
	return ibsimtest.Start(t, file)
}

func TestSweepOddNet(t *testing.T) {
	t.Parallel()
	sim := startOdd(t)
	sim.StartSM("hostA")
	compareLines(t, sim, "hostC", sweepLines())
	for _, host := range []string{"hostA", "hostH", "line2"} {
		compareLines(t, sim, host, faultLines())
	}
}
