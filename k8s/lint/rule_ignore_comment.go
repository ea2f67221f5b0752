package lint

import (
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func ignoreComment() Rule {
	return Rule{
		ID: "ignore-comment", Title: "an rdmactl:ignore comment or annotation that names no rule",
		Severity: SeverityWarn,
		Explanation: prose.Join(`
			"# rdmactl:ignore RULE[,RULE...] reason" suppresses the findings of these rules. At the
			end of a line it applies to that line; on a line of its own, to the next line; before
			the first line of an object, to the whole object. The annotation rdmactl/ignore does the
			same for an object or a pod template, with "RULE[,RULE...] reason" on each line; it
			survives Helm. Both take the IDs of rules and of groups of rules. Suppressed findings
			are counted and don't affect the exit code. A comment without a rule, or with a misspelt
			rule, suppresses nothing.`),
		Remedy:  "name rules that rdmactl k8s lint --list shows, separated by commas without spaces",
		Wrong:   "  numVfs: 8 # rdmactl:ignore firmware-vf the node reboots on Sunday anyway",
		Right:   "  numVfs: 8 # rdmactl:ignore firmware-vfs the node reboots on Sunday anyway",
		Sources: []string{srcYAML},
		check: func(p *pass) {
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
		},
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
