//go:build kernel

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// Addresses of the two ends of the guest's first cable; the test adds the IPv6 addresses.
const (
	guestIPv6 = "2001:db8:5::1"
	hostIPv6  = "2001:db8:5::fe"
)

// perftestRig runs rdmactl at the host's end of the cable, and perftest in the guest.
type perftestRig struct {
	g   *guest.Guest
	bin string // rdmactl on this machine

	doubts int // runs that failed because of the guest's clock
	// listens succeeds when a server of the guest listens.
	listens string
}

func newPerftestRig(t *testing.T) *perftestRig {
	t.Helper()
	g := guest.Shared(t)
	g.Exclusive(t)
	r := &perftestRig{g: g, bin: buildProgram(t, rdmactlPackage), listens: perftestListens}
	output(t, g, "ip addr replace "+guestIPv6+"/64 dev eth0 nodad")
	r.host(t, "ip", "addr", "replace", hostIPv6+"/64", "dev", "tap0", "nodad")
	// The emulator drains the tap slowly; a queue pair may have 256 outstanding packets.
	r.host(t, "ip", "link", "set", "tap0", "txqueuelen", "20000")
	t.Cleanup(func() {
		_, err := g.Output(context.Background(), "ip link set eth0 mtu 9000; ip addr del "+guestIPv6+"/64 dev eth0")
		if err != nil {
			t.Errorf("restore the guest's link: %v", err)
		}
		for _, args := range [][]string{
			{"addr", "del", hostIPv6 + "/64", "dev", "tap0"},
			{"link", "set", "tap0", "txqueuelen", "1000"},
		} {
			if err := g.HostCommand(context.Background(), "ip", args...).Run(); err != nil {
				t.Errorf("restore the host's link: ip %v: %v", args, err)
			}
		}
	})
	return r
}

