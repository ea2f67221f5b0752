//go:build kernel

package kernel

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUMADPing lets rdmactl ping itself, from one process to another, through the kernel's user MAD
// device of rxe0: agents, P_Key layout, global route header, timeouts.
func TestUMADPing(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	// An IPv6 GID: with the IPv4 one, Linux 6.1 receives the answer (rcvd_pkts counts it) but
	// doesn't match it with the request.
	gid := strings.TrimSpace(output(t, g, "cat /sys/class/infiniband/rxe0/ports/1/gids/0"))
	const serve = rdmactl + " fabric ping --server -C rxe0 2>/tmp/pings & server=$!\n"
	const stop = "; kill -TERM $server; wait $server; cat /tmp/pings >&2"
	ready := await("grep -q answering /tmp/pings") + "\n"
	got := output(t, g, serve+ready+rdmactl+" fabric ping -C rxe0 "+gid+" -c 100 -f -W 60s -o json"+stop)
	var report struct {
		Sent, Lost int
		RoundTrip  struct{ MinUs float64 }
	}
	if err := json.Unmarshal([]byte(got), &report); err != nil || report.Sent != 100 || report.Lost != 0 ||
		report.RoundTrip.MinUs <= 0 {
		t.Errorf("fabric ping = %v, %s, want 100 answers", err, got)
	}
	got = output(t, g, rdmactl+" fabric ping -C rxe0 "+gid+" -c 1 2>&1; echo code $?")
	if !strings.Contains(got, "without an answer") || !strings.HasSuffix(got, "code 5\n") {
		t.Errorf("fabric ping without a server = %q, want exit code 5", got)
	}
}

// TestUMADRefusals lets rdmactl open a subnet on devices without one.
func TestUMADRefusals(t *testing.T) {
	t.Parallel()
	g := withRdmactl(t)
	g.Steady(t)
	for command, want := range map[string]string{
		"fabric switches -C rxe9": "choose a port of rxe9: no such port with a user MAD device: available: rxe0 port 1",
		"fabric switches -C rxe0": "rxe0 port 1 is Ethernet: it has no subnet management",
		"fabric sm":               "rxe0 port 1 is Ethernet: it has no subnet management",
		"fabric ping 1 -c 1":      "rxe0 port 1 is Ethernet: it has no LIDs",
	} {
		got := output(t, g, rdmactl+" "+command+" 2>&1; echo code $?")
		if !strings.Contains(got, want) || !strings.HasSuffix(got, "code 3\n") {
			t.Errorf("rdmactl %s = %q, want %q and exit code 3", command, got, want)
		}
	}
	for _, applet := range []string{"ibhosts", "sminfo", "ibnetdiscover", "perfquery", "ibping -c 1 1"} {
		// The process ID in ibwarn differs, and only the C program's standard error has such lines.
		theirs := output(t, g, applet+" 2>/dev/null; echo code $?")
		got := output(t, g, rdmactl+" "+applet+" 2>/tmp/why; echo code $?")
		why := output(t, g, "cat /tmp/why")
		if !strings.HasSuffix(got, theirs[strings.LastIndex(theirs, "code"):]) || !strings.Contains(why, "Ethernet") {
			t.Errorf("%s = %q, the C program's is %q; why: %q", applet, got, theirs, why)
		}
	}
	nobody := output(t, g, "cp "+rdmactl+" /tmp/rdmactl && chmod 755 /tmp/rdmactl && setpriv --reuid=65534 "+
		"--clear-groups /tmp/rdmactl fabric sm -C rxe0 2>&1; echo code $?")
	if !strings.Contains(nobody, "permission denied") || !strings.HasSuffix(nobody, "code 4\n") {
		t.Errorf("fabric sm as nobody = %q, want exit code 4", nobody)
	}
}
