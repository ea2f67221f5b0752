package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
)

// filterCase is a ruleset for nft, and what it does with packets from 10.0.0.9 to UDP ports of
// 10.0.0.1 on rail0, as the kernel decides, too.
type filterCase struct {
	name, rules string
	drops       map[int]bool // by port
	undecided   bool         // Filtered may not decide: the rules use what it doesn't know
}

// chain returns a chain for nft in a table of its own.
func chain(family, head string, rules ...string) string {
	return "table " + family + " t {\nchain c {\n" + head + "\n" + strings.Join(rules, "\n") + "\n}\n}\n"
}

// input returns a base chain of input with a policy.
func input(policy string, rules ...string) string {
	return chain("inet", "type filter hook input priority 0; policy "+policy+";", rules...)
}

// other adds a chain to the table before the base chain.
func other(name, ruleset string, rules ...string) string {
	return "table inet t {\nchain " + name + " {\n" + strings.Join(rules, "\n") + "\n}\n}\n" + ruleset
}

var filterCases = []filterCase{
	{"none", chain("inet", "udp dport 4791 drop"), map[int]bool{4791: false}, false},
	{"port", input("accept", "udp dport 4791 drop"), map[int]bool{4791: true, 4790: false, 4792: false}, false},
	{
		"policy", chain("ip", "type filter hook input priority 0; policy drop;", "udp dport 18515 accept"),
		map[int]bool{4791: true, 18515: false},
		false,
	},
	{
		"set", input("drop", "udp dport { 22, 4791, 50000-50010 } accept"),
		map[int]bool{4791: false, 22: false, 23: true, 50010: false, 50011: true, 49999: true},
		false,
	},
	{
		"range", input("accept", "udp dport 4000-5000 reject", "udp dport > 60000 drop"),
		map[int]bool{4791: true, 3999: false, 5000: true, 5001: false, 60000: false, 60001: true},
		false,
	},
	{"not", input("accept", "udp dport != 4791 drop"), map[int]bool{4791: false, 4790: true}, false},
	{"source", input("drop", "ip saddr 10.0.0.0/8 accept"), map[int]bool{4791: false}, false},
	{"other source", input("drop", "ip saddr 10.0.0.0/29 accept"), map[int]bool{4791: true}, false},
	{"sources", input("drop", "ip saddr { 10.0.0.8/30, 172.16.0.0/12 } accept"), map[int]bool{4791: false}, false},
	{"interface", input("drop", `iifname "rail0" accept`), map[int]bool{4791: false}, false},
	{"other interface", input("drop", `iifname "rail" accept`), map[int]bool{4791: true}, false},
	{"interfaces", input("drop", `iifname "rai*" udp dport 4791 accept`), map[int]bool{4791: false, 4792: true}, false},
	{
		"state", input("drop", "ct state established,related accept", "ct state invalid drop",
			"udp dport 4791 ct state new accept"), map[int]bool{4791: false, 4792: true}, false,
	},
	{
		"jump", other("d", input("accept", "jump d", "udp dport 4791 drop"), "udp dport 4791 return",
			"udp dport 4792 accept", "drop"), map[int]bool{4791: true, 4792: false, 4793: true}, false,
	},
	{
		"goto", other("d", input("drop", "udp dport 4791 goto d", "udp dport 4793 goto d", "accept"),
			"udp dport 4792 accept"), map[int]bool{4791: true, 4792: false, 4793: true, 4794: false}, false,
	},
	{
		"two chains", input("accept", "accept") + "table ip u {\nchain c {\ntype filter hook input priority 10;\n" +
			"udp dport 4791 drop\n}\n}\n", map[int]bool{4791: true, 4790: false}, false,
	},
	{
		"prerouting", chain("ip", "type filter hook prerouting priority -300;", "udp dport 4791 drop"),
		map[int]bool{4791: true, 4790: false},
		false,
	},
	{
		"rate", input("drop", "udp dport 4791 limit rate 1000/second accept"),
		map[int]bool{4791: false, 4790: true},
		true,
	},
	{
		"map", input("accept", "udp dport vmap { 4791 : drop, 22 : accept }"),
		map[int]bool{4791: true, 22: false, 23: false},
		false,
	},
	{
		"map of ranges and the rest", input("accept", "udp dport vmap { 4000-5000 : accept, 22 : drop, * : drop }"),
		map[int]bool{4791: false, 22: true, 5001: true},
		false,
	},
	{
		"map of states", input("drop", "ct state vmap { established : accept, related : accept, invalid : drop }",
			"udp dport 4791 accept"), map[int]bool{4791: false, 4792: true}, false,
	},
	{
		"map of chains, by several fields", other("d", input("accept",
			"ip daddr . udp dport vmap { 10.0.0.1 . 22 : goto d, 10.0.0.7 . 4791 : jump d }"), "accept"),
		map[int]bool{4791: false, 22: false},
		false,
	},
	{
		"map of drops, by several fields", input("accept", "ip daddr . udp dport vmap { 10.0.0.1 . 4791 : drop }"),
		map[int]bool{4791: true, 22: false},
		true,
	},
	{"loopback", input("drop", "iif lo accept", `iifname "lo" accept`), map[int]bool{4791: true}, false},
	{
		"loopback dropped", input("accept", "iif lo drop", "iif != lo udp dport 4791 drop"),
		map[int]bool{4791: true, 22: false},
		false,
	},
	{"mark", input("accept", "meta mark and 0x8000 == 0x8000 drop"), map[int]bool{4791: false}, false},
	{"no mark", input("accept", "meta mark 0 udp dport 4791 drop"), map[int]bool{4791: true, 22: false}, false},
	{
		"mark that a rule sets", input("accept", "udp dport 4791 meta mark set 1", "meta mark 1 drop"),
		map[int]bool{4791: true, 22: false},
		true,
	},
	{"kind of packet", input("drop", "meta pkttype host accept"), map[int]bool{4791: false}, false},
	{
		"translation of others", chain("ip", "type nat hook prerouting priority -100;", "udp dport 22 dnat to 10.0.0.5",
			"ip daddr 10.9.0.1 udp dport 4791 dnat to 10.0.0.5"), map[int]bool{4791: false}, false,
	},
	{
		"translation", chain("ip", "type nat hook prerouting priority -100;", "udp dport 4791 redirect to :22"),
		map[int]bool{4791: true, 23: false},
		true,
	},
	{
		"translation of the source", chain("ip", "type nat hook input priority 100;", "snat to 10.0.0.77"),
		map[int]bool{4791: false},
		false,
	},
	{
		"a device's ingress", chain("netdev", `type filter hook ingress device "rail0" priority 0;`,
			"udp dport 4791 drop"), map[int]bool{4791: true, 22: false}, false,
	},
	{
		"another device's ingress", chain("netdev", `type filter hook ingress device "lo" priority 0;`,
			"udp dport 4791 drop"), map[int]bool{4791: false}, false,
	},
	{
		"devices of ingress", chain("inet", `type filter hook ingress devices = { lo, rail0 } priority 0;`,
			"udp dport 4791 drop"), map[int]bool{4791: true, 22: false}, false,
	},
	{
		"marks of kube-proxy", "#-A INPUT -m mark --mark 0x8000/0x8000 -j DROP\n" +
			"#-A INPUT -m mark ! --mark 0x4000/0x4000 -j RETURN\n#-A INPUT -j DROP", map[int]bool{4791: false}, false,
	},
	{
		"a mark of iptables", "#-A INPUT -p udp --dport 4791 -j MARK --set-mark 1\n#-A INPUT -m mark --mark 1 -j DROP",
		map[int]bool{4791: true, 22: false},
		true,
	},
	{
		"iptables", "#-P INPUT DROP\n#-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\n" +
			"#-A INPUT -i rail0 -p udp --dport 4791 -m comment --comment roce -j ACCEPT\n" +
			"#-A INPUT -p udp --dport 5000 -j REJECT", map[int]bool{4791: false, 4792: true, 5000: true}, false,
	},
	{
		"multiport", "#-A INPUT -p udp -m multiport --dports 4791,4792 -j DROP",
		map[int]bool{4791: true, 4792: true, 4793: false, 22: false},
		false,
	},
	{
		"multiport of ranges", "#-A INPUT -p udp -m multiport ! --dports 22,4000:5000 -j DROP",
		map[int]bool{4791: false, 4000: false, 5001: true, 22: false},
		false,
	},
	{
		"multiport of source ports", "#-A INPUT -p udp -m multiport --sports 9 -j DROP",
		map[int]bool{4791: false},
		true,
	},
}

