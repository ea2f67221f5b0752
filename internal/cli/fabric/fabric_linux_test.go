package fabric

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/testkit/dot"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// fabricRun runs rdmactl fabric at a node of a simulated subnet.
//
//nolint:revive // the context is the run's, the test comes first
func fabricRun(
	t *testing.T, ctx context.Context, sim *ibsimtest.Simulator, node string, args ...string,
) (stdout, stderr string, code int) {
	t.Helper()
	var errOut bytes.Buffer
	stdout, code = fabricRunTo(t, ctx, &errOut, sim, node, args...)
	return stdout, errOut.String(), code
}

//nolint:revive // as fabricRun
func fabricRunTo(
	t *testing.T, ctx context.Context, errOut io.Writer, sim *ibsimtest.Simulator, node string, args ...string,
) (stdout string, code int) {
	t.Helper()
	var out bytes.Buffer
	app := cli.NewApp(Commands())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &out, errOut
	app.IsTerminal = func(any) bool { return false }
	getenv := sim.Getenv(node)
	app.Environ = []string{
		"HOME=" + t.TempDir(), "SIM_HOST=" + getenv("SIM_HOST"), "IBSIM_SOCKNAME=" + getenv("IBSIM_SOCKNAME"),
	}
	code = app.Run(ctx, append([]string{"fabric"}, args...))
	return out.String(), code
}

// trigger keeps the written text, and calls its function once the text contains a word.
type trigger struct {
	word string
	pull func()
	text bytes.Buffer
}

func (t *trigger) Write(b []byte) (int, error) {
	t.text.Write(b)
	if strings.Contains(t.text.String(), t.word) {
		t.pull()
	}
	return len(b), nil
}

// fabricJSON runs a command and decodes its output.
func fabricJSON(t *testing.T, sim *ibsimtest.Simulator, node string, document any, args ...string) {
	t.Helper()
	stdout, stderr, _ := fabricRun(t, t.Context(), sim, node, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(stdout), document); err != nil {
		t.Fatalf("fabric %v prints no JSON: %v\n%s", args, err, stderr)
	}
}

// linesOf returns the matches of a pattern in each line of a text, sorted.
func linesOf(text, pattern, form string) []string {
	r := regexp.MustCompile(pattern)
	var list []string
	for line := range strings.Lines(text) {
		if m := r.FindStringSubmatchIndex(strings.TrimRight(line, "\n")); m != nil {
			list = append(list, string(r.ExpandString(nil, form, line, m)))
		}
	}
	slices.Sort(list)
	return list
}

// faults are the commands for the simulator's console that cause the faults of each net.
func faults(net string) (host, sm string, console []string) {
	switch net {
	case "rail":
		return "gpu001-mlx5_0", "gpu000-mlx5_0", []string{
			`Unlink "su0rail0"[17]`, `PerformanceSet "gpu003-mlx5_1"[1] PortCounters.PortRcvErrors=65535`,
		}
	case "dualsm":
		return "host1", "host0", []string{
			`Unlink "spine0"`, `PerformanceSet "leaf0"[1] PortCounters.LocalLinkIntegrityErrors=15`,
			`PerformanceSet "host2"[1] PortCounters.VL15Dropped=3`,
		}
	}
	return "host1", "host31", []string{
		`Unlink "host4"`, `Unlink "leaf1"[10]`, `PerformanceSet "host5"[1] PortCounters.SymbolErrorCounter=321`,
		`PerformanceSet "leaf0"[7] PortCounters.PortXmitDiscards=4`,
	}
}

// TestFabricAgainstTools compares the lists with infiniband-diags in three subnets, with and
// without faults.
func TestFabricAgainstTools(t *testing.T) {
	for _, net := range []string{"ft2", "dualsm", "rail"} {
		t.Run(net, func(t *testing.T) {
			t.Parallel()
			host, sm, console := faults(net)
			sim := ibsimtest.Start(t, filepath.Join("..", "..", "..", "fabric", "testdata", net, "net"))
			compareNodesAndLinks(t, sim, host)
			stop := sim.StartStillSM(sm)
			compareFabric(t, sim, host)
			for _, line := range console {
				sim.Console("%s", line)
			}
			stop()
			sim.StartStillSM(sm)
			compareFabric(t, sim, host)
		})
	}
}

// differ compares lines with those of a tool.
func differ(t *testing.T, what string, theirs, ours []string) {
	t.Helper()
	if len(theirs) == 0 {
		t.Errorf("%s: the tool's output is no longer understood", what)
	}
	slices.Sort(ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (-tool +ours):\n%s", what, diff)
	}
}

