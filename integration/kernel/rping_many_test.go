//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// rpingClients is the number of clients that a server has at once.
const rpingClients = 3

// rpingPings is how many pings each of them sends.
const rpingPings = 100

// TestRpingMany serves several clients at once: this project's server those of the kernel, and the
// reverse. Each client here has an engine, and so an address, of its own, and begins when the one
// before pings: C's server forgets a request when another one comes before it has taken it
// (child_cm_id in rping.c).
func TestRpingMany(t *testing.T) {
	r := newRpingRig(t)
	for i, l := range rpingLinks() {
		if i == 0 || wantAll() {
			t.Run("server "+l.name, func(t *testing.T) {
				end := r.ours(t, "rping", "-s", "-P", "-V", "-a", l.here)
				defer end()
				outs := outputs(t, r.g, theirClients(l.here)...)
				for _, out := range outs {
					checkPings(t, out, "-v", rpingPings)
				}
			})
		}
		if wantAll() {
			t.Run("client "+l.name, func(t *testing.T) { r.rpingClients(t, l) })
		}
	}
}

// theirClients are scripts of clients in the guest.
func theirClients(server string) []string {
	var list []string
	for range rpingClients {
		list = append(list, theirClient(fmt.Sprintf("rping -c -v -V -C %d -a %s", rpingPings, server)))
	}
	return list
}

// rpingClients pings the kernel's server with several clients at once.
func (r *roceRig) rpingClients(t *testing.T, l rpingLink) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), rpingLimit)
	defer stop()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_, _ = r.g.Run(ctx, "timeout 80 rping -s -P -V -a "+l.there) // until it is killed
	}()
	r.awaitListener(t)
	var clients sync.WaitGroup
	for i := range rpingClients {
		own, bits := fmt.Sprintf("192.0.2.%d", 240+i), "/24"
		if strings.Contains(l.here, ":") {
			own, bits = fmt.Sprintf("2001:db8:4::f%d", i), "/64"
		}
		r.hostAddress(t, own+bits)
		first := make(chan struct{})
		clients.Go(func() {
			defer func() { // also of one that has failed
				select {
				case <-first:
				default:
					close(first)
				}
			}()
			out := untilListening(ctx, t, func() *exec.Cmd {
				args := fmt.Sprintf("rping -c -v -V -C %d -a %s -I %s", rpingPings, l.there, own)
				return r.g.HostCommand(ctx, r.rdmactl, strings.Fields(args)...)
			}, func() { close(first) })
			checkPings(t, out, "-v", rpingPings)
		})
		<-first
	}
	clients.Wait()
	output(t, r.g, "pkill -x rping; for i in $(seq 100); do pgrep -x rping || exit 0; sleep 0.1; done; exit 1")
	<-served
}

// hostAddress adds an address to the host's end of the cable until the end of the test.
func (r *roceRig) hostAddress(t *testing.T, address string) {
	t.Helper()
	for _, verb := range []string{"add", "del"} {
		change := func() {
			args := append([]string{"addr", verb, address, "dev", "tap0"}, strings.Fields(nodad(verb))...)
			ctx := context.WithoutCancel(t.Context()) // runs at the end, too
			if out, err := r.g.HostCommand(ctx, "ip", args...).CombinedOutput(); err != nil {
				t.Errorf("ip %v: %v: %s", args, err, out)
			}
		}
		if verb == "add" {
			change()
		} else {
			t.Cleanup(change)
		}
	}
}

