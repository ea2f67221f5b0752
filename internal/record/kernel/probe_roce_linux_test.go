package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// The ends of a link, and an address to which the peer forwards nothing.
var (
	roceSource = netip.MustParseAddr("10.0.0.1")
	rocePeer   = netip.MustParseAddr("10.0.0.9")
	roceBehind = netip.MustParseAddr("10.9.0.1")
	roceNobody = netip.MustParseAddr("10.0.0.77")
)

// rocePath makes a link to a peer in a second namespace, and returns the file of that namespace and
// a socket there that takes UDP port 4791 as a RoCE device does.
func rocePath(t *testing.T) (peer string, socket net.PacketConn) {
	t.Helper()
	namespace(t)
	peerNamespace(t, []string{
		"link set lo up", "link add rail0 type veth peer name peer0", "link set peer0 netns %d", "link set rail0 up",
		fmt.Sprintf("addr add %v/24 dev rail0", roceSource), fmt.Sprintf("route add 10.9.0.0/16 via %v", rocePeer),
	}, func() error {
		peer = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		err := errors.Join(
			ipHere(t.Context(), "link set lo up", "link set peer0 up",
				fmt.Sprintf("addr add %v/24 dev peer0", rocePeer), "route add prohibit 10.9.0.0/16"),
			os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644),
		)
		if err == nil {
			at := netip.AddrPortFrom(rocePeer, rocev2.Port)
			socket, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", at.String())
		}
		return err
	})
	t.Cleanup(func() { _ = socket.Close() })
	return peer, socket
}