// compareNodesAndLinks compares the lists that need no subnet manager.
func compareNodesAndLinks(t *testing.T, sim *ibsimtest.Simulator, host string) {
	t.Helper()
	var switches switchesReport
	fabricJSON(t, sim, host, &switches, "switches")
	var ours []string
	for _, s := range switches.Switches {
		ours = append(ours, fmt.Sprintf("%s %d %s LID %d", guidText(s.GUID), s.PortsTotal, s.Name, s.LID))
	}
	differ(t, "ibswitches",
		linesOf(sim.Tool(host, "ibswitches"), `^Switch\s+: (0x\S+) ports (\d+) "(.*)" .* lid (\d+) lmc`,
			"$1 $2 $3 LID $4"), ours)

	var hosts hostsReport
	fabricJSON(t, sim, host, &hosts, "hosts")
	ours = nil
	for _, h := range hosts.Hosts {
		ours = append(ours, fmt.Sprintf("%s %d %s", guidText(h.GUID), h.PortsTotal, h.Name))
	}
	differ(t, "ibhosts", linesOf(sim.Tool(host, "ibhosts"), `^Ca\s+: (0x\S+) ports (\d+) "(.*)"$`, "$1 $2 $3"), ours)

	var links, down linksReport
	fabricJSON(t, sim, host, &links, "links")
	ours = nil
	for _, l := range links.Links { // iblinkinfo has a line for each end
		ours = append(ours, linkInfoLine(&l, &l.A, l.B), linkInfoLine(&l, l.B, &l.A))
	}
	text := sim.Tool(host, "iblinkinfo", "--line")
	theirs := linesOf(text,
		`^(0x\S+) " *(.*?)" +(\d+) +(\d+)\[.*?\] ==\( *(\S+) +(\S+) Gbps (\w+)/ +LinkUp\)==> +(0x\S+) +(\d+) `+
			`+(\d+)\[.*?\] "(.*?)" \((?:Could be )?(.*?) *\)`,
		"$1 $2[$4] LID $3 $5 $6 $7 to $8 $11[$10] LID $9 could be $12")
	differ(t, "iblinkinfo", theirs, ours)
	t.Logf("iblinkinfo: %d lines, both ends of %d links", len(theirs), len(links.Links))
	fabricJSON(t, sim, host, &down, "links", "--down")
	ours = nil
	for _, l := range down.Links {
		ours = append(ours, fmt.Sprintf("%s[%d] %s", l.A.Name, l.A.Port, l.State))
	}
	differ(t, "iblinkinfo, ports that are down",
		linesOf(text, `^0x\S+ " *(.*?)" +\d+ +(\d+)\[.*?\] ==\( +Down/ *(\w+)\)`, "$1[$2] DOWN ($3)"), ours)
}

// linkInfoLine is a line of iblinkinfo for an end of a link: GUIDs, LIDs, port numbers, width,
// speed of a lane, state, and the width that both ends support if it is larger.
func linkInfoLine(l *linkReport, here, there *fabricEnd) string {
	state := map[string]string{"ACTIVE": "Active", "INIT": "Initialize"}[l.State]
	could := ""
	if l.Supported != nil && l.Supported.Width != l.Width {
		could = l.Supported.Width
	}
	end := func(e *fabricEnd) string {
		return fmt.Sprintf("%s %s[%d] LID %d", guidText(e.PortGUID), e.Name, e.Port, e.LID)
	}
	return fmt.Sprintf("%s %s %s %s to %s could be %s", end(here), l.Width, rateNumber(l.Gbps/4), state, end(there),
		could)
}

func compareFabric(t *testing.T, sim *ibsimtest.Simulator, host string) {
	t.Helper()
	compareNodesAndLinks(t, sim, host)
	var ours []string
	var counted errorsReport
	fabricJSON(t, sim, host, &counted, "errors")
	for _, l := range counted.Links {
		for _, c := range l.Counters {
			end := l.A
			if c.At == "b" {
				end = *l.B
			}
			if c.Name != "QP1Dropped" { // infiniband-diags reads VL15Dropped instead, and has no threshold for it
				ours = append(ours, fmt.Sprintf("%d %s %d", end.Port, c.Name, c.Value))
			}
		}
	}
	slices.Sort(ours)
	listed, _, _ := sim.Try(host, "ibqueryerrors") // exits with 1 when it lists any
	if diff := cmp.Diff(ibqueryerrors(listed), ours); diff != "" {
		t.Errorf("ibqueryerrors (-tool +ours):\n%s", diff)
	}

	var managers managersReport
	fabricJSON(t, sim, host, &managers, "sm")
	m := managers.SubnetManagers[0]
	differ(t, "sminfo",
		linesOf(sim.Tool(host, "sminfo"), `sm lid (\d+) sm guid (0x\S+), .* priority (\d+) state \d SMINFO_(\w+)`,
			"$1 $2 $3 $4"), []string{fmt.Sprintf("%d 0x%x %d %s", m.LID, binary.BigEndian.Uint64(m.PortGUID[:]),
			m.Priority, strings.ToUpper(m.State))})
}

