package lint

import (
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func checkBounds(p *pass, ref ipamRef) {
	for _, r := range ref.ranges() {
		if s, err := ipam.Parse(r); err == nil && r.Of != ipam.TypeStatic { // which has one address
			checkRangeBounds(p, ref, r, s)
		}
	}
}

func checkRangeBounds(p *pass, ref ipamRef, r ipam.Range, s ipam.Span) {
	var names [2]string
	_, names[0], names[1] = rangeKeys(r)
	outside, backwards := "whereabouts ignores it, and pods get any address of the range", "whereabouts ignores both"
	if r.Of == ipam.TypeHostLocal {
		outside, backwards = "host-local rejects it, and no pod starts", "host-local rejects them, and no pod starts"
	}
	checkDashed(p, ref, r, s)
	var bounds [2]netip.Addr
	for i, text := range []string{r.RangeStart, r.RangeEnd} {
		if text == "" {
			continue
		}
		addr, err := netip.ParseAddr(text)
		bounds[i] = addr
		switch {
		case err != nil:
			p.error(ref.Object, ref.at, "%s %q is not an IP address", names[i], text).place(
				ref.keyOf(names[i], text),
			).Value = text
		case !s.Prefix.Contains(addr):
			f := p.error(ref.Object, ref.at, "%s %s is not in %s: %s", names[i], addr, s.Prefix, outside)
			f.place(ref.keyOf(names[i], text)).Value = text
			return
		}
	}
	if bounds[0].IsValid() && bounds[1].IsValid() && bounds[0].Compare(bounds[1]) > 0 {
		p.error(ref.Object, ref.at, "%s %s is after %s %s: %s", names[0], bounds[0], names[1], bounds[1],
			backwards).place(ref.keyOf(names[0], r.RangeStart)).Value = r.RangeStart
	}
}

func checkExclude(p *pass, ref ipamRef) {
	for _, r := range ref.ranges() {
		if s, err := ipam.Parse(r); err == nil && r.Of != ipam.TypeStatic {
			checkRangeExclude(p, ref, r, s)
		}
	}
}

func checkRangeExclude(p *pass, ref ipamRef, r ipam.Range, s ipam.Span) {
	if s.Size() == 0 && len(r.Exclude) > 0 {
		p.atField(ref, "exclude", "exclude leaves no address of %s for pods", r.Range)
	}
	for _, text := range r.Exclude {
		x, err := ipam.ParseExclude(text)
		switch {
		case err != nil:
			p.atField(ref, "exclude", "exclude contains %q, which is not an address range", text).Value = text
		case !x.Overlaps(s.Prefix):
			p.warn(ref.Object, ref.at, "exclude contains %s, which is not in %s", text, s.Prefix).place(
				ref.key("exclude"),
			).Value = text
		}
	}
}

// checkDashed checks a range in the form START-END/LENGTH.
func checkDashed(p *pass, ref ipamRef, r ipam.Range, s ipam.Span) {
	head, tail, ok := strings.Cut(r.Range, "-")
	if !ok || r.Of != ipam.TypeWhereabouts {
		return
	}
	last, _, _ := strings.Cut(tail, "/")
	start, startErr := netip.ParseAddr(strings.TrimSpace(head))
	end, endErr := netip.ParseAddr(strings.TrimSpace(last))
	switch {
	case startErr != nil || endErr != nil:
		p.error(ref.Object, ref.at, "%q is not START-END/LENGTH", r.Range).place(ref.rangeAt(r)).Value = r.Range
	case !s.Prefix.Contains(start):
		p.error(ref.Object, ref.at, "%s is not in %s: whereabouts rejects it, and no pod starts",
			start, s.Prefix).place(ref.rangeAt(r)).Value = r.Range
	case start.Compare(end) > 0:
		p.error(ref.Object, ref.at, "%s is after %s: whereabouts ignores both", start, end).place(
			ref.rangeAt(r),
		).Value = r.Range
	case r.RangeStart != "" || r.RangeEnd != "":
		p.warn(ref.Object, ref.at, "range contains bounds, so range_start and range_end are ignored").place(
			ref.rangeAt(r),
		).Value = r.Range
	}
}
