package checks

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// hasLanes reports whether a port has an InfiniBand link of which the kernel tells the lanes.
func hasLanes(p portRef) bool {
	return p.port.LinkLayer == inventory.LinkLayerInfiniBand && p.port.Rate != nil && p.port.Rate.Width > 0
}

// infinibandLinks returns the active compute ports that have lanes.
func infinibandLinks(s *inventory.Snapshot) []portRef {
	var list []portRef
	for _, p := range rails(s) {
		if hasLanes(p) {
			list = append(list, p)
		}
	}
	return list
}

// fastestOfModel returns the port with the highest rate of the other ports on the same model of
// card, nil if there is none.
func fastestOfModel(p portRef, list []portRef) *portRef {
	var best *portRef
	for i, o := range list {
		if o.object() != p.object() && o.dev.SameModel(p.dev) &&
			(best == nil || o.port.Rate.GbPerSecond > best.port.Rate.GbPerSecond) {
			best = &list[i]
		}
	}
	return best
}

// infinibandLink returns a finding if the link of a port has a single lane or is slower than that
// of the best port on the same model of card. More lanes at a lower speed are as good as fewer at a
// higher one.
func infinibandLink(p portRef, best *portRef) doctor.Finding {
	rate := p.port.Rate
	f := doctor.Finding{Object: p.object(), Evidence: []doctor.Evidence{p.evidence("rate", rawRate(rate))}}
	slower := best != nil && rate.GbPerSecond < best.port.Rate.GbPerSecond
	switch {
	case rate.Width == 1:
		f.Outcome, f.Summary = doctor.OutcomeFail, "the link uses a single lane: "+rawRate(rate)
	case slower && rate.Width < best.port.Rate.Width:
		f.Outcome = doctor.OutcomeFail
		f.Summary = fmt.Sprintf("the link uses %d of %d lanes: %s", rate.Width, best.port.Rate.Width, rawRate(rate))
	case slower:
		f.Outcome, f.Summary = doctor.OutcomeWarn, "the link is slow: "+rawRate(rate)
	default:
		return doctor.Finding{}
	}
	f.Actions = cableActions(&sample{port: p})
	if slower {
		f.Summary += fmt.Sprintf("; that of %s on the same model of card has %s", best.object(),
			rawRate(best.port.Rate))
		f.Evidence = append(f.Evidence, best.evidence("rate", rawRate(best.port.Rate)))
	}
	return f
}

// losesLanes reports whether the check link-width fails because of the lanes of a port.
func losesLanes(s *inventory.Snapshot, object string) bool {
	links := infinibandLinks(s)
	i := slices.IndexFunc(links, func(p portRef) bool { return p.object() == object })
	return i >= 0 && infinibandLink(links[i], fastestOfModel(links[i], links)).Outcome == doctor.OutcomeFail
}

// infinibandSummary describes n good links, of which some could be compared with others.
func infinibandSummary(n, compared int) string {
	text := english.Count(n, "InfiniBand link") + " with more than one lane, "
	switch compared {
	case 0:
		text += "and no other on the same model of card to compare with"
	case n:
		text += "as fast as others on the same model of card"
	default:
		text += fmt.Sprintf("%d of them as fast as others on the same model of card, %d with none to compare with",
			compared, n-compared)
	}
	return text + " (rdmactl fabric links --downtrained compares them with what both ends support)"
}