// TestFilteredIsTheKernels sets rules, sends packets from another namespace, and compares what
// arrives with Filtered.
func TestFilteredIsTheKernels(t *testing.T) {
	for _, program := range []string{"nft", "iptables-nft"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("needs %s (packages nftables, iptables): make deps", program)
		}
	}
	for _, c := range filterCases {
		t.Run(c.name, func(t *testing.T) {
			namespace(t)
			peer := peerSocket(t)
			loadRules(t, c.rules)
			index := deviceIndex(t, "rail0")
			var f facts.Facts
			f.Files = facts.NewFiles(nil)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			filter(time.Now).Collect(ctx, nil, &f)
			if err := f.Filter.State(); err != nil {
				t.Fatal(err)
			}
			for port, drops := range c.drops {
				if got := !arrives(t, peer, port, !drops); got != drops {
					t.Errorf("port %d: the kernel drops it: %v, and the case says %v", port, got, drops)
				}
				fate := facts.Filtered(f.Filter.Value, facts.Packet{
					"iifname": deviceName("rail0"), "nfproto": {2}, "l4proto": {17}, "protocol": {17},
					"saddr": {10, 0, 0, 9}, "daddr": {10, 0, 0, 1}, "dport": binary.BigEndian.AppendUint16(nil,
						uint16(port)),
					"ct state": binary.NativeEndian.AppendUint32(nil, 8), "mark": make([]byte, 4), "pkttype": {0},
					"iif": binary.NativeEndian.AppendUint32(nil, index), "ethertype": {8, 0},
				}, "ingress", "prerouting", "input")
				decided := fate.Accept != fate.Drop
				if decided && fate.Drop != drops || !decided && !c.undecided {
					t.Errorf("port %d: Filtered = %+v, but the kernel drops it: %v\n%+v", port, fate, drops,
						f.Filter.Value)
				}
			}
		})
	}
}

