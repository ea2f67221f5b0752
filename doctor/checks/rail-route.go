package checks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/internal/text/prose"
)

func railRoute() doctor.Check {
	return doctor.Check{
		ID: "rail-route", Title: "RoCE rail whose packets have no way, or leave by another device",
		Severity: doctor.OutcomeFail, Group: doctor.GroupAddressing, Numbers: []int{68}, Needs: doctor.NeedDevices,
		Facts: []facts.Kind{facts.KindRoutes}, Reads: []string{portFiles("state")},
		Explanation: prose.Join(`
			Before a RoCE connection is made, the kernel looks up a route from the address of the
			GID, bound to the rail's network device. Without one it takes the peer to be on the same
			link and waits for an ARP answer that never comes: ibv_modify_qp to RTR fails with
			"Connection timed out" (110). TCP and rdma_cm look up the same route without the device;
			where the policy rule of the rail is missing, their packets leave by another rail with
			the wrong source address.`),
		Remedy: "Give each rail a routing table with the routes to the rails of all nodes, and a rule that selects " +
			"it by " +
			"the rail's address. If the rails are separate networks on purpose, set NCCL_CROSS_NIC=0.",
		Sources: []string{
			"drivers/infiniband/core/addr.c (addr4_resolve: flowi4_oif is the device of the GID)",
			"net/ipv4/route.c (ip_route_output_key_hash_rcu), net/ipv4/fib_rules.c, net/ipv4/fib_trie.c",
			"reports: NVIDIA/nccl issue 2013, ROCm/rccl issue 1303, NVIDIA/nccl issue 1269",
		},
		Run: runRailRoute,
	}
}

func runRailRoute(_ context.Context, in *doctor.Input) []doctor.Finding {
	var rails []ipRail
	for _, r := range ipRails(in.Snapshot) {
		if len(r.addrs) > 0 && !r.inVRF(in.Snapshot) {
			rails = append(rails, r)
		}
	}
	if len(rails) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"no active RoCE rail has an IPv4 address whose prefix length is known")}
	}
	w := &ways{in: in, routing: in.Facts.Routes.Value, tables: map[string]uint32{}}
	for _, r := range rails {
		w.own(r)
	}
	w.across(rails)
	if len(w.findings) == 0 || worst(w.findings).Compare(doctor.OutcomeInfo) <= 0 && w.good > 0 {
		pass := doctor.Passed(doctor.ObjectNode,
			fmt.Sprintf("packets of %s leave by their own devices", english.Count(w.good, "rail")), w.evidence...)
		return append([]doctor.Finding{pass}, w.findings...)
	}
	return w.findings
}

// ways collects what is found about the ways of rails.
type ways struct {
	in       *doctor.Input
	routing  facts.Routing
	tables   map[string]uint32 // that the remedies choose, by network device
	good     int
	findings []doctor.Finding
	evidence []doctor.Evidence
}

// own judges the way to peers in the rail's subnet.
func (w *ways) own(r ipRail) {
	for _, a := range r.addrs {
		peer, ok := neighbourIn(w.in.Snapshot, a)
		if !ok {
			continue
		}
		bound := facts.Flow{From: a.Addr(), To: peer, Output: r.netdev.Name}
		_, err := w.routing.Lookup(bound)
		free := facts.Flow{From: a.Addr(), To: peer}
		hops, freeErr := w.routing.Lookup(free)
		f := doctor.Finding{Object: r.object(), Actions: w.tableActions(r, a)}
		switch {
		case errors.Is(err, facts.ErrUndecided) || errors.Is(freeErr, facts.ErrUndecided):
			w.findings = append(w.findings, doctor.Unknown(r.object(), "the way from %v: %v", a.Addr(),
				errors.Join(err, freeErr)))
			return
		case err != nil:
			f.Outcome, f.Evidence = doctor.OutcomeFail, []doctor.Evidence{wayEvidence(bound, nil, err)}
			f.Summary = fmt.Sprintf("no route by %s to its own subnet %v", r.netdev.Name, a.Masked())
		case freeErr != nil || strays(hops, r.netdev.Name) != "":
			f.Outcome, f.Evidence = doctor.OutcomeWarn, []doctor.Evidence{wayEvidence(free, hops, freeErr)}
			f.Summary = fmt.Sprintf("packets from %v to its own subnet leave by %s, not by %s", a.Addr(),
				strays(hops, r.netdev.Name), r.netdev.Name)
			if freeErr != nil {
				f.Summary = fmt.Sprintf("packets from %v to its own subnet have no route", a.Addr())
			}
		default:
			w.good++
			w.evidence = append(w.evidence, wayEvidence(free, hops, nil))
			return
		}
		w.findings = append(w.findings, f)
		return
	}
}