// TestRpingGone stops the kernel's client, which only makes it idle, and then cuts the cable and
// kills it: nothing tells the server that it has gone. The server notices it by itself.
func TestRpingGone(t *testing.T) {
	if !wantAll() {
		t.Skipf("it takes half a minute: set %s", allVariable)
	}
	r := newRpingRig(t)
	loseFrames(t, r.g, "loss 0%")
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	defer cancel()
	cmd := r.g.HostCommand(ctx, r.rdmactl, "rping", "-s", "-v", "-a", guest.HostAddress)
	text := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = text, text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	output(t, r.g, `for i in $(seq 20); do
			rping -c -v -a `+guest.HostAddress+` >/tmp/rping-gone 2>&1 &
			for k in $(seq 50); do
				grep -q rdma-ping-10: /tmp/rping-gone && break 2
				kill -0 $! 2>/dev/null || break
				sleep 0.1
			done; done
		kill -STOP $!; sleep 12 # idle, but there: the server must not mind
		for d in eth0 ifb0; do tc qdisc replace dev $d root netem loss 100%; done
		pgrep -x rping && kill -9 $! && sleep 2; rm /tmp/rping-gone`)
	impair(t, r.g, "loss 0%")
	began := time.Now()
	if err := cmd.Wait(); err == nil || ctx.Err() != nil {
		t.Fatalf("the server ended with %v: %s", err, text)
	}
	t.Logf("the server noticed after %.1f s", time.Since(began).Seconds())
	const want = "cq completion failed status 12\n" // retries exceeded
	if !strings.Contains(text.String(), want) {
		t.Errorf("the server prints %s, want %q", text, want)
	}
}

// TestRpingHardware connects the path through librdmacm and libibverbs, on rxe0 in the guest, with
// an engine at the other end of the cable: rdmactl ping and rping, either as the server.
func TestRpingHardware(t *testing.T) {
	r := newRpingRig(t)
	withRdmactl(t)
	for i, l := range rpingLinks() {
		if i == 0 || wantAll() {
			t.Run("client "+l.name, func(t *testing.T) { r.engineClient(t, l) })
		}
		if i == 1 || wantAll() {
			t.Run("server "+l.name, func(t *testing.T) { r.engineServer(t, l) })
		}
	}
}

// engineClient pings the server on rxe0 from an engine, with both programs.
func (r *roceRig) engineClient(t *testing.T, l rpingLink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	defer cancel()
	servers := []string{"ping --listen -d rxe0", "rping -s -V -a " + l.there}
	if !wantAll() {
		servers = servers[:1]
	}
	for _, server := range servers {
		served := make(chan error, 1)
		go func() {
			res, err := r.g.Run(ctx, "timeout -s INT 80 "+rdmactl+" "+server)
			if err == nil && res.ExitCode != 0 && !strings.HasPrefix(server, "ping") { // which goes on
				err = fmt.Errorf("exit code %d: %s", res.ExitCode, res.Stderr)
			}
			served <- err
		}()
		r.awaitListener(t)
		if strings.HasPrefix(server, "ping") {
			out := untilListening(ctx, t, func() *exec.Cmd {
				return r.g.HostCommand(ctx, r.rdmactl, "ping", "-d", "roce@"+l.here, "-c", "3", "-i", "10ms", l.there)
			}, nil)
			if !strings.Contains(out, "3 pings of 64 bytes, 0 lost") {
				t.Errorf("ping: %s", out)
			}
			output(t, r.g, "pkill -INT -x rdmactl")
		} else {
			checkPings(t, r.rping(t, "-c -v -V -C 3 -a "+l.there+" -I "+l.here), "-v", 3)
		}
		if err := <-served; err != nil {
			t.Errorf("%s on rxe0: %v", server, err)
		}
	}
}

// engineServer answers clients on rxe0 with an engine.
func (r *roceRig) engineServer(t *testing.T, l rpingLink) {
	t.Helper()
	end := r.ours(t, "rping", "-s", "-P", "-V", "-a", l.here)
	defer end()
	checkPings(t, output(t, r.g, theirClient(rdmactl+" rping -c -v -V -C 3 -a "+l.here)), "-v", 3)
	out := output(t, r.g, "timeout 60 "+rdmactl+" ping -d rxe0 -c 3 -i 10ms "+l.here)
	if !strings.Contains(out, "3 pings of 64 bytes, 0 lost") {
		t.Errorf("ping on rxe0: %s", out)
	}
}
