package connect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Kind is the type of a GID together with its address family.
type Kind string

// The kinds, the best first: as package launch chooses them for jobs.
const (
	KindInfiniBand Kind = "InfiniBand"
	KindV2IPv4     Kind = "RoCE v2 over IPv4"
	KindV2IPv6     Kind = "RoCE v2 over IPv6"
	KindV1IPv4     Kind = "RoCE v1 over IPv4"
	KindV1IPv6     Kind = "RoCE v1 over IPv6"
	// Link-local addresses reach only the own link.
	KindV2LinkLocal Kind = "RoCE v2 over link-local IPv6"
	KindV1LinkLocal Kind = "RoCE v1 over link-local IPv6"
	// Drivers that report no type.
	KindUnknown Kind = "GID of unknown type"
)

func kinds() []Kind {
	return []Kind{
		KindInfiniBand, KindV2IPv4, KindV2IPv6, KindV1IPv4, KindV1IPv6, KindV2LinkLocal, KindV1LinkLocal, KindUnknown,
	}
}

// rank orders kinds, the best first.
func (k Kind) rank() int {
	if i := slices.Index(kinds(), k); i >= 0 {
		return i
	}
	return len(kinds())
}

// version returns 1 or 2 for a kind of RoCE, otherwise 0.
func (k Kind) version() int {
	switch {
	case strings.HasPrefix(string(k), "RoCE v1"):
		return 1
	case strings.HasPrefix(string(k), "RoCE v2"):
		return 2
	}
	return 0
}

// kindOf returns the kind of an entry.
func kindOf(e verbs.GIDEntry, layer verbs.LinkLayer) Kind {
	if layer == verbs.LinkLayerInfiniBand {
		return KindInfiniBand
	}
	v4, local := e.GID.Addr().Is4(), e.GID.IsLinkLocal()
	switch {
	case e.Type == verbs.GIDTypeRoCEv2 && v4:
		return KindV2IPv4
	case e.Type == verbs.GIDTypeRoCEv2 && local:
		return KindV2LinkLocal
	case e.Type == verbs.GIDTypeRoCEv2:
		return KindV2IPv6
	case e.Type != verbs.GIDTypeRoCEv1:
		return KindUnknown
	case v4:
		return KindV1IPv4
	case local:
		return KindV1LinkLocal
	}
	return KindV1IPv6
}

// choices returns the usable entries of a port, the best first: by kind, an assigned IPv4 address
// before a link-local one (169.254.0.0/16), then by index. Link-local IPv6 addresses, which every
// port has, are not usable for jobs. If pin is not nil, that index is the only one, of any kind;
// preferred comes before others of its kind.
func choices(entries []verbs.GIDEntry, layer verbs.LinkLayer, pin, preferred *int) []GIDChoice {
	var out []GIDChoice
	for _, e := range entries {
		g := GIDChoice{Index: e.Index, GID: e.GID, Kind: kindOf(e, layer)}
		switch {
		case e.GID.IsZero():
		case pin != nil && *pin != e.Index:
		case pin == nil && (g.Kind == KindV1LinkLocal || g.Kind == KindV2LinkLocal):
		default:
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b GIDChoice) int {
		return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()),
			cmp.Compare(isnt(preferred, a.Index), isnt(preferred, b.Index)),
			cmp.Compare(linkLocal(a.GID), linkLocal(b.GID)), cmp.Compare(a.Index, b.Index))
	})
	return out[:min(len(out), maxGIDs)]
}

// isnt returns 0 for the index that is preferred, otherwise 1.
func isnt(preferred *int, index int) int {
	if preferred != nil && *preferred == index {
		return 0
	}
	return 1
}

func linkLocal(g ib.GID) int {
	if g.Addr().IsLinkLocalUnicast() {
		return 1
	}
	return 0
}

// agreement is what both ends derive from their two endpoints.
type agreement struct {
	client, listener             GIDChoice
	clientReason, listenerReason string
	mtu                          ib.MTU
	mtuReason                    string
	notes                        []string
}

// agree compares the two ends. It doesn't depend on which of them calls it: both get the same
// result and the same failure.
func agree(client, listener *Endpoint) (agreement, *Failure) {
	var a agreement
	c, l := nameOf(client.Host, client.Port), nameOf(listener.Host, listener.Port)
	differ := func(code Code, cause string, remedies ...string) *Failure {
		return &Failure{
			Stage: StageExchange, End: c, Operation: "compare", Object: c + " with " + l, Code: code, Cause: cause,
			Remedies: remedies,
		}
	}
	if client.LinkLayer != listener.LinkLayer {
		return a, differ(CodeLinkLayer, fmt.Sprintf("the link layers differ: %s is %s, %s is %s",
			c, client.LinkLayer, l, listener.LinkLayer), "use ports of the same network at both ends")
	}
	if f := agreePKeys(client, listener, differ); f != nil {
		return a, f
	}
	if f := a.agreeGIDs(client, listener, differ); f != nil {
		return a, f
	}
	a.agreeMTU(client, listener)
	return a, nil
}

type differFunc func(code Code, cause string, remedies ...string) *Failure

// agreePKeys compares the partitions: the low 15 bits must be equal, and one end must be a full
// member (specification volume 1, section 10.9.3).
func agreePKeys(client, listener *Endpoint, differ differFunc) *Failure {
	c, l := nameOf(client.Host, client.Port), nameOf(listener.Host, listener.Port)
	const member = 0x8000
	switch {
	case client.PKey&^member != listener.PKey&^member:
		return differ(CodePKey, fmt.Sprintf("the partition keys differ: %s has %v, %s has %v; "+
			"devices drop packets of another partition without an answer", c, client.PKey, l, listener.PKey),
			"make both ports members of one partition: partitions.conf of the subnet manager on InfiniBand, "+
				"the default partition 0xffff on RoCE",
			"cat /sys/class/infiniband/DEVICE/ports/PORT/pkeys/0 shows the key at each end")
	case !client.PKey.Full() && !listener.PKey.Full():
		return differ(CodePKey, fmt.Sprintf("both ends are limited members of the partition (%v): "+
			"limited members can't talk to each other", client.PKey),
			"make one of the ports a full member in the subnet manager's partitions.conf")
	}
	return nil
}

