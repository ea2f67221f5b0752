package lint

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func checkIPAMMask(p *pass, ref ipamRef) {
	for _, r := range ref.ranges() {
		checkMask(p, ref, r)
	}
}

// Shortest prefixes that are accepted: no private range is larger.
const (
	widest4 = 8
	widest6 = 32
)

func checkMask(p *pass, ref ipamRef, r ipam.Range) {
	s, err := ipam.Parse(r)
	report := func(rule string, severity Severity, format string, args ...any) *Finding {
		f := p.as(rule).report(severity, ref.Object, ref.at, format, args...).place(ref.rangeAt(r))
		f.Value = shorten(r.Range)
		return f
	}
	switch {
	case errors.Is(err, ipam.ErrUnusable) && r.Of == ipam.TypeStatic:
		// A static address may be the only one in its network.
	case errors.Is(err, ipam.ErrUnusable):
		report("ipam-cidr", SeverityError,
			"%s has no address for a pod, only the network and broadcast addresses", r.Range)
	case err != nil:
		report("ipam-cidr", SeverityError, "%q is not an address range: write ADDRESS/LENGTH", r.Range)
	case s.Prefix.Addr().Is4() && s.Prefix.Bits() < widest4:
		report("ipam-prefix", SeverityError, "/%d covers %s to %s: the pod sends all traffic for them to this network",
			s.Prefix.Bits(), s.Prefix.Addr(), ipam.Last(s.Prefix))
	case s.Prefix.Addr().Is6() && s.Prefix.Bits() < widest6:
		report("ipam-prefix", SeverityWarn, "/%d is larger than the network of any site", s.Prefix.Bits())
	case r.Of == ipam.TypeHostLocal && !isNetwork(r.Range):
		report("ipam-cidr", SeverityError,
			"%s is a host address in %s, not a network: host-local rejects it, and no pod starts",
			r.Range, s.Prefix).fix("subnet: %s", s.Prefix)
	default:
		for _, foreign := range []string{
			"127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8", "::1/128", "fe80::/10", "ff00::/8",
		} {
			if netip.MustParsePrefix(foreign).Overlaps(s.Prefix) {
				report("ipam-special", SeverityError, "%s overlaps with %s, which is not for pods", r.Range, foreign)
				return
			}
		}
		if ref.use == rdmaYes && !anyOverlaps(notPublic(), s.Prefix) {
			report("ipam-special", SeverityNote,
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
