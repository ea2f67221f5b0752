package lint

import (
	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

func ignoreComment() Rule {
	return Rule{
		ID: "ignore-comment", Title: "a comment that would suppress a rule which isn't there", Severity: SeverityWarn,
		Explanation: prose.Join(`
			"# rdmactl:ignore RULE[,RULE...] reason" suppresses findings of these rules about the
			line it stands on, or standing alone about the next one; before the first line of an
			object about all of it. What is suppressed is counted and doesn't fail. A rule that is
			misspelt suppresses nothing, and a comment without a rule neither.`),
		Remedy:  "name rules of rdmactl k8s lint --list, with commas and no blank between them",
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
					p.tell(SeverityWarn, ig.At, "the comment names no rule, and suppresses nothing")
				}
				if ig.Target == 0 {
					p.tell(
						SeverityWarn, ig.At, "no line follows the comment in its document, and it suppresses nothing",
					).Remedy = "write it behind ---, before the line that it is about"
				}
				for _, id := range ig.rules {
					if known[id] {
						continue
					}
					f := p.tell(SeverityWarn, ig.At, "there is no rule %q, and the comment suppresses nothing by it",
						shorten(id))
					if near := spelling.Nearest(id, ids, spelling.Loose); near != "" {
						f.fix("%s", near)
					}
				}
			}
		},
	}
}
