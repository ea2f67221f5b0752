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
		if c.Decide != "" {
			fmt.Fprintf(&b, "\n**to decide:** %s\n", markup(c.Decide))
		}
		if c.Remedy != "" {
			fmt.Fprintf(&b, "\n**to do:** %s\n", markup(c.Remedy))
		}
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
		usualCauses(&b, d.Unexplained)
	}
	inputs := map[string]bool{}
	for _, in := range d.Inputs {
		inputs[in.Name] = true
	}
	d.Facts.markdown(&b, inputs)
	return []byte(b.String())
}

// maxQuoted is how many lines of a finding are quoted.
const maxQuoted = 5

func (f *FindingDocument) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n#### %s (%s)\n\n```\n", markup(f.What), f.Rule)
	writeLines(b, f.Lines)
	b.WriteString("```\n\n| | cause | for | against | decides | to do |\n|---|---|---|---|---|---|\n")
	for i, c := range f.Causes {
		fmt.Fprintf(b, "| %d | %s: %s | %s | %s | %s | %s |\n", i+1, c.Confidence, markup(c.Title),
			evidenceList(c.For), evidenceList(c.Against), markup(c.Decide), markup(c.Remedy))
	}
}

// usualCauses writes what errors in lines that are not explained usually come from.
func usualCauses(b *strings.Builder, lines []LineDocument) {
	written := map[string]bool{}
	for _, l := range lines[:min(len(lines), maxQuoted)] {
		for _, c := range l.Causes {
			if !written[c.Title] {
				fmt.Fprintf(b, "\n- often: %s; to decide: %s; to do: %s", markup(c.Title), markup(c.Decide),
					markup(c.Remedy))
			}
			written[c.Title] = true
		}
	}
	if len(written) > 0 {
		b.WriteString("\n")
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

// markdown writes the facts. A node without a name has that of an input.
func (f *FactsDocument) markdown(b *strings.Builder, inputs map[string]bool) {
	if len(f.Nodes)+len(f.Libraries) == 0 {
		return
	}
	b.WriteString("\n#### Facts\n\n")
	for _, l := range f.Libraries {
		version := strings.Join(l.Versions, ", ")
		if version == "" {
			version = "(version not printed)"
		}
		fmt.Fprintf(b, "- %s %s\n", l.Name, markup(version))
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if known := n.markdown(); known != "" {
			fmt.Fprintf(b, "- %s: %s\n", markup(n.Name), known)
		} else if !inputs[n.Name] {
			fmt.Fprintf(b, "- %s\n", markup(n.Name))
		}
	}
	for _, x := range f.Differences {
		fmt.Fprintf(b, "- differs: %s\n", markup(x.What))
	}
	for _, h := range f.Hidden {
		fmt.Fprintf(b, "- not visible: %s\n", markup(h))
	}
}

// markdown returns the node's networks and devices, "" if none are known.
func (n *NodeDocument) markdown() string {
	var devices []string
	for _, x := range n.Devices {
		devices = append(devices, strings.TrimSpace(x.Name+" "+string(x.Link)))
	}
	var parts []string
	for _, list := range [][]string{n.Networks, devices} {
		if len(list) > 0 {
			parts = append(parts, markup(strings.Join(list, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}

// markup escapes what Markdown would take for its own, in text of one line.
func markup(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`, "]", `\]`,
		"@", "@\u200c", "#", "#\u200c").Replace(output.Clean(s))
}
