package lint

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
)

// markdownHead is the text before the rules.
//
//go:embed head.md
var markdownHead string

// Markdown returns the reference of the rules, in their order.
func Markdown(rules []Rule) []byte {
	var b strings.Builder
	b.WriteString(markdownHead)
	b.WriteString("\n## All rules\n\n| rule | finds | applies to | highest severity |\n|---|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s |\n",
			r.ID, r.ID, escape(strings.ReplaceAll(r.Title, "|", `\|`)), appliesTo(r), r.Severity)
	}
	for _, r := range rules {
		section(&b, r)
	}
	return []byte(prose.WrapMarkdown(b.String(), prose.PageWidth))
}

func section(b *strings.Builder, r Rule) {
	group := ""
	if r.Group != "" {
		group = "; group " + r.Group
	}
	fmt.Fprintf(b, "\n### %s\n\n**%s** (highest severity: %s%s)\n", r.ID, upperFirst(r.Title), r.Severity, group)
	fmt.Fprintf(b, "\n%s\n\n**What to do.** %s.\n\nApplies to: %s\n",
		escape(r.Explanation), escape(upperFirst(r.Remedy)), appliesTo(r))
	fmt.Fprintf(b, "\nWrong:\n\n```yaml\n%s\n```\n\nRight:\n\n```yaml\n%s\n```\n\n", r.Wrong, r.Right)
	if len(r.Reports) > 0 {
		fmt.Fprintf(b, "Reports: %s\n\n", strings.Join(r.Reports, ", "))
	}
	fmt.Fprintf(b, "Sources: %s\n", strings.Join(r.Sources, "; "))
}

// appliesTo lists the kinds that a rule checks.
func appliesTo(r Rule) string {
	text := "any text"
	if len(r.Kinds) > 0 {
		kinds := slices.Clone(r.Kinds)
		if i := slices.Index(kinds, k8s.KindPod); i >= 0 {
			kinds[i] = "pods and pod templates"
		}
		text = strings.Join(kinds, ", ")
	}
	if r.Nodes {
		text += "; needs nodes"
	}
	return text
}

// escape escapes * and _, which would start emphasis.
func escape(s string) string { return strings.NewReplacer("*", `\*`, "_", `\_`).Replace(s) }
