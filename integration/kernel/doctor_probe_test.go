//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// Addresses of the host's side that answer RoCE packets in other ways than the engine on
// guest.HostAddress.
const (
	peerClosed     = "192.0.2.81"
	peerDropping   = "192.0.2.82"
	peerProhibited = "192.0.2.83"
	peerFiltered   = "192.0.2.84" // by the guest
	peerNarrow     = "192.0.2.85" // takes packets of 1500 bytes, as behind a switch with that MTU
)

// roceRules are those of the host's side.
const roceRules = `table inet rdmakit_probe {
	chain in {
		type filter hook input priority 0
		ip daddr ` + peerDropping + ` udp dport 4791 drop
		ip daddr ` + peerNarrow + ` meta length gt 1500 drop
		ip daddr ` + peerProhibited + ` udp dport 4791 reject with icmpx admin-prohibited
	}
}`

// TestDoctorPeers lets rxe0 ask an engine, whose connection manager answers that of the kernel, and
// peers that don't answer or take no large packets.
func TestDoctorPeers(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	host := func(ctx context.Context, stdin, name string, args ...string) {
		t.Helper()
		cmd := g.HostCommand(ctx, name, args...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %v: %v: %s", name, args, err, out)
		}
	}
	last := context.WithoutCancel(t.Context())
	addresses := func(ctx context.Context, verb string) {
		for _, a := range []string{peerClosed, peerDropping, peerProhibited, peerFiltered, peerNarrow} {
			host(ctx, "", "ip", "addr", verb, a+"/32", "dev", "tap0")
		}
	}
	addresses(t.Context(), "add")
	defer addresses(last, "del")
	host(t.Context(), roceRules, "nft", "-f", "-")
	defer host(last, "", "nft", "delete", "table", "inet", "rdmakit_probe")
	ctx, cancel := context.WithCancel(t.Context())
	engine := g.HostCommand(ctx, buildProgram(t, rdmactlPackage), "rping", "-s", "-P", "-a", guest.HostAddress)
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = engine.Wait() }()
	host(t.Context(), "", "bash", "-c", await("ss -Hlun | grep -q "+guest.HostAddress+":4791"))

	before := strings.TrimSpace(output(t, g, "cat /sys/class/net/eth0/mtu; ip link set eth0 mtu 9000"))
	defer output(t, g, "ip link set eth0 mtu "+before+
		"; nft flush ruleset; modprobe -r nft_reject_inet nft_ct nf_tables")
	peers := []string{guest.HostAddress, peerClosed, peerDropping, peerProhibited, peerFiltered, peerNarrow}
	var report doctor.Report
	decode(t, output(t, g, "nft -f - <<'END' || exit\ntable inet f { "+outputChain+"accept; ip daddr "+peerFiltered+
		" udp dport 4791 drop; }; }\nEND\n"+rdmactl+" doctor -o json --only roce-peer,path-mtu --probe "+
		strings.Join(peers, " --probe ")+" 2>/dev/null; true"), &report)
	var got []string
	for _, f := range report.Findings {
		got = append(got, fmt.Sprintf("%s %s %s", f.Outcome, f.Object, f.Summary))
	}
	for _, want := range []string{
		"warn rxe0:1 packets to " + peerClosed + " arrive, but nothing there receives RoCE (UDP port 4791)",
		"unknown rxe0:1 " + peerDropping + " answers echo requests of eth0 but no RoCE packet",
		"fail rxe0:1 " + peerProhibited + " rejects RoCE packets (UDP port 4791)",
		"fail rxe0:1 packets to " + peerNarrow + " get lost above 1500 bytes, but eth0 sends up to 9000: RoCE uses " +
			"an MTU of 4096, and only 1024 fits",
		"warn rxe0:1 packets to " + peerNarrow + " arrive, but nothing there receives RoCE (UDP port 4791)",
		"fail rxe0:1 the packet filter of this node drops RoCE packets to " + peerFiltered,
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no finding %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(got) != 6 {
		t.Errorf("findings:\n%s\nwant none of other peers and of %s", strings.Join(got, "\n"), guest.HostAddress)
	}
	out := output(t, g, rdmactl+" doctor --only roce-peer --probe "+guest.HostAddress+" 2>/dev/null; true")
	if want := "1 check: 1 passed"; !strings.Contains(out, want) {
		t.Errorf("doctor asks an engine: want %q in\n%s", want, out)
	}
}
