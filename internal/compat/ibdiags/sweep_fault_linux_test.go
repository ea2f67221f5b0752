package ibdiags

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// faultLines are fewer than sweepLines: one of each kind of output.
func faultLines() []string {
	return []string{
		"ibnetdiscover", "ibnetdiscover -p", "ibnetdiscover -s -l", "ibnetdiscover -m -g -f", "iblinkinfo",
		"iblinkinfo -l -d", "ibqueryerrors", "ibqueryerrors --data -r", "ibqueryerrors --counters --skip-sl", "ibnodes",
	}
}

func TestSweepFaults(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	stop := sim.StartStillSM("host0")
	for _, step := range []struct {
		name, line string
		repaired   bool // a new manager finds routes around it; the other faults must remain
	}{
		{"an uplink is cut", `Unlink "leaf0"[9]`, true},
		{"a host is cut off", `Unlink "host5"`, true},
		{"a leaf with its hosts is cut off", `Unlink "leaf3"`, true},
		{"an uplink is back", `ReLink "leaf0"[9]`, true},
		{"a spine is reset", `Clear "spine1"`, true},
		{"a host's GUID changed", `Guid "host2"[1] 0xabcdef01`, false},
		{"a LID changed, and its mask", `Baselid "host3"[1] 200 2`, false},
		{"a switch's LID changed", `Baselid "leaf1"[0] 201`, false},
		{"a node doesn't say its name", `Error "host4"[1] 100 16`, false},
	} {
		sim.Console("%s", step.line)
		if step.repaired {
			stop()
			stop = sim.StartStillSM("host0")
		}
		if t.Run(step.name, func(t *testing.T) { compareLines(t, sim, "host1", faultLines()) }); t.Failed() {
			break
		}
	}
}