// nft replaces the rules of a namespace, "" for that of the test's thread.
func nft(t *testing.T, namespace, rules string) {
	t.Helper()
	args := []string{"nft", "-f", "-"}
	if namespace != "" {
		args = append([]string{"nsenter", "--net=" + namespace}, args...)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Stdin = strings.NewReader("flush ruleset\n" + rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nft (package nftables: make deps): %v: %s\n%s", err, out, rules)
	}
}

// roceChain is a chain with a rule about RoCE's port.
func roceChain(hook, verdict string) string {
	return "table inet f {\nchain c {\ntype filter hook " + hook + " priority 0\nudp dport 4791 " + verdict + "\n}\n}\n"
}

// TestProbeRoCE sends datagrams to a peer that takes, drops or rejects them, with the kernel's own
// ICMP errors. What is wanted are the numbers of RFC 792 and RFC 1812, section 5.2.7.1.
func TestProbeRoCE(t *testing.T) {
	peer, socket := rocePath(t)
	for _, c := range []struct {
		name      string
		to        netip.Addr
		here, far string // rules
		closed    bool
		want      facts.ProbeRoCE
	}{
		{name: "taken", to: rocePeer},
		{name: "dropped there", to: rocePeer, far: roceChain("input", "drop")},
		{
			name: "prohibited there", to: rocePeer, far: roceChain("input", "reject with icmpx admin-prohibited"),
			want: facts.ProbeRoCE{RejectedBy: rocePeer, ICMPType: 3, ICMPCode: 13},
		},
		{
			name: "rejected there", to: rocePeer, far: roceChain("input", "reject with icmp host-prohibited"),
			want: facts.ProbeRoCE{RejectedBy: rocePeer, ICMPType: 3, ICMPCode: 10},
		},
		{
			name: "prohibited by a router", to: roceBehind,
			want: facts.ProbeRoCE{RejectedBy: rocePeer, ICMPType: 3, ICMPCode: 13},
		},
		{name: "dropped here", to: rocePeer, here: roceChain("output", "drop"), want: facts.ProbeRoCE{Filtered: true}},
		{
			name: "rejected here", to: rocePeer, here: roceChain("output", "reject with icmpx admin-prohibited"),
			want: facts.ProbeRoCE{Filtered: true},
		},
		{
			name: "another port dropped", to: rocePeer,
			far: strings.ReplaceAll(roceChain("input", "reject"), "4791", "4790"),
		},
		{name: "nobody", to: roceNobody}, // the kernel gives up ARP after three seconds
		{ // last, because it closes the socket
			name: "closed", to: rocePeer, closed: true,
			want: facts.ProbeRoCE{RejectedBy: rocePeer, ICMPType: 3, ICMPCode: 3},
		},
	} {
		nft(t, "", c.here)
		nft(t, peer, c.far)
		if c.closed {
			_ = socket.Close()
		}
		p := facts.Probe{Netdev: "rail0", Source: roceSource, Peer: c.to, RoCE: &facts.ProbeRoCE{Device: "rxe0"}}
		ProbeSource{Ask: silent}.roce(t.Context(), false, &p)
		c.want.Device = "rxe0"
		if diff := cmp.Diff(c.want, *p.RoCE, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestProbeRoCEAsks checks what the connection manager is asked and what becomes of its errors, and
// that it isn't asked if a filter of this node drops the packets of a software device.
func TestProbeRoCEAsks(t *testing.T) {
	namespace(t)
	ip(t, "link set lo up", "link add rail0 type veth peer name peer0", "link set rail0 up", "link set peer0 up",
		fmt.Sprintf("addr add %v/24 dev rail0", roceSource))
	for _, c := range []struct {
		name           string
		rules          string
		software, asks bool
		answered       bool
		err            error
		want           facts.ProbeRoCE
	}{
		{"answered", "", true, true, true, nil, facts.ProbeRoCE{Answered: true}},
		{"no library", "", false, true, false, errors.New("no rdma_cm"), facts.ProbeRoCE{AskError: "no rdma_cm"}},
		{"no answer", "", true, true, false, fmt.Errorf("ask: %w", os.ErrDeadlineExceeded), facts.ProbeRoCE{}},
		{"filter, card", roceChain("output", "drop"), false, true, true, nil, facts.ProbeRoCE{
			Filtered: true, Answered: true,
		}},
		{"filter, rxe", roceChain("output", "drop"), true, false, true, nil, facts.ProbeRoCE{Filtered: true}},
	} {
		asked := 0
		source := ProbeSource{Ask: func(_ context.Context, device string, from, to netip.Addr) (bool, error) {
			if asked++; device != "rxe0" || from != roceSource || to != rocePeer {
				t.Errorf("%s: asked %v through %s from %v", c.name, to, device, from)
			}
			return c.answered, c.err
		}}
		nft(t, "", c.rules)
		p := facts.Probe{Netdev: "rail0", Source: roceSource, Peer: rocePeer, RoCE: &facts.ProbeRoCE{Device: "rxe0"}}
		source.roce(t.Context(), c.software, &p)
		c.want.Device = "rxe0"
		if diff := cmp.Diff(c.want, *p.RoCE, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if (asked == 1) != c.asks {
			t.Errorf("%s: asked %d times, want it: %t", c.name, asked, c.asks)
		}
	}
	p := facts.Probe{Netdev: "nonesuch0", Source: roceSource, Peer: rocePeer, RoCE: &facts.ProbeRoCE{}}
	ProbeSource{Ask: silent}.roce(t.Context(), false, &p)
	if !strings.Contains(p.RoCE.Error, "nonesuch0") {
		t.Errorf("error of a device that isn't there: %q", p.RoCE.Error)
	}
}

// TestEndOfNone checks that the connection manager of an engine answers the message of a datagram,
// and so that its headers and ICRC are valid.
func TestEndOfNone(t *testing.T) {
	namespace(t)
	ip(t, "link set lo up")
	engine, err := roce.Provider{}.Open(t.Context(), "roce@127.0.0.2")
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var listen net.ListenConfig
	answers, err := listen.ListenPacket(t.Context(), "udp4", "127.0.0.1:4791")
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	p := facts.Probe{Netdev: "lo", Source: netip.MustParseAddr("127.0.0.1"), Peer: netip.MustParseAddr("127.0.0.2")}
	if rejection, err := rejectedRoCE(t.Context(), &p); rejection != nil || err != nil {
		t.Fatalf("rejectedRoCE = %v, %v", rejection, err)
	}
	b := make([]byte, 1024)
	if err := answers.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, _, err := answers.ReadFrom(b)
	if err != nil {
		t.Fatalf("answer of the engine: %v", err)
	}
	var packet ib.Packet
	var answer mad.DREP
	if _, err := packet.Decode(b[:n-rocev2.ICRCLen]); err != nil || packet.BTH.DestQP != 1 {
		t.Fatalf("Decode(%x) = %v, QP %v", b[:n], err, packet.BTH.DestQP)
	}
	if _, err := answer.Decode(packet.Payload); err != nil || answer.AttributeID != mad.AttributeDREP {
		t.Errorf("answer %x: %v, want a DREP", packet.Payload, err)
	}
}

// TestPlanProbeRoCE checks which probes are about RoCE.
func TestPlanProbeRoCE(t *testing.T) {
	port := func(name, netdev string, transport inventory.Transport) inventory.Device {
		return inventory.Device{Name: name, Ports: []inventory.Port{{
			Number: 1, LinkLayer: inventory.LinkLayerEthernet, Netdev: netdev, Transport: transport,
		}}}
	}
	netdev := func(name, address string) inventory.Netdev {
		return inventory.Netdev{
			Name: name, AdminUp: true, OperState: "up", MTU: 1500, Type: inventory.ARPHRDEther,
			Addresses: []netip.Prefix{netip.MustParsePrefix(address)},
		}
	}
	s := &inventory.Snapshot{
		Devices: []inventory.Device{
			port("rxe0", "rail0", inventory.TransportRoCEv2), port("siw0", "rail1", inventory.TransportIWARP),
			port("old0", "rail2", inventory.TransportRoCEv1),
		},
		Netdevs: []inventory.Netdev{
			netdev("rail0", "10.0.0.1/24"), netdev("rail1", "10.0.1.1/24"), netdev("rail2", "10.0.2.1/24"),
		},
	}
	got := map[string]string{}
	for _, p := range planProbes(s, []netip.Addr{netip.MustParseAddr("192.0.2.9")}) {
		switch {
		case p.Own && p.RoCE != nil:
			t.Errorf("the own address of %s is to be asked", p.Netdev)
		case p.RoCE != nil:
			got[p.Netdev] = p.RoCE.Device
		}
	}
	if diff := cmp.Diff(map[string]string{"rail0": "rxe0"}, got); diff != "" {
		t.Errorf("devices that ask (-want +got):\n%s", diff)
	}
}
