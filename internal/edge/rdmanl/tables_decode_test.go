package rdmanl

import (
	"net/netip"
	"testing"
)

func TestDecodeRule(t *testing.T) {
	lookup := func(priority, table uint32) Rule {
		return Rule{
			Family: "ipv4", Priority: priority, Action: "lookup", Table: table, SuppressPrefix: new(^uint32(0)),
		}
	}
	from := func(r Rule, prefix string) Rule {
		r.From = netip.MustParsePrefix(prefix)
		return r
	}
	second := from(lookup(101, 1001), "10.1.0.2/32")
	second.To = netip.MustParsePrefix("10.0.0.0/8")
	marked := from(lookup(102, 100), "10.1.0.0/16")
	marked.Not, marked.Input, marked.Mark, marked.MarkMask = true, "rail1", new(uint32(0x10)), new(uint32(0xf0))
	jump := lookup(103, 0)
	jump.Action, jump.Output, jump.Goto = "goto", "rail1", new(uint32(32766))
	reject := lookup(104, 0)
	reject.Action, reject.To = "unreachable", netip.MustParsePrefix("192.0.2.0/24")
	suppress := lookup(105, RT_TABLE_MAIN)
	suppress.SuppressPrefix = new(uint32(0))
	ports := lookup(106, 100)
	ports.Selectors = []string{"uidrange", "dport", "ipproto"}
	black := lookup(107, 0)
	black.Action, black.TOS = "blackhole", 0x10
	check(t, "rules-ipv4", decodeAll(t, "rules-ipv4", decodeRule), []Rule{
		lookup(0, 255), from(lookup(100, 100), "10.1.0.1/32"), second, marked, jump, reject, suppress, ports, black,
		lookup(32766, RT_TABLE_MAIN), lookup(32767, 253),
	})
	six := lookup(200, 100)
	six.Family, six.From = "ipv6", netip.MustParsePrefix("2001:db8::1/128")
	local, main := lookup(0, 255), lookup(32766, RT_TABLE_MAIN)
	local.Family, main.Family = "ipv6", "ipv6"
	check(t, "rules-ipv6", decodeAll(t, "rules-ipv6", decodeRule), []Rule{local, six, main})
}

func TestDecodeNeighbour(t *testing.T) {
	check(t, "neighbours-ipv4", decodeAll(t, "neighbours-ipv4", decodeNeighbour), []Neighbour{
		{5, "ipv4", netip.MustParseAddr("10.1.0.10"), mac("02:00:00:00:00:0a"), "stale"},
		{3, "ipv4", netip.MustParseAddr("10.1.0.9"), mac("02:00:00:00:00:09"), "permanent"},
	})
}

// TestDecodeRouteDetails checks the values that the dumps of the main table don't have.
func TestDecodeRouteDetails(t *testing.T) {
	found := map[string]Route{}
	for _, hops := range decodeAll(t, "tables-ipv4", decodeRoute) {
		for _, r := range hops {
			if r.Table == 100 || r.Table == 1001 {
				found[r.Type+" "+r.Destination.String()] = r
			}
		}
	}
	zero, gateway := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParseAddr("10.1.255.254")
	mtu := found["unicast 0.0.0.0/0"]
	if mtu.Table != 1001 { // the later of the two default routes
		t.Fatalf("routes: %v", found)
	}
	check(t, "with an MTU", mtu, Route{
		Family: "ipv4", Type: "unicast", Table: 1001, Destination: zero, Gateway: gateway, LinkIndex: mtu.LinkIndex,
		Metric: new(uint32(7)), MTU: new(uint32(4100)), Scope: "global",
	})
	tos := found["unicast 10.8.0.0/16"]
	check(t, "with a type of service", tos, Route{
		Family: "ipv4", Type: "unicast", Table: 100, Destination: netip.MustParsePrefix("10.8.0.0/16"),
		LinkIndex: tos.LinkIndex, Scope: "link", TOS: 0x10,
	})
	check(t, "throw", found["throw 10.9.0.0/16"], Route{
		Family: "ipv4", Type: "throw", Table: 1001, Destination: netip.MustParsePrefix("10.9.0.0/16"), Scope: "global",
	})
}
