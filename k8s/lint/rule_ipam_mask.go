package lint

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamMask() Rule {
	return Rule{
		ID: "ipam-mask", Title: "a range of addresses with a wrong mask", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			The interface in the pod gets the mask of range, and with it the route to all of it: /1
			sends half of IPv4 to the RDMA network, services and other nodes included. From /31 on
			there is no address left between network and broadcast. host-local takes the address of
			a network only, not one of a host in it. Public addresses that belong to others work
			until a pod needs to reach those.`),
		Remedy:  "write the network with the mask that it has: mostly /16 to /26",
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

// Masks that are shorter swallow what belongs to others: no private range is larger.
const (
	widest4 = 8
	widest6 = 32
)

func checkMask(p *pass, ref ipamRef, r ipam.Range) {
	s, err := ipam.Parse(r)
	tell := func(severity Severity, format string, args ...any) *Finding {
		f := p.report(severity, ref.Object, ref.at, format, args...).place(ref.rangeAt(r))
		f.Value = shorten(r.Range)
		return f
	}
	switch {
	case errors.Is(err, ipam.ErrUnusable) && r.Of == ipam.TypeStatic:
		// A pod's own address may be alone in its network.
	case errors.Is(err, ipam.ErrUnusable):
		tell(SeverityError, "%s has no address for a pod: network and broadcast are all of it", r.Range)
	case err != nil:
		tell(SeverityError, "%q is no range of addresses: write ADDRESS/LENGTH", r.Range)
	case s.Prefix.Addr().Is4() && s.Prefix.Bits() < widest4:
		tell(SeverityError, "/%d covers %s to %s: the pod sends all of it to the RDMA network",
			s.Prefix.Bits(), s.Prefix.Addr(), ipam.Last(s.Prefix))
	case s.Prefix.Addr().Is6() && s.Prefix.Bits() < widest6:
		tell(SeverityWarn, "/%d is wider than any site's network", s.Prefix.Bits())
	case r.Of == ipam.TypeHostLocal && !strings.HasPrefix(r.Range, s.Prefix.Addr().String()+"/"):
		tell(SeverityError, "%s is an address in %s, and no network: host-local refuses it, and no pod starts",
			r.Range, s.Prefix).fix("subnet: %s", s.Prefix)
	default:
		for _, foreign := range []string{"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8"} {
			if netip.MustParsePrefix(foreign).Overlaps(s.Prefix) {
				tell(SeverityError, "%s is within %s, which is no network for pods", r.Range, foreign)
				return
			}
		}
		if ref.rdma && !anyOverlaps(notPublic(), s.Prefix) {
			tell(SeverityNote,
				"%s is of public addresses: a pod with this network doesn't reach those to whom they belong",
				s.Prefix).Remedy = "take a private range, unless these are your own"
		}
	}
}

// notPublic are ranges that are nobody's in the internet: private ones, those shared by carriers,
// of benchmarks, and of manuals (IANA, special-purpose address registries).
func notPublic() []string {
	return []string{
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "192.0.2.0/24",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "fc00::/7", "fe80::/10", "2001:db8::/32", "3fff::/20",
	}
}

func anyOverlaps(list []string, prefix netip.Prefix) bool {
	return slices.ContainsFunc(list, func(s string) bool { return netip.MustParsePrefix(s).Overlaps(prefix) })
}