func deviceIndex(t *testing.T, name string) uint32 {
	t.Helper()
	dev, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(dev.Index)
}

func deviceName(name string) []byte { return append([]byte(name), make([]byte, 16-len(name))...) }

// peerSocket makes rail0 with 10.0.0.1 here and a peer with 10.0.0.9 in another namespace, and
// returns a socket there.
func peerSocket(t *testing.T) net.PacketConn {
	t.Helper()
	var conn net.PacketConn
	peerNamespace(t, []string{
		"link set lo up", "link add rail0 type veth peer name peer0", "link set peer0 netns %d", "link set rail0 up",
		"addr add 10.0.0.1/24 dev rail0",
	}, func() (err error) {
		if err = ipHere(t.Context(), "link set lo up", "link set peer0 up",
			"addr add 10.0.0.9/24 dev peer0"); err == nil {
			conn, err = new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "10.0.0.9:0")
		}
		return err
	})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// loadRules gives the kernel a ruleset: lines for iptables if they begin with #, else for nft.
func loadRules(t *testing.T, rules string) {
	t.Helper()
	program, args := "nft", []string{"-f", "-"}
	if strings.HasPrefix(rules, "#") {
		program, args = "iptables-nft-restore", nil
		rules = "*filter\n" + strings.ReplaceAll(rules, "#", "") + "\nCOMMIT\n"
		rules = strings.Replace(rules, "-P INPUT DROP\n", ":INPUT DROP [0:0]\n", 1)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin = strings.NewReader(rules)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s\n%s", program, err, out, rules)
	}
}

