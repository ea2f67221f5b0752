//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cmtimeRow matches a row of cmtime's table, with the total time in milliseconds.
var cmtimeRow = regexp.MustCompile(`(?m)^([a-z ]+?) *: +([0-9.]+|-)`)

// TestCmtime establishes connections at once with cmtime of rdmacm-utils on rxe0 at one end, and
// with this project's at the other.
func TestCmtime(t *testing.T) {
	r := newRpingRig(t)
	const connections = 20
	for i, l := range rpingLinks() {
		for _, loss := range []bool{false, true} {
			if (i > 0 || loss) && !wantAll() {
				continue
			}
			prepare := func(t *testing.T) string {
				t.Helper()
				if !loss {
					return l.name
				}
				loseFrames(t, r.g, "loss 5%")
				return l.name + " loss"
			}
			name := fmt.Sprintf("%s loss %t", l.name, loss)
			t.Run("server "+name, func(t *testing.T) {
				prepare(t)
				end := r.ours(t, "cmtime", "-b", l.here)
				defer end()
				script := fmt.Sprintf("timeout 80 cmtime -s %s -c %d -r 7", l.here, connections)
				out := output(t, r.g, "for i in $(seq 20); do "+script+" >/tmp/cmtime; "+
					"grep -q REJECTED /tmp/cmtime || break; sleep 0.5; done; cat /tmp/cmtime; rm /tmp/cmtime")
				checkCmtime(t, out, true)
			})
			if !wantAll() {
				continue
			}
			t.Run("client "+name, func(t *testing.T) {
				prepare(t)
				checkCmtime(t, r.cmtimeClient(t, l, connections), false)
			})
		}
	}
}

// cmtimeClient runs the client here against the C program. That server crashes if a peer rejects
// what it has accepted (cma_handler of 44 has no connection then), as an end does that has given up
// before (see awaitListener).
func (r *roceRig) cmtimeClient(t *testing.T, l rpingLink, connections int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rpingLimit)
	defer cancel()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_, _ = r.g.Run(ctx, "timeout 80 cmtime -b "+l.there) // until it is killed
	}()
	r.awaitListener(t)
	out := untilListening(ctx, t, func() *exec.Cmd {
		return r.g.HostCommand(ctx, r.rdmactl, "cmtime", "-s", l.there, "-b", l.here, "-r", "7",
			"-c", strconv.Itoa(connections))
	}, nil)
	output(t, r.g, "pkill -x cmtime; for i in $(seq 100); do pgrep -x cmtime || exit 0; sleep 0.1; done; exit 1")
	<-served
	return out
}

// checkCmtime checks that a client has connected and disconnected.
func checkCmtime(t *testing.T, out string, theirs bool) {
	t.Helper()
	times := map[string]float64{}
	for _, row := range cmtimeRow.FindAllStringSubmatch(out, -1) {
		times[row[1]], _ = strconv.ParseFloat(row[2], 64) // "-" is 0: not measured
	}
	want := []string{"create qp", "connect", "disconnect", "destroy"}
	if theirs {
		want = append(want, "create id", "resolve addr", "resolve route")
	}
	for _, name := range want {
		if times[name] <= 0 {
			t.Errorf("no time of %q: %s", name, out)
		}
	}
	if strings.Contains(out, "event: ") {
		t.Errorf("a connection failed: %s", out)
	}
	if limit := (70 * time.Second).Milliseconds(); times["connect"] > float64(limit) {
		t.Errorf("connecting took %.0f ms: %s", times["connect"], out)
	}
}
