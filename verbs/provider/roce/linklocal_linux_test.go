package roce_test

import (
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// linkLocalSetup makes two ends of a cable.
const linkLocalSetup = "ip link add ll0 type veth peer name ll1 && " +
	"ip -6 address add fe80::1/64 dev ll0 nodad && ip -6 address add fe80::2/64 dev ll1 nodad && " +
	"ip link set ll0 addrgenmode none up && ip link set ll1 addrgenmode none up && ip link set lo up"

// TestLinkLocal connects engines by link-local addresses, in a network namespace of a process of
// its own.
func TestLinkLocal(t *testing.T) {
	const inside = "ROCE_TEST_LINK_LOCAL"
	if os.Getenv(inside) == "" {
		if os.Geteuid() != 0 {
			t.Skip("needs root for a network namespace")
		}
		cmd := exec.CommandContext(limit(t), os.Args[0], "-test.run=^TestLinkLocal$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLinkLocal") {
			t.Errorf("%v:\n%s", err, out)
		}
		return
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", linkLocalSetup).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, names := range [][2]string{
		{"ll0", "ll1"}, {"fe80::1%ll0", "fe80::2%ll1"}, {"fe80::1", "fe80::2"},
	} {
		t.Run(names[0]+" "+names[1], func(t *testing.T) { testDial(t, names[0], names[1]) })
	}
	t.Run("zones", testZones)
}

// testZones dials nobody: the error says whether the zone of the address is that of the engine.
func testZones(t *testing.T) {
	a, b := newParty(t, roce.Prefix+"ll0", verbs.QPTypeRC), newParty(t, roce.Prefix+"fe80::2%ll1", verbs.QPTypeRC)
	loop := newParty(t, roce.Prefix+"::1", verbs.QPTypeRC)
	tests := []struct {
		from     *party
		to, want string
	}{
		{a, "fe80::2", "nobody listens on port 7"},
		{a, "fe80::2%ll0", "nobody listens on port 7"},
		{b, "fe80::1%ll1", "nobody listens on port 7"},
		{a, "fe80::2%ll1", "fe80::2%ll1 is on another link than roce@ll0, whose address is on ll0"},
		{loop, "fe80::2%ll0", "fe80::2%ll0 is a link-local address, and ::1, the address of roce@::1, is none"},
	}
	for _, tt := range tests {
		to := netip.AddrPortFrom(netip.MustParseAddr(tt.to), 7)
		options := verbs.ConnectOptions{}
		if tt.from == b {
			options.Local = netip.MustParseAddr("fe80::2%ll1")
		}
		_, err := tt.from.device.Dial(limit(t), tt.from.qp, to, options)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Dial(%v) = %v, want %q", to, err, tt.want)
		}
	}
}
