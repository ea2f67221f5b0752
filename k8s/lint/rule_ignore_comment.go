package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func checkIgnoreComment(p *pass) {
	for _, ig := range p.ignored {
		if len(ig.rules) == 0 {
			p.reportText(SeverityWarn, ig.At, "the comment names no rule and suppresses nothing")
		}
		if ig.Target == 0 {
			p.reportText(
				SeverityWarn, ig.At, "no line follows the comment in its document, so it suppresses nothing",
			).Remedy = "move it after ---, directly before the line that it applies to"
		}
		checkIDs(ig.rules, func(format string, args ...any) *Finding {
			return p.reportText(SeverityWarn, ig.At, format, args...)
		})
	}
	for _, o := range p.in.Manifests.Objects {
		templates := []path{nil}
		for _, pod := range p.podsIn[o] {
			if len(pod.at) > 0 {
				templates = append(templates, pod.at)
			}
		}
		for _, at := range templates {
			for _, text := range ignoreLines(o.Find(at...)) {
				rules, _ := parseIgnore(text)
				checkIDs(rules, func(format string, args ...any) *Finding {
					way := append(slices.Clone(at), "metadata", "annotations", AnnotationIgnore)
					return p.warn(o, way, format, args...)
				})
			}
		}
	}
}

// checkIDs reports unknown IDs of rules and groups.
func checkIDs(rules []string, report func(format string, args ...any) *Finding) {
	ids := IDs()
	for _, id := range rules {
		if slices.Contains(ids, id) {
			continue
		}
		f := report("unknown rule %q", shorten(id))
		if near := spelling.Nearest(id, ids, spelling.Loose); near != "" {
			f.fix("%s", near)
		}
	}
}