// arrives reports whether a packet of the peer to a UDP port arrives. It waits long only for one
// that should.
func arrives(t *testing.T, peer net.PacketConn, port int, should bool) bool {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", fmt.Sprintf("10.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(port)))
	for range map[bool]int{true: 100, false: 2}[should] {
		if _, err := peer.WriteTo([]byte("x"), to); err != nil && !strings.Contains(err.Error(), "refused") {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(60 * time.Millisecond))
		if _, _, err := conn.ReadFrom(make([]byte, 16)); err == nil {
			return true
		}
	}
	return false
}

// TestFilterRanges has many rules that look up one set: conditions beyond the limit are unknown,
// and so is a set that was not read.
func TestFilterRanges(t *testing.T) {
	set := rdmanl.FilterSet{Family: 1, Table: "t", Name: "ports"}
	for i := range 4096 {
		set.Elements = append(set.Elements, []byte{byte(i >> 8), byte(i)})
	}
	chains := []rdmanl.FilterChain{{Family: 1, Table: "t", Name: "c"}}
	rule := rdmanl.FilterRule{
		Family: 1, Table: "t", Chain: "c", Verdict: "drop",
		Conditions: []rdmanl.FilterCondition{{Key: "dport", Op: "in", Set: "ports"}},
	}
	got := filterRules(chains, slices.Repeat([]rdmanl.FilterRule{rule}, 20), []rdmanl.FilterSet{set})
	if len(got) != 21 {
		t.Fatalf("filterRules: %d rules, want the policy and 20", len(got))
	}
	for i, r := range got[1:] {
		c := r.Conditions[0]
		key, ranges := "dport", 4096
		if i >= 16 {
			key, ranges = "(set ports)", 0
		}
		if c.Key != key || len(c.Ranges) != ranges {
			t.Errorf("rule %d: %s with %d ranges, want %s with %d", i, c.Key, len(c.Ranges), key, ranges)
		}
	}
	set.Opaque, set.Elements = true, nil
	got = filterRules(chains, []rdmanl.FilterRule{rule}, []rdmanl.FilterSet{set})
	fate := facts.Filtered(append(got, facts.FilterRule{
		Family: "inet", Table: "t", Chain: "c", Hook: "input", Policy: true, Verdict: "accept",
	}), facts.Packet{"dport": {0x12, 0xb7}}, "input")
	if !fate.Accept || !fate.Drop {
		t.Errorf("Filtered by an unknown set = %+v, want both", fate)
	}
}

// mapCases are maps of verdicts that a rule looks up behind a set of two ports. Left is how many
// ranges may be converted.
var mapCases = []struct {
	name     string
	verdicts rdmanl.FilterSet
	left     int
	want     []string // verdict, target, and the map's condition
	rest     int
}{
	{
		"all of it fits", portMap(3), 5,
		[]string{"drop  dport 0001", "jump chain2 dport 0002", "drop  dport 0003"},
		0,
	},
	{"one too many", portMap(3), 4, []string{"unknown  (set verdicts)"}, 2},
	{"the set before is too large", portMap(1), 1, []string{"unknown  dport 0001"}, 0},
	{
		"several fields", withMap(func(s *rdmanl.FilterSet) {
			s.Opaque, s.Results[3] = true, rdmanl.Result{Verdict: "accept"}
		}),
		2,
		[]string{"drop  (set verdicts)", "jump chain2 (set verdicts)", "accept  (set verdicts)"},
		0,
	},
	{
		"intervals, and the rest first",
		rdmanl.FilterSet{
			Family: 1, Table: "t", Name: "verdicts", Verdicts: true, Interval: true,
			Elements: [][]byte{{1}, {2, 9, 0}, {2, 5, 1}},
			Results:  []rdmanl.Result{{Verdict: "drop"}, {}, {Verdict: "accept"}},
		},
		9,
		[]string{"accept  dport 0205-0208", "drop  dport "},
		5,
	},
	{
		"no verdicts", withMap(func(s *rdmanl.FilterSet) { s.Verdicts = false }), 9,
		[]string{"unknown  dport 0001"},
		3,
	},
	{"not read", withMap(func(s *rdmanl.FilterSet) {
		s.Opaque, s.Verdicts, s.Elements, s.Results = true, false, nil, nil
	}), 9, []string{"unknown  (set verdicts)"}, 7},
	{
		"a verdict is missing", withMap(func(s *rdmanl.FilterSet) { s.Results = s.Results[1:] }), 9,
		[]string{"unknown  dport 0001"},
		3,
	},
	{
		"another table's", withMap(func(s *rdmanl.FilterSet) { s.Table = "u" }), 9,
		[]string{"unknown  (set verdicts)"},
		7,
	},
	{
		"another family's", withMap(func(s *rdmanl.FilterSet) { s.Family = 2 }), 9,
		[]string{"unknown  (set verdicts)"},
		7,
	},
}

