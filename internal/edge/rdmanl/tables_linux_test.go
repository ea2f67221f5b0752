package rdmanl

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newNamespace moves the test into a network namespace of its own and runs commands of ip there.
// The namespace ends with the test's thread, which is never unlocked.
func newNamespace(t *testing.T, commands ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	needTool(t, "ip")
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("new network namespace: %v", err)
	}
	for _, c := range commands {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", c, err, out)
		}
	}
}

// rails is a node with two rails in one subnet, each with a table, as people configure it.
var rails = []string{
	"link set lo up",
	"link add rail0 address 02:00:00:00:00:01 type veth peer name peer0",
	"link add rail1 address 02:00:00:00:00:02 mtu 4200 type veth peer name peer1",
	"link set peer0 up", "link set peer1 up", "link set rail0 up", "link set rail1 up",
	"addr add 10.1.0.1/16 dev rail0", "addr add 10.1.0.2/16 dev rail1",
	"-6 addr add 2001:db8::1/64 dev rail0 nodad",
	"route add default via 10.1.255.254 dev rail0 table 100",
	"route add default via 10.1.255.254 dev rail1 table 1001 metric 7 mtu 4100",
	"route add throw 10.9.0.0/16 table 1001",
	"route add 10.8.0.0/16 tos 0x10 dev rail1 scope link table 100",
	"rule add from 10.1.0.1 table 100 priority 100",
	"rule add from 10.1.0.2/32 to 10.0.0.0/8 table 1001 priority 101",
	"rule add not from 10.1.0.0/16 iif rail1 fwmark 0x10/0xf0 table 100 priority 102",
	"rule add oif rail1 goto 32766 priority 103",
	"rule add unreachable to 192.0.2.0/24 priority 104",
	"rule add table main suppress_prefixlength 0 priority 105",
	"rule add ipproto udp dport 4791 uidrange 0-99 table 100 priority 106",
	"rule add tos 0x10 blackhole priority 107",
	"-6 rule add from 2001:db8::1 table 100 priority 200",
	"neigh add 10.1.0.9 lladdr 02:00:00:00:00:09 dev rail0",
	"neigh add 10.1.0.10 lladdr 02:00:00:00:00:0a nud stale dev rail1",
	"-6 neigh add 2001:db8::9 lladdr 02:00:00:00:00:0b dev rail0",
}

func TestKernelRules(t *testing.T) {
	newNamespace(t, rails...)
	same(t, "rules", func() ([]string, error) {
		rules, err := Client{}.Rules(testContext(t))
		var lines []string
		for _, r := range rules {
			lines = append(lines, ruleLine(r))
		}
		return lines, err
	}, func() ([]string, error) {
		var lines []string
		for _, family := range []string{"-4", "-6"} {
			list, err := tool[[]map[string]any](t, "ip", "-j", "-N", family, "rule")
			if err != nil {
				return nil, err
			}
			for _, r := range list {
				lines = append(lines, ipRuleLine(family, r))
			}
		}
		return lines, nil
	})
}

