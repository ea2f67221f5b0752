package facts

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Tables of routes with a fixed number (linux/rtnetlink.h).
const (
	TableDefault = 253 // empty, unless somebody fills it
	TableMain    = 254 // what `ip route` shows
	TableLocal   = 255 // the kernel's own: addresses of this machine, and broadcast
)

// Errors of [Routing.Lookup].
var (
	// ErrNoRoute matches errors about destinations that have no route, or one that rejects packets.
	ErrNoRoute = errors.New("no route")
	// ErrUndecided matches errors about rules that depend on more than addresses.
	ErrUndecided = errors.New("the way depends on more than addresses")
)

// Flow is what a route is chosen for.
type Flow struct {
	From netip.Addr // the local address
	To   netip.Addr
	// Output is the network device that the packet must leave by; "" for any. RoCE looks up routes
	// with the device of the GID (addr4_resolve in drivers/infiniband/core/addr.c).
	Output string
}

// Lookup returns the routes that a packet without mark and type of service may take, as the kernel
// chooses them: policy rules by priority, and in each table the longest prefix, then the lowest
// metric (fib_rules_lookup, fib_table_lookup and fib_select_path of Linux; rt6_select). It returns
// several if the route has several next hops. On IPv6 the device is only a preference. The error
// matches [ErrNoRoute] or [ErrUndecided].
//
// If Output is set and there is no route, Linux takes the destination to be on that link
// (ip_route_output_key_hash_rcu), on IPv4 only; Lookup returns ErrNoRoute.
func (r Routing) Lookup(f Flow) ([]Route, error) {
	from, to := f.From.Unmap(), f.To.Unmap()
	if from.Is4() != to.Is4() {
		return nil, fmt.Errorf("look up route from %v to %v: not of one family", from, to)
	}
	f.From, f.To = from.WithZone(""), to.WithZone("")
	var rules []Rule
	for _, rule := range r.Rules {
		if rule.IPv6 == to.Is6() {
			rules = append(rules, rule)
		}
	}
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	if unruled(rules) {
		// Without rules of the administrator, IPv4 searches both tables as one (fib_unmerge).
		if found, err := r.search(f, 0, TableLocal, TableMain); !errors.Is(err, errThrow) {
			return found, err
		}
		return r.last(f)
	}
	for i := 0; i < len(rules); i++ {
		rule := rules[i]
		matches, err := rule.matches(f)
		if err != nil {
			return nil, err
		}
		if !matches {
			continue
		}
		switch rule.Action {
		case "lookup":
			found, err := r.search(f, rule.shortest(), rule.Table)
			if errors.Is(err, errThrow) {
				continue
			}
			return found, err
		case "goto":
			next := slices.IndexFunc(rules, func(o Rule) bool { return o.Priority >= rule.Goto })
			if next <= i || rules[next].Priority != rule.Goto {
				continue // the kernel ignores a goto without target
			}
			i = next - 1
		case "nop":
		case "unreachable", "prohibit", "blackhole":
			return nil, fmt.Errorf("%w from %v to %v: rule %d says %s", ErrNoRoute, from, to, rule.Priority,
				rule.Action)
		default:
			return nil, fmt.Errorf("%w: rule %d has the action %s", ErrUndecided, rule.Priority, rule.Action)
		}
	}
	return nil, fmt.Errorf("%w from %v to %v", ErrNoRoute, from, to)
}

// last searches the last table of a node without rules.
func (r Routing) last(f Flow) ([]Route, error) {
	found, err := r.search(f, 0, TableDefault)
	if errors.Is(err, errThrow) {
		return nil, fmt.Errorf("%w from %v to %v", ErrNoRoute, f.From, f.To)
	}
	return found, err
}

// unruled reports whether the IPv4 rules are those of a new kernel, or none were recorded.
func unruled(rules []Rule) bool {
	tables := []uint32{TableLocal, TableMain, TableDefault}
	if len(rules) > 0 && rules[0].IPv6 {
		return false
	}
	for i, rule := range rules {
		if len(rules) != len(tables) || rule.Table != tables[i] || rule.Action != "lookup" || rule.narrow() {
			return false
		}
	}
	return true
}

