//go:build kernel

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// rpingLimit is how long a session of rping may take.
const rpingLimit = 90 * time.Second

// TestRping runs rping of rdmacm-utils on rxe0, over the kernel's communication manager, against
// this project's rping on an engine at the other end of the cable: either is the server, over IPv4
// and IPv6.
func TestRping(t *testing.T) {
	g := guest.Shared(t)
	g.Exclusive(t)
	r := newRoCERig(t, g)
	output(t, g, "modprobe rdma_ucm")
	for _, v6 := range []bool{false, true} {
		there, here := guest.GuestAddress, guest.HostAddress
		if v6 {
			there, here = roceGuest6, roceHost6
		}
		t.Run(fmt.Sprintf("client v6 %t", v6), func(t *testing.T) {
			served := make(chan error, 1)
			go func() {
				_, err := g.Output(t.Context(), "timeout 60 rping -s -V -C 3 -a "+there)
				served <- err
			}()
			out := r.rping(t, "-c", "-v", "-V", "-C", "3", "-a", there, "-I", here)
			if err := <-served; err != nil {
				t.Errorf("their server: %v", err)
			}
			checkPings(t, out)
		})
		t.Run(fmt.Sprintf("server v6 %t", v6), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
			defer cancel()
			cmd := g.HostCommand(ctx, r.rdmactl, "rping", "-s", "-V", "-C", "3", "-a", here)
			var text bytes.Buffer
			cmd.Stdout, cmd.Stderr = &text, &text
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out := output(t, g, fmt.Sprintf("for i in $(seq 20); do timeout 60 rping -c -v -V -C 3 -a %s && exit; "+
				"sleep 0.5; done; exit 1", here))
			if err := cmd.Wait(); err != nil {
				t.Errorf("our server: %v: %s", err, text.String())
			}
			checkPings(t, out)
		})
	}
}

// rping runs this project's rping until the peer listens.
func (r *roceRig) rping(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	defer cancel()
	for {
		out, err := r.g.HostCommand(ctx, r.rdmactl, append([]string{"rping"}, args...)...).CombinedOutput()
		switch {
		case err == nil:
			return string(out)
		case !strings.Contains(string(out), "nobody listens") || ctx.Err() != nil:
			t.Fatalf("rping %v: %v: %s", args, err, out)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// checkPings checks what a client of three pings prints.
func checkPings(t *testing.T, out string) {
	t.Helper()
	for i := range 3 {
		if !strings.Contains(out, fmt.Sprintf("ping data: rdma-ping-%d: ", i)) {
			t.Errorf("ping %d is missing: %s", i, out)
		}
	}
}