// portMap returns a map of n ports: odd ones are dropped, even ones have a chain.
func portMap(n int) rdmanl.FilterSet {
	s := rdmanl.FilterSet{Family: 1, Table: "t", Name: "verdicts", Verdicts: true}
	for i := 1; i <= n; i++ {
		r := rdmanl.Result{Verdict: "drop"}
		if i%2 == 0 {
			r = rdmanl.Result{Verdict: "jump", Target: fmt.Sprint("chain", i)}
		}
		s.Elements, s.Results = append(s.Elements, []byte{0, byte(i)}), append(s.Results, r)
	}
	return s
}

func withMap(change func(*rdmanl.FilterSet)) rdmanl.FilterSet {
	s := portMap(4)
	change(&s)
	return s
}

// TestRulesOfMap converts rules whose verdicts are in a map, with few or enough ranges left.
func TestRulesOfMap(t *testing.T) {
	rule := rdmanl.FilterRule{
		Family: 1, Table: "t", Chain: "c", Verdict: "map", Sets: []string{"mark"},
		Conditions: []rdmanl.FilterCondition{
			{Key: "sport", Op: "not in", Set: "ports"}, {Key: "dport", Op: "in", Set: "verdicts"},
		},
	}
	ports := rdmanl.FilterSet{Family: 1, Table: "t", Name: "ports", Elements: [][]byte{{0, 7}, {0, 9}}}
	for _, c := range mapCases {
		left := c.left
		got := rulesOf(rule, "inet", []rdmanl.FilterSet{ports, c.verdicts}, &left)
		var texts []string
		for _, r := range got {
			text := r.Verdict + " " + r.Target + " " + r.Conditions[1].Key
			if ranges := r.Conditions[1].Ranges; len(ranges) > 0 {
				text += " " + ranges[0].Low
				if ranges[0].High != ranges[0].Low {
					text += "-" + ranges[0].High
				}
			}
			texts = append(texts, text)
			first := facts.FilterCondition{
				Key: "sport", Op: "not in",
				Ranges: []facts.FilterRange{{Low: "0007", High: "0007"}, {Low: "0009", High: "0009"}},
			}
			if c.left < 2 {
				first = unknownSet("ports")
			}
			if diff := cmp.Diff(first, r.Conditions[0]); diff != "" || r.Chain != "c" || r.Family != "inet" ||
				!slices.Equal(r.Sets, rule.Sets) || len(r.Conditions) != 2 {
				t.Errorf("%s: rule %+v; first condition, -want +got:\n%s", c.name, r, diff)
			}
			if r.Verdict != "unknown" && len(r.Conditions[1].Ranges) > 1 {
				t.Errorf("%s: the rule of one element has the ranges %v", c.name, r.Conditions[1].Ranges)
			}
		}
		if !slices.Equal(texts, c.want) || left != c.rest {
			t.Errorf("%s: rules %q, %d ranges left, want %q, %d", c.name, texts, left, c.want, c.rest)
		}
	}
}
