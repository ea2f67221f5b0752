package ibdiags

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// times matches the numbers in ibping's output that differ from run to run.
var times = regexp.MustCompile(`time \d+(\.\d+)? ms|= [\d./]+ ms|from \S+ \(|--- \S+ \(`)

func maskTimes(text string) string {
	return times.ReplaceAllStringFunc(text, func(match string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllString(strings.ReplaceAll(match, hostName(), "HOST"), "N")
	})
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// pingNet is a simulated subnet whose subnet manager has ended: with a running one, C's ping server
// crashes in the simulator.
func pingNet(t *testing.T) (sim *ibsimtest.Simulator, client, server, lid string) {
	t.Helper()
	net := nets()[2]
	sim = net.start(t)
	// OpenSM assigns the LIDs and ends.
	_, _, _ = sim.Try(net.sm, "opensm", "-o", "-R", "minhop", "-f", t.TempDir()+"/log")
	return sim, net.host, net.far, lidAt(t, sim, net.far, "0")
}

// safeBuffer holds the output of a running program.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startOurs runs one of our programs until stop is called, which returns its exit code.
func startOurs(
	t *testing.T, sim *ibsimtest.Simulator, node, name string, stdout *safeBuffer, args ...string,
) (stop func() int) {
	t.Helper()
	p, _ := Find(name)
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- p.Run(ctx, Host{
			Name: name, Args: args, Stdout: stdout, Stderr: stdout, Hostname: func() string { return "worker.lab" },
			Open: func(ctx context.Context, device string, port int) (fabric.Transport, error) {
				return fabric.Open(ctx, fabric.OpenOptions{Device: device, Port: port, Getenv: sim.GetenvSM(node)})
			},
		})
	}()
	return sync.OnceValue(func() int {
		cancel()
		select {
		case c := <-code:
			return c
		case <-time.After(10 * time.Second):
			t.Errorf("%s doesn't end when its context does", name)
			return -1
		}
	})
}

func TestIbpingAgainstOurServer(t *testing.T) {
	sim, client, server, lid := pingNet(t)
	var out safeBuffer
	stop := startOurs(t, sim, server, "ibping", &out, "-S")
	waitForPing(t, sim, client, lid)
	for _, args := range []string{"-c 2", "-f -c 50", "-c 0", "-c 0x2 -f", "--flood --count 3", "-c 1 -v"} {
		words := append(strings.Fields(args), lid)
		theirs, _, code := sim.Try(client, "ibping", words...)
		got := ours(t, sim, client, "ibping", words...)
		if diff := cmp.Diff(output{Stdout: maskTimes(theirs), Code: code},
			output{Stdout: maskTimes(got.Stdout), Code: got.Code}); diff != "" {
			t.Errorf("ibping %s (-C +ours):\n%s", args, diff)
		}
		if !strings.Contains(args, "0") && !strings.Contains(theirs, "worker.lab") {
			t.Errorf("ibping %s of C = %s, want the name of our server", args, theirs)
		}
	}
	if code := stop(); code != 0 || out.String() != "" {
		t.Errorf("server ends with %d and %q, want 0 and nothing", code, out.String())
	}
	for _, args := range []string{lid, "77", "0", "abc", "-G 0", "-G 0x99", "-C nosuch 1", "49152"} {
		words := append([]string{"-c", "2", "-f"}, strings.Fields(args)...)
		theirs, _, code := sim.Try(client, "ibping", words...)
		got := ours(t, sim, client, "ibping", words...)
		if diff := cmp.Diff(output{Stdout: maskTimes(theirs), Code: code},
			output{Stdout: maskTimes(got.Stdout), Code: got.Code}); diff != "" {
			t.Errorf("ibping without a server, %s (-C +ours):\n%s", args, diff)
		}
	}
}

// waitForPing waits until a server answers.
func waitForPing(t *testing.T, sim *ibsimtest.Simulator, node, lid string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got := ours(t, sim, node, "ibping", "-f", "-c", "1", lid)
		if strings.Contains(got.Stdout, " 1 received") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no server at LID %s: %s", lid, got.Stdout)
		}
	}
}

func TestIbpingAgainstTheirServer(t *testing.T) {
	sim, client, server, lid := pingNet(t)
	cmd := exec.CommandContext(t.Context(), "ibping", "-S")
	cmd.Env = append(os.Environ(), "SIM_SET_ISSM=1", "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so")
	for _, name := range []string{"SIM_HOST", "IBSIM_SOCKNAME"} {
		cmd.Env = append(cmd.Env, name+"="+sim.Getenv(server)(name))
	}
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	}()
	time.Sleep(time.Second) // a ping that comes before its agent is ready hangs umad2sim
	waitForPing(t, sim, client, lid)
	got := ours(t, sim, client, "ibping", "-f", "-c", "1000", lid)
	want := "\n--- HOST (Lid " + lid + ") ibping statistics ---\n" +
		"1000 packets transmitted, 1000 received, 0% packet loss, time N ms\nrtt min/avg/max = N.N/N.N/N.N ms\n"
	text := regexp.MustCompile(`--- \S+ \(`).ReplaceAllString(got.Stdout, "--- HOST (")
	if diff := cmp.Diff(want, maskTimes(text)); diff != "" || got.Code != 0 {
		t.Errorf("ibping -f -c 1000 of a C server, exit code %d (-want +got):\n%s", got.Code, diff)
	}
	if !strings.Contains(got.Stdout, hostName()) {
		t.Errorf("ibping of a C server doesn't show this host's name: %s", got.Stdout)
	}
	if got := ours(t, sim, client, "ibping", "-c", "2", "-f", "-o", "0x123456",
		lid); strings.Contains(got.Stdout, "HOST") {
		t.Errorf("ibping with another OUI = %s", got.Stdout)
	}
}

// TestIbpingEndsWithItsContext has no count.
func TestIbpingEndsWithItsContext(t *testing.T) {
	sim, client, server, lid := pingNet(t)
	var none safeBuffer
	defer startOurs(t, sim, server, "ibping", &none, "-S")()
	waitForPing(t, sim, client, lid)
	for _, args := range []string{"", "-f"} {
		var out safeBuffer
		stop := startOurs(t, sim, client, "ibping", &out, append(strings.Fields(args), lid)...)
		time.Sleep(300 * time.Millisecond)
		code := stop()
		text := out.String()
		if code != 0 || !strings.Contains(text, "ibping statistics ---\n") ||
			!strings.Contains(text, ", 0% packet loss") || strings.Contains(text, " 0 received") {
			t.Errorf("ibping %s, cut short, ends with %d and %s", args, code, text)
		}
	}
}

func TestIbpingServerNeedsIsSM(t *testing.T) {
	sim, client, _, _ := pingNet(t)
	got := ours(t, sim, client, "ibping", "-S")
	want := output{
		Stdout: "ibping: iberror: failed: can't serve class 50 on this port\n", Stderr: got.Stderr, Code: exitMinusOne,
	}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got.Stderr, "SIM_SET_ISSM=1") {
		t.Errorf("ibping -S of a plain client (-want +got):\n%s\n%s", diff, got.Stderr)
	}
}
