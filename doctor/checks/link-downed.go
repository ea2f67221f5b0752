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
			Remedy: []string{
				"# does it grow?", "rdmactl doctor --only link-downed --interval 1m",
			},
		}
		if count == linkDownedEnd {
			f.Summary = fmt.Sprintf("the link has failed %d times or more: the counter is saturated", count)
			if p.port.LinkLayer == inventory.LinkLayerInfiniBand {
				f.Remedy = append([]string{
					"# a saturated counter counts nothing more: reset all counters of the port",
					fmt.Sprintf("perfquery -R -C %s -P %d", quote(p.dev.Name), p.port.Number),
				}, f.Remedy...)
			}
		}
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
