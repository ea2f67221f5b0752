//go:build kernel

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// rpingLimit is how long a session of rping may take.
const rpingLimit = 90 * time.Second

// rpingLink is a pair of addresses of the cable: rxe0's, and the one of the engine at its other
// end.
type rpingLink struct{ name, there, here string }

func rpingLinks() []rpingLink {
	return []rpingLink{{"IPv4", guest.GuestAddress, guest.HostAddress}, {"IPv6", roceGuest6, roceHost6}}
}

func newRpingRig(t *testing.T) *roceRig {
	t.Helper()
	g := guest.Shared(t)
	g.Exclusive(t)
	r := newRoCERig(t, g)
	output(t, g, "modprobe rdma_ucm")
	return r
}

// TestRping runs rping of rdmacm-utils on rxe0, over the kernel's communication manager, against
// this project's rping on an engine at the other end of the cable: either is the server, over IPv4
// and IPv6.
func TestRping(t *testing.T) {
	if !wantAll() {
		t.Skipf("TestRpingLoss does the same with packets lost: set %s", allVariable)
	}
	r := newRpingRig(t)
	for _, l := range rpingLinks() {
		t.Run("client "+l.name, func(t *testing.T) { r.rpingAsClient(t, l, "-v -V") })
		t.Run("server "+l.name, func(t *testing.T) { r.rpingAsServer(t, l, "-v -V") })
	}
}

// TestRpingLoss loses packets of both directions, those of the communication manager too.
func TestRpingLoss(t *testing.T) {
	r := newRpingRig(t)
	loseFrames(t, r.g, "loss 5%")
	for i, l := range rpingLinks() {
		for _, options := range []string{"-v -V", "", "-v", "-V"} {
			name := fmt.Sprintf("%s%s", l.name, strings.ReplaceAll(options, " ", ""))
			all := wantAll() || options == "-v -V"
			if all && (i == 0 || wantAll()) {
				t.Run("client "+name, func(t *testing.T) { r.rpingAsClient(t, l, options) })
			}
			if all && (i == 1 || wantAll()) {
				t.Run("server "+name, func(t *testing.T) { r.rpingAsServer(t, l, options) })
			}
		}
	}
}

// loseFrames impairs the guest's first link in both directions until the end of the test.
func loseFrames(t *testing.T, g *guest.Guest, impairment string) {
	t.Helper()
	output(t, g, "modprobe sch_netem && modprobe ifb numifbs=1 && ip link set ifb0 up && ip link set ifb0 "+
		"txqueuelen 20000 && tc qdisc add dev eth0 ingress && tc filter add dev eth0 parent ffff: matchall action "+
		"mirred egress redirect dev ifb0")
	t.Cleanup(func() {
		if _, err := g.Output(context.Background(), "tc qdisc del dev eth0 ingress; tc qdisc del dev eth0 root; "+
			"modprobe -r ifb; tc qdisc show dev eth0 | grep -q netem && exit 1; exit 0"); err != nil {
			t.Errorf("restore the guest's link: %v", err)
		}
	})
	impair(t, g, impairment)
}

// impair changes the impairment of the link.
func impair(t *testing.T, g *guest.Guest, impairment string) {
	t.Helper()
	output(t, g, "for d in eth0 ifb0; do tc qdisc replace dev $d root netem "+impairment+" || exit 1; done")
}

// rpingAsClient pings the kernel's server three times.
func (r *roceRig) rpingAsClient(t *testing.T, l rpingLink, options string) {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		_, err := r.g.Output(t.Context(), "timeout 80 rping -s -V -C 3 -a "+l.there)
		served <- err
	}()
	r.awaitListener(t)
	out := r.rping(t, "-c "+options+" -C 3 -a "+l.there+" -I "+l.here)
	if err := <-served; err != nil {
		t.Errorf("their server: %v", err)
	}
	checkPings(t, out, options, 3)
}

// awaitListener waits until a program of the guest listens. A request that comes before is
// rejected, but a copy of it that has been sent meanwhile would be accepted, and then rejected here
// as one of a client that has given up: which ends a server of C.
func (r *roceRig) awaitListener(t *testing.T) {
	t.Helper()
	output(t, r.g, await("rdma resource show cm_id | grep -q LISTEN"))
}

// rpingAsServer answers three pings of the kernel's client. The server goes on until the client has
// ended: if the only message that ends the connection is lost, as C's client doesn't wait for the
// answer, the server notices it later (see TestRpingGone).
func (r *roceRig) rpingAsServer(t *testing.T, l rpingLink, options string) {
	t.Helper()
	end := r.ours(t, "rping", "-s", "-P", "-V", "-a", l.here)
	defer end()
	checkPings(t, output(t, r.g, theirClient("rping -c "+options+" -C 3 -a "+l.here)), options, 3)
}

// theirClient is a script that runs a client until the server listens.
func theirClient(command string) string {
	return "for i in $(seq 20); do timeout 80 " + command + " && exit; sleep 0.5; done; exit 1"
}

// ours starts rdmactl at the host's end of the cable. end ends it as Ctrl-C does.
func (r *roceRig) ours(t *testing.T, args ...string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	cmd := r.g.HostCommand(ctx, r.rdmactl, args...)
	text := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = text, text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		defer cancel()
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()                       // with the code of the signal
		if ctx.Err() != nil {
			t.Errorf("rdmactl %v did not end within %v: %s", args, rpingLimit, text)
		}
	}
}

// rping runs this project's rping until the peer listens.
func (r *roceRig) rping(t *testing.T, args string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	defer cancel()
	return untilListening(ctx, t, func() *exec.Cmd {
		return r.g.HostCommand(ctx, r.rdmactl, append([]string{"rping"}, strings.Fields(args)...)...)
	}, nil)
}

// untilListening runs a command of rdmactl until the peer listens, and returns its output; began is
// called when the first ping has come back.
func untilListening(ctx context.Context, t *testing.T, command func() *exec.Cmd, began func()) string {
	t.Helper()
	for {
		cmd := command()
		out := &pingOutput{began: began}
		cmd.Stdout, cmd.Stderr = out, out
		err := cmd.Run()
		switch {
		case err == nil:
			return out.String()
		case !strings.Contains(out.String(), "nobody listens") || ctx.Err() != nil:
			t.Errorf("%v: %v: %s", cmd.Args, err, out)
			return out.String()
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// pingOutput is the output of a client.
type pingOutput struct {
	bytes.Buffer
	began func()
}

func (p *pingOutput) Write(b []byte) (int, error) {
	n, err := p.Buffer.Write(b)
	if p.began != nil && strings.Contains(p.String(), "ping data: rdma-ping-0: ") {
		p.began()
		p.began = nil
	}
	return n, err
}

// checkPings checks what a client of some pings prints.
func checkPings(t *testing.T, out, options string, count int) {
	t.Helper()
	for i := range count {
		if strings.Contains(options, "-v") && !strings.Contains(out, fmt.Sprintf("ping data: rdma-ping-%d: ", i)) {
			t.Errorf("ping %d is missing: %s", i, out)
		}
	}
}
