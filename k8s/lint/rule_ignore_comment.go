package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func ignoreComment() Rule {
	return Rule{
		ID: "ignore-comment", Title: "an invalid rdmactl:ignore comment", Severity: SeverityWarn,
		Explanation: prose.Join(`
			"# rdmactl:ignore RULE[,RULE...] reason" suppresses the findings of these rules. At the
			end of a line it applies to that line; on a line of its own, to the next line; before
			the first line of an object, to the whole object. Suppressed findings are counted and
			don't affect the exit code. A comment without a rule, or with a misspelt rule, suppresses
			nothing.`),
		Remedy:  "name rules that rdmactl k8s lint --list shows, separated by commas without spaces",
		Wrong:   "  numVfs: 8 # rdmactl:ignore firmware-vf the node reboots on Sunday anyway",
		Right:   "  numVfs: 8 # rdmactl:ignore firmware-vfs the node reboots on Sunday anyway",
		Sources: []string{srcYAML},
		check: func(p *pass) {
			var ids []string
			known := map[string]bool{}
			for _, r := range Rules() {
				ids = append(ids, r.ID)
				known[r.ID] = true
			}
			for _, ig := range p.ignored {
				if len(ig.rules) == 0 {
					p.reportText(SeverityWarn, ig.At, "the comment names no rule and suppresses nothing")
				}
				if ig.Target == 0 {
					p.reportText(
						SeverityWarn, ig.At, "no line follows the comment in its document, so it suppresses nothing",
					).Remedy = "move it after ---, directly before the line that it applies to"
				}
				for _, id := range ig.rules {
					if known[id] {
						continue
					}
					f := p.reportText(SeverityWarn, ig.At, "unknown rule %q", shorten(id))
					if near := spelling.Nearest(id, ids, spelling.Loose); near != "" {
						f.fix("%s", near)
					}
				}
			}
		},
	}
}
