//go:build kernel

package kernel

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// Chains of filters at the hooks that packets of rxe0 pass.
const (
	inputChain  = "chain in { type filter hook input priority 0; policy "
	outputChain = "chain out { type filter hook output priority 0; policy "
)

// filters are rules of nftables, and what doctor reports of them.
var filters = []struct {
	name, rules string
	want        []string
}{
	{
		"drop", "table inet f { " + inputChain + "accept; udp dport 4791 counter drop; }; }",
		[]string{
			"FAIL     packet-filter rxe0:1: the packet filter drops RoCE (UDP port 4791) (input)",
		},
	},
	{
		"other rules", "table inet f { " + inputChain + "accept; udp dport 4790 drop; " +
			"tcp dport { 23, 4791 } reject; iifname \"eth9\" drop; ip saddr 198.18.0.0/15 drop; " +
			"ct state invalid drop; }; " +
			outputChain + "accept; udp dport 53 drop; oifname \"eth9\" udp dport 4791 drop; }; }",
		[]string{"1 check: 1 passed"},
	},
	{
		"set with an interval",
		"table ip f { set s { type inet_service; flags interval; elements = { 53, 4790-4795 }; }; " +
			inputChain + "accept; iifname \"eth0\" udp dport @s drop; }; }",
		[]string{"FAIL     packet-filter rxe0:1: the packet filter drops RoCE (UDP port 4791) (input)"},
	},
	{
		"output", "table inet f { " + outputChain + "accept; ip daddr 192.0.2.0/24 udp dport 4791 drop; }; }",
		[]string{"FAIL     packet-filter rxe0:1: the packet filter drops RoCE (UDP port 4791) (output)"},
	},
	{
		"policy",
		"table inet f { " + inputChain + "drop; ct state established,related accept; tcp dport 22 accept; }; }",
		[]string{
			"FAIL     packet-filter rxe0:1: the packet filter drops RoCE (UDP port 4791) (input)",
			"INFO     packet-filter eth0: the packet filter drops TCP connections of peers such as",
		},
	},
	{
		"policy with exceptions", "table inet f { " + inputChain + "drop; ct state established,related accept; " +
			"ip saddr 192.0.2.0/24 jump peers; iifname \"eth1\" accept; }; " +
			"chain peers { udp dport 4791 accept; meta l4proto tcp accept; }; }",
		[]string{"1 check: 1 passed"},
	},
}

// TestDoctorPacketFilter sets rules of nftables in the guest. That the first of them drops the
// packets of RoCE is shown by its counter, after a datagram of the host.
func TestDoctorPacketFilter(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	doctor := rdmactl + " doctor --only packet-filter 2>/dev/null; "
	loaded := "grep -c ^nf_tables /proc/modules; true"
	out := output(t, g, doctor+loaded)
	if !strings.HasSuffix(out, "\n0\n") || strings.Contains(out, "passed") {
		t.Errorf("doctor without nf_tables: want no result, and no module loaded by it:\n%s", out)
	}
	defer output(t, g, "nft flush ruleset; modprobe -r nft_reject_inet nft_ct nf_tables")
	for _, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			out := output(t, g, "nft -f - <<'END' || exit\nflush ruleset\n"+strings.ReplaceAll(f.rules, "; ", "\n")+
				"\nEND\n"+doctor+"true")
			if f.name == "drop" {
				dropsDatagram(t, g)
			}
			for _, want := range f.want {
				if !strings.Contains(out, want) {
					t.Errorf("doctor with %s: want %q in\n%s", f.rules, want, out)
				}
			}
		})
	}
}

// dropsDatagram sends a datagram to the port of RoCE v2 from the host's side, and waits until the
// counter of the guest's rule counts it.
func dropsDatagram(t *testing.T, g *guest.Guest) {
	t.Helper()
	send := g.HostCommand(t.Context(), "bash", "-c", "echo >/dev/udp/"+guest.GuestAddress+"/4791")
	if text, err := send.CombinedOutput(); err != nil {
		t.Fatalf("send a datagram: %v: %s", err, text)
	}
	output(t, g, await("nft list ruleset | grep -q 'dport 4791 counter packets 1 .* drop'"))
}
