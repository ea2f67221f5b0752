package facts_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// TestLookupRules shows rules whose effect random tables seldom show; internal/record/kernel
// compares Lookup with the kernel.
func TestLookupRules(t *testing.T) {
	route := func(to, netdev string, table uint32) facts.Route {
		return facts.Route{To: netip.MustParsePrefix(to), Netdev: netdev, Table: table, Type: "unicast"}
	}
	routes := []facts.Route{
		route("0.0.0.0/0", "mgmt", facts.TableMain), route("10.1.0.0/16", "rail0", facts.TableMain),
		route("0.0.0.0/0", "rail1", 100),
	}
	suppressed := facts.Rule{Priority: 1, Table: facts.TableMain, Action: "lookup", Suppress: new(uint32(0))}
	further := facts.Rule{Priority: 9, Table: 100, Action: "lookup"}
	jump := facts.Rule{Priority: 1, Action: "goto", Goto: 5}
	main := facts.Rule{Priority: 4, Table: facts.TableMain, Action: "lookup"}
	for _, c := range []struct {
		name  string
		rules []facts.Rule
		to    string
		want  string // device, "" for no route
	}{
		{"longer than suppressed", []facts.Rule{suppressed, further}, "10.1.0.9", "rail0"},
		{"default route suppressed", []facts.Rule{suppressed, further}, "10.2.0.9", "rail1"},
		{"goto without target", []facts.Rule{jump, main, further}, "10.1.0.9", "rail0"},
		{"goto over a rule", []facts.Rule{
			{Priority: 1, Action: "goto", Goto: 9}, main, further,
		}, "10.1.0.9", "rail1"},
		{"no rule has it", []facts.Rule{suppressed}, "10.2.0.9", ""},
	} {
		hops, err := facts.Routing{Rules: c.rules, Routes: routes}.Lookup(facts.Flow{
			From: netip.MustParseAddr("10.1.0.1"), To: netip.MustParseAddr(c.to),
		})
		switch {
		case c.want == "" && !errors.Is(err, facts.ErrNoRoute),
			c.want != "" && (err != nil || hops[0].Netdev != c.want):
			t.Errorf("%s: Lookup(%s) = %v, %v, want %q", c.name, c.to, hops, err, c.want)
		}
	}
}