// ruleLine writes a rule as ipRuleLine does.
func ruleLine(r Rule) string {
	words := []string{map[string]string{"ipv4": "-4", "ipv6": "-6"}[r.Family], strconv.Itoa(int(r.Priority))}
	add := func(format string, on bool, args ...any) {
		if on {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add("not", r.Not)
	add("from %v", r.From.IsValid(), r.From)
	add("to %v", r.To.IsValid(), r.To)
	add("tos %d", r.TOS != 0, r.TOS)
	add("mark %#x/%#x", r.Mark != nil, zeroed(r.Mark), zeroed(r.MarkMask))
	add("iif %s", r.Input != "", r.Input)
	add("oif %s", r.Output != "", r.Output)
	selectors := slices.Clone(r.Selectors)
	slices.Sort(selectors)
	add("%v", len(selectors) > 0, selectors)
	add("table %d", r.Action == "lookup", r.Table)
	add("suppress %d", r.SuppressPrefix != nil && int32(*r.SuppressPrefix) >= 0, zeroed(r.SuppressPrefix))
	add("goto %d", r.Action == "goto", zeroed(r.Goto))
	add("%s", r.Action != "lookup" && r.Action != "goto", r.Action)
	return strings.Join(words, " ")
}

// ipRuleLine writes a rule from the JSON of ip.
func ipRuleLine(family string, r map[string]any) string {
	words := []string{family, fmt.Sprint(r["priority"])}
	add := func(key, format string) {
		if v, ok := r[key]; ok {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	prefix := func(key, word string) {
		if r[key] == nil || r[key] == "all" {
			return
		}
		a := netip.MustParseAddr(fmt.Sprint(r[key]))
		bits := a.BitLen()
		if n, ok := r[key+"len"].(float64); ok {
			bits = int(n)
		}
		words = append(words, fmt.Sprintf("%s %v/%d", word, a, bits))
	}
	if _, ok := r["not"]; ok {
		words = append(words, "not")
	}
	prefix("src", "from")
	prefix("dst", "to")
	if tos, ok := r["tos"].(string); ok {
		n, _ := strconv.ParseUint(strings.TrimPrefix(tos, "0x"), 16, 8)
		words = append(words, fmt.Sprintf("tos %d", n))
	}
	if mark, ok := r["fwmark"]; ok {
		mask := r["fwmask"]
		if mask == nil {
			mask = "0xffffffff"
		}
		words = append(words, fmt.Sprintf("mark %v/%v", mark, mask))
	}
	add("iif", "iif %v")
	add("oif", "oif %v")
	var selectors []string
	for key, name := range map[string]string{"ipproto": "ipproto", "dport": "dport", "uid_start": "uidrange"} {
		if _, ok := r[key]; ok {
			selectors = append(selectors, name)
		}
	}
	slices.Sort(selectors)
	if len(selectors) > 0 {
		words = append(words, fmt.Sprint(selectors))
	}
	add("table", "table %v")
	add("suppress_prefixlen", "suppress %v")
	add("goto", "goto %v")
	if a, ok := r["action"].(string); ok && a != "goto" && a != "to_table" {
		if n, err := strconv.ParseUint(a, 10, 8); err == nil {
			a = nameOf(ruleActions, n)
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

func TestKernelTables(t *testing.T) {
	newNamespace(t, rails...)
	types := []string{"unicast", "local", "broadcast", "anycast", "multicast", "unreachable", "blackhole", "throw"}
	line := func(family, kind, dst, gateway, dev, src, scope string, table, metric, mtu, tos any) string {
		return fmt.Sprint(family, " ", kind, " ", dst, " via ", gateway, " dev ", dev, " src ", src, " scope ", scope,
			" table ", table, " metric ", metric, " mtu ", mtu, " tos ", tos)
	}
	text := func(a netip.Addr) string {
		if a.IsValid() {
			return a.String()
		}
		return ""
	}
	same(t, "routes of all tables", func() ([]string, error) {
		links, err := Client{}.Links(testContext(t))
		if err != nil {
			return nil, err
		}
		names := map[int]string{}
		for _, l := range links {
			names[l.Index] = l.Name
		}
		routes, err := Client{}.Routes(testContext(t))
		var lines []string
		for _, r := range routes {
			scope := r.Scope
			if r.Family == "ipv6" {
				scope = "" // always global, and ip prints none
			}
			lines = append(lines, line(r.Family, r.Type, r.Destination.String(), text(r.Gateway),
				names[zeroed(r.LinkIndex)], text(r.Source), scope, r.Table, zeroed(r.Metric), zeroed(r.MTU), r.TOS))
		}
		slices.Sort(lines)
		return lines, err
	}, func() ([]string, error) {
		var lines []string
		for _, f := range families {
			for _, kind := range types {
				list, err := tool[[]map[string]any](t, "ip", "-j", "-N", map[uint8]string{2: "-4", 10: "-6"}[f.number],
					"route", "show", "table", "all", "type", kind)
				if err != nil {
					return nil, err
				}
				for _, r := range list {
					lines = append(lines, ipRouteLine(f, kind, r, line))
				}
			}
		}
		slices.Sort(lines)
		return lines, nil
	})
}

// ipRouteLine writes a route from the JSON of ip, which leaves out the main table, the scopes that
// belong to a type, and the length of host prefixes.
func ipRouteLine(f family, kind string, r map[string]any,
	line func(family, kind, dst, gateway, dev, src, scope string, table, metric, mtu, tos any) string,
) string {
	str := func(key string) string { s, _ := r[key].(string); return s }
	number := func(key string) any {
		if n, ok := r[key].(float64); ok {
			return n
		}
		if s, ok := r[key].(string); ok {
			n, _ := strconv.ParseUint(s, 0, 32)
			return n
		}
		return 0
	}
	dst := str("dst")
	switch {
	case dst == "default":
		dst = netip.PrefixFrom(f.zero, 0).String()
	case !strings.Contains(dst, "/"):
		dst += "/" + strconv.Itoa(f.zero.BitLen())
	}
	table := number("table")
	if r["table"] == nil {
		table = RT_TABLE_MAIN
	}
	mtu := any(0)
	if list, ok := r["metrics"].([]any); ok {
		metrics, _ := list[0].(map[string]any)
		mtu = metrics["mtu"]
	}
	tos := any(0)
	if s := str("tos"); s != "" {
		n, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 8)
		tos = n
	}
	scope := str("scope")
	if n, err := strconv.Atoi(scope); err == nil {
		scope = nameOf(scopes, uint64(n))
	}
	if f.number == 10 {
		scope = ""
	} else if scope == "" {
		scope = "global"
	}
	return line(f.name, kind, dst, str("gateway"), str("dev"), str("prefsrc"), scope, table, number("metric"), mtu, tos)
}

func TestKernelNeighbours(t *testing.T) {
	newNamespace(t, rails...)
	same(t, "neighbours", func() ([]string, error) {
		links, err := Client{}.Links(testContext(t))
		if err != nil {
			return nil, err
		}
		list, err := Client{}.Neighbours(testContext(t))
		var lines []string
		for _, n := range list {
			if n.State == "noarp" {
				continue // multicast, which ip leaves out
			}
			i := slices.IndexFunc(links, func(l Link) bool { return l.Index == n.LinkIndex })
			lines = append(lines, fmt.Sprint(n.IP, " ", links[i].Name, " ", n.Address, " ", n.State))
		}
		slices.Sort(lines)
		return lines, err
	}, func() ([]string, error) {
		list, err := tool[[]struct {
			Dst, Dev, LLAddr string
			State            []string
		}](t, "ip", "-j", "neigh")
		var lines []string
		for _, n := range list {
			lines = append(lines,
				fmt.Sprint(n.Dst, " ", n.Dev, " ", n.LLAddr, " ", strings.ToLower(strings.Join(n.State, ","))))
		}
		slices.SortFunc(lines, cmp.Compare[string])
		return lines, err
	})
}

// TestKernelCarrier changes the carrier of a link and compares the counts with the sum that ip
// prints.
func TestKernelCarrier(t *testing.T) {
	newNamespace(t, rails...)
	for range 3 {
		for _, state := range []string{"down", "up"} {
			if out, err := exec.CommandContext(t.Context(), "ip", "link", "set", "peer0",
				state).CombinedOutput(); err != nil {
				t.Fatalf("ip link set peer0 %s: %v: %s", state, err, out)
			}
		}
	}
	same(t, "carrier", func() (map[string]string, error) {
		links, err := Client{}.Links(testContext(t))
		out := map[string]string{}
		for _, l := range links {
			ups, downs := zeroed(l.CarrierUps), zeroed(l.CarrierDowns)
			out[l.Name] = fmt.Sprint(ups+downs, " ", zeroed(l.MaxMTU))
			if l.Name == "rail0" && (ups != 4 || downs < 3 || downs > 4) {
				t.Errorf("rail0: %d ups and %d downs after three changes, want one more up", ups, downs)
			}
		}
		return out, err
	}, func() (map[string]string, error) {
		list, err := tool[[]struct {
			Name  string `json:"ifname"`
			Max   uint32 `json:"max_mtu"`
			Stats struct {
				TX struct {
					Changes uint32 `json:"carrier_changes"`
				}
			} `json:"stats64"`
		}](t, "ip", "-j", "-d", "-s", "-s", "link", "show")
		out := map[string]string{}
		for _, l := range list {
			out[l.Name] = fmt.Sprint(l.Stats.TX.Changes, " ", l.Max)
		}
		return out, err
	})
}