// across judges the ways from each rail to the subnets of the others, where their peers are.
func (w *ways) across(rails []ipRail) {
	var lost, reach []ipRail
	evidence := map[string]doctor.Evidence{}
	for _, r := range rails {
		tried := false
		for _, o := range rails {
			if o.netdev == r.netdev || o.addrs[0].Masked() == r.addrs[0].Masked() {
				continue
			}
			peer, ok := neighbourIn(w.in.Snapshot, o.addrs[0])
			if !ok {
				continue
			}
			flow := facts.Flow{From: r.addrs[0].Addr(), To: peer, Output: r.netdev.Name}
			if _, err := w.routing.Lookup(flow); errors.Is(err, facts.ErrUndecided) {
				tried = false
				break // own has said so
			} else if err != nil {
				evidence[r.object()] = wayEvidence(flow, nil, err)
			}
			tried = true
		}
		if _, missing := evidence[r.object()]; missing && tried {
			lost = append(lost, r)
		} else if tried {
			reach = append(reach, r)
		}
	}
	for _, r := range lost {
		f := doctor.Finding{
			Outcome: doctor.OutcomeWarn, Object: r.object(), Evidence: []doctor.Evidence{evidence[r.object()]},
			Summary: fmt.Sprintf("no route by %s to the subnets of the other rails, which %s have", r.netdev.Name,
				english.Count(len(reach), "other rail")),
			Actions: w.tableActions(r, r.addrs[0]),
		}
		if len(reach) == 0 {
			f.Outcome = doctor.OutcomeInfo
			f.Summary = fmt.Sprintf("no route by %s to the subnets of the other rails: only equal rails of two "+
				"nodes connect",
				r.netdev.Name)
			f.Actions = append([]doctor.Action{doctor.Note("if the rails are separate networks on purpose: export " +
				"NCCL_CROSS_NIC=0, and leave PXN on (NCCL_PXN_DISABLE=0)")}, f.Actions...)
		}
		w.findings = append(w.findings, f)
	}
}

// strays returns the device by which packets leave, if it is not the rail's; "" otherwise.
func strays(hops []facts.Route, netdev string) string {
	for _, hop := range hops {
		if hop.Netdev != netdev {
			return hop.Netdev
		}
	}
	return ""
}

// wayEvidence is a lookup as a command, and what it gives.
func wayEvidence(f facts.Flow, hops []facts.Route, err error) doctor.Evidence {
	path := fmt.Sprintf("ip route get %v from %v", f.To, f.From)
	if f.Output != "" {
		path += " oif " + quote(f.Output)
	}
	if err != nil {
		return doctor.Evidence{Path: path, Value: err.Error()}
	}
	words := make([]string, 0, len(hops))
	for _, hop := range hops {
		text := "dev " + hop.Netdev
		if hop.Gateway.IsValid() {
			text = "via " + hop.Gateway.String() + " " + text
		}
		words = append(words, fmt.Sprintf("%s table %d", text, hop.Table))
	}
	return doctor.Evidence{Path: path, Value: strings.Join(words, ", ")}
}

// firstTable is the lowest number of a table that remedies choose: above the three of the kernel,
// and those that VRFs, container networks and the setup scripts of clouds usually take.
const firstTable = 20001

// tableActions give a rail a routing table, or complete the one that a rule selects by its address.
func (w *ways) tableActions(r ipRail, a netip.Prefix) []doctor.Action {
	table, ruled := ruledTable(w.routing, a.Addr())
	if !ruled {
		table = w.freeTable(r.netdev.Name)
	}
	actions := []doctor.Action{
		doctor.Shell("ip route replace %v dev %s src %v table %d", a.Masked(), quote(r.netdev.Name), a.Addr(), table),
		doctor.Shell("ip route replace default via YOUR_GATEWAY dev %s table %d", quote(r.netdev.Name), table),
	}
	if !ruled {
		actions = append(actions, doctor.Shell("ip rule add from %v table %d", a.Addr(), table))
	}
	return actions
}

// ruledTable returns the table that a rule selects by this source address and nothing else.
func ruledTable(routing facts.Routing, a netip.Addr) (uint32, bool) {
	for _, rule := range routing.Rules {
		only := facts.Rule{Priority: rule.Priority, From: rule.From, Table: rule.Table, Action: "lookup"}
		if rule.From.IsSingleIP() && rule.From.Addr() == a && rule.Table != 0 && !reserved(rule.Table) &&
			reflect.DeepEqual(rule, only) {
			return rule.Table, true
		}
	}
	return 0, false
}

// reserved reports whether a table has a meaning for the kernel (linux/rtnetlink.h).
func reserved(table uint32) bool {
	return table == facts.TableDefault || table == facts.TableMain || table == facts.TableLocal
}

// freeTable returns a table for a rail that neither a rule, a route nor another remedy uses.
func (w *ways) freeTable(netdev string) uint32 {
	if table, ok := w.tables[netdev]; ok {
		return table
	}
	used := map[uint32]bool{}
	for _, rule := range w.routing.Rules {
		used[rule.Table] = true
	}
	for _, route := range w.routing.Routes {
		used[route.Table] = true
	}
	for _, table := range w.tables {
		used[table] = true
	}
	table := uint32(firstTable)
	for used[table] {
		table++
	}
	w.tables[netdev] = table
	return table
}
