//go:build kernel

package kernel

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// situation is a fault that a test brings about in the guest, and what doctor says of it.
type situation struct {
	name     string
	do, undo string
	args     string // of doctor
	want     string // lines, each in its output
}

// situations are real faults: the kernel's own links, addresses, limits and modules.
var situations = []situation{
	{
		"link down", "ip link set eth0 down", "ip link set eth0 up; ip addr replace 192.0.2.1/24 dev eth0",
		"--only port-active", "FAIL     port-active rxe0:1: port is down: network device eth0 is switched off",
	},
	{
		"no address", "ip addr flush dev eth0", "ip addr replace 192.0.2.1/24 dev eth0",
		"--only gid-routable", "FAIL     gid-routable rxe0:1: ",
	},
	{
		"small MTU", "ip link set eth0 mtu 1500", "true",
		"--only mtu", "WARN     mtu rxe0:1: active MTU 1024: network device eth0 has MTU 1500",
	},
	{
		"large MTU", "ip link set eth0 mtu 9000; sleep 1", "true",
		"--only mtu", "1 check: 1 passed",
	},
	{
		"module removed", "modprobe -r rdma_ucm", "modprobe rdma_ucm",
		"--only rdma-modules", "WARN     rdma-modules rdma_ucm: the module rdma_ucm is not loaded",
	},
	{
		"one subnet", "rdma link add rxe1 type rxe netdev eth1; ip addr add 192.0.2.9/24 dev eth1; sleep 1",
		"ip addr del 192.0.2.9/24 dev eth1; rdma link del rxe1",
		"--only rail-subnet", "WARN     rail-subnet: 2 rails are in one subnet, 192.0.2.0/24: rxe0:1, rxe1:1; " +
			"with arp_ignore 0 eth0, eth1 answer ARP for addresses of the other rails",
	},
	{
		"sound", "true", "true",
		"--probe 192.0.2.254 --only port-active,gid-routable,rdma-modules,path-mtu,duplicate-address",
		"5 checks: 5 passed",
	},
}

// find brings about the fault and lets doctor find it.
func (s situation) find(t *testing.T, g *guest.Guest) {
	t.Helper()
	out := output(t, g, "{ "+s.do+"\n} >&2 || exit\n"+rdmactl+" doctor "+s.args+" 2>/dev/null\n{ "+s.undo+"\n} >&2")
	for want := range strings.Lines(s.want) {
		if want = strings.TrimSpace(want); !strings.Contains(out, want) {
			t.Errorf("doctor %s: want %q in\n%s", s.args, want, out)
		}
	}
}

// TestDoctorFaults brings about faults and lets doctor find them.
func TestDoctorFaults(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	before := strings.TrimSpace(output(t, g, "modprobe rdma_ucm; cat /sys/class/net/eth0/mtu"))
	defer output(t, g, "ip link set eth0 mtu "+before) // other tests need it
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			s.find(t, g)
			settle(t, g)
		})
	}
}

// TestDoctorLimits checks the limit of locked memory that a login gets by PAM.
func TestDoctorLimits(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	const limits = "/etc/security/limits.d/rdmakit-test.conf"
	output(t, g, "cp "+rdmactl+" "+rdmactlShared+"; chmod 755 "+rdmactlShared+"; "+
		"id job >/dev/null 2>&1 || useradd -m job; echo 'job - memlock 64' > "+limits)
	out := output(t, g, "su job -c '"+rdmactlShared+" doctor --only memlock' 2>/dev/null; true")
	output(t, g, "rm -f "+limits+" "+rdmactlShared)
	if want := "FAIL     memlock: a process can lock only 64 KiB of memory"; !strings.Contains(out, want) {
		t.Errorf("doctor for a login: want %q in\n%s", want, out)
	}
}

// TestDoctorDuplicateAddress gives an address of the guest's network to two network devices.
func TestDoctorDuplicateAddress(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	host := func(args ...string) {
		t.Helper()
		if out, err := g.HostCommand(t.Context(), "ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}
	host("link", "add", "dup0", "link", "tap0", "type", "macvlan", "mode", "bridge")
	defer host("link", "del", "dup0")
	host("addr", "add", "192.0.2.77/24", "dev", "dup0")
	host("link", "set", "dup0", "up")
	host("addr", "add", "192.0.2.77/32", "dev", "tap0")
	defer host("addr", "del", "192.0.2.77/32", "dev", "tap0")
	out := output(t, g, "ip neigh flush dev eth0; "+rdmactl+" doctor --probe 192.0.2.77 --only duplicate-address "+
		"2>/dev/null; true")
	want := "FAIL     duplicate-address rxe0:1: 2 MAC addresses answer for 192.0.2.77"
	if !strings.Contains(out, want) {
		t.Errorf("doctor: want %q in\n%s", want, out)
	}
}