// narrow reports whether a rule has any condition.
func (rule Rule) narrow() bool {
	return rule.From.IsValid() || rule.To.IsValid() || rule.Input != "" || rule.Output != "" || rule.Mark != 0 ||
		rule.MarkMask != 0 || rule.Not || rule.Suppress != nil || len(rule.Other) > 0
}

// matches reports whether a packet of this machine meets the rule (fib_rule_match,
// fib4_rule_match).
func (rule Rule) matches(f Flow) (bool, error) {
	match := (rule.Input == "" || rule.Input == "lo") && // which packets of this machine come from
		(rule.Output == "" || rule.Output == f.Output) &&
		rule.Mark&rule.MarkMask == 0 &&
		(!rule.From.IsValid() || rule.From.Contains(f.From)) &&
		(!rule.To.IsValid() || rule.To.Contains(f.To))
	for _, condition := range rule.Other {
		switch {
		case condition == "tos", condition == "l3mdev" && f.Output == "":
			match = false // a type of service, or a device of a VRF, which the flow has not
		case match:
			return false, fmt.Errorf("%w: rule %d selects by %s", ErrUndecided, rule.Priority, condition)
		}
	}
	return match != rule.Not, nil
}

// shortest returns how long the prefix of a route must be at least.
func (rule Rule) shortest() int {
	if rule.Suppress == nil {
		return 0
	}
	return int(*rule.Suppress) + 1
}

// errThrow ends the search in a table without result.
var errThrow = errors.New("not in this table")

// search returns the routes of tables for a flow; errThrow if they have none, or one whose prefix
// is shorter than that.
func (r Routing) search(f Flow, shortest int, tables ...uint32) ([]Route, error) {
	var fits []Route
	for _, route := range r.Routes {
		if slices.Contains(tables, route.Table) && route.To.Contains(f.To) && route.TOS == 0 &&
			(!route.From.IsValid() || route.From.Contains(f.From)) && !route.cached() {
			fits = append(fits, route)
		}
	}
	slices.SortStableFunc(fits, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.To.Bits(), a.To.Bits()), cmp.Compare(b.From.Bits(), a.From.Bits()),
			cmp.Compare(b.Table, a.Table), cmp.Compare(a.Metric, b.Metric))
	})
	for i := 0; i < len(fits); {
		route := fits[i]
		hops := fits[i : i+1]
		for i++; i < len(fits) && fits[i].sameAs(route); i++ {
			hops = append(slices.Clip(hops), fits[i])
		}
		switch route.Type {
		case "throw":
			return nil, errThrow
		case "unreachable", "prohibit", "blackhole":
			return nil, fmt.Errorf("%w from %v to %v: table %d has %s %v",
				ErrNoRoute, f.From, f.To, route.Table, route.Type, route.To)
		}
		var usable []Route
		for _, hop := range hops {
			if !hop.Dead && (f.Output == "" || hop.Netdev == f.Output) {
				usable = append(usable, hop)
			}
		}
		if len(usable) == 0 && f.To.Is6() {
			usable = slices.DeleteFunc(slices.Clone(hops), func(r Route) bool { return r.Dead })
		}
		if len(usable) == 0 {
			continue // on to the next metric, then to a shorter prefix
		}
		if route.To.Bits() < shortest {
			return nil, errThrow
		}
		return usable, nil
	}
	return nil, errThrow
}

// sameAs reports whether the routes are next hops of one route: of the same metric, and with
// weights on IPv4.
func (route Route) sameAs(o Route) bool {
	return route.To == o.To && route.Table == o.Table && route.Metric == o.Metric && route.Type == o.Type &&
		route.From == o.From && (route.To.Addr().Is6() || route.Weight > 0 && o.Weight > 0)
}

// cached reports whether the route is only for multicast, which no flow of a rail uses.
func (route Route) cached() bool { return route.Type == "multicast" }