// ibqueryerrors returns port, counter and value of each listed counter, without the lines for all
// ports of a switch.
func ibqueryerrors(text string) []string {
	var list []string
	counter := regexp.MustCompile(`\[(\w+) == (\d+)\]`)
	for line := range strings.Lines(text) {
		port := regexp.MustCompile(`GUID 0x\w+ port (\d+): `).FindStringSubmatch(line)
		if len(port) == 0 {
			continue
		}
		for _, m := range counter.FindAllStringSubmatch(line, -1) {
			if m[1] != "PortXmitWait" {
				list = append(list, fmt.Sprintf("%s %s %s", port[1], m[1], m[2]))
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestFabricInterrupted interrupts errors between its two readings: it must print the first reading
// and exit with the code of a partial result.
func TestFabricInterrupted(t *testing.T) {
	sim := ibsimtest.Start(t, filepath.Join("..", "..", "..", "fabric", "testdata", "dualsm", "net"))
	sim.StartSM("host0")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := func() { cancel(&cli.SignalError{Signal: os.Interrupt}) }
	errOut := &trigger{word: "msg=sweep", pull: stop} // logged when the first reading is done
	stdout, code := fabricRunTo(t, ctx, errOut, sim, "host1", "errors", "--interval", "60s", "-v")
	stderr := errOut.text.String()
	if code != cli.ExitPartial || !strings.Contains(stdout, "no counter above its threshold") ||
		!strings.Contains(stderr, "interrupted: the counters were read only once") {
		t.Errorf("errors, interrupted = %d, want %d with what was read\n%s%s", code, cli.ExitPartial, stdout, stderr)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.SignalError{Signal: os.Interrupt})
	if _, stderr, code := fabricRun(t, ended, sim, "host1", "links"); code != 130 {
		t.Errorf("links, interrupted before it knows anything = %d, want 130\n%s", code, stderr)
	}
}

// TestFabricSecondReading ends the simulator or the local port between the two readings of errors:
// the first is printed.
func TestFabricSecondReading(t *testing.T) {
	for name, test := range map[string]struct {
		between string // line for the simulator's console
		warning string
	}{
		"own port silent": {`Error "host1" 100`, "no answer to 4 tries: the local device doesn't answer, or " +
			"it has an M_Key of protect level 2 or 3 (M_Key 0 was tried): "},
		"simulator ended": {"Quit", "connection refused: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := ibsimtest.Start(t, filepath.Join("..", "..", "..", "fabric", "testdata", "dualsm", "net"))
			sim.StartSM("host0")
			errOut := &trigger{word: "msg=sweep", pull: sync.OnceFunc(func() { sim.Console("%s", test.between) })}
			stdout, code := fabricRunTo(t, t.Context(), errOut, sim, "host1", "errors", "--interval", "1s", "-v")
			stderr := errOut.text.String()
			if code != cli.ExitPartial || !strings.Contains(stdout, "no counter above its threshold") ||
				!strings.Contains(stderr, test.warning+"the counters were read only once") {
				t.Errorf("errors = %d, want %d with the first reading and %q\n%s%s",
					code, cli.ExitPartial, test.warning, stdout, stderr)
			}
		})
	}
}

// TestFabricHostileNames prints names with terminal control sequences, in each format.
func TestFabricHostileNames(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net")
	const text = "width=3\nspeed=7\nextspeed=7\n\nSwitch\t4 \"sw\"\t\t# \"quote\\\x1b[31mred{|}<b>\"\n" +
		"[1]\t\"h0\"[1]\n[2]\t\"h1\"[1]\n\nHca\t1 \"h0\"\t\t# \"host\x07zero\"\n[1]\t\"sw\"[1]\n\n" +
		"Hca\t1 \"h1\"\t\t# \"\xff\xfe\"\n[1]\t\"sw\"[2]\n"
	if err := os.WriteFile(net, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := ibsimtest.Start(t, net)
	for _, format := range []string{"tree", "table", "wide", "json", "yaml", "dot"} {
		stdout, stderr, code := fabricRun(t, t.Context(), sim, "h0", "topology", "-o", format)
		if code != 0 || strings.ContainsFunc(
			stdout, func(r rune) bool { return r == 0x1b || r == 0x07 || r == utf8.RuneError },
		) || !strings.Contains(stdout, "red") {
			t.Errorf("topology -o %s = %d, %q %s, want the name without its control characters",
				format, code, stdout, stderr)
		}
	}
	stdout, _, _ := fabricRun(t, t.Context(), sim, "h0", "topology", "-o", "dot")
	dot.Check(t, stdout, 3, 2)
}
