package explain

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/output"
)

// Markdown returns the report for an issue or a chat: verdict, findings, facts.
func (d *Document) Markdown() []byte {
	var b strings.Builder
	switch d.Verdict {
	case VerdictFault:
		f, c := d.First()
		fmt.Fprintf(&b, "### %s\n\n**%s cause:** %s\n", markup(f.What), c.Confidence, markup(c.Title))
	case VerdictUnknown:
		b.WriteString("### Something failed, and no rule knows why\n")
	case VerdictHealthy:
		b.WriteString("### Nothing wrong seen")
		if d.Partial() {
			b.WriteString(" in what could be read")
		}
		b.WriteString("\n")
	case VerdictFacts:
		b.WriteString("### Facts only: no log of a program\n")
	case VerdictNothing:
		s := d.Nothing()
		b.WriteString("### " + strings.ToUpper(s[:1]) + s[1:] + "\n")
	}
	for _, f := range d.Findings {
		if f.Harmless {
			fmt.Fprintf(&b, "\nHarmless: %s\n", markup(f.What))
			continue
		}
		f.markdown(&b)
	}
	if len(d.Unexplained) > 0 {
		b.WriteString("\n#### Not explained\n\n```\n")
		writeLines(&b, d.Unexplained)
		b.WriteString("```\n")
	}
	d.Facts.markdown(&b)
	return []byte(b.String())
}

// maxQuoted is how many lines of a finding are quoted.
const maxQuoted = 5

func (f *FindingDocument) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n#### %s (%s)\n\n```\n", markup(f.What), f.Rule)
	writeLines(b, f.Lines)
	b.WriteString("```\n\n| | cause | for | against | decides |\n|---|---|---|---|---|\n")
	for i, c := range f.Causes {
		fmt.Fprintf(b, "| %d | %s: %s | %s | %s | %s |\n", i+1, c.Confidence, markup(c.Title), evidenceList(c.For),
			evidenceList(c.Against), markup(c.Decide))
	}
}

func writeLines(b *strings.Builder, lines []LineDocument) {
	for i, l := range lines {
		if i == maxQuoted {
			fmt.Fprintf(b, "… and %d more\n", len(lines)-i)
			return
		}
		line := output.Clean(l.Place.String() + ": " + l.Text)
		fmt.Fprintln(b, strings.ReplaceAll(line, "```", "'''"))
	}
}

func evidenceList(list []EvidenceDocument) string {
	var parts []string
	for _, e := range list {
		parts = append(parts, markup(e.Text))
	}
	return strings.Join(parts, "<br>")
}

func (f *FactsDocument) markdown(b *strings.Builder) {
	if len(f.Nodes)+len(f.Libraries) == 0 {
		return
	}
	b.WriteString("\n#### Facts\n\n")
	for _, l := range f.Libraries {
		fmt.Fprintf(b, "- %s %s\n", l.Name, markup(strings.Join(l.Versions, ", ")))
	}
	for _, n := range f.Nodes {
		var devices []string
		for _, x := range n.Devices {
			devices = append(devices, strings.TrimSpace(x.Name+" "+string(x.Link)))
		}
		fmt.Fprintf(
			b,
			"- %s: %s; %s\n",
			markup(n.Name),
			markup(strings.Join(n.Networks, ", ")),
			markup(strings.Join(devices, ", ")),
		)
	}
	for _, x := range f.Differences {
		fmt.Fprintf(b, "- differs: %s\n", markup(x.What))
	}
	for _, h := range f.Hidden {
		fmt.Fprintf(b, "- not visible: %s\n", markup(h))
	}
}

// markup escapes what Markdown would take for its own, in text of one line.
func markup(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`, "]", `\]`,
		"@", "@\u200c", "#", "#\u200c").Replace(output.Clean(s))
}
