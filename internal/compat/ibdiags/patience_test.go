package ibdiags

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	simulated "github.com/rdmakit/rdmakit/internal/sim/subnet"
)

// TestTimeoutOption checks that -t is the time of one try, of which libibnetdisc has 4, and
// libibmad 3.
func TestTimeoutOption(t *testing.T) {
	for _, tt := range []struct {
		line  string
		delay time.Duration // of host2's answers; 0: it is dead
		found bool
		took  time.Duration // at least
	}{
		{"ibhosts -t 50000", 190 * time.Second, true, 190 * time.Second},
		{"ibhosts -t 20000", 0, false, 80 * time.Second},
		{"ibhosts", 0, false, 4 * time.Second},
		{"ibhosts -t 100", 0, false, 400 * time.Millisecond},
		{"ibhosts -t 100", 1 * time.Second, false, 400 * time.Millisecond},
		{"ibnetdiscover --timeout 20000", 0, false, 80 * time.Second},
		{"smpquery -D -t 10000 nodedesc 0,1,3", 29 * time.Second, true, 29 * time.Second},
		{"smpquery -D -t 10000 nodedesc 0,1,3", 0, false, 30 * time.Second},
	} {
		t.Run(fmt.Sprintf("%s after %v", tt.line, tt.delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := simulated.FatTree(1, 4, 0)
				host := net.Node("host2")
				host.Dead, host.Delay = tt.delay == 0, tt.delay
				start := time.Now()
				words := strings.Fields(tt.line)
				got := inSubnet(t.Context(), t, net, "host0", map[string]string{}, words[0], words[1:]...)
				took := time.Since(start)
				if strings.Contains(got.Stdout, "host2") != tt.found {
					t.Errorf("printed after %v:\n%s%swant host2 %v", took, got.Stdout, got.Stderr, tt.found)
				}
				if !tt.found && (took < tt.took || took > tt.took+tt.took/10) {
					t.Errorf("took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// TestQueryErrorsRefused lets the transport reject the datagrams to one LID: the counters of the
// other nodes are printed.
func TestQueryErrorsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simulated.FatTree(2, 4, 1)
		net.Node("host3").Ports[1].Counters.SymbolErrorCounter = 5
		transport := &simulated.Refuser{Transport: net.Transport("host0"), LID: net.Node("host5").LIDs[1]}
		p, _ := Find("ibqueryerrors")
		var stdout, stderr strings.Builder
		code := p.Run(t.Context(), Host{
			Name: "ibqueryerrors", Stdout: &stdout, Stderr: &stderr, PID: 1,
			ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
			Open:     func(context.Context, string, int) (fabric.Transport, error) { return transport, nil },
		})
		if code != 1 || !strings.Contains(stdout.String(), "Errors for \"host3\"\n") ||
			!strings.Contains(stdout.String(), "PMA query failures\n") {
			t.Errorf("ibqueryerrors = %d, want 1 and host3 with errors:\n%s", code, stdout.String())
		}
		if got := stderr.String(); strings.Count(got, "host5") != 1 || !strings.Contains(got, "invalid argument") {
			t.Errorf("standard error = %q, want host5 once, with the reason", got)
		}
	})
}