func (r *perftestRig) host(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := r.g.HostCommand(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// family is an address family.
type family struct {
	name, ours, dials string // the address that perftest connects to: its control connection supports only IPv4
	gid               string // as listed by the guest's port
}

func families() []family {
	return []family{
		{"IPv4", guest.HostAddress, guest.HostAddress, "0000:0000:0000:0000:0000:ffff:c000:0201"},
		{"IPv6", hostIPv6, guest.HostAddress, "2001:0db8:0005:0000:0000:0000:0000:0001"},
	}
}

// gidIndex finds the index of a GID of rxe0, which changes when addresses are added or removed.
func (r *perftestRig) gidIndex(t *testing.T, gid string) int {
	t.Helper()
	out := output(t, r.g, await("grep -ls "+gid+" /sys/class/infiniband/rxe0/ports/1/gids/*"))
	n, err := strconv.Atoi(filepath.Base(strings.Fields(out)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// exchange is one run of a test between rdmactl and the program of perftest.
type exchange struct {
	test   bench.Test
	f      family
	gid    int
	args   []string // options of both ends: their letters are the same
	extra  []string // options of our end only
	client bool     // ours is the client
	noisy  bool     // the network loses packets
}

// outcome holds the output and exit codes of both ends.
type outcome struct {
	ours   bench.Result
	theirs string
}

// exchangeTimeout limits both ends of an exchange, theirsTimeout the program in the guest and
// oursTimeout a step of ours. Each run takes seconds; the limits are long enough for a busy machine
// and only end runs that hang.
const (
	exchangeTimeout = 5 * time.Minute
	theirsTimeout   = "timeout 270 "
	oursTimeout     = "240s"
)

// perftestListens succeeds when a server of perftest or ours listens.
const perftestListens = "ss -Hltn 'sport = :18515' | grep -q ."

// clockDoubt is perftest's message if it can't determine the frequency of the processor, which is
// irregular under emulation; its results are then inf and nan, or it gives up.
const clockDoubt = "Correlation coefficient r^2"

// clockTries is how often a run is started while perftest gives up because of clockDoubt.
const clockTries = 12

// run runs both ends until they succeed, and again if perftest gave up because of the guest's
// clock.
func (r *perftestRig) run(t *testing.T, x exchange) outcome {
	t.Helper()
	ourTest := strings.ReplaceAll(x.test.String(), "_", "-")
	args := append([]string{"bench", ourTest, "-d", "roce@" + x.f.ours, "-o", "json", "--timeout", oursTimeout},
		x.args...)
	args = append(args, x.extra...)
	theirArgs := strings.ReplaceAll(strings.Join(x.args, " "), "--qps", "-q")
	theirs := fmt.Sprintf(theirsTimeout+"ib_%v -d rxe0 -x %d %s", x.test, x.gid, theirArgs)
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), exchangeTimeout)
		var out outcome
		var res guest.Result
		var err error
		if x.client {
			out, res, err = r.asClient(ctx, append(args, guest.GuestAddress), theirs)
		} else {
			out, res, err = r.asServer(ctx, args, theirs+" "+x.f.dials)
		}
		cancel()
		if strings.Contains(string(res.Stderr), clockDoubt) && try < clockTries {
			r.doubts++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func (r *perftestRig) asServer(
	ctx context.Context, args []string, theirs string,
) (out outcome, res guest.Result, err error) {
	var stdout bytes.Buffer
	cmd := r.g.HostCommand(ctx, r.bin, args...)
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return out, res, err
	}
	said := bufio.NewReader(pipe)
	first, _ := said.ReadString('\n')
	if !strings.Contains(first, "waiting for a client") {
		rest, _ := io.ReadAll(said)
		return out, res, fmt.Errorf("%v: %w: %s%s", args, cmd.Wait(), first, rest)
	}
	res, err = r.g.Run(ctx, theirs)
	rest, _ := io.ReadAll(said)
	oursErr := cmd.Wait() // stdout is complete from here on
	return both(stdout.Bytes(), string(rest), oursErr, res, err, args, theirs)
}

func (r *perftestRig) asClient(
	ctx context.Context, args []string, theirs string,
) (out outcome, res guest.Result, err error) {
	done := make(chan error, 1)
	go func() {
		var err error
		res, err = r.g.Run(ctx, theirs)
		done <- err
	}()
	if _, err := r.g.Output(ctx, await(r.listens)); err != nil {
		return out, res, errors.Join(fmt.Errorf("%s does not listen: %w", theirs, err), <-done)
	}
	var stdout, stderr bytes.Buffer
	var oursErr error
	for range 50 {
		stdout.Reset()
		stderr.Reset()
		cmd := r.g.HostCommand(ctx, r.bin, args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if oursErr = cmd.Run(); !strings.Contains(stderr.String(), "nobody listens") { // by rdma_cm: not yet
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	theirsErr := <-done
	return both(stdout.Bytes(), stderr.String(), oursErr, res, theirsErr, args, theirs)
}

// both checks the results of both programs.
func both(
	stdout []byte, stderr string, oursErr error, res guest.Result, theirsErr error, args []string, theirs string,
) (outcome, guest.Result, error) {
	out := outcome{theirs: string(res.Stdout)}
	if oursErr != nil || theirsErr != nil || res.ExitCode != 0 {
		return out, res, fmt.Errorf("ours %v: %w: %s\ntheirs %s: %w, exit status %d: %s%s",
			args, oursErr, stderr, theirs, theirsErr, res.ExitCode, res.Stdout, res.Stderr)
	}
	if err := json.Unmarshal(stdout, &out.ours); err != nil {
		return out, res, fmt.Errorf("output of rdmactl %q: %w", stdout, err)
	}
	return out, res, nil
}

// figureLine is a line of results of a program of perftest.
var figureLine = regexp.MustCompile(`(?m)^ (\d+) +(\d+) +\d+\.\d+.*$`)

// check compares an outcome with the expected output of both ends.
func (x exchange) check(t *testing.T, out outcome, mtu int, sizes []int) {
	t.Helper()
	qps := max(1, out.ours.QueuePairs)
	var theirs, ours []int
	for _, m := range figureLine.FindAllStringSubmatch(out.theirs, -1) {
		n, _ := strconv.Atoi(m[1])
		theirs = append(theirs, n)
	}
	for _, p := range out.ours.Bandwidth {
		ours = append(ours, p.Bytes)
		if p.Iterations == 0 || p.AverageGbps <= 0 {
			t.Errorf("ours: %+v", p)
		}
	}
	for _, p := range out.ours.Latency {
		ours = append(ours, p.Bytes)
		if p.Iterations == 0 || p.Min <= 0 || p.Max < p.Min {
			t.Errorf("ours: %+v", p)
		}
	}
	wantServer := sizes // SEND and WRITE latencies are measured at both ends
	switch x.test {
	case bench.WriteBW, bench.ReadBW: // the client's report at the end
		wantServer = sizes[len(sizes)-1:]
	case bench.ReadLat:
		wantServer = nil
	}
	wantOurs, wantTheirs := wantServer, sizes
	if x.client {
		wantOurs, wantTheirs = sizes, wantServer
	}
	if diff := cmp.Diff(wantOurs, ours); diff != "" {
		t.Errorf("sizes of our lines differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTheirs, theirs); diff != "" {
		t.Errorf("sizes of perftest's lines differ (-want +got):\n%s\n%s", diff, out.theirs)
	}
	if int(out.ours.MTU) != mtu || len(out.ours.Remote) != qps {
		t.Errorf("MTU %d, %d remote queue pairs, want %d and %d", out.ours.MTU, len(out.ours.Remote), mtu, qps)
	}
	quiet := []string{"malformed", "foreign", "writeErrors", "readErrors"}
	if !x.noisy { // a packet that many others overtake counts as damaged, because of its identification
		quiet = append(quiet, "badICRC", "timeouts")
	}
	for _, name := range quiet {
		if n, ok := out.ours.Counters[name]; !ok || n != 0 {
			t.Errorf("counter %s = %d (%t), want 0; all: %v", name, n, ok, out.ours.Counters)
		}
	}
}

// TestPerftestInterop runs the part of the matrix that covers each pair of its values, or all of
// it. The acknowledgement timeout is four seconds, because the guest's emulated processor sometimes
// stalls.
func TestPerftestInterop(t *testing.T) {
	r := newPerftestRig(t)
	runs := matrix()
	if !wantAll() {
		runs = covering(runs)
	}
	began := time.Now()
	var now network // current configuration of the link
	var f family
	var gid int
	for _, c := range runs {
		if c.network != now {
			now = c.network
			f, gid = r.set(t, now)
		}
		t.Run(fmt.Sprintf("MTU %d/%s/%s", c.mtu, f.name, c.name()), func(t *testing.T) {
			x := exchange{test: c.test, f: f, gid: gid, client: c.client, args: c.args()}
			sizes := []int{c.size}
			if c.size == 0 {
				sizes = allSizes()
			}
			x.check(t, r.run(t, x), c.mtu, sizes)
		})
	}
	t.Logf("%d runs, and %d again because of the guest's clock, in %v",
		len(runs), r.doubts, time.Since(began).Round(time.Second))
}

// set configures the link for a run, and returns its addresses and the index of rxe0's GID.
func (r *perftestRig) set(t *testing.T, n network) (family, int) {
	t.Helper()
	link := 9000
	if n.mtu == 1024 {
		link = 1500
	}
	output(t, r.g, fmt.Sprintf("ip link set eth0 mtu %d; ip addr replace %s/64 dev eth0 nodad", link, guestIPv6))
	f := families()[0]
	if n.v6 {
		f = families()[1]
	}
	return f, r.gidIndex(t, f.gid)
}

// TestPerftestDuration lets both ends measure for the same time: neither may treat the other's end
// as too early. The durations of the ends of a WRITE or READ bandwidth test may differ.
func TestPerftestDuration(t *testing.T) {
	r := newPerftestRig(t)
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	for _, test := range []bench.Test{bench.SendBW, bench.WriteLat, bench.SendLat} {
		for _, client := range []bool{false, true} {
			if test == bench.WriteLat && client {
				continue // the program, as a server, waits for a client's next WRITE even when the time is over
			}
			c := cell{test, client, 1, 4096}
			t.Run(c.name(), func(t *testing.T) {
				x := exchange{test: c.test, f: f, gid: gid, client: c.client, args: []string{
					"-D", "4", "-u", "20", "-s", strconv.Itoa(c.size),
				}}
				out := r.run(t, x)
				x.check(t, out, 4096, []int{c.size})
				if out.ours.DurationSeconds != 4 {
					t.Errorf("duration = %v s, want 4", out.ours.DurationSeconds)
				}
			})
		}
	}
}

// TestPerftestLoss loses, reorders and delays packets in both directions: the real programs must
// finish against ours, with retransmissions.
func TestPerftestLoss(t *testing.T) {
	r := newPerftestRig(t)
	loseFrames(t, r.g, "loss 0%")
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	for _, impairment := range []struct{ name, netem string }{
		{"loss", "loss 1%"},
		{"reorder", "delay 2ms reorder 25% 50% limit 20000"},
	} {
		impair(t, r.g, impairment.netem)
		repaired := uint64(0)
		for _, c := range []cell{
			{bench.WriteBW, false, 1, 65536},
			{bench.WriteBW, true, 1, 65536},
			{bench.ReadBW, false, 1, 65536},
			{bench.ReadBW, true, 1, 65536},
			{bench.SendBW, false, 1, 65536},
			{bench.SendBW, true, 1, 65536},
			{bench.SendLat, false, 1, 4096},
			{bench.WriteLat, true, 1, 4096},
		} {
			t.Run(impairment.name+"/"+c.name(), func(t *testing.T) {
				x := exchange{test: c.test, f: f, gid: gid, client: c.client, noisy: true, args: []string{
					"-n", "30", "-u", "16", "-s", strconv.Itoa(c.size),
				}}
				out := r.run(t, x)
				x.check(t, out, 4096, []int{c.size})
				for _, name := range []string{"retransmits", "timeouts", "sequenceNAKs", "duplicates", "outOfOrder"} {
					repaired += out.ours.Counters[name]
				}
			})
		}
		if repaired == 0 {
			t.Errorf("%s: nothing was repaired: the network is not what it should be", impairment.name)
		}
	}
}

// figures matches the parts of the output that differ between two runs: numbers with their padding,
// devices, and PCIe relaxed ordering, which an engine in user space doesn't have.
var figures = regexp.MustCompile(`PCIe relax order: \w+|Device         : \S+|[0-9a-fx.:]*\d[0-9a-fx.:]*[ \t]*`)

// TestPerftestApplets compares the output of the applets with that of the programs in the same
// role: client and server of each test, each against the other kind.
func TestPerftestApplets(t *testing.T) {
	r := newPerftestRig(t)
	f := families()[0]
	gid := r.gidIndex(t, f.gid)
	for _, test := range bench.Tests() {
		t.Run(test.String(), func(t *testing.T) {
			var texts [2][2]string // by our role, of ours and theirs
			for try := range 6 {
				doubt := false
				for role, client := range []bool{false, true} {
					var stderr string
					texts[role][0], texts[role][1], stderr = r.applets(t, test, gid, client)
					doubt = doubt || strings.Contains(stderr, clockDoubt)
				}
				if !doubt || try == 5 {
					break
				}
			}
			for role, name := range []string{"server", "client"} {
				ours, theirs := texts[role][0], strings.TrimPrefix(texts[1-role][1], readWarningLine(test))
				if diff := cmp.Diff(figures.ReplaceAllString(theirs, "N "),
					figures.ReplaceAllString(ours, "N ")); diff != "" {
					t.Errorf("text of the %s differs (-perftest +ours):\n%s", name, diff)
				}
			}
		})
	}
}

// readWarningLine is the line that follows a warning of perftest's READ tests about rxe.
func readWarningLine(test bench.Test) string {
	if test == bench.ReadBW || test == bench.ReadLat {
		return strings.Repeat("-", 87) + "\n"
	}
	return ""
}

// applets runs our applet against the program and returns the output of both.
func (r *perftestRig) applets(t *testing.T, test bench.Test, gid int, client bool) (ours, theirs, theirErrors string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), exchangeTimeout)
	defer cancel()
	args := []string{"ib_" + test.String(), "-d", "roce@" + guest.HostAddress, "-n", "100", "-s", "4096", "-u", "20"}
	command := fmt.Sprintf(theirsTimeout+"ib_%v -d rxe0 -x %d -n 100 -s 4096 -u 20", test, gid)
	// The tap's address is nobody else's in that namespace.
	listens := func() { _ = r.g.HostCommand(ctx, "bash", "-c", await(perftestListens)).Run() }
	if client {
		args = append(args, guest.GuestAddress)
		listens = func() { _, _ = r.g.Output(ctx, await(perftestListens)) }
	} else {
		command += " " + guest.HostAddress
	}
	cmd := r.g.HostCommand(ctx, r.bin, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var res guest.Result
	var ourErr, theirErr error
	run := []func(){func() { ourErr = cmd.Run() }, func() { res, theirErr = r.g.Run(ctx, command) }}
	if client {
		run[0], run[1] = run[1], run[0]
	}
	done := make(chan struct{})
	go func() { defer close(done); run[0]() }()
	listens()
	run[1]()
	<-done
	if (ourErr != nil || theirErr != nil || res.ExitCode != 0) && !strings.Contains(string(res.Stderr), clockDoubt) {
		t.Fatalf("%v: %v: %s\n%s: %v, exit status %d: %s",
			args, ourErr, &stderr, command, theirErr, res.ExitCode, res.Stderr)
	}
	return stdout.String(), string(res.Stdout), string(res.Stderr)
}
