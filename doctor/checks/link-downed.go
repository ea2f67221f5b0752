package checks

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// linkDownedEnd is the highest value of the counter, which has 8 bits and does not wrap around.
const linkDownedEnd = 255

func runLinkDowned(_ context.Context, in *doctor.Input) []doctor.Finding {
	var findings []doctor.Finding
	var good []doctor.Evidence
	for p := range ports(in.Snapshot) {
		if p.port.Role != inventory.RoleCompute {
			continue
		}
		if p.port.LinkDowned == nil {
			continue
		}
		count := *p.port.LinkDowned
		evidence := p.evidence("counters/link_downed", fmt.Sprint(count))
		if count == 0 {
			good = append(good, evidence)
			continue
		}
		f := doctor.Finding{
			Outcome: doctor.OutcomeInfo, Object: p.object(), Evidence: []doctor.Evidence{evidence},
			Summary: "the link has failed " + english.Count(int(min(count, 1<<31)), "time"), //nolint:gosec // limited
		}
		if count == linkDownedEnd {
			f.Summary = fmt.Sprintf("the link has failed %d times or more: the counter is saturated", count)
			if p.port.LinkLayer == inventory.LinkLayerInfiniBand {
				f.Actions = append(f.Actions, doctor.Note("a saturated counter counts nothing more"))
				f.Actions = append(f.Actions, resetSteps(p)...)
			}
		}
		f.Actions = append(f.Actions, doctor.Note("does it grow?"),
			doctor.Shell("rdmactl doctor --only link-downed --interval 1m"))
		findings = append(findings, f)
	}
	if len(findings) == 0 && len(good) == 0 {
		return []doctor.Finding{doctor.NotApplicable(doctor.ObjectNode,
			"%s", noneOf(in.Snapshot, "no compute port has the counter link_downed"))}
	}
	if len(good) > 0 {
		pass := doctor.Passed(doctor.ObjectNode,
			fmt.Sprintf("the links of %s have not failed", english.Count(len(good), "compute port")), good...)
		findings = append([]doctor.Finding{pass}, findings...)
	}
	return findings
}
