package manifest

import (
	"bytes"
	"regexp"
)

// templateText matches what programs that write manifests replace before they are applied: actions
// of Go, Helm and Jinja templates, names in braces where YAML expects a mapping, and names of
// variables that stand for whole lines.
var templateText = regexp.MustCompile(
	`\{\{|\{%|: +\{[A-Za-z_][A-Za-z0-9_-]*\}\S|^\s*\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)\s*$`)

// placeholder matches the values that people or scripts replace before they apply a manifest:
// ${NAMESPACE}, $NAMESPACE, <namespace>, {{ .Values.name }}, __NAME__.
var placeholder = regexp.MustCompile(
	`\$\{[A-Za-z_][^}]*\}|^\$[A-Za-z_][A-Za-z0-9_]*$|<[A-Za-z][A-Za-z0-9 _.-]*>|\{\{.*\}\}|__[A-Z][A-Z0-9_]*__`)

// IsPlaceholder reports whether a value is to be replaced before the manifest is applied.
func IsPlaceholder(text string) bool {
	const longest = 4096 // no value that rules compare is longer
	return len(text) <= longest && placeholder.MatchString(text)
}

// hasTemplate reports whether lines contain a template, outside of comments.
func hasTemplate(lines [][]byte) bool {
	for _, line := range lines {
		code, _, _ := bytes.Cut(line, []byte(" #"))
		if !bytes.HasPrefix(bytes.TrimSpace(code), []byte("#")) && templateText.Match(code) {
			return true
		}
	}
	return false
}
