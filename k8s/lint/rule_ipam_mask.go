package lint

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamMask() Rule {
	return Rule{
		ID: "ipam-mask", Title: "an address range with a wrong prefix length", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			The interface in the pod gets the prefix length of range, and a route to the whole
			prefix: /1 sends half of IPv4 to this network, including services and other nodes. /31
			and longer leave no address besides network and broadcast. host-local requires the
			address of the network, not of a host in it. Public addresses that belong to others work
			until a pod has to reach the real hosts.`),
		Remedy:  "write the subnet of the rail with its prefix length, usually /16 to /26",
		Wrong:   "      \"range\": \"192.168.0.0/1\"",
		Right:   "      \"range\": \"192.168.0.0/24\"",
		Sources: []string{srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				for _, r := range ref.ranges() {
					checkMask(p, ref, r)
				}
			}
		},
	}
}

// Shortest prefixes that are accepted: no private range is larger.
const (
	widest4 = 8
	widest6 = 32
)

func checkMask(p *pass, ref ipamRef, r ipam.Range) {
	s, err := ipam.Parse(r)
	report := func(severity Severity, format string, args ...any) *Finding {
		f := p.report(severity, ref.Object, ref.at, format, args...).place(ref.rangeAt(r))
		f.Value = shorten(r.Range)
		return f
	}
	switch {
	case errors.Is(err, ipam.ErrUnusable) && r.Of == ipam.TypeStatic:
		// A static address may be the only one in its network.
	case errors.Is(err, ipam.ErrUnusable):
		report(SeverityError, "%s has no address for a pod, only the network and broadcast addresses", r.Range)
	case err != nil:
		report(SeverityError, "%q is not an address range: write ADDRESS/LENGTH", r.Range)
	case s.Prefix.Addr().Is4() && s.Prefix.Bits() < widest4:
		report(SeverityError, "/%d covers %s to %s: the pod sends all traffic for them to this network",
			s.Prefix.Bits(), s.Prefix.Addr(), ipam.Last(s.Prefix))
	case s.Prefix.Addr().Is6() && s.Prefix.Bits() < widest6:
		report(SeverityWarn, "/%d is larger than the network of any site", s.Prefix.Bits())
	case r.Of == ipam.TypeHostLocal && !isNetwork(r.Range):
		report(SeverityError, "%s is a host address in %s, not a network: host-local rejects it, and no pod starts",
			r.Range, s.Prefix).fix("subnet: %s", s.Prefix)
	default:
		for _, foreign := range []string{"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8"} {
			if netip.MustParsePrefix(foreign).Overlaps(s.Prefix) {
				report(SeverityError, "%s overlaps with %s, which is not for pods", r.Range, foreign)
				return
			}
		}
		if ref.use == rdmaYes && !anyOverlaps(notPublic(), s.Prefix) {
			report(SeverityNote,
				"%s has public addresses: a pod on this network can't reach the hosts that own them",
				s.Prefix).Remedy = "use a private range, unless you own these addresses"
		}
	}
}

// isNetwork reports whether the address before the slash has no bit of a host. Addresses have
// several forms, such as FD00:1::/64 and fd00:0001::/64.
func isNetwork(text string) bool {
	p, err := netip.ParsePrefix(text)
	return err == nil && p == p.Masked()
}

// notPublic returns the ranges that are not used on the internet: private addresses, shared address
// space of carriers, and those for benchmarks and documentation (IANA, special-purpose address
// registries).
func notPublic() []string {
	return []string{
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "192.0.2.0/24",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "fc00::/7", "fe80::/10", "2001:db8::/32", "3fff::/20",
		"3ffe::/16",
	}
}

func anyOverlaps(list []string, prefix netip.Prefix) bool {
	return slices.ContainsFunc(list, func(s string) bool { return netip.MustParsePrefix(s).Overlaps(prefix) })
}
