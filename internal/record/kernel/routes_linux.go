package kernel

import (
	"context"
	"errors"
	"math"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
)

func routing(ctx context.Context) (facts.Routing, error) {
	var client rdmanl.Client
	var out facts.Routing
	links, linkErr := client.Links(ctx)
	rules, ruleErr := client.Rules(ctx)
	list, routeErr := client.Routes(ctx)
	neighbours, neighErr := client.Neighbours(ctx)
	if err := errors.Join(linkErr, ruleErr, routeErr, neighErr); err != nil {
		return out, err // a part of the rules would lead to a wrong way
	}
	names := namesOf(links)
	for _, r := range rules {
		out.Rules = append(out.Rules, ruleOf(r))
	}
	for _, r := range list {
		out.Routes = append(out.Routes, routeOf(r, names))
	}
	for _, n := range neighbours {
		out.Neighbours = append(out.Neighbours, facts.Neighbour{
			Address: n.IP, Netdev: names[n.LinkIndex], MAC: n.Address.String(), State: n.State,
		})
	}
	return out, nil
}

func namesOf(links []rdmanl.Link) map[int]string {
	names := map[int]string{}
	for _, l := range links {
		names[l.Index] = l.Name
	}
	return names
}

func ruleOf(r rdmanl.Rule) facts.Rule {
	out := facts.Rule{
		Priority: r.Priority, From: r.From, To: r.To, Table: r.Table, Input: r.Input, Output: r.Output,
		Mark: deref(r.Mark), MarkMask: deref(r.MarkMask), Not: r.Not, Goto: deref(r.Goto), Action: r.Action,
		IPv6: r.Family == "ipv6", Other: r.Selectors,
	}
	if r.SuppressPrefix != nil && *r.SuppressPrefix != math.MaxUint32 { // the kernel's -1: none
		out.Suppress = r.SuppressPrefix
	}
	if r.SuppressGroup != nil && *r.SuppressGroup != math.MaxUint32 {
		out.Other = append(out.Other, "suppress_ifgroup")
	}
	if r.TOS != 0 {
		out.Other = append(out.Other, "tos")
	}
	if r.L3MDev {
		out.Other = append(out.Other, "l3mdev")
	}
	return out
}

func routeOf(r rdmanl.Route, names map[int]string) facts.Route {
	out := facts.Route{
		To: r.Destination, Table: r.Table, Gateway: r.Gateway, Source: r.Source, Metric: deref(r.Metric),
		MTU: deref(r.MTU), Type: r.Type, Scope: r.Scope, From: r.From, TOS: r.TOS, Weight: deref(r.Weight),
		Dead: r.Dead,
	}
	if r.LinkIndex != nil {
		out.Netdev = names[*r.LinkIndex]
	}
	return out
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