// agreeGIDs takes the kind that the client prefers of those that both ends have.
func (a *agreement) agreeGIDs(client, listener *Endpoint, differ differFunc) *Failure {
	for _, mine := range client.GIDs {
		for _, theirs := range listener.GIDs {
			if mine.Kind != theirs.Kind {
				continue
			}
			a.client, a.listener = mine, theirs
			a.clientReason = reasonOf(mine, client.GIDs, listener.GIDs)
			a.listenerReason = reasonOf(theirs, listener.GIDs, client.GIDs)
			return nil
		}
	}
	c, l := nameOf(client.Host, client.Port), nameOf(listener.Host, listener.Port)
	code, what := CodeGIDFamily, "address families"
	if !shareVersion(client.GIDs, listener.GIDs) {
		code, what = CodeGIDType, "types"
	}
	f := differ(code, fmt.Sprintf("no GID of %s fits one of %s: their %s differ: %s has %s, %s has %s",
		c, l, what, c, listKinds(client.GIDs), l, listKinds(listener.GIDs)))
	if code == CodeGIDFamily {
		f.Remedies = append(f.Remedies, "assign addresses of the same family, IPv4 or IPv6, "+
			"to the network devices of both ports: ip addr add ADDRESS/PREFIX dev NETDEV")
	} else {
		f.Remedies = append(f.Remedies, "use RoCE v2 at both ends: "+
			"cat /sys/class/infiniband/DEVICE/ports/PORT/gid_attrs/types/INDEX shows the type of an entry, "+
			"and cma_roce_mode that of the connection manager")
	}
	f.Remedies = append(f.Remedies,
		"--gid-index INDEX at an end restricts it to one entry: without it all are compared")
	return f
}

// shareVersion reports whether a version of RoCE is in both lists.
func shareVersion(a, b []GIDChoice) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Kind.version() == y.Kind.version() {
				return true
			}
		}
	}
	return false
}

// reasonOf returns the reason why an entry was chosen, from the entries of its own port and of the
// other one.
func reasonOf(g GIDChoice, own, other []GIDChoice) string {
	switch {
	case len(own) == 1:
		return fmt.Sprintf("%s: the only usable entry", g.Kind)
	case own[0] == g:
		return fmt.Sprintf("%s: the best of %s", g.Kind, english.Count(len(own), "entry"))
	}
	skipped := own[0].Kind
	for _, o := range other {
		if o.Kind == skipped { // the other end prefers another kind, or this index isn't the first
			return fmt.Sprintf("%s: the best kind that both ends have", g.Kind)
		}
	}
	return fmt.Sprintf("%s: the best kind that both ends have; the other end has no %s", g.Kind, skipped)
}

// listKinds lists entries by kind: "RoCE v2 over IPv4 (192.0.2.1 at index 1)".
func listKinds(list []GIDChoice) string {
	var out []string
	for i, g := range list {
		if i > 0 && list[i-1].Kind == g.Kind {
			continue // the first of each kind
		}
		out = append(out, fmt.Sprintf("%s (%v at index %d)", g.Kind, g.GID.Addr(), g.Index))
	}
	return strings.Join(out, ", ")
}

// agreeMTU takes the smaller MTU.
func (a *agreement) agreeMTU(client, listener *Endpoint) {
	c, l := nameOf(client.Host, client.Port), nameOf(listener.Host, listener.Port)
	a.mtu = min(client.MTU, listener.MTU)
	limited := a.mtu < min(client.ActiveMTU, listener.ActiveMTU)
	switch {
	case limited && client.MTU == listener.MTU: // the listener has taken over the client's limit
		a.mtuReason = fmt.Sprintf("as --mtu says; the ports have %d and %d", client.ActiveMTU, listener.ActiveMTU)
	case limited:
		end := c
		if listener.MTU < client.MTU {
			end = l
		}
		a.mtuReason = fmt.Sprintf("as --mtu of %s says; the ports have %d and %d", end, client.ActiveMTU,
			listener.ActiveMTU)
	case client.ActiveMTU == listener.ActiveMTU:
		a.mtuReason = "the active MTU of both ports"
	default:
		a.mtuReason = fmt.Sprintf("the smaller one: %s has %d, %s has %d", c, client.ActiveMTU, l, listener.ActiveMTU)
	}
	if client.ActiveMTU != listener.ActiveMTU {
		small, large := c, l
		if client.ActiveMTU > listener.ActiveMTU {
			small, large = l, c
		}
		a.notes = append(a.notes, fmt.Sprintf("the active MTUs of the ports differ: %s has %d, %s has %d; "+
			"raise that of %s, or jobs run with packets of %d bytes",
			c, client.ActiveMTU, l, listener.ActiveMTU, small, a.mtu))
		if client.LinkLayer == verbs.LinkLayerEthernet.String() {
			a.notes = append(a.notes, fmt.Sprintf("on RoCE the MTU follows that of the network device: "+
				"ip link set NETDEV mtu %d at %s gives it the MTU of %s",
				max(client.ActiveMTU, listener.ActiveMTU).NetdevMTU(), small, large))
		}
	}
}

// nameOf names an end: "node1 mlx5_0:1", or only its host or port if the other one is not known.
func nameOf(host, port string) string { return strings.TrimSpace(host + " " + port) }
