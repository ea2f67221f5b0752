package lint

import (
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamRangeRule() Rule {
	return Rule{
		ID: "ipam-range", Title: "bounds or exclusions outside of their range", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			whereabouts silently ignores range_start and range_end if they are outside of range or
			if the start is after the end; pods then get any address of range, including those of
			hosts and switches. In the form START-END/LENGTH it rejects a start outside of the
			network and ignores range_start and range_end. It accepts exclusions outside of the
			range, and exclusions that leave no address. host-local rejects bounds outside of
			subnet, and a start after the end.`),
		Remedy:  "write bounds and exclusions within range",
		Wrong:   "      \"range_start\": \"192.168.1.10\"",
		Right:   "      \"range_start\": \"192.168.0.10\"",
		Sources: []string{srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				for _, r := range ref.ranges() {
					if s, err := ipam.Parse(r); err == nil {
						checkBounds(p, ref, r, s)
					}
				}
			}
		},
	}
}

func checkBounds(p *pass, ref ipamRef, r ipam.Range, s ipam.Span) {
	if r.Of == ipam.TypeStatic {
		return // one address, and no bounds
	}
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
	if s.Size() == 0 {
		p.error(ref.Object, ref.at, "exclude leaves no address of %s for pods", r.Range).place(
			ref.key("exclude"))
	}
	for _, text := range r.Exclude {
		x, err := ipam.ParseExclude(text)
		switch {
		case err != nil:
			p.error(ref.Object, ref.at, "exclude contains %q, which is not an address range", text).place(
				ref.key("exclude"),
			).Value = text
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
	start, err1 := netip.ParseAddr(strings.TrimSpace(head))
	end, err2 := netip.ParseAddr(strings.TrimSpace(last))
	switch {
	case err1 != nil || err2 != nil:
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