// TestSweepSilence compares the output for unanswered requests.
func TestSweepSilence(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct{ line, warning string }{
		{`Error "host4"[1] 100 17`, "node behind port"},
		{`Error "host4"[1] 100 21`, "port info 1"},
		{`Error "spine1" 100 18`, "switch info"},
		{`Error "leaf1" 100`, "node behind port"},
	} {
		sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
		sim.StartStillSM("host0")
		sim.Console("%s", fault.line)
		compareLines(t, sim, "host1",
			[]string{"ibnetdiscover", "ibnetdiscover -p", "iblinkinfo", "ibnetdiscover -l", "ibnodes"})
		got := ours(t, sim, "host1", "ibnetdiscover", "-l")
		t.Logf("%s: %s", fault.line, got.Stderr)
		if !strings.Contains(got.Stderr, fault.warning) {
			t.Errorf("after %s: no warning of %q:\n%s", fault.line, fault.warning, got.Stderr)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	sim.StartStillSM("host0")
	seedErrors(sim, `"host5"[1]`, "SymbolErrorCounter=321", "LinkDownedCounter=3", "PortXmitWait=7", "VL15Dropped=9")
	seedErrors(sim, `"leaf2"[9]`, "PortRcvErrors=10", "PortXmitDiscards=11", "PortRcvSwitchRelayErrors=12",
		"LocalLinkIntegrityErrors=5", "ExcessiveBufferOverrunErrors=15",
		"PortXmitData=4000000000", "PortRcvData=1023", "PortXmitPkts=1024", "PortRcvPkts=1048577")
	seedErrors(sim, `"leaf2"[30]`, "LinkErrorRecoveryCounter=255", "PortRcvRemotePhysicalErrors=65535",
		"PortXmitConstraintErrors=2", "PortRcvConstraintErrors=1")
	seedErrors(sim, `"spine0"[1]`, "SymbolErrorCounter=10")
	file := filepath.Join(t.TempDir(), "thresholds")
	const limits = "# limits\n\nSymbolErrorCounter=10\nPortXmitDiscards=0x20\nLinkDownedCounter=3\nNosuch=5\n" +
		"PortXmitWait=7\nLinkDownedCounter=2\n"
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte("0x200002 \"leaf two\" # rack 7\n0x100002 me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"", "--data", "-r", "--data -r", "-c", "-s PortRcvErrors,PortXmitDiscards,PortXmitWait",
		"-s LinkErrorRecoveryCounter -c --switch", "--ca --data", "--threshold-file " + file,
		"--threshold-file " + file + " -r --data", "--threshold-file /nosuch", "--threshold-file " + file + " --ca",
		"--counters -r --switch", "--node-name-map " + names, "--node-name-map /nosuch -r", "-D 0,1", "-D 0",
		"-D 0,1,9", "-D 0,60", "-D x", "-G 0x100005", "-S 0x100005 --counters", "-G 0x7777", "-G 0", "-R", "-o 5",
		"-t 300", "-v -e", "operand",
	} {
		compareSweep(t, sim, "host1", "ibqueryerrors", strings.Fields(line)...)
	}
}

// TestQueryErrorsDetails: the C program prints each table of details under the names of the
// other one.
func TestQueryErrorsDetails(t *testing.T) {
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	sim.StartStillSM("host0")
	compareSweep(t, sim, "host1", "ibqueryerrors", "--details")
	seedErrors(sim, `"host5"[1]`, "PortXmitDiscards=11", "PortRcvErrors=12", "PortXmitWait=1")
	sim.Console(`PerformanceSet "host5"[1] PortXmitDiscardDetails.PortNeighborMTUDiscards=9`)
	sim.Console(`PerformanceSet "host5"[1] PortRcvErrorDetails.PortLocalPhysicalErrors=7`)
	const want = "port 1: [PortRcvErrors == 12] [PortLocalPhysicalErrors == 7] [PortXmitDiscards == 11] " +
		"[PortNeighborMTUDiscards == 9] [PortXmitWait == 1]\n"
	if got := ours(t, sim, "host1", "ibqueryerrors", "--details"); !strings.Contains(got.Stdout, want) ||
		got.Code != 1 {
		t.Errorf("ibqueryerrors --details = %d, want %q in:\n%s", got.Code, want, got.Stdout)
	}
}

// TestQueryErrorsClear compares the counters after they were cleared.
func TestQueryErrorsClear(t *testing.T) {
	t.Parallel()
	left := map[string]string{}
	for _, who := range []string{"theirs", "ours"} {
		for _, args := range []string{"-k", "-K", "-k -K", "-k --details --switch", "-K --counters --ca"} {
			sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
			sim.StartStillSM("host0")
			for _, port := range []string{`"host5"[1]`, `"leaf2"[9]`, `"leaf2"[30]`} {
				seedErrors(sim, port, "SymbolErrorCounter=321", "PortXmitWait=7", "PortXmitData=400000000",
					"PortRcvPkts=900000", "VL15Dropped=8")
			}
			words := strings.Fields(args)
			if who == "ours" {
				ours(t, sim, "host1", "ibqueryerrors", words...)
			} else {
				sim.Try("host1", "ibqueryerrors", words...)
			}
			text, _, _ := sim.Try("host1", "ibqueryerrors", "--data", "--threshold-file", "/nosuch")
			text += sim.Tool("host1", "ibqueryerrors", "--counters")
			// Small counts are caused by the requests; preset counters that were not cleared are
			// large.
			text = regexp.MustCompile(`== \d{1,6} \([^)]*\)`).ReplaceAllString(text, "== few")
			text = regexp.MustCompile(`== (4|9)\d{5,} \([^)]*\)`).ReplaceAllString(text, "== many")
			if who == "theirs" {
				left[args] = text
			} else if diff := cmp.Diff(strings.Split(left[args], "\n"), strings.Split(text, "\n")); diff != "" {
				t.Errorf("after ibqueryerrors %s (-C +ours):\n%s", args, shortened(diff))
			}
		}
	}
}

func TestLinkInfoParts(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	sim.Console(`Unlink "leaf0"[7]`)
	sim.StartStillSM("host0")
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte(
		"0x200000 \"a leaf whose name is so long that it is wider than its column\"\n0x100002 \"me\"\n0x200000 again\n",
	), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("0x200000 ok\nno guid\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"iblinkinfo -D 0", "iblinkinfo -D 0,1", "iblinkinfo -D 0,1 -l", "iblinkinfo -D 0,1,9",
		"iblinkinfo -D 0,1,9 -a",
		"iblinkinfo -D 0 -a", "iblinkinfo -D 0,1 -n 1 -a", "iblinkinfo -D 0,1 -n 2 -a", "iblinkinfo -D 0 -n 3 -a -l",
		"iblinkinfo -D 0,1 -d", "iblinkinfo -D 0,1 --cas-only", "iblinkinfo -D 0,1 --cas-only -a",
		"iblinkinfo -D 0,1 --switches-only -p", "iblinkinfo -D 0,7", "iblinkinfo -D 0,60", "iblinkinfo -D 0,1,60",
		"iblinkinfo -D 0,1,2", "iblinkinfo -D 0,1,1", "iblinkinfo -D 0,1,1 -a", "iblinkinfo -D 0,1,9,2,3 -a -n 2",
		"iblinkinfo -G 0x7777", "iblinkinfo -G 0", "iblinkinfo -S 0x7777 -a", "iblinkinfo -n 1",
		"iblinkinfo -n 2 --switches-only", "iblinkinfo -n 0 -d", "iblinkinfo -D x", "iblinkinfo -D 0,,1",
		"iblinkinfo -D 1", "iblinkinfo -D 0,300", "iblinkinfo -D 0,1,", "iblinkinfo --node-name-map " + names,
		"iblinkinfo -l --node-name-map " + names, "ibnetdiscover --node-name-map " + names,
		"ibnetdiscover -l --node-name-map " + names, "ibnetdiscover -p --node-name-map " + wrong,
		"ibnetdiscover -p --node-name-map /nosuch",
	} {
		compareLines(t, sim, "host1", []string{line})
	}
	// The C program sends packets routed by LID and then by a directed route, which the simulator
	// doesn't support: the program hangs, or misses nodes behind that node.
	for guid, route := range map[string]string{"0x200002": "0,1,9,3", "0x100021": "0,1,9,3,1", "0x200000": "0,1"} {
		want := sim.Tool("host1", "iblinkinfo", "-D", route)
		if diff := cmp.Diff(want, ours(t, sim, "host1", "iblinkinfo", "-G", guid).Stdout); diff != "" {
			t.Errorf("iblinkinfo -G %s (-C with -D %s, +ours):\n%s", guid, route, diff)
		}
		want, _, _ = sim.Try("host1", "ibqueryerrors", "-D", route)
		if diff := cmp.Diff(measured(want),
			measured(ours(t, sim, "host1", "ibqueryerrors", "-G", guid).Stdout)); diff != "" {
			t.Errorf("ibqueryerrors -G %s (-C with -D %s, +ours):\n%s", guid, route, diff)
		}
	}
}

func TestSweepUsage(t *testing.T) {
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	for _, name := range []string{"ibnetdiscover", "iblinkinfo", "ibqueryerrors", "ibswitches", "ibhosts", "ibnodes"} {
		for _, args := range []string{
			"-h", "--help", "-V", "-Z", "--nosuch", "-C nosuch", "-C nosuch -P 3", "-t 0", "-t x", "-P",
			"--node-name-map", "--diffcheck nosuch", "-D", "/nosuch", "a b", "-y -x", "-y 5", "--load-cache /nosuch",
			"--diff /nosuch", "--filterdownports /nosuch", "-D 0 --load-cache /nosuch", "-o",
		} {
			if name == "ibnetdiscover" && args == "a b" ||
				strings.Contains(args, "/nosuch") && os.Geteuid() == 0 && name == "ibnetdiscover" && args == "/nosuch" {
				continue // would write a file
			}
			words := strings.Fields(args)
			if name == "ibqueryerrors" {
				words = append([]string{"--skip-sl"}, words...) // nothing has LIDs here
			}
			theirs, theirErrors, code := sim.Try("host1", name, words...)
			got := ours(t, sim, "host1", name, words...)
			if strings.HasPrefix(name, "ibs") || strings.HasPrefix(name, "ibh") || name == "ibnodes" {
				// by their full path, as scripts are called
				theirErrors = strings.ReplaceAll(theirErrors, "/usr/sbin/ibnetdiscover", "ibnetdiscover")
			}
			if diff := cmp.Diff(fmt.Sprintf("%d\n%s", code, masked(theirs)),
				fmt.Sprintf("%d\n%s", got.Code, masked(got.Stdout))); diff != "" {
				t.Errorf("%s %s (-C +ours):\n%s\nours: %s\ntheirs: %s",
					name, args, shortened(diff), got.Stderr, theirErrors)
			}
			if args == "-h" && name[2] != 's' && name[2] != 'h' && name != "ibnodes" && theirErrors != got.Stderr {
				t.Errorf("%s -h:\n%s", name, cmp.Diff(theirErrors, got.Stderr))
			}
		}
	}
}

// TestSweepFiles compares the programs on saved sweeps, each in its own format.
func TestSweepFiles(t *testing.T) {
	t.Parallel()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	stop := sim.StartStillSM("host0")
	dir := t.TempDir()
	for _, line := range []string{
		"ibnetdiscover --cache " + dir + "/FILE", "ibnetdiscover -l --cache " + dir + "/FILE",
	} {
		compareFiles(t, sim, line)
	}
	sim.Console(`Unlink "leaf0"[9]`)
	sim.Console(`Unlink "host5"`)
	sim.Console(`Unlink "host6"`)
	sim.Console(`Link "leaf0"[7] "host5"[1]`)
	sim.Console(`Baselid "host7"[1] 300`)
	sim.Console(`Unlink "leaf3"`)
	stop()
	sim.StartStillSM("host0")
	const file = "/FILE"
	for _, line := range []string{
		"ibnetdiscover --load-cache FILE", "ibnetdiscover --load-cache FILE -p", "ibnetdiscover --load-cache FILE -l",
		"ibnetdiscover --load-cache FILE -s -g", "ibnetdiscover --diff FILE",
		"ibnetdiscover --diff FILE --diffcheck sw", "ibnetdiscover --diff FILE --diffcheck ca,port",
		"ibnetdiscover --diff FILE --diffcheck CA", "ibnetdiscover --diff FILE --diffcheck sw,ca,lid",
		"ibnetdiscover --diff FILE --diffcheck sw,ca,port,nodedesc", "ibnetdiscover --diff FILE --diffcheck router",
		"ibnetdiscover --diff FILE --load-cache FILE", "ibnetdiscover --diff FILE -l", "iblinkinfo --load-cache FILE",
		"iblinkinfo --load-cache FILE -l -d", "iblinkinfo --load-cache FILE -G 0x200000",
		"iblinkinfo --load-cache FILE -S 0x7777", "iblinkinfo --diff FILE", "iblinkinfo --diff FILE -l",
		"iblinkinfo --diff FILE --diffcheck state", "iblinkinfo --diff FILE --diffcheck port,lid",
		"iblinkinfo --diff FILE --diffcheck lid", "iblinkinfo --diff FILE --switches-only",
		"iblinkinfo --diff FILE --cas-only -l --diffcheck nodedesc,port", "iblinkinfo --filterdownports FILE",
		"iblinkinfo --filterdownports FILE -d", "ibqueryerrors --load-cache FILE",
		"ibqueryerrors --load-cache FILE --ca -r --data",
	} {
		compareFiles(t, sim, strings.ReplaceAll(line, "FILE", dir+file))
	}
	for _, text := range []string{"", "x", "{}", `{"schema":"rdmakit.fabric/v2"}`} {
		bad := dir + "/bad"
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"ibnetdiscover --load-cache", "ibnetdiscover --diff", "iblinkinfo --load-cache", "iblinkinfo --diff",
			"iblinkinfo --filterdownports", "ibqueryerrors --load-cache",
		} {
			compareLines(t, sim, "host1", []string{line + " " + bad})
		}
	}
}

// compareFiles compares with files of both programs: FILE followed by "ours" is the file of this
// program.
func compareFiles(t *testing.T, sim *ibsimtest.Simulator, line string) {
	t.Helper()
	words := strings.Fields(line)
	theirs, theirErrors, code := sim.Try("host1", words[0], words[1:]...)
	got := ours(t, sim, "host1", words[0], strings.Fields(strings.ReplaceAll(line, "/FILE", "/FILE.ours"))[1:]...)
	if diff := cmp.Diff(fmt.Sprintf("%d\n%s", code, measured(theirs)),
		fmt.Sprintf("%d\n%s", got.Code, measured(got.Stdout))); diff != "" {
		t.Errorf("%s (-C +ours):\n%s\nours: %s\ntheirs: %s", line, shortened(diff), got.Stderr, theirErrors)
	}
}
